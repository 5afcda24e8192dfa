# SPDX-License-Identifier: MIT
# Pairs and pairs of pairs, and nothing in the operations that tells which are tensor-parallel: scale 1
# needs no answer, a larger one is refused with what could be said.
gpus='"gpus":[{"device":0,"name":"NVIDIA H100 80GB HBM3"}]'
for rank in 0 1 2 3; do
    {
        echo "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":$rank,\"world_size\":4,\"host\":\"h\",\"mono_ns\":1000,\"real_ns\":1000,\"coverage\":[\"nccl\",\"cublas\",\"deps\"],$gpus}"
        echo "{\"event\":\"comm\",\"time_us\":0,\"comm\":\"pair$((rank / 2))\",\"comm_rank\":$((rank % 2)),\"comm_size\":2,\"device\":0}"
        echo "{\"event\":\"comm\",\"time_us\":0,\"comm\":\"far$((rank % 2))\",\"comm_rank\":$((rank / 2)),\"comm_size\":2,\"device\":0}"
        for ((i = 0; i < 4; i++)); do
            t=$((1000 * (i + 1)))
            echo "{\"id\":$((3 * i)),\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":$((t + 5)).0,\"duration_us\":100.0,\"bytes\":1048576,\"count\":524288,\"dtype\":\"fp16\",\"redop\":\"sum\",\"comm\":\"pair$((rank / 2))\",\"comm_rank\":$((rank % 2)),\"comm_size\":2,\"seq\":$i,\"device\":0,\"stream\":1,\"tid\":0,\"host_us\":$t,\"host_end_us\":$((t + 2)).0,\"timing\":\"device\"}"
            echo "{\"id\":$((3 * i + 1)),\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":$((t + 105)).0,\"duration_us\":100.0,\"bytes\":1048576,\"count\":524288,\"dtype\":\"fp16\",\"redop\":\"sum\",\"comm\":\"far$((rank % 2))\",\"comm_rank\":$((rank / 2)),\"comm_size\":2,\"seq\":$i,\"device\":0,\"stream\":1,\"tid\":0,\"host_us\":$((t + 10)),\"host_end_us\":$((t + 12)).0,\"timing\":\"device\"}"
        done
        echo '{"event":"shutdown","time_us":9000.0,"total_ops":8,"dropped":0}'
    } >specter_trace_rank$rank.jsonl
done
"$SPECTER" replay --full . | sed -n '/^parallelism/,/^iteration/p; /left out: the/,/^  - same/p'
"$SPECTER" replay --full . --scale 1 >/dev/null && echo "scale 1 is no question"
"$SPECTER" replay --full . --scale 2
echo "status $?"
for grid in tp=2:1,dp=2:2 dp=2:1,tp=2:2 dp=4; do
    "$SPECTER" replay --full . --scale 2 --parallel $grid | grep -E '^parallel|communicators of'
done
"$SPECTER" replay --full . --scale 1 --json - | grep -A 1 '"candidates"\|"grid"'
# Two axes of one role are one coordinate: rank 3 is the fourth along dp.
"$SPECTER" replay --full . --scale 1 --parallel dp=2:1,dp=2:2 --json - | grep -A 2 '"place"' | tail -n 2
