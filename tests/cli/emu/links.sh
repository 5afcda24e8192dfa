# SPDX-License-Identifier: MIT
# Single links of the fabric are slower than the rest, one way or for all that goes through a card; what
# crosses them follows: messages, and collectives whose ring has them.
export LD_LIBRARY_PATH=$BUILD/emu/lib
links() {
    local ranks=$1 gpus=$2
    shift 2
    echo "-- $ranks ranks, $gpus to a node: $*"
    printf '%s\n' 'jitter = 0' "gpus_per_node = $gpus" "$@" >fabric.conf
    GPUS_PER_NODE=$gpus EMU_FABRIC=$PWD/fabric.conf "$ROOT/examples/launch.sh" -n "$ranks" -g "$gpus" \
        "$BUILD/emu/check_links"
}

links 1 8
links 4 8
links 4 8 'slow_link = 3>1 0.4' 'slow_link = 1>3 1 3000'
links 8 8 'slow_link = 2>5 0.4 3000'
links 8 8 'slow_link = 2>3 0.5'
links 8 4
links 8 4 'slow_link = 1>6 0.25' 'slow_link = 6>5 0.8'
links 8 4 'slow_nic = 1 3 0.5 2000'

for line in 'slow_link = 2>5' 'slow_link = 2>5 0' 'slow_link = 2>5 x' 'slow_nic = 1 2 0.5 3 4'; do
    echo "$line" >fabric.conf
    EMU_FABRIC=$PWD/fabric.conf "$BUILD/emu/check_driver" 2>/dev/null
    echo "status $? $line"
done
