# SPDX-License-Identifier: MIT
# Traces of one rank, made by hand.

trace() { # DIRECTORY COLLECTIVE_US: 10 steps of 5 GEMMs and an AllReduce
    local t=10 i
    mkdir "$1"
    {
        echo '{"event":"init","version":1,"run":"'$1'","rank":0,"world_size":1,"local_rank":0,"sync_mode":0,"pid":1,"host":"a","mono_ns":0,"real_ns":1,"coverage":["nccl","cublas"],"sample":1,"nccl":22809,"cuda":13000,"gpus":[],"env":{}}'
        echo '{"event":"comm","time_us":1,"comm":"c","comm_rank":0,"comm_size":1,"device":0,"parent":null,"split_seq":null,"color":null,"members":null}'
        for ((i = 0; i < 60; i++)); do
            if ((i % 6 == 5)); then
                printf '{"id":%d,"type":"nccl","op":"AllReduce","comm":"c","seq":%d,"count":1024,"dtype":"fp16","bytes":2048,"duration_us":%d' $i $((i / 6)) $2
            else
                printf '{"id":%d,"type":"cublas","op":"cublasGemmEx","m":%d,"n":64,"k":64,"batch":1,"dtype":"fp16","duration_us":20' $i $((64 * (i % 6 + 1)))
            fi
            printf ',"start_us":%d,"device":0,"stream":1,"tid":1,"host_us":%d,"host_end_us":%d,"timing":"device"}\n' $t $((i * 2)) $((i * 2 + 1))
            ((t += i % 6 == 5 ? $2 + 1 + i % 4 : 21))
        done
        echo '{"event":"shutdown","time_us":'$((t + 9))',"total_ops":60,"dropped":0}'
    } >"$1/specter_trace_rank0.jsonl"
}
