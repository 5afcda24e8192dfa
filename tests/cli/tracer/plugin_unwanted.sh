# NCCL is asked for no events where its operations are not recorded.
. "$ROOT/tests/cli/tracer/common.bash"
export NCCL_PROFILER_PLUGIN=${PRELOAD##* }
traced all "$BUILD/tracer/plugin_calls" asks || exit 1
SPECTER_NO_NCCL=1 traced none "$BUILD/tracer/plugin_calls" asks || exit 1
SPECTER_NO_NCCL=1 traced graphs "$BUILD/tracer/plugin_calls" graphs || exit 1
check none/* graphs/*
grep -h -o '"coverage":[^]]*]' none/*.jsonl
cat graphs/*.jsonl | grep -c -e '"type":"nccl"' -e '"type":"plugin"'
exit 0
