# Linked, brought in by a local library, or found by name: the same calls give the same records.
. "$ROOT/tests/cli/tracer/common.bash"
traced linked "$BUILD/tracer/steps" || exit 1
traced local "$BUILD/tracer/lookups" local "$BUILD/tracer/libsteps.so" >/dev/null || exit 1
traced handle "$BUILD/tracer/lookups" handle || exit 1
traced default "$BUILD/tracer/lookups" default || exit 1
check linked/* local/* handle/* default/* || exit 1
# all that is recorded of them; init and shutdown tell of the process, clocks are paced by real time
for way in linked local handle default; do
    grep -v '"event":"\(init\|clock\|shutdown\)"' $way/*.jsonl | sort >$way.records
    cmp linked.records $way.records || diff linked.records $way.records | head -n 4
done
wc -l <linked.records
ops handle/*.jsonl op count m n k timing
