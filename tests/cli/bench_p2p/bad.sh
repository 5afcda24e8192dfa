# SPDX-License-Identifier: MIT
# A failed measurement is one line with the way out.
. "$ROOT/tests/cli/bench_collective/common.bash"
bench() {
    rm -rf emu/*
    "$SPECTER" bench p2p "$@" >out 2>err
    echo "$?: $(cat err)"
}
bench --gpus 1
bench --gpus 2 --sizes 0:8
bench --gpus 2 --sizes 8:1
bench --gpus 2 --repeat 0
bench --gpus 2 --seed -1
bench --gpus 2 --warmup x
bench --gpus 2 --drift -0.5
bench --gpus 2 --drift 86401
bench stray
bench --gpus 2 -o /proc/none
bench --gpus 2 --sizes 1:4 --json /dev/full
LD_LIBRARY_PATH= CUDA_HOME=/none bench
echo 'memory_GiB = 2' >fabric.conf
EMU_FABRIC=$PWD/fabric.conf bench --gpus 2 --sizes 256M:1G --network dgx_h100_400g -o files
cut -d, -f4 files/*/execution_log.csv | sort -u
left_behind
exit 0
