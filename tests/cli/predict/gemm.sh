# SPDX-License-Identifier: MIT
"$SPECTER" predict gemm -m 4096 -n 4096 -k 4096 --dtype bf16
"$SPECTER" predict gemm --m 1 --n 4096 --k 4096 --batch 2 --gpu l40s --dtype fp8e4m3
# A benchmark's loop finds its operands in L2.
"$SPECTER" predict gemm -m 16 -n 4096 -k 4096 --hot --gpu h100_sxm
