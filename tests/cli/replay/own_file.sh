# SPDX-License-Identifier: MIT
# A target from a file, and the recording's own hardware from one.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
cat > my.json <<'END'
{"gpu": {"name": "slow", "base": "h100_sxm", "fp16_tflops": 300, "bf16_tflops": 300, "mem_GBps": 1000},
 "network": {"name": "narrow", "base": "dgx_h100_400g", "intra_GBps": 100, "pair_GBps": 100}}
END
"$SPECTER" replay --full --scale 1 --gpu my.json | sed -n 2,3p
"$SPECTER" replay --full --scale 1 --gpu my.json --from-gpu my.json | sed -n 2,3p
"$SPECTER" replay --full --scale 1 --gpu my.json --from-gpu my.json --network my.json | sed -n 3p
"$SPECTER" replay --full --scale 1 --gpu h100_sxm --network my.json | sed -n 3p
sed -i s/slow/s\ low/ my.json
"$SPECTER" replay --full --scale 1 --gpu my.json
echo $?
