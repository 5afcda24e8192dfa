# SPDX-License-Identifier: MIT
# A recording replayed on its own hardware gives its own time, of the run and of every rank, and its own
# waits in collectives, for five ways to train in parallel; one of them at 64 ranks.
. "$ROOT"/tests/cli/scaling/common.bash
"$ROOT/scripts/replay-accuracy.sh" identity 2 8 >table
status=$?
verdicts 3 <table
PATTERNS=tp "$ROOT/scripts/replay-accuracy.sh" identity 64 >table && ((status == 0))
status=$?
verdicts 3 <table
exit $status
