# Windows in time: by the host's clock since the first traced call, the same in every run. A step takes
# 100 ms; what is left out has its numbers all the same.
. "$ROOT/tests/cli/tracer/common.bash"
SPECTER_DELAY=0.35 SPECTER_DURATION=0.4 traced out "$FLIGHT" steps 12 100000000 || exit 1
check out/*
head -n 1 out/* | grep -o '"window":.*'
ops out/*.jsonl op seq p2p_seq m | uniq -c | awk '$3 != "Sgemm"'
grep -c '"op":"Sgemm"' out/*
grep -c '"type":"sync"' out/*
tail -n 1 out/* | grep -o '"dropped":[0-9]*'
# Only the start is cut.
SPECTER_DELAY=1.05 traced late "$FLIGHT" steps 12 100000000 || exit 1
ops late/*.jsonl op seq | grep AllReduce
