# job.sbatch: any program as a recorded job, here under specter alone, recorded on a disk of the nodes. A second job
# of the name keeps what the first one left; one whose program fails says so and lists what there is.
. "$ROOT/tests/cli/slurm/common.bash"
export SCRATCH=$PWD/scratch SPECTER_ROOT=$ROOT EMU_DIR=$PWD EMU_FABRIC=$PWD/fabric.conf LOCAL=$PWD/disk PROFILE_MODE=specter
export PYTHON=python3 BUILD SPECTER train small
sed 's/^gpus_per_node .*/gpus_per_node = 4/' "$ROOT/tests/emu/fabric/a100.conf" >fabric.conf
mkdir scratch disk
cat >job.sh <<'J'
for command in "$train $small --iters 3" "$train $small --iters 4" false; do
    sbatch --wait --nodes=2 -o %j.txt "$ROOT/scripts/slurm/job.sbatch" --name mine -- \
        sh -c 'NCCL_HOSTID=n$SLURM_NODEID exec "$@"' sh $command
    echo "status $?"
done
J
on_slurm timeout 100 bash job.sh || { cat slurm.log; exit 1; }
# Of a task that fails srun ends the others, and one of these may be the one whose status it has.
failed='s/status 143/status 1/'
grep status slurm.log | sed "$failed"
for job in 1 2 3; do
    echo "-- $job"
    sed "s|$PWD/||g; s|$ROOT/||g; s/[0-9]\{8\}_[0-9]\{6\}/TIME/g" $job.txt |
        sed "$failed" | sed -n '/^specter: [0-9]/p; /^job.sh: /p; /^scratch.*:$/,$p' | grep -v 'no libnccl-net'
done
# Two jobs of one name at once: the second one leaves the first one's files alone.
cat >both.sh <<'J'
first=$(sbatch --parsable --nodes=1 -o first.txt "$ROOT/scripts/slurm/job.sbatch" --name mine -- sleep 1000)
until [[ -e scratch/ccl-bench-traces/mine/.job ]]; do sleep 0.1; done
sbatch --wait --nodes=1 -o second.txt "$ROOT/scripts/slurm/job.sbatch" --name mine -- true
echo "status $?"
scancel $first
J
on_slurm timeout 100 bash both.sh
grep status slurm.log
sed "s|$PWD/||g" second.txt
find scratch -name '*.jsonl' | sed 's/[0-9]\{8\}_[0-9]\{6\}/TIME/; s/rank[0-9]/rankN/' | sort | uniq -c
