# Copies, kernels that were only counted and launches of graphs, in text and in JSON.
op() { # ID TYPE START DURATION MORE
    echo "{\"id\":$1,\"type\":\"$2\",\"start_us\":$3,\"duration_us\":$4,\"device\":0,\"stream\":1,\"tid\":0,\"host_us\":$3,\"host_end_us\":$3,\"timing\":\"${6:-device}\",$5}"
}
{
    echo '{"event":"init","version":1,"run":"r","rank":0,"world_size":1,"host":"h","mono_ns":1000,"real_ns":1000,"coverage":["nccl","cublas","deps","copies","launches","graphs"],"gpus":[]}'
    for step in 1 2 3 4; do
        echo "{\"event\":\"mark\",\"name\":\"step\",\"kind\":\"iteration\",\"time_us\":${step}000.0}"
        op $((10 * step)) copy ${step}100.0 50.0 '"kind":"h2d","bytes":1000000'
        op $((10 * step + 1)) copy ${step}900.0 20.0 '"kind":"memset","bytes":4096'
        echo "{\"type\":\"untraced\",\"launches\":37,\"classes\":{\"elementwise\":30,\"reduction\":7},\"device\":0,\"stream\":1,\"tid\":0,\"host_us\":${step}200.0,\"host_end_us\":${step}300.0,\"max_gap_us\":12.5}"
        op $((10 * step + 2)) graph ${step}400.0 300.0 "\"graph\":2,\"launch\":$step,\"op_count\":2"
    done
    for id in 80 81; do
        op $id nccl 10.0 null '"op":"AllReduce","bytes":4194304,"count":1048576,"dtype":"fp32","comm":"c","comm_rank":0,"comm_size":1,"seq":'$id',"graph":2' captured
    done
    echo '{"event":"shutdown","time_us":5000.0,"total_ops":14,"dropped":0}'
} >specter_trace_rank0.jsonl
"$SPECTER" analyze --full . --json extra.json
echo "status $?"
sed -n '/"launches":	{/,/}/p; /"copies"/,/"top"/p' extra.json
