# SPDX-License-Identifier: MIT
mkdir traces
"$SPECTER" replay --full
