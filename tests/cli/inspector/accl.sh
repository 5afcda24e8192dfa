# Logs of RCCL's ACCL plugin: the form of NCCL Inspector's, a file for each communicator of a process, which only the
# file's name tells (older: not even that). Times are the GPU's where its clock in the record agrees with them.
. "$ROOT/tests/cli/flight/figures.bash"
mkdir -p logs old
record() { # RANK RANKS NAME NUMBER BYTES TICKS [US]
    printf '{"header":{"rank":%d,"n_ranks":%d},"coll_perf":{"coll":"%s","coll_sn":%d,' "$1" "$2" "$3" "$4"
    printf '"coll_msg_size_bytes":%d,"coll_algo":"Ring","coll_proto":"Simple","coll_n_channels":2,' "$5"
    printf '"coll_exec_time_us":%s,"coll_algobw_gbs":1.0,"coll_busbw_gbs":1.0,' "${7-$(($6 / 100)).00}"
    printf '"coll_timing_source":"gpu_globaltimer","decomposition":{"n_proxy_ops":8},"event_trace_ts":{"kernel_events":['
    printf '{"channel_id":0,"kernel_start_ts":70000,"kernel_stop_ts":%d,"duration_us":9},' $((70000 + $6 - 50))
    printf '{"channel_id":1,"kernel_start_ts":70020,"kernel_stop_ts":%d,"duration_us":9}]}}}\n' $((70000 + $6))
}
summary='{"summary":{"dropped_collectives":%d,"leaked_collectives":1,"coll_pool_size":256,"complete":false}}\n'
for rank in 0 1; do
    all=logs/accl_profiler_rank${rank}_node_a_pid5${rank}_0x1f2e.jsonl
    part=logs/accl_profiler_rank${rank}_node_a_pid5${rank}_0xbeef.jsonl
    for n in 0 1 2; do
        record $rank 2 AllReduce $n 4000000 20000 >>"$all"
        record $rank 2 AllGather $n 1000000 10000 >>"$part"
        record $rank 2 AllReduce $n 4000000 20000 317.00 >>old/accl_profiler_rank${rank}_node_a.jsonl
    done
done
# shellcheck disable=SC2059 # a format
printf "$summary" 2 >>logs/accl_profiler_rank1_node_a_pid51_0xbeef.jsonl
for of in logs old logs/accl_profiler_rank1_node_a_pid51_0xbeef.jsonl; do
    echo "== $of"
    "$SPECTER" analyze "$of" --full 2>&1 | sed -n '/specter:/p; /^inspector/p; /^1\. /p; /^Collectives/,/^How/p' |
        grep -v 'common clock\|^How'
done
