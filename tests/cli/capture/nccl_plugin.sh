# --nccl-plugin: a line for each collective of the example, on every rank the same choice, and what the
# program prints stays its own.
export LD_LIBRARY_PATH=$BUILD/emu/lib
train=("$ROOT/examples/launch.sh" -n 4 "$BUILD/examples/train" --tp 2 --iters 2 --layers 2 --hidden 256 --tokens 128)
"${train[@]}" >plain.out
"$SPECTER" capture -o traces --nccl-plugin -- "${train[@]}" >traced.out 2>/dev/null || echo "status $?"
cmp plain.out traced.out
for file in traces/*; do
    grep -c '"type":"nccl"' "$file"
    grep -c '"type":"plugin"' "$file"
done | sort | uniq -c | awk '{ print $1, $2 }'
grep -h '"type":"plugin"' traces/* | sed -E 's/"kernel_us":[0-9.]+/timed/' | sort | uniq -c | awk '{ print $1 }' | sort | uniq -c | awk '{ print $1, $2 }'
"$SPECTER" analyze --full traces >/dev/null 2>err || { echo "analyze: $?"; cat err; }
