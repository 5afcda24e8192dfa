# SPDX-License-Identifier: MIT
# A step that fails is one line, the others are done, and the status says so.
. "$ROOT/tests/cli/profile_node/common.bash"
CC=false profile_node --quick --gpus 1 >text 2>err
echo "status $?"
cat err
steps traces
grep '^workload' text | sed -E 's/ +/ /g; s/run_[0-9_]*/run_TIME/; s| [0-9]+ s | N s |'
find traces -maxdepth 1 -name 'specter_*'
