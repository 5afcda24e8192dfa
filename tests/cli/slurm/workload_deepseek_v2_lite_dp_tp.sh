. "$ROOT/tests/cli/slurm/workload.bash"
has_torch
workload deepseek-v2-lite-torchtitan-dp+tp "$torch"
