# SPDX-License-Identifier: MIT
# A failed measurement is one line; a killed rank is named; Ctrl-C keeps what was measured, marked; no process is
# left.
. "$ROOT/tests/cli/bench_collective/common.bash"
bench() {
    rm -rf emu/*
    "$SPECTER" bench overlap "$@" >out 2>err
    echo "$?: $(cat err)"
}
bench --gpus 1
bench --gpus 2 --channels 65
bench --gpus 2 --channels 4,4
bench --gpus 2 --channels x
bench --gpus 2 --op broadcast
bench --gpus 2 --bytes 4
bench --gpus 2 --repeat 0
bench --gpus 2 --fail-on 'heat>3'
bench stray
few=(--gpus 2 --channels 0 --op all_reduce --repeat 1)
bench "${few[@]}" -o /proc/none
bench "${few[@]}" --json /dev/full
bench "${few[@]}" --port 1000000
LD_LIBRARY_PATH= CUDA_HOME=/none bench
echo 'memory_GiB = 4' >fabric.conf
EMU_FABRIC=$PWD/fabric.conf bench "${few[@]}" --bytes 2G
# measuring DIR: begins a benchmark that takes long with one communicator, and waits until it has measured a row.
measuring() {
    rm -rf emu/*
    "$SPECTER" bench overlap --gpus 2 --channels 0 --repeat 60 -o "$1" >out 2>err &
    bench=$!
    for _ in $(seq 3000); do
        [[ ! -s $(echo "$1"/*.json) ]] || { exec 3<"$(echo "$1"/overlap_*.csv)" 4<"$(echo "$1"/*.json)"; return; }
        kill -0 $bench 2>/dev/null || break
        sleep 0.1
    done
    cat err
    exit 1
}
# That these files are never written over, only replaced: a kill leaves no half of one.
replaced() {
    local fd=$1 file=$2
    [[ $(stat -L -c %i "/dev/fd/$fd") != "$(stat -c %i "$file")" ]] || echo "written over: $file"
}
ended() {
    wait $bench
    echo "$1: status $?"
    replaced 3 "$(echo "$2"/overlap_*.csv)"
    replaced 4 "$(echo "$2"/*.json)"
    grep -v '^emu: ' err
    head -1 out
    python3 -c 'import glob, json; doc = json.load(open(glob.glob("'"$2"'/*.json")[0])); print(doc["complete"], len(doc["rows"]) > 0)'
    left_behind
}
measuring killed
kill -KILL "$(cut -d' ' -f2 "/proc/$bench/task/$bench/children")"
ended killed killed
measuring interrupted
kill -INT $bench
ended interrupted interrupted
# A row that takes longer than the time that is left to ranks behind a signal.
rm -rf emu/*
"$SPECTER" bench overlap --gpus 2 --channels 0 --repeat 1000 >out 2>err &
bench=$!
for _ in $(seq 600); do
    [[ -z $(ls emu) ]] || break
    sleep 0.1
done
sleep 0.5
kill -INT $bench
wait $bench
echo "within a row: status $?"
grep -v '^emu: ' err
left_behind
exit 0
