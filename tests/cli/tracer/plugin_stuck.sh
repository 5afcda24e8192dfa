# An operation that hangs has its line, too: what NCCL took for it is what one wants to know then. When
# the tracer is off, NCCL is told to leave us alone.
. "$ROOT/tests/cli/tracer/common.bash"
export NCCL_PROFILER_PLUGIN=${PRELOAD##* }
traced stuck "$BUILD/tracer/plugin_calls" stuck
[[ $? == 5 ]] || fail "status"
check stuck/*
grep -h '"type":"plugin"' stuck/* | sed 's/"comm":"[0-9a-f]*",//'
SPECTER_DISABLE=1 traced off "$BUILD/tracer/plugin_calls" kinds || exit 1
[[ ! -e off ]] || fail "a trace although disabled"
