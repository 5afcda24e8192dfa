# A program's file tells of a script's interpreter, needs that are not there, NCCL linked in, twice
# or dynamically, a static program, another processor's, no program.
. "$ROOT/tests/cli/doctor/common.bash"
export LD_LIBRARY_PATH=$PWD/lib
checks='program|nccl|static nccl|needs'
echo 'int ncclAllReduce(void) { return 0; }' >nccl.c
echo 'int ncclAllReduce(void); int step(void) { return ncclAllReduce(); }' >step.c
echo 'int step(void); int main(void) { return step(); }' >main.c
mkdir lib other deep
"$cc" -shared -fPIC -Wl,-soname,libnccl.so.2 -o lib/libnccl.so.2 nccl.c &&
    "$cc" -shared -fPIC -Wl,-soname,libstep.so -o deep/libstep.so step.c lib/libnccl.so.2 &&
    "$cc" -o linked main.c deep/libstep.so -Wl,-rpath,'$ORIGIN/deep' &&
    "$cc" -o built_in main.c step.c nccl.c &&
    "$cc" -o plain -xc - <<<'int main(void) { return 0; }' || exit 1

printf '#!/usr/bin/env -S A=b sh\n' >script.sh && chmod +x script.sh
printf '#!/no/such/interpreter\n' >lost.sh && chmod +x lost.sh
printf 'text\n' >text && chmod +x text
doctor program -- ./plain
doctor 'static nccl' -- ./built_in
doctor program ./script.sh | sed "s|'[^']*/sh'|SH|; s|^ok       program      /.*|ok       program      SHELL|"
doctor program ./lost.sh
doctor program ./text
doctor program ./none
# eight scripts are followed, one more is not
ln -s plain step0
for ((i = 1; i <= 9; i++)); do
    printf '#!/bin/sh\nexec "%s/step%d"\n' "$PWD" $((i - 1)) >step$i && chmod +x step$i
done
doctor program ./step8 | tail -2
doctor program ./step9 | head -2
# both copies are found, the loader's first; this machine may have a third
cp lib/libnccl.so.2 other/
LD_LIBRARY_PATH=$PWD/lib:$PWD/other doctor "$checks" ./linked
rm deep/libstep.so
doctor needs ./linked
