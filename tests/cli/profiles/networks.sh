# SPDX-License-Identifier: MIT
"$SPECTER" profiles network
