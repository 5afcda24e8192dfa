# SPDX-License-Identifier: MIT
# --algo and --proto as NCCL_ALGO and NCCL_PROTO: names in any spelling, lists, all but some.
try() {
    echo "$*"
    "$SPECTER" predict collective --op all_reduce --bytes 64M --ranks 16 --gpu h100_sxm \
        --network dgx_h100_400g --json "$@" | grep -E '"(algo|proto|channels)"'
}
try
try --algo Ring
try --algo nvlstree
try --algo NVLS_Tree --proto Simple
try --proto ll128
try --algo ^NVLSTree
try --algo ring,tree --proto ^LL128
try --algo tree --proto LL --channels 4
