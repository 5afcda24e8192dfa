# SPDX-License-Identifier: MIT
# AlltoAllv of uneven sizes, a message whose send ends first, and an operation that nobody knows, on two
# nodes of a GPU that nobody knows: counted, and what is not known is empty.
. "$ROOT/tests/cli/analyze_comm/traces.bash"
for r in 0 1; do
    begin $r 2 'Somebody X1' node$r
    op AlltoAllv 0 $((20 * r)) $((100 + 20 * r)) $((300000 - 200000 * r))
    op AlltoAllv 1 200 240 50000
    [[ $r == 0 ]] && op Send -1 300 390 4000000 '"peer":1,"p2p_seq":0'
    [[ $r == 1 ]] && op Recv -1 360 400 4000000 '"peer":0,"p2p_seq":0'
    op NotYetInvented 2 500 600 0
    finish
done
tables=traffic,traffic_sizes,pairs,alltoall,communication,comm_groups,collective_instances,expected
"$SPECTER" analyze --full --table $tables
"$SPECTER" analyze --full --table $tables --format csv
"$SPECTER" analyze --full --rank 1 --table traffic
