# A group whose beginning the tracer could not see: its operation is not taken for one that runs alone,
# and what comes after its end is.
. "$ROOT/tests/cli/tracer/common.bash"
PRELOAD=$LIBSPECTER # sanitizers want more address space than there is
traced out "$STRESS" joins_in_group || fail "status $?"
check out/*
ops out/*.jsonl count group timing | sort # ids follow the order in which rings are emptied
