# SPDX-License-Identifier: MIT
"$SPECTER" predict collective --op all_reduce --bytes 64M --ranks 16
