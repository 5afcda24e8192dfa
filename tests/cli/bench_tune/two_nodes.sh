# SPDX-License-Identifier: MIT
# As known.sh, with four ranks on two nodes that a launcher has started.
. "$ROOT/tests/cli/bench_tune/common.bash"
echo 'gpus_per_node = 2' >>fabric.conf
PER_NODE=2 check 4 "2 nodes"
