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
