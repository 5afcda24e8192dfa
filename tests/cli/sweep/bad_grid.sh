# SPDX-License-Identifier: MIT
# One line with file and line for every fault of a grid.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" profiles network dgx_a100_200g --json >network.json
said() {
    "$SPECTER" sweep "$@" 2>&1 >/dev/null
    echo "  status $?"
}
while IFS= read -r text; do
    printf '%b' "$text" >grid.json
    said grid.json
done <<'END'
{"scales": [1], "gpu": "a100_sxm"}
{"network":\n ["dgx_a100_200g"]}
{"gpus": ["a1"]}
{"gpus": [null,\n"h100_sxm",\n"nonsense"]}
{"networks": "dgx"}
{"gpus": []}
{"scales":\n\n[]}
{"scales": ["8"]}
{"scales": [1, 2.5]}
{"scales": 0}
{"scales": -1}
{"scales": 1e30}
{"scales": [1, 2, 1]}
{"scales": null}
{"gpus": [null, null]}
{"calibrate": [true, null]}
{"calibrate": "yes"}
{"grow": "pipeline"}
{"placement": "spread=0"}
{"placement": "scattered"}
{"placement": "file=hosts"}
{"strong": 1}
{"parallel": 8}
{"parallel": ""}
{"gpus": {"name": "a100_sxm"}}
{"gpus": [["a100_sxm"]]}
{"gpus": "./network.json"}
{"gpus": "./absent.json"}
{"scales": [1], "scales": [2]}
{"scales": [1]
{"scales": [1]} {}
["a100_sxm"]

{"traces": "./nowhere"}
{"traces": ["./traces", "traces"]}
{"host_speed": 0}
{"host_speed": "fast"}
{"host_speed": [2, 2.0]}
{"jitter": "much"}
{"draws": 1}
{"seed": 1.5}
{"seed": 9007199254740993}
{"straggler": "rank=1"}
{"slow_link": ["node=0,slow=2", "node=0,slow=2 rank=1"]}
{"failed_nic": 1}
{"grow": "a\\u001b[2Jb"}
END
said absent.json
said .
echo "{}" >grid.json
said grid.json ./nowhere
{
    echo "{\"scales\": [$(seq -s, 1 4000)], \"parallel\": [$(seq -s, -f '"%g"' 1 4000)]}"
} >grid.json
said grid.json
