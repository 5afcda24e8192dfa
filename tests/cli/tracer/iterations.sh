# A window in iterations of a program that marks none: nothing is recorded, and one line says why.
. "$ROOT/tests/cli/tracer/common.bash"
SPECTER_ITERATIONS=2:3 traced out "$FLIGHT" steps 3 0 || exit 1
check out/*
head -n 1 out/* | grep -o '"window":.*'
tail -n 1 out/* | grep -o '"total_ops":[0-9]*,"dropped":[0-9]*'
