# SPDX-License-Identifier: MIT
# No object of any JSON output has a key twice: readers keep one of the two.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
check() { # COMMAND...: JSON to stdout
    "$SPECTER" "$@" >out.json 2>/dev/null
    python3 - "$*" <<'EOF'
import json, sys

def once(pairs):
    keys = [k for k, _ in pairs]
    twice = {k for k in keys if keys.count(k) > 1}
    if twice:
        print(sys.argv[1], "has twice:", *sorted(twice))
    return dict(pairs)

with open("out.json") as f:
    json.load(f, object_pairs_hook=once)
EOF
}
traces=$ROOT/tests/cli/replay/data/two_ranks
check analyze "$traces" --json -
check metrics "$traces" --json -
check replay "$traces" --scale 1,8 --json -
check replay "$traces" --scale 1,8 --gpu a100_sxm --jitter 0.05 --json -
check sweep "$ROOT/examples/sweep.json" "$traces" --json -
check predict collective --op all_reduce --bytes 1M --ranks 16 --explain --json
check predict gemm -m 1024 -n 1024 -k 1024 --explain --json
check predict p2p --bytes 1M --json
check profiles --json
check watch "$traces" --once --json
check doctor --json -
check bench report "$ROOT/tests/data/nccl_tests/one_nic.log" --json -
