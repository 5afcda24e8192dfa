# The library alone: SPECTER_OUTPUT defaults to the current folder, SPECTER_SYNC to 0.
set -m
export LD_LIBRARY_PATH=$BUILD/emu/lib
train=("$ROOT/examples/launch.sh" -n 2 "$BUILD/examples/train" --iters 1 --layers 1 --buckets 1
    --hidden 64 --tokens 64)
LD_PRELOAD=$LIBSPECTER "${train[@]}"
ls
mkdir elsewhere
LD_PRELOAD=$LIBSPECTER SPECTER_OUTPUT=$PWD/elsewhere SPECTER_SYNC=1 "${train[@]}" >/dev/null
ls elsewhere
head -q -n 1 *.jsonl elsewhere/*.jsonl | grep -o '"sync_mode":[0-9]'
tail -q -n 1 *.jsonl elsewhere/*.jsonl | grep -o '"total_ops":[0-9]*,"dropped":[0-9]*'
# Both ranks of a run share its name, two runs (each a job of the shell) do not.
head -q -n 1 *.jsonl elsewhere/*.jsonl | grep -o '"run":"[^"]*"' | uniq -c | awk '{ print $1 }'
