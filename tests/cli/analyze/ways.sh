# Choices that NCCL's profiler told of collectives: the most frequent way of each row, none where nothing was
# told, and no line beyond 80 columns.
mkdir traces
awk 'BEGIN {
    comm = "\"comm\":\"c\",\"comm_rank\":0,"
    print "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":0,\"world_size\":1,\"host\":\"h\",\"mono_ns\":1,\"real_ns\":1,\"coverage\":[\"nccl\",\"plugin\"]}"
    n = split("AllReduce,AllReduce,AllReduce,ReduceScatter,AllGather,AllReduce", op, ",")
    split("RING LL128 8,TREE LL 2,RING LL128 8,COLLNET_DIRECT SIMPLE 32,, RING LL128 4", way, ",")
    for (i = 1; i <= n; i++) {
        printf "{\"id\":%d,\"type\":\"nccl\",\"op\":\"%s\",\"start_us\":%d.0,\"duration_us\":5.0,\"bytes\":%d,\"count\":4,\"dtype\":\"fp8e4m3\",%s\"comm_size\":1,\"seq\":%d,\"device\":0,\"stream\":1,\"tid\":0,\"host_us\":%d.0,\"host_end_us\":%d.5,\"timing\":\"device\"}\n", i, op[i], 10 * i, i == 6 ? 64 : 999, comm, i, 10 * i, 10 * i
        if (split(way[i], w, " ") == 3)
            printf "{\"type\":\"plugin\",\"op\":\"%s\",%s\"seq\":%d,\"peer\":null,\"algo\":\"%s\",\"proto\":\"%s\",\"channels\":%s,\"kernel_us\":4.0}\n", op[i], comm, i, w[1], w[2], i == 6 ? "null" : w[3]
    }
    print "{\"event\":\"shutdown\",\"time_us\":100.0,\"total_ops\":6,\"dropped\":0}"
}' >traces/specter_trace_rank0.jsonl
"$SPECTER" analyze --full traces --json out.json >out.txt
sed -n '/^Collectives/,/^Top/p' out.txt | grep -v '^Top'
awk 'length($0) > 80 { print "too long: " $0 }' out.txt
grep -E '"(algo|proto|channels|alike|told)"' out.json
