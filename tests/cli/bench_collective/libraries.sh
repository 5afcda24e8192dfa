# SPDX-License-Identifier: MIT
# Each backend opens its own library; NCCL's place may be taken by RCCL, and the output says so.
. "$ROOT/tests/cli/bench_collective/common.bash"
bench() {
    rm -rf emu/*
    "$SPECTER" bench collective --gpus 1 --op all_reduce --elements 100 --iters 1 "$@" >out 2>err
    echo "$?: $(sed -n '1s/ on .*//p' out)$(grep '^specter' err | grep -v '^specter: no --network')"
}
bench --backend nccl
bench --backend rccl
bench --backend ncclx
bench --backend ncclx --lib libnccl.so.2
mkdir lib
ln -s "$BUILD"/emu/lib/* lib
export LD_LIBRARY_PATH=$PWD/lib CUDA_HOME=/none ROCM_PATH=/none
ln -s libnccl.so.2 lib/libncclx.so
bench --backend ncclx
mv lib/libnccl.so.2 lib/librccl.so.1
echo 'no library' >lib/libnccl.so.2 # in front of one that the machine may have
bench --backend rccl
bench --backend nccl
