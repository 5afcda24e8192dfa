# SPDX-License-Identifier: MIT
"$SPECTER" bench drift --help
