# Files that are kept of a run of the GPU suite: the report under its day and GPU, and an archive below a size that
# can be continued. Measurements of stand-ins are not published.
. "$(dirname "$0")/runner.bash"
echo "CHECKS='good 1 is all well'; check_good() { claim lost 0 0; }" >checks/made.bash
gpu_suite --publish kept
gpu_suite
mkdir kept
echo "of another day" >kept/2020-01-01-made-gpu-80gb.md
gpu_suite --publish kept | sed 's/20[0-9-]*-m/DAY-m/'
echo "a,table" >out/gemm.csv # a check has left one
gpu_suite --publish kept | sed 's/20[0-9-]*-m/DAY-m/'
cmp out/gemm.csv kept/"$(date +%F)"-made-gpu-80gb-gemm.csv
rm out/gemm.csv
cat kept/2020-01-01-made-gpu-80gb.md
cmp out/report.md kept/"$(date +%F)"-made-gpu-80gb.md

mkdir -p out/traces/a out/traces/b
seq 1000 >out/traces/a/small.jsonl
head -c 3000000 /dev/urandom >out/traces/b/large.jsonl
gpu_suite --pack kept.tar.gz 1 | sed 's/, [0-9]* bytes/, N bytes/'
(($(stat -c %s kept.tar.gz) < 1 << 20)) || echo "larger than told"
mkdir other && tar -xzf kept.tar.gz -C other && find other -type f | sort && cat other/LEFT_OUT
"$ROOT/tests/gpu/run.sh" -o other -t 60 | sed "s|$PWD/||"
gpu_suite --pack kept.tar.gz 9 | sed 's/, [0-9]* bytes/, N bytes/'
gpu_suite --pack

sed -i 's/"standin": false/"standin": true/' out/machine.json
gpu_suite --publish kept
