# SPDX-License-Identifier: MIT
"$SPECTER" bench tune --help
