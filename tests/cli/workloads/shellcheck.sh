# The scripts for clusters are clean to shellcheck.
command -v shellcheck >/dev/null || { echo "no shellcheck"; exit 77; }
cd "$ROOT" && shellcheck -x scripts/slurm/*.sh scripts/slurm/job.sbatch scripts/ccl-metrics examples/workloads/*/run.sh \
    examples/workloads/*/run.sbatch tests/slurm/run.sh
