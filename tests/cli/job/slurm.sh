# Slurm's output on a job beside its traces: nodes of ranks, how it ended; and where the two contradict each other.
. "$ROOT/tests/cli/job/job.bash"
traces named 123.0 nid001 nid001.hpc nid002 nid002
scontrol 'TIMEOUT Reason=TimeLimit' 'nid[001-002]' 2 4 >named/job.txt && say 'hosts that are nodes' named
"$SPECTER" analyze named 2>/dev/null | sed -n 2,4p
scontrol 'TIMEOUT Reason=TimeLimit' 'nid[001-004]' 4 4 >named/job.txt && say 'more nodes than ranks are on' named
scontrol 'TIMEOUT Reason=TimeLimit' 'nid[002-003]' 2 4 >named/job.txt && say 'other nodes' named
scontrol 'TIMEOUT Reason=TimeLimit' 'nid[007-008]' 2 4 >named/job.txt && say 'all other nodes' named
scontrol 'TIMEOUT Reason=TimeLimit' 'nid[001-002]' 2 4 99 >named/job.txt && say 'another job' named

traces boxes 123.0 3f2a 3f2a 77b0 77b0
exit=1:0 scontrol 'FAILED Reason=NonZeroExitCode' 'nid[001-002]' 2 4 >boxes/job.txt && say 'hosts of containers' boxes
scontrol 'NODE_FAIL Reason=NodeDown' 'nid[001-002]' 2 2 >boxes/job.txt && say 'a launcher a node' boxes
scontrol 'OUT_OF_MEMORY Reason=OutOfMemory' 'nid[001-002]' 2 16 >boxes/job.txt && say 'other tasks' boxes
scontrol 'COMPLETED Reason=None' 'nid[001-003]' 3 4 >boxes/job.txt && say 'tasks that are not told' boxes
scontrol 'RUNNING Reason=None' 'nid[001-004]' 4 4 >boxes/job.txt && say 'a host on two nodes' boxes
{
    scontrol 'CANCELLED by 1000 Reason=None' 'nid[001-002]' 2 4 122
    scontrol 'RUNNING Reason=None' 'nid[003-004]' 2 4
} >boxes/job.txt && say 'two jobs' boxes

traces none other "" "" "" ""
scontrol 'COMPLETED Reason=None' 'nid[001-002]' 2 4 >none/job.txt
printf '%s\n' SLURM_JOB_ID=123 SLURM_JOB_PARTITION=gpu 'SLURM_JOB_NODELIST=nid[001-002]' SLURM_NTASKS=4 \
    SLURM_TASKS_PER_NODE=3,1 'PATH=/bin' >none/env && say 'no hosts; tasks of each node in the environment' none
rm none/job.txt
printf 'export SLURM_JOB_ID="5"\ndeclare -x SLURM_ARRAY_JOB_ID="4"\nSLURM_ARRAY_TASK_ID=1\nSLURM_JOB_NODELIST=r[1-2]n[08-09]\n%s\n' \
    'SLURM_TASKS_PER_NODE=1(x4)' >none/env && say 'an array task' none
printf '%s\n' SLURM_JOB_ID=3 SLURM_HET_SIZE=2 SLURM_JOB_NODELIST=n1 SLURM_TASKS_PER_NODE=1 SLURM_NTASKS=1 \
    SLURM_JOB_NODELIST_HET_GROUP_0=n1 SLURM_JOB_NODELIST_HET_GROUP_1='n[2-3]' SLURM_TASKS_PER_NODE_HET_GROUP_0=2 \
    SLURM_TASKS_PER_NODE_HET_GROUP_1='1(x2)' >none/env && say 'a heterogeneous job' none
printf '%s\n' SLURM_JOB_ID=3 'SLURM_JOB_NODELIST=n[1-2]' 'SLURM_TASKS_PER_NODE=2(x2)' SLURM_DISTRIBUTION=cyclic \
    >none/env && say 'another distribution' none
printf '%s\n' 'SLURM_JOB_ID=$1' 'SLURM_JOB_NODELIST=n[1-2' 'SLURM_TASKS_PER_NODE=2(x2)' >none/env && say 'a script, damage' none
rm none/env
part() { scontrol 'RUNNING Reason=None' "n$1" 1 2 "$((122 + $1))" | sed "1s/JobName/HetJobId=123 HetJobOffset=$(($1 - 1)) JobName/"; }
{ part 1 && part 2; } >none/job.txt
say 'a heterogeneous job of scontrol' none
rm none/job.txt
printf 'g1\ng2\n' >none/hostnames && say 'names alone' none
mkdir -p above && mv none above/traces && mv above/traces/hostnames above && say 'above the traces' above

cat >boxes/job.json <<'J'
{"jobs": [{"account": "", "array_job_id": {"set": true, "infinite": false, "number": 0}, "exit_code": {"status": ["SUCCESS"],
 "return_code": {"set": true, "number": 0}, "signal": {"id": {"set": false, "number": 0}}}, "job_id": 123, "job_state": ["TIMEOUT"],
 "name": "t\u001b[1m", "nodes": "nid[001-002]", "partition": "gpu", "state_reason": "TimeLimit", "start_time": {"set": true, "number": 1000},
 "end_time": {"set": true, "number": 2801}, "tasks": {"set": true, "number": 4}}], "meta": {"slurm": {"release": "24.05"}}}
J
rm boxes/job.txt && say 'JSON of scontrol' boxes
head -c 330 boxes/job.json >boxes/cut && mv boxes/cut boxes/job.json && say 'JSON that is cut' boxes
cat >boxes/job.json <<'J'
{"jobs": [{"job_id": 123, "name": "t", "nodes": "nid[001-002]", "partition": "gpu", "state": {"current": ["OUT_OF_MEMORY"], "reason": "None"},
 "time": {"elapsed": 90}, "exit_code": {"return_code": {"number": 0}, "signal": {"id": {"number": 9}}}}], "meta": {"Slurm": {}}}
J
say 'JSON of sacct' boxes

echo '== alone'
status=0
"$SPECTER" analyze boxes/job.json 2>&1 || echo "status $?"
