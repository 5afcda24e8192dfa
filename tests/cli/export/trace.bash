# SPDX-License-Identifier: MIT
# Two ranks, a step of each, two products, a collective that rank 1 is late for, a message, an event
# between two streams, a synchronisation, a copy.

rank_file() {
    local r=$1 late=$2
    echo '{"event":"init","version":1,"run":"x","rank":'"$r"',"world_size":2,"local_rank":'"$r"',"sync_mode":0,"pid":'"$((100 + r))"',"host":"n0","mono_ns":1000000,"real_ns":1700000000000000000,"coverage":["nccl","cublas","deps","marks","copies"],"sample":1,"nccl":22809,"cuda":13000,"gpus":[{"device":0,"name":"NVIDIA H100 80GB HBM3","sm":"9.0","pci":"x"}],"env":{}}'
    echo '{"event":"clock","device":0,"dev_us":0.0,"mono_ns":1000000,"real_ns":1700000000000000000,"err_ns":0}'
    echo '{"event":"comm","time_us":0.0,"comm":"w","comm_rank":'"$r"',"comm_size":2,"device":0,"parent":null,"split_seq":null,"color":null,"key":null,"name":"world","nodes":1}'
    echo '{"event":"mark","name":"step","time_us":5.000,"end_us":190.000,"tid":0}'
    echo '{"id":0,"type":"copy","kind":"h2d","bytes":4096,"start_us":6.000,"duration_us":2.000,"device":0,"stream":0,"tid":0,"host_us":5.000,"host_end_us":5.500,"timing":"device"}'
    echo '{"id":1,"type":"cublas","op":"GemmEx","start_us":'"$((10 + late))"'.000,"duration_us":20.000,"m":64,"n":32,"k":16,"batch":1,"dtype":"fp16","dtype_b":"fp16","dtype_c":"fp16","compute":"fp32","trans":"NT","lda":64,"ldb":32,"ldc":64,"beta":0,"epilogue":"none","tflops":0.003,"device":0,"stream":0,"tid":0,"host_us":'"$((7 + late))"'.000,"host_end_us":'"$((8 + late))"'.000,"timing":"device"}'
    echo '{"type":"dep","kind":"record","cuda_event":1,"stream":0,"tid":0,"host_us":'"$((9 + late))"'.000,"host_end_us":'"$((9 + late))"'.200}'
    echo '{"type":"dep","kind":"wait","cuda_event":1,"stream":1,"tid":0,"host_us":'"$((9 + late))"'.300,"host_end_us":'"$((9 + late))"'.500}'
    echo '{"id":2,"type":"nccl","op":"AllReduce","start_us":'"$((30 + late))"'.000,"duration_us":'"$((50 - late))"'.000,"bytes":1048576,"count":524288,"dtype":"fp16","redop":"sum","comm":"w","comm_rank":'"$r"',"comm_size":2,"seq":0,"device":0,"stream":1,"tid":0,"group":null,"host_us":'"$((10 + late))"'.000,"host_end_us":'"$((11 + late))"'.000,"timing":"device"}'
    if [[ $r == 0 ]]; then
        echo '{"id":3,"type":"nccl","op":"Send","start_us":90.000,"duration_us":5.000,"bytes":2048,"count":1024,"dtype":"fp16","redop":null,"comm":"w","comm_rank":0,"comm_size":2,"seq":null,"peer":1,"p2p_seq":0,"device":0,"stream":1,"tid":0,"group":null,"host_us":85.000,"host_end_us":86.000,"timing":"device"}'
    else
        echo '{"id":3,"type":"nccl","op":"Recv","start_us":88.000,"duration_us":8.000,"bytes":2048,"count":1024,"dtype":"fp16","redop":null,"comm":"w","comm_rank":1,"comm_size":2,"seq":null,"peer":0,"p2p_seq":0,"device":0,"stream":1,"tid":0,"group":null,"host_us":85.000,"host_end_us":86.000,"timing":"device"}'
    fi
    echo '{"type":"sync","kind":"stream","stream":1,"tid":0,"host_us":87.000,"host_end_us":97.000}'
    echo '{"id":4,"type":"nccl","op":"AllGather","start_us":100.000,"duration_us":10.000,"bytes":8192,"count":1024,"dtype":"fp32","redop":null,"comm":"w","comm_rank":'"$r"',"comm_size":2,"seq":1,"device":0,"stream":1,"tid":0,"group":null,"host_us":98.000,"host_end_us":99.000,"timing":"device"}'
    echo '{"event":"shutdown","time_us":200.000,"total_ops":5,"dropped":0}'
}

mkdir traces
rank_file 0 0 >traces/specter_trace_rank0.jsonl
rank_file 1 20 >traces/specter_trace_rank1.jsonl
