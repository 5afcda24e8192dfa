# SPDX-License-Identifier: MIT
# Four ranks, cp=2 x pp=2 (ranks 0 1 | 2 3), all messages on the one communicator of all: 0 -> 1 goes
# around the ring of the context, 3 MiB, 0 -> 2 to the next stage, 1 MiB. A pipeline in the grid does
# not make every message its own.
file() {
    local r=$1 at=10 id=0 op
    echo '{"event":"init","version":1,"run":"x","rank":'"$r"',"world_size":4,"local_rank":'"$r"',"sync_mode":0,"pid":'"$((100 + r))"',"host":"n0","mono_ns":1000000,"real_ns":1700000000000000000,"coverage":["nccl","cublas"],"sample":1,"nccl":22809,"cuda":13000,"gpus":[{"device":0,"name":"NVIDIA H100 80GB HBM3","sm":"9.0","pci":"x"}],"env":{}}'
    echo '{"event":"clock","device":0,"dev_us":0.0,"mono_ns":1000000,"real_ns":1700000000000000000,"err_ns":0}'
    echo '{"event":"comm","time_us":0.0,"comm":"w","comm_rank":'"$r"',"comm_size":4,"device":0,"parent":null,"split_seq":null,"color":null,"key":null,"name":"world","nodes":1}'
    shift
    for op; do
        IFS=: read -r what peer mib <<<"$op"
        echo '{"id":'$id',"type":"nccl","op":"'$what'","start_us":'$at'.0,"duration_us":50.0,"bytes":'$((mib << 20))',"count":'$((mib << 19))',"dtype":"fp16","redop":null,"comm":"w","comm_rank":'"$r"',"comm_size":4,"seq":null,"peer":'$peer',"p2p_seq":0,"device":0,"stream":1,"tid":0,"group":null,"host_us":'$((at - 5))'.0,"host_end_us":'$((at - 4))'.0,"timing":"device"}'
        at=$((at + 100)) id=$((id + 1))
    done
    echo '{"event":"shutdown","time_us":500.0,"total_ops":'$id',"dropped":0}'
}
mkdir traces
file 0 Send:1:3 Send:2:1 >traces/specter_trace_rank0.jsonl
file 1 Recv:0:3 >traces/specter_trace_rank1.jsonl
file 2 Recv:0:1 >traces/specter_trace_rank2.jsonl
file 3 >traces/specter_trace_rank3.jsonl
"$SPECTER" metrics traces --metric traffic_distribution,coll_call_num --parallel cp=2,pp=2
echo "status $?"
