# SPDX-License-Identifier: MIT
"$SPECTER" help experiment
