# SPDX-License-Identifier: MIT
"$SPECTER" profiles h100_sxm
