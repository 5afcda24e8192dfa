# SPDX-License-Identifier: MIT
# The example checks its own numbers, with and without tensor parallelism, and counts its calls: by
# hand, a step of L layers in B buckets makes 6 L products, and B + 1 AllReduces and 2 L for the
# activations where there is tensor parallelism. Between them are 4 L kernels, and the optimizer's.
export LD_LIBRARY_PATH=$BUILD/emu/lib
for tp in 1 2 8; do
    "$ROOT/examples/launch.sh" -n 8 "$BUILD/examples/train" --tp $tp --iters 5 --layers 3 \
        --buckets 2 --hidden 32 --tokens 32 --verify --count "$PWD/count$tp" || exit
    echo $(grep -E 'AllReduce|GemmEx|Memset|Launch' count$tp.*7)
done
# Stages of a pipeline, shards of parameters, experts: the same values, other calls.
for mode in '--pp 4 --micro 8' '--pp 2 --tp 2' '--fsdp' '--fsdp --tp 2' '--ep 4' '--ep 2 --tp 2'; do
    "$ROOT/examples/launch.sh" -n 8 "$BUILD/examples/train" $mode --iters 2 --layers 4 \
        --hidden 32 --tokens 32 --verify --count "$PWD/count" || exit
    echo $mode: $(grep -E 'Reduce|Gather|Send|Gemm' count.7)
done
"$ROOT/examples/launch.sh" -n 3 "$BUILD/examples/train" --tp 2 2>&1 | sort | head -n 1
EMU_FABRIC= "$BUILD/examples/train" --iters 0 2>&1
"$ROOT/examples/launch.sh" -n 2 sh -c 'exit $((RANK * 5))'
echo "status $?"
