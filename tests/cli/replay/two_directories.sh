# SPDX-License-Identifier: MIT
"$SPECTER" replay --full a b
