# SPDX-License-Identifier: MIT
# Files that often lie beside traces and are none: what they are, and what reads them.
"$SPECTER" analyze "$TESTDATA/nccl_tests/one_nic.log" 2>&1 | sed "s|$TESTDATA/||"
echo 'Time (%),Total Time (ns),Instances,Avg (ns),Name' >kernels.csv && "$SPECTER" analyze kernels.csv 2>&1
echo 'Start (ns),Duration (ns),CorrId,GrdX,Name' >gpu_trace.csv && "$SPECTER" analyze gpu_trace.csv 2>&1
echo '        Name    Self CPU %      Self CPU   CPU total %' >table.txt && "$SPECTER" analyze table.txt 2>&1
echo 'Comm. Op            Message Size        Count' >train.log && "$SPECTER" analyze train.log 2>&1
echo ' #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]' >ib.txt && "$SPECTER" analyze ib.txt 2>&1
echo 'n:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 - Init COMPLETE' >nccl.log && "$SPECTER" analyze nccl.log 2>&1
# what launchers put before lines, and what NCCL says between them, hides nothing
"$SPECTER" analyze "$TESTDATA/nccl_tests/mpirun.log" 2>&1 | sed "s|$TESTDATA/||"
{ printf '0: # nThread 1 nGpus 8 minBytes 8\n'; yes 'n:1:2 [0] NCCL INFO Channel' | head -c 90000; } >srun.log
"$SPECTER" analyze srun.log 2>&1
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
# what is in the place of a file that was to be downloaded
mkdir pages
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n' >pages/rank0.json.gz
printf '<!doctype html>\n' >pages/rank1.json
"$SPECTER" analyze pages/rank0.json.gz 2>&1
"$SPECTER" analyze pages/rank1.json 2>&1
cp "$TESTDATA"/kineto_two_ranks/rank0.json pages/rank2.json
"$SPECTER" analyze pages 2>&1 >/dev/null | head -2
mkdir packed && printf 'PK\3\4' >packed/traces.zip && "$SPECTER" analyze packed 2>&1
echo "status $?"
