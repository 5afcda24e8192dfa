# 5,000 communicators, also when one group makes them: each has a line, and each of their operations
# says whose it is. Beyond the 8,192 that there is room for, operations have none, which is counted, and
# the others lose nothing.
. "$ROOT/tests/cli/tracer/common.bash"
export LD_LIBRARY_PATH=$BUILD/bench/lib
for how in "5000 alone" "5000 grouped" "9000 alone"; do
    echo "$how:"
    traced out "$BUILD/tracer/many_comms" $how || fail "$how: status $?"
    check out/*
    echo "lines $(grep -c '"event":"comm"' out/*), operations $(grep -c '^{"id"' out/*), dropped $(closing out/* dropped)"
    ops out/* op comm p2p_seq seq >of
    echo "communicators $(awk '$4 != "null" { print $4 }' of | sort -u | wc -l), without $(grep -c 'comm null' of)"
    echo "first operations $(grep -c 'op AllReduce .* seq 0' of) and $(grep -c 'op Send .*p2p_seq 0' of)"
    tail -n 1 out/* | grep -o '"comms_without_room":[0-9]*'
    rm -r out
done
