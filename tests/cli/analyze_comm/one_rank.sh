# SPDX-License-Identifier: MIT
# One rank of four: its share of the traffic, and nothing of what needs the others.
. "$ROOT/tests/cli/analyze_comm/traces.bash"
begin 2 4 'NVIDIA H100 80GB HBM3'
op AllReduce 0 0 9000 4194304
op AllGather 1 9500 9600 1048576
finish
"$SPECTER" analyze --full --table traffic,communication,collective_instances,expected --format csv
"$SPECTER" analyze --full 2>&1 | grep 'Slow collective' && exit 1
exit 0
