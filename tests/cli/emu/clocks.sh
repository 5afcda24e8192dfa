# SPDX-License-Identifier: MIT
# GPUs gain and lose against their hosts, and hosts against each other, as the fabric says. The program links
# nothing: it finds the clock and the hand-over by dlsym.
export LD_LIBRARY_PATH=$BUILD/emu/lib
clocks() {
    local ranks=$1 gpus=$2
    shift 2
    echo "-- $ranks ranks, $gpus to a node: $*"
    printf '%s\n' "gpus_per_node = $gpus" "$@" >fabric.conf
    EMU_FABRIC=$PWD/fabric.conf "$ROOT/examples/launch.sh" -n "$ranks" -g "$gpus" "$BUILD/emu/check_clocks"
}

clocks 1 8 'clock_ppm = 0 3'
clocks 4 8
clocks 8 8 'clock_ppm = 2 3' 'clock_ppm = 5 -20.5' 'host_offset_ns = 0 -1000000' 'host_ppm = 0 2'
clocks 8 4 'clock_ppm = 6 12' 'host_offset_ns = 1 250000' 'host_ppm = 1 -3'
ldd "$BUILD/emu/check_clocks" | grep 'cuda\|nccl' || echo "linked to none of the stand-ins"
