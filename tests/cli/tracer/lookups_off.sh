# SPECTER_NO_DLSYM=1: nothing that is asked for by name is seen, or changed.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
export SPECTER_NO_DLSYM=1
same handle
ls -d handle.d 2>/dev/null
SPECTER_NO_DLSYM=0 traced out "$LOOKUPS" handle
ops out/*.jsonl op | sort | uniq -c
