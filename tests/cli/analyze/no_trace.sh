# SPDX-License-Identifier: MIT
# Files that often lie beside traces and are none: what they are, and what reads them.
"$SPECTER" analyze "$TESTDATA/nccl_tests/one_nic.log" 2>&1 | sed "s|$TESTDATA/||"
echo 'Time (%),Total Time (ns),Instances,Avg (ns),Name' >kernels.csv && "$SPECTER" analyze kernels.csv 2>&1
echo 'n:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 - Init COMPLETE' >nccl.log && "$SPECTER" analyze nccl.log 2>&1
# words alone are no sign of either
echo 'op,bytes,time_us,algbw_GBps,busbw_GBps' >table.csv && "$SPECTER" analyze table.csv 2>&1
echo 'Set NCCL_DEBUG=INFO; lines with NCCL INFO tell more' >notes.txt && "$SPECTER" analyze notes.txt 2>&1
echo 'hello' >other && "$SPECTER" analyze other 2>&1
echo "status $?"
echo '"Kind","Agent_Id","Kernel_Name"
"KERNEL_DISPATCH","Agent 2","k"' >kernel_trace.csv && "$SPECTER" analyze kernel_trace.csv 2>&1
mkdir -p logs profile/plugins
cp "$TESTDATA/nccl_tests/one_nic.log" logs/ && "$SPECTER" analyze logs 2>&1
printf '\n\5host' >profile/plugins/host.xplane.pb && "$SPECTER" analyze profile 2>&1
echo "status $?"
