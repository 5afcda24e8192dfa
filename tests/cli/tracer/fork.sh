# A child writes a file of its own, from its first traced call on, and never into its parent's.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$CALLS" forks || exit 1
check out/*
ls out
for file in out/*; do
    pid=$(sed -n 's/.*"event":"init".*"pid":\([0-9]*\).*/\1/p' $file)
    [[ $(grep -c '"event":"init"' $file) == 1 && -n $pid ]] || fail "$file: not one init record"
    [[ $(grep -c '"event":"shutdown"' $file) == 1 ]] || fail "$file: not one shutdown record"
done
ops out/specter_trace_rank0.jsonl op count timing
