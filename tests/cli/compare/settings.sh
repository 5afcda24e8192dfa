# SPDX-License-Identifier: MIT
# Settings that differ stand beside the answer, not the job's number; analyze prints all of them.
trace() { # DIRECTORY ENV
    mkdir "$1"
    for rank in 0 1; do
        cat >"$1/specter_trace_rank$rank.jsonl" <<END
{"event":"init","version":1,"run":"$1","rank":$rank,"world_size":2,"local_rank":$rank,"sync_mode":0,"pid":1,"host":"a","mono_ns":0,"real_ns":1,"coverage":["nccl"],"sample":1,"nccl":22809,"cuda":13000,"gpus":[],"env":{$2}}
{"event":"comm","time_us":1,"comm":"c","comm_rank":$rank,"comm_size":2,"device":0,"parent":null,"split_seq":null,"color":null,"members":null}
{"id":0,"type":"nccl","op":"AllReduce","comm":"c","seq":0,"count":1024,"dtype":"fp16","bytes":2048,"start_us":10,"duration_us":5,"device":0,"stream":1,"tid":1,"host_us":5,"timing":"device"}
{"event":"shutdown","time_us":100,"total_ops":1,"dropped":0}
END
    done
}
trace base '"NCCL_ALGO":"Ring","SLURM_JOB_ID":"1","NCCL_EMPTY":""'
trace test '"NCCL_ALGO":"Tree","SLURM_JOB_ID":"2","NCCL_MAX_CTAS":"32\u001b[2J"'
"$SPECTER" compare base test 2>/dev/null | sed -n '/Settings/,/^$/p'
"$SPECTER" compare base test --json - 2>/dev/null | tr -d '\t\n' | grep -o '"settings":[^]]*]'
"$SPECTER" analyze test --table settings 2>/dev/null
