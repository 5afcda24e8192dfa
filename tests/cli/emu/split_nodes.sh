# SPDX-License-Identifier: MIT
# A profiler is told of a split communicator when all members are there: each hears of as many nodes.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }
export LD_LIBRARY_PATH=$BUILD/emu/lib EMU_FABRIC=$PWD/fabric.conf
{ cat "$ROOT"/tests/emu/fabric/h100.conf; echo "gpus_per_node = 2"; } | grep -v "gpus_per_node *= 8" >fabric.conf
"$SPECTER" capture --nccl-plugin -o traces -- "$ROOT/examples/launch.sh" -n 8 "$BUILD/examples/train" \
    --iters 1 --layers 2 --hidden 64 --tokens 64 --ep 4 >/dev/null 2>&1 || exit
sed -n 's/.*"event":"comm".*"comm":"\([0-9a-f]*\)".*"comm_size":\([0-9]*\).*"nodes":\([0-9][0-9]*\).*/\1 \2 \3/p' \
    traces/*.jsonl | sort -u | awk '{ print $2 " ranks on " $3 " nodes" }' | sort | uniq -c
