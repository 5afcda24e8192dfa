# SPDX-License-Identifier: MIT
# --shard auto: the part that a launcher's variables say, written to a file of its own; all parts are the whole. What
# the variables leave out or contradict is one line.
. "$ROOT"/tests/cli/sweep/grid.bash
"$SPECTER" sweep grid.json >whole.csv 2>/dev/null
auto() { env "$@" "$SPECTER" sweep grid.json --shard auto -o 'part{shard}.csv' 2>&1; }
whole() { # NAME: the parts that were written, in order, are whole.csv
    sed -s 1d $(ls part*.csv | sort -V) | cmp - <(sed 1d whole.csv) && echo "$1: $(ls part*.csv | wc -l) parts"
    rm part*.csv
}
quiet() { auto "$@" >/dev/null; }
for i in 0 1 2; do quiet OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=3; done
whole mpirun
for i in 0 1 2 3; do quiet SLURM_PROCID=$i SLURM_STEP_NUM_TASKS=4 SLURM_STEP_ID=0; done
whole srun
for i in 0 1; do quiet PMI_RANK=$i PMI_SIZE=2; done
whole PMI
# An MPI launcher that srun started as one task.
for i in 0 1; do
    quiet PMI_RANK=$i PMI_SIZE=2 MPI_LOCALRANKID=$i SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_ID=0
done
whole 'PMI in a step'
# An array's element whose batch script starts one task.
for i in 3 5 7; do
    quiet SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_ID=0 SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=3 \
        SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_STEP=2
done
whole array
for i in 0 1; do quiet JOB_COMPLETION_INDEX=$i JOB_COMPLETIONS=2; done
whole Kubernetes
quiet SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_ID=0
whole 'one task'
for wrong in "" JOB_COMPLETION_INDEX=0 "PMI_RANK=2 PMI_SIZE=2" "PMI_RANK=x PMI_SIZE=2" "PMI_RANK=0 PMI_SIZE=0" \
    "SLURM_ARRAY_TASK_ID=4 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_STEP=2" \
    "PMI_RANK=-1 PMI_SIZE=2" "PMI_RANK=0 PMI_SIZE=99999999999"; do
    auto $wrong
    echo "status $?"
done
ls part*.csv 2>/dev/null
exit 0
