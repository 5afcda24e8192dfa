# SPDX-License-Identifier: MIT
# A slow node is slow with the ranks that the placement puts there: of 16 on two nodes in turn, node 1 has
# those like rank 1; with one rank a node it is rank 1; in blocks it also has rank 8, which is like rank 0.
time_of() {
    "$SPECTER" replay --full "$ROOT"/tests/cli/replay/data/two_ranks --scale 8 --json - "$@" 2>/dev/null |
        sed -n 's/.*"iteration_us"://p'
}
for placement in cyclic spread=1; do
    time_of --placement $placement --straggler node=1,slow=2 >node
    time_of --placement $placement --straggler rank=1,slow=2 >rank
    time_of --placement $placement --straggler rank=0,slow=2 >other
    cmp node rank
    if cmp -s node other; then exit 1; fi
done
time_of --straggler node=1,slow=2 >node
time_of --straggler rank=0,slow=2 --straggler rank=1,slow=2 >both
cmp node both
"$SPECTER" replay --full "$ROOT"/tests/cli/replay/data/two_ranks --scale 8 --placement spread=1 --straggler node=16,slow=2 || echo "status $?"
