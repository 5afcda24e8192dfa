# A graph capture of the strictest mode stays valid while the tracer's thread polls, and what is
# captured has no time.
. "$ROOT/tests/cli/tracer/common.bash"
for mode in 0 1; do
    SPECTER_SYNC=$mode traced out$mode "$CALLS" capture || exit 1
    check out$mode/*
    ops out$mode/*.jsonl op count m timing | sort | uniq -c
    grep '"dep"' out$mode/*.jsonl && fail "a captured event is no dependency now"
done
exit 0
