# SPDX-License-Identifier: MIT
# A GPU and a network from a JSON file. Half the memory bandwidth, a product of twice the time; a quarter
# of the ports, a slower collective; a file's own network is taken where none is named.
cat > my.json <<'END'
{"gpu": {"name": "half", "base": "h100_sxm", "mem_GBps": 1675},
 "network": {"name": "quarter", "base": "dgx_h100_400g", "nics_per_node": 2}}
END
time_us() { "$SPECTER" predict "$@" --json | sed -n 's/.*"time_us":[^0-9]*\([0-9]*\).*/\1/p'; }
small="gemm -m 16 -n 65536 -k 8192"
large="collective --op all_reduce --bytes 1G --ranks 16"
[[ $(time_us $small --gpu my.json) -gt $((19 * $(time_us $small --gpu h100_sxm) / 10)) ]] && echo slower
[[ $(time_us $large --gpu my.json) -gt $((2 * $(time_us $large --gpu h100_sxm))) ]] && echo slower
"$SPECTER" predict $large --gpu h100_sxm --network my.json | head -1
"$SPECTER" predict $large --gpu my.json --network dgx_a100_200g | head -1

echo '{"gpu": {"name": "lone", "arch": "hopper", "fp16_tflops": 900, "mem_GBps": 3000}}' > lone.json
"$SPECTER" predict $large --gpu lone.json
echo $?
"$SPECTER" predict $large --gpu h100_sxm --network lone.json
echo $?
