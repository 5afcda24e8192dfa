# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# `specter bench` with a rank alone, and with two ranks that share the GPU.

# bench_here FILE KIND OPTION...: by $BENCH_JOB, which starts several ranks, or as one; the first one writes FILE.
bench_here() {
    local file=$1
    shift
    rm -f "$file"
    LD_LIBRARY_PATH=$(wheel_libraries):${LD_LIBRARY_PATH:-} MASTER_ADDR=127.0.0.1 \
        "${BENCH_JOB[@]}" "$SPECTER" bench "$@" --json "$file"
}

# bench_kinds COUNT: collectives and clocks of so many ranks. Stand-ins move only the first bytes of a buffer.
bench_kinds() {
    local checked=1M
    [ -z "${SPECTER_REHEARSAL:-}" ] || checked=64K
    also bench_here "$OUT/bench_collective$1.json" collective --op all_reduce,all_gather --bytes 1M:16M --factor 4 \
        --iters 10 --check $checked || return
    also "$PYTHON" "$HERE/benches.py" collective "$OUT/bench_collective$1.json" "$1"
    also bench_here "$OUT/bench_drift$1.json" drift --seconds "$(seconds 20)" || return
    also "$PYTHON" "$HERE/benches.py" drift "$OUT/bench_drift$1.json" "$1"
}

# A rank alone: NCCL copies; the GPU's clock against its host's; overlap has no peer to communicate with.
check_bench_alone() {
    local BENCH_JOB=() status=0
    bench_kinds 1
    bench_here "$OUT/bench_overlap1.json" overlap || status=$?
    also equal "overlap of one rank: status" "$status" 3
}

# Two ranks on one GPU, each a node of its own to NCCL.
check_bench_shared() {
    local BENCH_JOB=("${JOB[@]}" 2)
    bench_kinds 2
    also bench_here "$OUT/bench_overlap2.json" overlap --op all_reduce --bytes 1M --channels 0,1 --repeat 3 || return
    also "$PYTHON" "$HERE/benches.py" overlap "$OUT/bench_overlap2.json" 2
}
