# SPDX-License-Identifier: MIT
# The same result, byte for byte, however many threads read; and with few files open at a time.
command -v taskset >/dev/null || { echo "no taskset"; exit 77; }
mkdir traces
for ((r = 0; r < 200; r++)); do
    {
        echo "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":$r,\"world_size\":201,\"host\":\"n$((r / 8))\",\"mono_ns\":5,\"real_ns\":1700000000000000000}"
        for ((i = 0; i < 6; i++)); do
            comm=w rank=$r size=200
            ((i % 2 == r % 2)) || comm=g$((r / 8)) rank=$((r % 8)) size=8
            echo "{\"id\":$i,\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":$((i * 50 + r)).000,\"duration_us\":$((20 + i)).000,\"bytes\":$((4096 << i)),\"count\":1024,\"dtype\":\"fp32\",\"redop\":\"sum\",\"comm\":\"$comm\",\"comm_rank\":$rank,\"comm_size\":$size,\"seq\":$i,\"device\":0,\"stream\":1,\"tid\":0,\"timing\":\"device\"}"
        done
        ((r % 50)) || echo "{\"event\":\"broken $r"
        echo '{"event":"shutdown","time_us":400.000,"dropped":0}'
    } >traces/specter_trace_rank$r.jsonl
done
for cpus in 0 0-63; do
    (ulimit -n 64 && taskset -c $cpus "$SPECTER" analyze --full traces --json - >$cpus.json 2>$cpus.err)
    echo "status $?"
    grep -o 'rank[0-9]*.jsonl: line 8' $cpus.err
done
cmp 0.json 0-63.json && cmp 0.err 0-63.err && echo "the same"
