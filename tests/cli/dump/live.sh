# Without a ring the dump is the trace itself so far, written out, with what is under way shown.
. "$ROOT/tests/cli/dump/common.bash"
start traces
dump traces
check "$made"/*
ops "$made"/* op timing | sort | uniq -c
[[ traces/specter_trace_rank0.jsonl -ef $made/specter_trace_rank0.jsonl ]] || fail "another file"
stop
