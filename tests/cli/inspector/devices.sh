# One process that is two ranks: they come apart, and that it is a guess is said.
. "$ROOT/tests/cli/inspector/inspector.bash"
for r in 0 1; do
    coll $r AllReduce 0 1000000 $((100 + 100 * r))
    ID=0xab RANKS=4 coll $((2 * r)) Broadcast 0 1000000 100
done >logs/node0-pid100.log
figures logs
