# SPDX-License-Identifier: MIT
# Six ranks with communicators of two and of three neighbours, which is no grid: a message is not a
# pipeline's for that, nor is an all-to-all the experts'.

# op ID TYPE COMM COMM_SIZE COMM_RANK SEQ PEER P2P_SEQ
op() {
    echo '{"id":'"$1"',"type":"nccl","op":"'"$2"'","start_us":'"$((10 + 100 * $1))"',"duration_us":50.0,"bytes":1048576,"count":131072,"dtype":"fp16","redop":null,"comm":"'"$3"'","comm_rank":'"$5"',"comm_size":'"$4"',"seq":'"$6"',"peer":'"$7"',"p2p_seq":'"$8"',"device":0,"stream":1,"tid":0,"group":null,"host_us":'"$((5 + 100 * $1))"',"host_end_us":'"$((6 + 100 * $1))"',"timing":"device"}'
}

# begin RANK
begin() {
    echo '{"event":"init","version":1,"run":"x","rank":'"$1"',"world_size":6,"local_rank":'"$1"',"sync_mode":0,"pid":'"$((100 + $1))"',"host":"n0","mono_ns":1000000,"real_ns":1700000000000000000,"coverage":["nccl","cublas"],"sample":1,"nccl":22809,"cuda":13000,"gpus":[{"device":0,"name":"NVIDIA H100 80GB HBM3","sm":"9.0","pci":"x"}],"env":{}}'
    echo '{"event":"clock","device":0,"dev_us":0.0,"mono_ns":1000000,"real_ns":1700000000000000000,"err_ns":0}'
}
end() { echo '{"event":"shutdown","time_us":500.0,"total_ops":'"$1"',"dropped":0}'; }

mkdir traces
for r in 0 1 2 3 4 5; do
    {
        begin $r
        if ((r % 2 == 0)); then
            op 0 Send pair$((r / 2)) 2 0 null 1 0
        else
            op 0 Recv pair$((r / 2)) 2 1 null 0 0
        fi
        op 1 AlltoAll triple$((r / 3)) 3 $((r % 3)) 0 null null
        end 2
    } >traces/specter_trace_rank$r.jsonl
done
"$SPECTER" metrics traces --metric traffic_distribution
echo "status $?"
