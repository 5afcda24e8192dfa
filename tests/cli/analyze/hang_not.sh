# A job that is killed while it works has operations under way, and does not hang.
. "$ROOT/tests/cli/tracer/common.bash"
(
    export EMU_CLOCK=real SPECTER_OUTPUT=traces LD_PRELOAD=$PRELOAD
    exec "$CALLS" goes_on
) 2>/dev/null &
pid=$!
for _ in {1..200}; do
    grep -qs '^{"id"' traces/* && break
    sleep 0.05
done
sleep 0.2
kill -9 $pid
wait $pid 2>/dev/null
unset LD_LIBRARY_PATH
grep -q '^{"id"' traces/* || fail "no operations"
"$SPECTER" analyze --full traces --fail-on 'hangs>0' >out 2>err
echo "status $?"
grep -i hang out err
true
