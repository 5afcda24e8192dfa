# SIGKILL leaves whole lines, at most one of them cut.
. "$ROOT/tests/cli/tracer/common.bash"
for i in 1 2 3 4 5 6; do
    # exec: the process that is killed below is the program, not a shell around it.
    (
        export EMU_CLOCK=real SPECTER_OUTPUT=kill$i LD_PRELOAD=$PRELOAD
        exec "$CALLS" goes_on
    ) &
    pid=$!
    for ((wait = 0; wait < 200; wait++)); do
        grep -qs '^{"id"' kill$i/specter_trace_rank0.jsonl && break
        sleep 0.05
    done
    sleep 0.$i
    kill -9 $pid
    wait $pid 2>/dev/null
    check --torn kill$i/* || exit 1
    grep -q '^{"id"' kill$i/* || fail "no operations"
done 2>/dev/null
