# One process with four devices and no rank in its environment: the records say which member of the
# communicator each operation is, and the file is named for the process.
. "$ROOT/tests/cli/tracer/common.bash"
unset RANK WORLD_SIZE LOCAL_RANK
traced out "$STRESS" several_devices || fail "status $?"
check out/*
ls out | sed 's/_[0-9]*\.jsonl/_PID.jsonl/; s/trace_.*_PID/trace_HOST_PID/'
ops out/*.jsonl device comm_rank comm_size seq count
