# SPDX-License-Identifier: MIT
# A type by any of its names; its result by default as libraries write it.
for dtype in fp8 FP8E4M3 float8_e4m3fn bfloat16 half nvfp4 int8 tf32; do
    "$SPECTER" predict gemm -m 64 -n 64 -k 64 --gpu b200_sxm --dtype $dtype --json |
        grep -oE '"dtype(_c)?":.*' | tr -d '\t\n'
    echo
done
"$SPECTER" predict gemm -m 64 -n 64 -k 64 --gpu h100_sxm --dtype fp8 --dtype-c fp8 --json |
    grep -oE '"(dtype_c|bytes)":.*'
"$SPECTER" predict collective --op all_gather --bytes 1M:1M --ranks 8 --dtype bfloat16 --gpu h100_sxm \
    --network dgx_h100_400g | grep -c bfloat16
