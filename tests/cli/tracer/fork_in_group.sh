# A fork between ncclGroupStart and ncclGroupEnd: the parent's group goes on, the child begins with none.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$STRESS" fork_in_group || fail "status $?"
check out/*
ops out/specter_trace_rank0.jsonl count group timing
closing out/specter_trace_rank0.jsonl total_ops
closing out/specter_trace_rank0.1.jsonl total_ops
