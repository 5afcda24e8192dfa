# SPDX-License-Identifier: MIT
# Steps that nothing marks, and that are found because they repeat, are samples as marked ones are.
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
trace base 50
trace test 70
"$SPECTER" compare base test 2>/dev/null | sed -n '1,/^$/p'

# Repeats as folders in one: the same answer as with commas between them.
mkdir many_base many_test
for i in 1 2 3; do
    trace many_base/run$i $((50 + i))
    trace many_test/run$i $((70 + i))
done
touch many_base/run1.log
"$SPECTER" compare --all-runs many_base many_test --json all.json 2>/dev/null | sed -n '1,/^$/p'
"$SPECTER" compare many_base/run1,many_base/run2,many_base/run3 many_test/run1,many_test/run2,many_test/run3 --name many_base,many_test --json commas.json >/dev/null 2>&1
cmp all.json commas.json
"$SPECTER" compare --all-runs many_base base 2>&1 | tail -n 1
"$SPECTER" compare --all-runs many_base missing 2>&1 | tail -n 1
