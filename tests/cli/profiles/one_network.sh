# SPDX-License-Identifier: MIT
"$SPECTER" profiles network dgx1_v100
