# Sourced, not run: traces of a job, and what schedulers print of it.

# traces DIR RUN HOST...: a trace for each host, rank by rank: one AllReduce.
traces() {
    local dir=$1 run=$2 rank=0 host
    shift 2
    mkdir -p "$dir"
    for host; do
        cat >"$dir/specter_trace_rank$rank.jsonl" <<T
{"event":"init","version":1,"run":"$run","rank":$rank,"world_size":$#,"local_rank":0,"sync_mode":0,"pid":$((100 + rank)),"host":"$host","mono_ns":5000000000,"real_ns":1700000000000000000,"coverage":["nccl"],"sample":1,"nccl":22809,"cuda":13000,"gpus":[{"device":0,"name":"NVIDIA H100 80GB HBM3","sm":"9.0","pci":"0000:01:00.0"}],"env":{}}
{"event":"comm","time_us":10.0,"comm":"w","comm_rank":$rank,"comm_size":$#,"device":0,"parent":null,"split_seq":null,"color":null,"key":null,"name":null,"nodes":null}
{"id":0,"type":"nccl","op":"AllReduce","start_us":100.0,"duration_us":40.0,"bytes":4096,"count":1024,"dtype":"fp32","redop":"sum","comm":"w","comm_rank":$rank,"comm_size":$#,"seq":0,"device":0,"stream":0,"tid":0,"group":null,"host_us":90.0,"host_end_us":95.0,"timing":"device"}
{"event":"shutdown","time_us":500.0,"total_ops":1,"dropped":0,"summary":{}}
T
        rank=$((rank + 1))
    done
}

# scontrol STATE NODELIST NODES TASKS [ID]: a record as Slurm 22.05 prints it.
scontrol() {
    cat <<T
JobId=${5-123} JobName=train a model
   UserId=ada(1000) GroupId=ada(1000) MCS_label=N/A
   Priority=4294901759 Nice=0 Account=(null) QOS=(null)
   JobState=$1 Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=${exit-0:0}
   RunTime=00:30:00 TimeLimit=00:30:00 TimeMin=N/A
   Partition=gpu AllocNode:Sid=localhost:0
   ReqNodeList=x[1-9] ExcNodeList=(null)
   NodeList=$2
   BatchHost=n1
   NumNodes=$3 NumCPUs=4 NumTasks=$4 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*

T
}

# Says what the job adds, and on which host each rank is.
say() { # NAME DIR
    echo "== $1"
    status=0
    "$SPECTER" analyze "$2" --table ranks --format csv >out 2>err || status=$?
    ((status == 0)) || echo "status $status"
    grep -v 'clock' err || true
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "host") at = i; next } { printf "%s%s", sep, $at; sep = " " }
             END { print "" }' out
}
