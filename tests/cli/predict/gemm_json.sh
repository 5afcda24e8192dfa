# SPDX-License-Identifier: MIT
"$SPECTER" predict gemm -m 4096 -n 4096 -k 4096 --gpu h100_sxm --json
"$SPECTER" predict gemm -m 64 -n 4096 -k 4096 --gpu h100_sxm --dtype fp8e4m3 --hot --quantize dynamic \
    --json | grep -E '"(l2|quantize|mem_bytes|quant_us|busy_us|time_us)"'
