# SPDX-License-Identifier: MIT
# A capture and the same job in the format of PyTorch's profiler, which names no events and whose copies to
# pageable memory wait within their calls, give the same replay, on the same GPU and on another one.
. "$ROOT"/tests/cli/scaling/common.bash
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
"$ROOT/scripts/replay-accuracy.sh" pytorch 4 >table
status=$?
awk -F ' *[|] *' '/--- / { on = 1; next } on && NF > 5 { print $2 ", " $3 ", " $4 " to " $5 ": " (/ !/ ? $0 : "within") }' table
exit $status
