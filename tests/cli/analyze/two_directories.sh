# SPDX-License-Identifier: MIT
"$SPECTER" analyze one two
