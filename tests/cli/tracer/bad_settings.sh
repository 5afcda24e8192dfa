# A value that cannot be read: one line, and the default. SPECTER_DISABLE wins over all, silently.
. "$ROOT/tests/cli/tracer/common.bash"
SPECTER_SAMPLE=none SPECTER_RANKS=5- traced out "$CALLS" collectives
check out/*
tail -n 1 out/* | grep -o '"total_ops":[0-9]*'
SPECTER_DISABLE=1 SPECTER_SAMPLE=none traced off "$CALLS" collectives
[[ ! -e off ]] || fail "a trace, though disabled"
