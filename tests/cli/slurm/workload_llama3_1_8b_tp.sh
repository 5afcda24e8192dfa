. "$ROOT/tests/cli/slurm/workload.bash"
has_torch
workload llama3.1-8b-torchtitan-tp "$torch"
