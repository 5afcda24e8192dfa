# SPDX-License-Identifier: MIT
# Shards shrink with more GPUs, and the optimizer with them: a step that is shorter by more than that has its
# cause beside it, too. With a GPU a node NCCL goes from rings to PAT between 8 and 16 nodes.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }
{ grep -v '^gpus_per_node' "$ROOT"/tests/emu/fabric/h100.conf; echo "gpus_per_node = 1"; } >fabric.conf
LD_LIBRARY_PATH=$BUILD/emu/lib EMU_FABRIC=$PWD/fabric.conf "$SPECTER" capture -o traces -- \
    "$ROOT/examples/launch.sh" -n 4 "$BUILD/examples/train" --fsdp --hidden 512 --tokens 1024 --layers 8 --buckets 1 \
    --iters 4 >/dev/null 2>&1 || exit
for rank in 0 1 2 3; do
    sed -i 's/"host":"[^"]*"/"host":"node'$rank'"/' traces/specter_trace_rank$rank.jsonl
done
"$SPECTER" replay --full traces --scale 1,2,4 2>/dev/null | sed -n '/^notes/,$p' |
    sed 's/[0-9.]* %/N %/g; s/[0-9.e+]* us/N us/g'
