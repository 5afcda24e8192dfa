# --ranks: operations of these ranks only; the others still say who they are.
export LD_LIBRARY_PATH=$BUILD/emu/lib
"$SPECTER" capture -o traces --ranks 0,2-3 -- "$ROOT/examples/launch.sh" -n 4 "$BUILD/examples/train" \
    --iters 1 --layers 1 --buckets 1 --hidden 64 --tokens 64 2>&1 >/dev/null
for rank in 0 1 2 3; do
    grep -c '"type":"nccl"' traces/specter_trace_rank$rank.jsonl
done
