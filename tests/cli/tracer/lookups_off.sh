# SPECTER_NO_DLSYM=1, or another word for it: nothing that is asked for by name is seen, or changed.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
for SPECTER_NO_DLSYM in 1 yes on true; do
    export SPECTER_NO_DLSYM
    same handle
done
ls -d handle.d 2>/dev/null
SPECTER_NO_DLSYM=0 traced out "$LOOKUPS" handle
ops out/*.jsonl op | sort | uniq -c
