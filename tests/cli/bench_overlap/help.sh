# SPDX-License-Identifier: MIT
"$SPECTER" bench overlap --help
