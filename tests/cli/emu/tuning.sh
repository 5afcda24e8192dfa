# SPDX-License-Identifier: MIT
# NCCL_ALGO, NCCL_PROTO and limits on channels are obeyed, and cost what they should.
export LD_LIBRARY_PATH=$BUILD/emu/lib
for job in "1 8" "4 8" "8 8" "8 4"; do
    echo "-- ${job% *} ranks, ${job#* } to a node"
    printf '%s\n' 'jitter = 0' 'gpu_jitter = 0' "gpus_per_node = ${job#* }" >fabric.conf
    EMU_FABRIC=$PWD/fabric.conf "$ROOT/examples/launch.sh" -n "${job% *}" -g "${job#* }" "$BUILD/emu/check_tuning"
done

echo "-- by the environment"
printf '%s\n' 'jitter = 0' >fabric.conf
export EMU_FABRIC=$PWD/fabric.conf
time_of() { "$ROOT/examples/launch.sh" -n 8 "$BUILD/emu/check_speed" | awk '$2 == 134217728 { print $5 }'; }
NCCL_MAX_NCHANNELS=4 time_of
NCCL_MAX_CTAS=2 time_of
NCCL_NTHREADS=128 time_of
NCCL_ALGO=allreduce:ring NCCL_PROTO=allreduce:ll time_of
