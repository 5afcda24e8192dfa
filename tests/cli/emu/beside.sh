# SPDX-License-Identifier: MIT
# Operations compete for links, and communication slows the computation beside it: as far as the
# links and SMs that it takes imply. Each of the two can be switched off.
export LD_LIBRARY_PATH=$BUILD/emu/lib
beside() {
    printf '%s\n' 'gpus_per_node = 2' 'jitter = 0' 'gpu_jitter = 0' "$1" >fabric.conf
    EMU_FABRIC=$PWD/fabric.conf "$ROOT/examples/launch.sh" -n 4 -g 2 "$BUILD/emu/check_beside" ${2:-}
}

beside ''
echo "-- without contention"
beside 'contention = 0' | sed 's/: .*//'
echo "-- without overlap"
beside 'overlap = 0' | sed 's/: .*//'
echo "-- GEMMs take half of the links"
beside 'gemm_takes_links = 0.5' gemms
