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
# What is made of messages has LL and Simple.
for protos in ll simple ^LL128 simple,ll LL128; do
    "$SPECTER" predict collective --op all_to_all --bytes 1M --ranks 8 --gpu h100_sxm --network dgx_h100_400g \
        --proto $protos 2>&1 | sed -n "s/^ *algorithm */$protos: /p; s/^specter/$protos/p"
done
