. "$ROOT/tests/cli/slurm/workload.bash"
has_torch
workload qwen3-32b-torchtitan-3d "$torch"
