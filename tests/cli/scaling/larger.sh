# SPDX-License-Identifier: MIT
# Eight ranks replayed as sixteen, on two nodes, take what a recording of sixteen takes. The network is
# known by a profile that `calibrate` fitted to a benchmark's rows alone.
. "$ROOT"/tests/cli/scaling/common.bash
"$ROOT/scripts/replay-accuracy.sh" scaling 8 16 >table
status=$?
verdicts 3 <table
exit $status
