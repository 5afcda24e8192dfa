# The text files of NCCL Inspector's Prometheus exporter, one a GPU, each line as the exporter writes it
# (NVIDIA/nccl, ext-profiler/inspector/inspector_prom.cc): the same operations as in the logs. A line without a
# value is bad, a last one that is cut is torn.
mkdir prom
lines() { # RANK COLL SN SIZE US SECOND
    local labels="comm_id=\"0x$7\",hostname=\"n$(($1 / 2))\",rank=\"$1\",slurm_job=\"train\",slurm_job_id=\"12\",nranks=\"4\",n_nodes=\"2\",gpu_device_id=\"GPU$(($1 % 2))\",collective=\"$2\",coll_sn=\"$3\",timestamp=\"2026-05-17T10:20:$6Z\",message_size=\"$4\""
    printf 'nccl_algorithm_bandwidth_gbs{%s} 11.5\nnccl_bus_bandwidth_gbs{%s} 17.3\nnccl_collective_exec_time_microseconds{%s} %s\n' \
        "$labels" "$labels" "$labels" "$5"
}
for rank in 0 1 2 3; do
    {
        echo '# HELP nccl_bus_bandwidth_gbs NCCL bus bandwidth'
        lines $rank AllReduce 7 4.00MB $((360 + rank)) 00 c0ffee
        lines $rank AllGather 3 512B 21 30 c0ffee
    } >prom/nccl_inspector_metrics_GPU-$rank.prom
done
say() {
    "$SPECTER" analyze "$1" --json out.json --table collectives 2>err
    echo "status $?"
    grep -v 'no common clock\|timed by a host' err
}
say prom
grep -E '"(format|host)":' out.json | sort | uniq -c
cp -r prom cut && printf 'nccl_collective_exec_time_microseconds{comm_id="0xc0ffee",hostna' >>cut/nccl_inspector_metrics_GPU-3.prom && say cut
cp -r prom bad && sed -i '3s/rank="[0-9]*",slurm/slurm/' bad/nccl_inspector_metrics_GPU-3.prom &&
    sed -i '4s/message_size="4.00MB"/message_size="much"/' bad/nccl_inspector_metrics_GPU-2.prom && say bad
