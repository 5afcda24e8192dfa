# SPDX-License-Identifier: MIT
# Every metric of two ranks whose numbers are counted by hand.
#
# Steps of the host 100 us each (10-110, 110-210, 210-310 us). In each, on both ranks: a product of
# 60 us, an AllReduce of 4 MiB beside its last 20 us and 20 us (rank 0) beyond; rank 1 starts it 10 us
# later than rank 0 and both end together. So per rank and step: compute 60, communication 40 (rank 0)
# and 30 (rank 1), overlap 20 and 10 us.
. "$ROOT"/tests/cli/built.bash
needs libyaml # of the card
file() {
    local r=$1 late=$2 s t
    echo '{"event":"init","version":1,"run":"x","rank":'"$r"',"world_size":2,"local_rank":'"$r"',"sync_mode":0,"pid":'"$((100 + r))"',"host":"n0","mono_ns":1000000,"real_ns":1700000000000000000,"coverage":["nccl","cublas","deps","marks"],"sample":1,"nccl":22809,"cuda":13000,"gpus":[{"device":0,"name":"NVIDIA H100 80GB HBM3","sm":"9.0","pci":"x"}],"env":{}}'
    echo '{"event":"clock","device":0,"dev_us":0.0,"mono_ns":1000000,"real_ns":1700000000000000000,"err_ns":0}'
    echo '{"event":"comm","time_us":0.0,"comm":"w","comm_rank":'"$r"',"comm_size":2,"device":0,"parent":null,"split_seq":null,"color":null,"key":null,"name":null,"nodes":1}'
    for s in 0 1 2; do
        t=$((10 + 100 * s))
        echo '{"event":"mark","kind":"iteration","name":"step","time_us":'$t'.0,"tid":0}'
        echo '{"id":'$((2 * s))',"type":"cublas","op":"GemmEx","start_us":'$((t + 10))'.0,"duration_us":60.0,"m":4096,"n":1024,"k":4096,"batch":1,"dtype":"bf16","dtype_b":"bf16","dtype_c":"bf16","compute":"fp32","trans":"NN","lda":4096,"ldb":4096,"ldc":4096,"beta":0,"epilogue":"none","tflops":572.7,"device":0,"stream":0,"tid":0,"host_us":'$((t + 1))'.0,"host_end_us":'$((t + 2))'.0,"timing":"device"}'
        echo '{"id":'$((2 * s + 1))',"type":"nccl","op":"AllReduce","start_us":'$((t + 50 + late))'.0,"duration_us":'$((40 - late))'.0,"bytes":4194304,"count":2097152,"dtype":"bf16","redop":"sum","comm":"w","comm_rank":'"$r"',"comm_size":2,"seq":'$s',"device":0,"stream":1,"tid":0,"group":null,"host_us":'$((t + 3))'.0,"host_end_us":'$((t + 4))'.0,"timing":"device"}'
    done
    echo '{"event":"mark","kind":"iteration","name":"step","time_us":310.0,"tid":0}'
    echo '{"event":"shutdown","time_us":320.0,"total_ops":6,"dropped":0}'
}
mkdir traces
file 0 0 >traces/specter_trace_rank0.jsonl
file 1 10 >traces/specter_trace_rank1.jsonl
cat >traces/workload_card.yaml <<'Y'
# 4 sequences of 1000 tokens a replica, 2 replicas: 8000 tokens a step
workload:
  model: {precision: bf16, model_arch: {num_params: 1000000, num_layers: null}}
  data: {batch_size: 4, seq_len: 1000}
Model-executor:
  model_plan_parallelization:
    dp_replicate: 2
    dp_shard: 1
    tp: 1
Y
"$SPECTER" metrics traces --full
echo "status $?"
"$SPECTER" metrics traces --metric iter_time_16,mfu --json -
echo "status $?"
"$SPECTER" metrics traces
