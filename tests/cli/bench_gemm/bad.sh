# SPDX-License-Identifier: MIT
# A failed measurement is one line; those before it are kept.
. "$ROOT/tests/cli/bench_collective/common.bash"
bench() { "$SPECTER" bench gemm "$@" >out 2>err; echo "$?: $(cat err)"; }
bench --budget 0
bench --budget ten
bench --dtype bf16,fp3
bench --dtype ,
bench --shapes /none/shapes.txt
printf 'one two three\n' >shapes.txt
bench --shapes shapes.txt
bench --warmup-temp 200
bench --lock-clocks 7
bench stray
bench -o /none/gemm.csv
bench -o /proc/none/
bench --gpu magic --budget 0.1
LD_LIBRARY_PATH= CUDA_HOME=/none bench
mkdir few
for lib in "$BUILD"/emu/lib/*; do
    [[ $lib == *cublas* ]] || ln -s "$lib" few/
done
LD_LIBRARY_PATH=$PWD/few CUDA_HOME=/none bench --budget 0.1
echo "64 64 64 bf16" >shapes.txt
bench --shapes shapes.txt -o /dev/full
bench --shapes shapes.txt --json /dev/full

echo "-- ended early"
"$SPECTER" bench gemm --budget 60 -o early >out 2>err &
for _ in $(seq 600); do
    [[ $(cat early/gemm_*.csv 2>/dev/null | wc -l) -lt 9 ]] || break
    sleep 0.1
done
kill -INT $!
wait $!
echo "status $?"
grep -c 'ended early' out
python3 -c '
import glob, json
doc = json.load(open(glob.glob("early/*.json")[0]))
print("complete", doc["complete"], len(doc["rows"]) >= 4, doc["not_begun"] > 0)'
left_behind
exit 0
