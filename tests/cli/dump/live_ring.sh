# A running flight recorder answers with an ordinary trace, in order, of the last operations and those
# under way; and goes on.
. "$ROOT/tests/cli/dump/common.bash"
export SPECTER_RING=50
start traces
dump traces
check "$made"/*
grep -c '^{"id"' "$made"/*
grep '^{"id"' "$made"/* | sed 's/,.*//' | sort -c -t: -k2n || fail "not in order"
ops "$made"/* op timing | sort | uniq -c
"$SPECTER" analyze --full "$made" 2>&1 >/dev/null | grep -o 'flight.*'
first=$made
dump -o elsewhere traces
[[ -e elsewhere/specter_trace_rank0.jsonl && ! -e traces/.specter_dump ]] || fail "not where it was asked for"
kill -0 $pid || fail "gone"
stop
ls -A traces | sed 's/dump-.*/dump-TIME/'
