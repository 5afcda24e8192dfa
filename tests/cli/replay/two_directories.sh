# SPDX-License-Identifier: MIT
"$SPECTER" replay a b
