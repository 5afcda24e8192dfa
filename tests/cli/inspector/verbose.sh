# NCCL_INSPECTOR_DUMP_VERBOSE=1 says when kernels began, so that there is a span.
. "$ROOT/tests/cli/inspector/inspector.bash"
trace() { # US: when the kernels of two channels began
    printf ',"event_trace_ts":{"coll_start_ts":%d,"coll_stop_ts":%d,"kernel_events":[' $(($1 - 20)) $(($1 - 10))
    printf '{"channel_id":0,"kernel_start_ts":%d},{"channel_id":1,"kernel_start_ts":%d}]}' $(($1 + 2)) "$1"
}
for r in 0 1; do
    {
        coll $r AllReduce 0 1000000 100 kernel_gpu "$(trace $((1748030000000000 + 10 * r)))"
        coll $r AllReduce 1 1000000 100 kernel_gpu "$(trace 1748030000000300)"
    } >logs/node0-pid10$r.log
done
figures logs
