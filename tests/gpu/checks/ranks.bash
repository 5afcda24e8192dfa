# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Several ranks on one GPU, and NCCL's own profiler beside the preload.

several_ranks() {
    local count=$1 small="--layers 2 --width 512 --tokens 128 --steps 5"
    traced "ranks$count" "$BASH" "$0" --ranks "$count" "$PYTHON" "$HERE/workload.py" transformer $small &&
        "$PYTHON" "$HERE/checks.py" ranks "$OUT/traces/ranks$count" "$count" &&
        "$SPECTER" analyze "$OUT/traces/ranks$count"
}

check_ranks2() { several_ranks 2; }
check_ranks4() { several_ranks 4; }

check_plugin() {
    CAPTURE=--nccl-plugin several_ranks 2 && "$PYTHON" "$HERE/checks.py" plugin "$OUT/traces/ranks2"
}
