# SPDX-License-Identifier: MIT
# Two products of known shape, 2 x 4096^3 FLOPs each, in a span of 1000 us, one of them in 200 us: the
# other has no device time. What is counted is a lower bound, and says so. A peak of 989 TFLOPS:
# 137.4 GFLOP take 139 us.
mkdir traces
gemm='"type":"cublas","op":"GemmEx","m":4096,"n":4096,"k":4096,"batch":1,"dtype":"bf16","dtype_b":"bf16","dtype_c":"bf16","compute":"fp32","trans":"NN","lda":4096,"ldb":4096,"ldc":4096,"beta":0,"epilogue":"none","tflops":null,"device":0,"stream":0,"tid":0'
{
    echo '{"event":"init","version":1,"run":"x","rank":0,"world_size":1,"local_rank":0,"sync_mode":0,"pid":1,"host":"n0","mono_ns":1000000,"real_ns":1700000000000000000,"coverage":["nccl","cublas","copies"],"sample":1,"nccl":22809,"cuda":13000,"gpus":[{"device":0,"name":"NVIDIA H100 80GB HBM3","sm":"9.0","pci":"x"}],"env":{}}'
    echo '{"event":"clock","device":0,"dev_us":0.0,"mono_ns":1000000,"real_ns":1700000000000000000,"err_ns":0}'
    echo '{"id":0,'$gemm',"start_us":10.0,"duration_us":200.0,"host_us":5.0,"host_end_us":6.0,"timing":"device"}'
    echo '{"id":1,'$gemm',"start_us":null,"duration_us":null,"host_us":15.0,"host_end_us":16.0,"timing":"none"}'
    echo '{"id":2,"type":"copy","kind":"h2d","bytes":4096,"start_us":1000.0,"duration_us":10.0,"device":0,"stream":0,"tid":0,"host_us":990.0,"host_end_us":991.0,"timing":"device"}'
    echo '{"event":"shutdown","time_us":1200.0,"total_ops":3,"dropped":0}'
} >traces/specter_trace_rank0.jsonl
"$SPECTER" metrics traces --metric hardware_saturation
echo "status $?"
