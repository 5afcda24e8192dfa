# SPDX-License-Identifier: MIT
# Profiles from files: a GPU's may bring its network, and one that is both sides is one machine.
. "$ROOT"/tests/cli/sweep/grid.bash
cat >mine.json <<'END'
{"gpu": {"name": "mine", "base": "h100_sxm"},
 "network": {"name": "mine_net", "base": "dgx_a100_200g"}}
END
cat >grid.json <<'END'
{"gpus": "./mine.json", "networks": [null, "dgx_h100_400g"],
 "from_gpu": "./mine.json", "scales": [1, 8]}
END
"$SPECTER" sweep grid.json | cut -d, -f5,6,10,11,22,24,48
"$SPECTER" replay --full --gpu ./mine.json --from-gpu ./mine.json --scale 8 --json - | grep -A 3 '"scale":' | grep iteration
"$SPECTER" replay --full --gpu ./mine.json --from-gpu ./mine.json --network dgx_h100_400g --scale 8 --json - |
    grep -A 3 '"scale":' | grep iteration
