# Calls that could not be seen are named at the end of the trace: a library in a namespace of its own, one
# that nobody called, and NCCL built into another object.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
little_nccl 1 && little_nccl 2 || exit 1
"$cc" -shared -fPIC -o built_in.so -xc - <<'C' || exit 1
int pncclAllReduce(void) { return 0; }
C
unseen() { grep -h '"event":"shutdown"' "$1"/*.jsonl | grep -o '"unseen":\[[^]]*\]' | sed "s|$PWD|.|g"; }
traced linked "$BUILD/tracer/steps" && unseen linked
traced apart "$LOOKUPS" apart "$PWD/v1/libnccl.so.2" "$PWD/v2/libnccl.so.2" && unseen apart
LD_PRELOAD="$PRELOAD $PWD/built_in.so" SPECTER_OUTPUT=static "$BUILD/tracer/steps" && unseen static
check linked/* apart/* static/*
