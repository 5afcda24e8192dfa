# SPDX-License-Identifier: MIT
# The prediction is of what a run forced NCCL to do.
. "$ROOT"/tests/cli/validate/common.bash
{
    echo collective,ranks,nodes,bytes,time_us,gpu_profile,network_profile,notes
    for notes in "" NCCL_NVLS_ENABLE=0 NCCL_ALGO=Tree "NCCL_ALGO=Ring NCCL_PROTO=LL"; do
        echo "all_reduce,8,1,268435456,1000,h100_sxm,dgx_h100_400g,$notes"
    done
    echo "alltoall,8,1,268435456,1000,h100_sxm,dgx_h100_400g,NCCL_ALGO=Ring"
    echo "all_gather,8,1,268435456,1000,h100_sxm,dgx_h100_400g,NCCL_ALGO=CollnetChain"
} >t.csv
"$SPECTER" validate t.csv --rows rows.csv >/dev/null || exit
cut -d, -f2-4,21,22 rows.csv
