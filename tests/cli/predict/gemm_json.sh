# SPDX-License-Identifier: MIT
"$SPECTER" predict gemm -m 4096 -n 4096 -k 4096 --gpu h100_sxm --json
