# SPDX-License-Identifier: MIT
# --local with a process that the program leaves behind: its trace stays where it is written, which a line says, and
# that of the others is gathered.
export LD_LIBRARY_PATH=$BUILD/emu/lib
mkdir disk
cat >job.sh <<'J'
RANK=1 WORLD_SIZE=2 "$BUILD/tracer/flight" hang 20 >/dev/null 2>&1 &
echo $! >left
for i in {1..100}; do
    cat disk/*/specter_trace_rank1.jsonl 2>/dev/null | grep -q '"op":' && break
    sleep 0.1
done
J
export BUILD
"$SPECTER" capture -o out --local disk -- bash job.sh 2>err
echo "status $?"
sed "s|$PWD/||g; s|$(hostname):|HOST:|; s|disk/[^']*|disk/RUN|; s|; next.*||" err
kill -9 "$(<left)"
ls out
ls disk/*/
grep -c '"event":"init"' disk/*/specter_trace_rank1.jsonl
