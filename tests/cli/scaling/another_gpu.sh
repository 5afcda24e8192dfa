# SPDX-License-Identifier: MIT
# A recording on one GPU, replayed on another, takes what a recording there takes, both ways.
. "$ROOT"/tests/cli/scaling/common.bash
PATTERNS='dp pp fsdp' "$ROOT/scripts/replay-accuracy.sh" gpus 8 >table
status=$?
verdicts 4 <table
exit $status
