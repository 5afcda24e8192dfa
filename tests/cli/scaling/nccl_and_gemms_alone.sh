# SPDX-License-Identifier: MIT
# A capture of NCCL and cuBLAS alone leaves out work between its operations: on its own hardware, and on
# another GPU beside the recording there.
. "$ROOT"/tests/cli/scaling/common.bash
within() {
    awk -v what="$1" -v a="$2" -v b="$3" -v most="$4" 'BEGIN {
        off = 100 * (b / a - 1)
        print what ":", (off <= most && off >= -most ? "within " most " %" : off " %")
    }'
}
for pattern in dp tp fsdp; do
    capture a100 $pattern 8
    replay $trace there --scale 1
    launch h100 8 "$SPECTER" capture -o alone.$pattern --no-launches --no-copies -- "$ROOT/examples/launch.sh" -n 8 \
        $(program $pattern) >log 2>&1 || cat log
    replay alone.$pattern own --scale 1
    replay alone.$pattern other --scale 1 --gpu a100_sxm --network dgx_a100_200g
    within "$pattern, own" "$(get own source.recorded.iteration_us)" "$(get own source.replayed.iteration_us)" 1
    within "$pattern, a100" "$(get there source.recorded.iteration_us)" "$(get other scales.0.iteration_us)" 8
done
