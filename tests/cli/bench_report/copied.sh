# SPDX-License-Identifier: MIT
# Tables that were copied into a document, without their header: the command above a table tells the
# operation, of that table alone. Programs may have a suffix (NAME_SUFFIX of nccl-tests).
table() {
    echo '#       size         count      type   redop    root     time   algbw   busbw #wrong'
    echo "   67108864      16777216     float     sum      -1    400.0  167.77  $1      0"
}
{
    echo 'With `all_reduce_perf` on two GPUs:'
    echo '    $ CUDA_VISIBLE_DEVICES=0,1 ./build/all_reduce_perf_mpi -b 64M -e 64M -g 2'
    table 167.77
    echo '    $ ./build/all_reduce_perf -b 64M -e 64M -g 4'
    table 251.66
    echo 'And on all eight:'
    table 293.60
} >copied.md
"$SPECTER" bench report copied.md --gpu a100_sxm --format csv 2>&1 | cut -d, -f1-3,10
{
    echo '# Collective test starting: sendrecv_perf_mpi'
    echo '# nThread 1 nGpus 1 minBytes 67108864 maxBytes 67108864 step: 2(factor)'
    echo '#  Rank  0 Group  0 Pid  1 on node-a device  0 [0x11] NVIDIA A100-SXM4-80GB'
    echo '#  Rank  1 Group  0 Pid  2 on node-a device  1 [0x22] NVIDIA A100-SXM4-80GB'
    table 167.77
} | "$SPECTER" bench report - --format csv 2>/dev/null | cut -d, -f1-3,10
