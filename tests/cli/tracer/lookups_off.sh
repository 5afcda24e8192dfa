# SPECTER_DLSYM=0: nothing that is asked for by name is seen, or changed.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
export SPECTER_DLSYM=0
same handle
ls -d handle.d 2>/dev/null
SPECTER_DLSYM=1 traced out "$LOOKUPS" handle
ops out/*.jsonl op | sort | uniq -c
