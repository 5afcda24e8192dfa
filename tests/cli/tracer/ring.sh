# The flight recorder: the last operations in a file that keeps its size, and a closing record that tells
# what fell out, which is not dropped. What is pending is in it, and a kill leaves it readable.
. "$ROOT/tests/cli/tracer/common.bash"
SPECTER_RING=50 traced out "$FLIGHT" steps 3 1000 || exit 1
size=$(stat -c %s out/*)
for steps in 30 300; do
    rm -r out
    SPECTER_RING=50 traced out "$FLIGHT" steps $steps 1000 || exit 1
    check out/*
    (($(stat -c %s out/*) - size < 4096)) || fail "the file has grown with $steps steps"
    grep '^{"id"' out/* | sed 's/,.*//' | sort -t: -k2n | sed -n '1p;$p'
    grep -c '^{"id"' out/*
    grep -c '^{"type":"sync"' out/*
    sed -n 's/.*"total_ops":\([0-9]*\),"dropped":\([0-9]*\).*\("ring.*\)}} *$/\1 \2 \3/p' out/*
done
"$SPECTER" analyze --full out 2>&1 >/dev/null | grep flight
# Without an end: an operation that hangs, shown by its place among those that have not ended.
SPECTER_RING=50 SPECTER_OUTPUT=hang LD_PRELOAD=$PRELOAD "$FLIGHT" hang 20 &
for ((i = 0; i < 200; i++)); do
    grep -qs '"timing":"none"' hang/* && break
    sleep 0.05
done
kill -9 $!
wait $! 2>/dev/null
check hang/*
ops hang/* op count timing | sort | uniq -c
"$SPECTER" analyze --full hang >/dev/null
