# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Training steps that are recorded: nothing changes, nothing is lost, times are true.

check_same_results() {
    local small="--deterministic --layers 2 --width 512 --tokens 128 --steps 5"
    workload transformer $small >"$OUT/plain.json" &&
        traced same "$PYTHON" "$HERE/workload.py" transformer $small >"$OUT/traced.json" &&
        "$PYTHON" "$HERE/checks.py" same "$OUT/plain.json" "$OUT/traced.json"
}

check_complete() { "$PYTHON" "$HERE/checks.py" complete "$OUT/traces/same"; }

# Device times against CUPTI's, of the same steps; large enough that every class of sizes has products.
check_agreement() {
    traced agreement "$PYTHON" "$HERE/workload.py" transformer --layers 4 --width 2048 --tokens 1024 --steps 5 \
        --profile "$OUT/agreement.json" &&
        "$PYTHON" "$HERE/agreement.py" "$OUT/traces/agreement" "$OUT/agreement.json"
}

# A graph's capture still works, its launches are timed, its result is the untraced one.
check_graph() {
    workload graph --steps 20 >"$OUT/plain.json" &&
        traced graph "$PYTHON" "$HERE/workload.py" graph --steps 20 >"$OUT/traced.json" &&
        "$PYTHON" "$HERE/checks.py" same "$OUT/plain.json" "$OUT/traced.json" &&
        "$PYTHON" "$HERE/checks.py" graph "$OUT/traces/graph" 25
}

# How much of a compiled step's device time each kind of record stands for.
check_compile() {
    traced compile "$PYTHON" "$HERE/workload.py" compile --steps 5 --profile "$OUT/compile.json" &&
        "$PYTHON" "$HERE/checks.py" complete "$OUT/traces/compile" &&
        "$PYTHON" "$HERE/checks.py" seen "$OUT/traces/compile" "$OUT/compile.json"
}
