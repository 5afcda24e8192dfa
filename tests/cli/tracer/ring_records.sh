# Every kind of record has its place in a flight recording, however long its lines get: none is
# dropped, and marks are not pushed out by what there is more of.
. "$ROOT/tests/cli/tracer/common.bash"
export NCCL_PROFILER_PLUGIN=${PRELOAD##* }
SPECTER_RING=1100 traced all "$BUILD/tracer/records" 5 || exit 1
check all/*
for type in nccl cublas copy graph plugin untraced dep sync; do
    echo "$type $(grep -c "\"type\":\"$type\"" all/*)"
done
echo "marks $(grep -c '^{"event":"mark"' all/*)"
sed -n 's/.*"op_count":\([0-9]*\),"ops":\(\[[^]]*\]\).*/\1 \2/p' all/* | awk '{ print "graph of", $1, "lists", gsub(",", "", $2) + 1 }'
sed -n 's/.*"total_ops":\([0-9]*\),"dropped":\([0-9]*\).*\("ring.*\)}} *$/\1 \2 \3/p' all/*
"$SPECTER" analyze --full all >/dev/null || echo "status $?"

echo "the end of it:"
SPECTER_RING=8 traced end "$BUILD/tracer/records" 5 || exit 1
check end/*
echo "marks $(grep -c '^{"event":"mark"' end/*), others $(grep -c '^{"type"' end/*)"
sed -n 's/.*"total_ops":\([0-9]*\),"dropped":\([0-9]*\).*\("ring.*\)}} *$/\1 \2 \3/p' end/*
