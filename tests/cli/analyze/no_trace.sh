# SPDX-License-Identifier: MIT
# Files that often lie beside traces and are none: what they are, and what reads them.
"$SPECTER" analyze "$TESTDATA/nccl_tests/one_nic.log" 2>&1 | sed "s|$TESTDATA/||"
echo 'Time (%),Total Time (ns),Instances,Avg (ns),Name' >kernels.csv && "$SPECTER" analyze kernels.csv 2>&1
echo 'n:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 - Init COMPLETE' >nccl.log && "$SPECTER" analyze nccl.log 2>&1
echo 'hello' >other && "$SPECTER" analyze other 2>&1
echo "status $?"
