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
# Groups of 32 messages each way, which share their ports from end to end.
capture h100 ep 32 --ep 32
replay $trace flat --scale 1
awk -v a="$(get flat source.recorded.iteration_us)" -v b="$(get flat source.replayed.iteration_us)" \
    'BEGIN { print "all-to-all of 32:", (b > 0.99 * a && b < 1.01 * a) ? "within" : a " " b }'
exit $status
