# SPDX-License-Identifier: MIT
# GPUs become warm by work and cool again; a hot one runs slower, and so does one on a locked clock. NVML
# says so in virtual time, also to another process.
export LD_LIBRARY_PATH=$BUILD/emu/lib
heat() {
    local ranks=$1 gpus=$2
    shift 2
    echo "-- $ranks ranks, $gpus to a node: $*"
    printf '%s\n' 'gpu_jitter = 0' 'jitter = 0' "gpus_per_node = $gpus" "$@" >fabric.conf
    EMU_FABRIC=$PWD/fabric.conf "$ROOT/examples/launch.sh" -n "$ranks" -g "$gpus" "$BUILD/emu/check_heat" work
}

heat 1 8
heat 4 4 'hot_gpu = 3 40' 'lock_clocks = 0' 'foreign_process = 0 4711 2000'
heat 8 8 'hot_gpu = 5 40'
heat 8 4 'hot_gpu = 6 40' 'thermal_s = 5' 'throttle_celsius = 86' 'throttle_clock = 0.5'

echo "-- a lock outlives its process"
export EMU_FABRIC=
mkdir job
look() { EMU_DIR=$PWD/job "$BUILD/emu/check_heat" "$@"; }
look lock 2 1200
look look | sed -n 2,4p
look reset 2
look look | sed -n 3p

# GPU 0 in the file, four bytes each: the locked clock, nothing, a process, and 1: it is writing.
echo "-- a process that was stopped while it wrote"
printf -v slot '\\x%02x' 0 0 0 0 0 0 0 0 $(($$ & 255)) $(($$ >> 8 & 255)) $(($$ >> 16)) 0 1 0 0 0
printf '%b' "$slot" | dd of=job/gpus conv=notrunc status=none
EMU_DIR=$PWD/job timeout 60 "$BUILD/emu/check_heat" look | sed -n 1,2p
rm -r job

echo "-- topology"
look topology
echo "-- four GPUs of the second node, without switches"
printf '%s\n' 'gpus_per_node = 4' 'nvlinks = 6' 'nvswitches = 0' >fabric.conf
RANK=4 EMU_FABRIC=$PWD/fabric.conf look topology
echo "-- one GPU"
printf '%s\n' 'gpus_per_node = 1' 'nvlinks = 0' >fabric.conf
EMU_FABRIC=$PWD/fabric.conf look topology
