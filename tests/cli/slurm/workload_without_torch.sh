# Where there is no PyTorch, examples/train.c runs in the model's place, which is said; so is what it leaves out.
. "$ROOT/tests/cli/slurm/workload.bash"
python3 -c '' 2>/dev/null || { echo "no python3"; exit 77; }
python3 -m venv --without-pip empty || { echo "python3 makes no virtual environment"; exit 77; }
workload deepseek-v2-lite-torchtitan-dp+tp "$PWD/empty/bin/python3"
