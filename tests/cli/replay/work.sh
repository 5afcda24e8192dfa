# A GPU that copies, runs kernels which are only counted, and launches a graph: all of it takes its
# time, and what is known of it is said.
line() { # ID TYPE HOST START DURATION MORE
    echo "{\"id\":$1,\"type\":\"$2\",\"start_us\":$4,\"duration_us\":$5,\"device\":0,\"stream\":1,\"tid\":0,\"host_us\":$3,\"host_end_us\":$(($3 + 2)).0,\"timing\":\"${7:-device}\",$6}"
}
{
    echo '{"event":"init","version":1,"run":"r","rank":0,"world_size":1,"host":"h","mono_ns":1000,"real_ns":1000,"coverage":["nccl","cublas","deps","copies","launches","graphs"],"gpus":[{"device":0,"name":"NVIDIA H100 80GB HBM3"}]}'
    line 90 cublas 1 null null '"op":"GemmEx","m":1024,"n":1024,"k":1024,"batch":1,"dtype":"fp16","dtype_b":"fp16","dtype_c":"fp16","compute":"fp32","graph":2' captured
    for ((step = 1, t = 1000; step < 6; step++, t += 1000)); do
        echo "{\"event\":\"mark\",\"name\":\"step\",\"kind\":\"iteration\",\"time_us\":$t}"
        line $((10 * step)) copy $((t + 5)) $((t + 10)) 50.0 '"kind":"h2d","bytes":1000000'
        line $((10 * step + 1)) cublas $((t + 10)) $((t + 60)) 200.0 '"op":"GemmEx","m":4096,"n":4096,"k":4096,"batch":1,"dtype":"fp16","dtype_b":"fp16","dtype_c":"fp16","compute":"fp32"'
        echo "{\"type\":\"untraced\",\"launches\":37,\"classes\":{\"elementwise\":37},\"device\":0,\"stream\":1,\"tid\":0,\"host_us\":$((t + 20)),\"host_end_us\":$((t + 90)),\"max_gap_us\":12.5}"
        line $((10 * step + 2)) graph $((t + 100)) $((t + 560)) 300.0 "\"graph\":2,\"launch\":$step,\"op_count\":1"
        echo "{\"type\":\"sync\",\"kind\":\"stream\",\"device\":0,\"stream\":1,\"tid\":0,\"host_us\":$((t + 105)),\"host_end_us\":$((t + 864))}"
    done
    echo '{"event":"shutdown","time_us":6000.0,"total_ops":16,"dropped":0}'
} >specter_trace_rank0.jsonl
"$SPECTER" replay --full . --scale 1
"$SPECTER" replay --full . --scale 1 --gpu v100_sxm | grep -i graph
