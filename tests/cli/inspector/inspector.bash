# Makes NCCL Inspector logs: sourced, not run.
#
#     coll RANK NAME NUMBER BYTES US [SOURCE] >>logs/...      message RANK NAME PEER BYTES US

. "$ROOT/tests/cli/flight/figures.bash"
mkdir -p logs

head_of() { # RANK KEYS
    printf '{"header":{"id":"%s","rank":%d,"n_ranks":%d,"nnodes":1},' "${ID-0x7f8c496ae9f661}" \
        "$1" "${RANKS-2}"
    printf '"metadata":{"inspector_output_format_version":"v4.0","git_rev":"",'
    printf '"rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1748030377748202,'
    printf '"hostname":"node0","pid":%d},' "$((100 + $1))"
}

coll() {
    head_of "$1"
    printf '"coll_perf":{"coll":"%s","coll_sn":%d,"coll_msg_size_bytes":%d,' "$2" "$3" "$4"
    printf '"coll_exec_time_us":%d,"coll_timing_source":"%s",' "$5" "${6-kernel_gpu}"
    printf '"coll_algobw_gbs":1.0,"coll_busbw_gbs":1.0%s}}\n' "${7-}"
}

message() {
    head_of "$1"
    printf '"p2p_perf":{"p2p":"%s","p2p_sn":9,"p2p_peer":%d,"p2p_msg_size_bytes":%d,' "$2" "$3" "$4"
    printf '"p2p_exec_time_us":%d,"p2p_timing_source":"kernel_gpu","p2p_algobw_gbs":1.0,' "$5"
    printf '"p2p_busbw_gbs":1.0}}\n'
}
