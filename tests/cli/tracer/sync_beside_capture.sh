# Under --sync the tracer's synchronisations break no capture of another thread.
. "$ROOT/tests/cli/tracer/common.bash"
SPECTER_SYNC=1 traced out "$STRESS" captures_beside || fail "status $?"
check out/*
ops out/*.jsonl count timing
