# SPDX-License-Identifier: MIT
# Several runs of one file, each with the line it begins at; several operations of one run.
log=$TESTDATA/nccl_tests/mpirun.log
{ cat "$log"; sed 's/all_reduce_perf/reduce_scatter_perf/' "$log"; } >both.log
"$SPECTER" bench report both.log
{
    printf '====\nConfiguration: World Size=8\nBackend: nccl\n====\n'
    printf '\nTensor Size: 1,048,576 elements (4.19 MB)\n'
    printf '  AllReduce:     0.060 ms | AlgBW: 1 GB/s | BusBW: 1 GB/s\n  AllGather:     0.179 ms |\n'
} >profile.txt
"$SPECTER" bench report profile.txt --gpu h100_sxm
