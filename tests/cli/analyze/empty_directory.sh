# SPDX-License-Identifier: MIT
mkdir traces
"$SPECTER" analyze --full
