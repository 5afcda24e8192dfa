# SPDX-License-Identifier: MIT
# Where other hardware changes nothing, the reason is named.
gpus='"gpus":[{"device":0,"name":"NVIDIA H100 80GB HBM3"}]'
{
    echo "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":0,\"world_size\":1,\"host\":\"h\",\"mono_ns\":1000,\"real_ns\":1000,\"coverage\":[\"nccl\",\"cublas\",\"deps\"],$gpus}"
    for ((i = 0, t = 1000; i < 5; i++, t += 1000)); do # the host takes 1 ms for 100 us of work
        echo "{\"id\":$i,\"type\":\"cublas\",\"op\":\"GemmEx\",\"start_us\":$((t + 5)).0,\"duration_us\":100.0,\"m\":2048,\"n\":2048,\"k\":2048,\"batch\":1,\"dtype\":\"fp16\",\"dtype_b\":\"fp16\",\"dtype_c\":\"fp16\",\"compute\":\"fp32\",\"device\":0,\"stream\":1,\"tid\":0,\"host_us\":$t,\"host_end_us\":$((t + 2)).0,\"timing\":\"device\"}"
    done
    echo '{"event":"shutdown","time_us":6000.0,"total_ops":5,"dropped":0}'
} >specter_trace_rank0.jsonl
why() {
    "$SPECTER" replay --full . --scale 1 "$@" >out.txt
    awk '/changes nothing/ { on = 1 } on' out.txt
}
why --network dgx_a100_200g
why --gpu a100_sxm --network dgx_h100_400g
grep -m 1 -A1 '^critical path' out.txt
why --gpu a100_sxm --from-gpu a100_sxm --from-network dgx_a100_200g # the same hardware: nothing to say
