# Everything that a job lacks is one line with what to do, and a status; nothing has been run or moved by then.
python3 -c '' 2>/dev/null || { echo "no python3"; exit 77; }
workloads=$ROOT/examples/workloads run=llama3.1-8b-torchtitan-tp-perlmutter-16/run.sh
export BUILD SPECTER
say() {
    "$@" 2>&1 | sed "s|$PWD|.|g; s|$ROOT/||g"
    echo "status ${PIPESTATUS[0]}"
}
say "$workloads/$run" --dry-run
say "$ROOT/scripts/slurm/submit_all.sh"
export SCRATCH=$PWD
say "$workloads/$run" --dry-run
say "$ROOT/scripts/slurm/submit_all.sh"
export NERSC_ALLOCATION=m0000
say "$workloads/$run" --steps none
say "$workloads/$run" --fast
PROFILE_MODE=all say "$workloads/$run"
TRACE_BASE=/proc/none say "$workloads/$run"
say "$ROOT/scripts/slurm/job.sh"
say "$ROOT/scripts/slurm/job.sh" --name x -- true
SCRATCH='' say "$ROOT/scripts/slurm/setup_env.sh"
mkdir copy && cp -r "$workloads" copy/workloads && cp -r "$workloads/../../scripts" . && mkdir examples && mv copy/workloads examples/
sed -i 's/tp: 4/tp: 2/' "examples/workloads/${run%/*}/workload_card.yaml"
say "examples/workloads/$run" --dry-run
