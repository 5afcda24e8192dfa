# A file does not grow beyond its limit; what is left out is counted, with the reason.
. "$ROOT/tests/cli/tracer/common.bash"
for limit in 64k 100000; do
    SPECTER_MAX_SIZE=$limit traced out$limit "$CALLS" many || fail "the program felt it"
    check out$limit/*
    size=$(stat -c %s out$limit/*)
    ((size <= 102400 && size > 38000)) || fail "$size bytes with a limit of $limit"
    balance out$limit/* | cut -d' ' -f1
    tail -n 1 out$limit/* | grep -o '"stopped":.*'
done
[[ $(stat -c %s out64k/*) -le 65536 && $(stat -c %s out100000/*) -le 100000 ]] || fail "over the limit"
# There is no room for sums by communicator then; a file of some size has it.
grep -o '"comms":null' out64k/*
SPECTER_MAX_SIZE=1M traced out1M "$CALLS" many || fail "the program felt it"
grep -o '"comms":\[{"comm":"[0-9a-f]*","size":[0-9]*' out1M/* | sed 's/"[0-9a-f]*",/ID,/'
[[ $(stat -c %s out1M/*) -le 1048576 ]] || fail "over the limit"
# With records of every kind, the longest lines among them.
export NCCL_PROFILER_PLUGIN=${PRELOAD##* }
SPECTER_MAX_SIZE=200k traced records "$BUILD/tracer/records" 50 || fail "the program felt it"
check records/*
[[ $(stat -c %s records/*) -le 204800 ]] || fail "records: over the limit"
balance records/* >balance
read -r ended open <balance
SPECTER_MAX_SIZE=0 traced whole "$BUILD/tracer/records" 50 || exit 1
whole=$(grep -c '^{"id"\|^{"type"\|"event":"mark"' whole/*) plugin=$(grep -c '"type":"plugin"' whole/*)
marks=$(grep -c '"event":"mark"' records/*) told=$(grep -c '"type":"plugin"' records/*)
echo "$((whole - plugin - ended - marks + told)) records are missing from the count"
