# SPDX-License-Identifier: MIT
"$SPECTER" analyze --full one two
