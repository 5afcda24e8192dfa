# SPDX-License-Identifier: MIT
# An on-demand dump: no rank, no step, no communication; all of it is said, and nothing is made up.
cat >libkineto_activities_4711.json <<'T'
{"schemaVersion":1,"distributedInfo":{"backend":"nccl","world_size":2},"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mul","pid":9,"tid":9,"ts":1000,"dur":50,"args":{"External id":5}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":1010,"dur":5,"args":{"External id":5,"correlation":77}},
{"ph":"X","cat":"kernel","name":"mul_kernel","pid":0,"tid":7,"ts":1020.500,"dur":79.5,"args":{"External id":5,"device":0,"stream":7,"correlation":77,"est. achieved occupancy %":inf}}]}
T
"$SPECTER" analyze --full libkineto_activities_4711.json --table ranks,operations --format csv 2>&1
