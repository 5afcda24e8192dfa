# SPDX-License-Identifier: MIT
"$SPECTER" replay --full
