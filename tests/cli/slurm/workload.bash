# SPDX-License-Identifier: MIT
# A workload of examples/workloads as its run.sbatch runs it, on two virtual nodes, with the example in place of the
# model. Prints what the job has left, and that each of the seven metrics answers.
. "$ROOT/tests/cli/slurm/common.bash"

# workload NAME PYTHON
workload() {
    ! command -v nsys >/dev/null || { echo "nsys is here, which cannot record the stand-ins"; exit 77; }
    export name=$1-perlmutter-16 real_python=$2 SCRATCH=$PWD/scratch NERSC_ALLOCATION=m0000 PYTHON=$PWD/python SPECTER
    MASTER_PORT=$((20000 + RANDOM % 10000)) # of several tests at once each has its own
    while (: <>"/dev/tcp/127.0.0.1/$MASTER_PORT") 2>/dev/null; do ((MASTER_PORT++)); done
    export MASTER_PORT
    export EMU_DIR=$PWD EMU_FABRIC=$PWD/fabric.conf BUILD
    sed 's/^gpus_per_node .*/gpus_per_node = 4/' "$ROOT/tests/emu/fabric/a100.conf" >fabric.conf
    # Both nodes are this machine: to NCCL they are two by this name.
    printf '#!/bin/sh\nNCCL_HOSTID=n$SLURM_NODEID exec %s "$@"\n' "$real_python" >python
    chmod +x python
    mkdir scratch
    cat >job.sh <<'J'
"$ROOT/examples/workloads/$name/run.sh" --example --steps 5
for i in {1..1200}; do # a job that cannot start stays there
    [[ -n $(squeue -h) ]] || exit 0
    sleep 0.2
done
squeue
exit 1
J
    export ROOT
    on_slurm bash job.sh || { cat slurm.log; exit 1; }
    results=scratch/ccl-bench-traces/$name
    sed -n '/example/p; /^specter: /p; /:$/,$p' "$results"_*.log | sed "s|$PWD/||g; s|$ROOT/||g; s|$real_python|PYTHON|; s|^[0-9:]* [a-z]*: srun.*|srun|
        s/[0-9]\{8\}_[0-9]\{6\}/TIME/g; s/[0-9.]* s on/N s on/; s/, [0-9]* operations/, N operations/; s|$PWD|.|g" |
        grep -v -e '^srun' -e '^job.sh: no libnccl-net'
    (cd "$results" && find . -type f -o -type l | sed 's/[0-9]\{8\}_[0-9]\{6\}/TIME/' | sort)
    for metric in coll_call_num iter_time throughput_tokens pipeline_bubble comm_comp_overlap straggler_lag \
        traffic_distribution; do
        value=$("$ROOT/scripts/ccl-metrics" --trace "$results" --metric ${metric}_16 2>why) || value=$(cat why)
        [[ $value =~ ^[0-9.e+-]+$ ]] && echo "$metric: a number" || echo "$metric: $value"
    done
}
torch=/usr/bin/python3
has_torch() {
    "$torch" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null ||
        { echo "no PyTorch for $torch"; exit 77; }
}
