# SPECTER_RANKS limits records of operations, not what is known of the process.
. "$ROOT/tests/cli/tracer/common.bash"
SPECTER_RANKS=1-3 traced out "$CALLS" collectives || exit 1
check out/*
# (Without operations there may be a clock, if the writer came to look in time.)
sed -n -e '/^{"event":"clock"/d' -e 's/^{"\(event\|type\|id\)":"*\([a-z0-9]*\).*/\1 \2/p' out/* | sort | uniq -c | awk '{ print $1, $2, $3 }'
SPECTER_RANKS=0,7 traced in "$CALLS" collectives || exit 1
tail -n 1 in/* | grep -o '"total_ops":[0-9]*'
