# SPDX-License-Identifier: MIT
"$SPECTER" predict collective --op AllGather --bytes 1G --ranks 8 --gpu a100_sxm --json
