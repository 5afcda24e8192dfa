# SPDX-License-Identifier: MIT
"$SPECTER" bench p2p --help
