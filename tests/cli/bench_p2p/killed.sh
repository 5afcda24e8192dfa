# SPDX-License-Identifier: MIT
# A rank that is killed, and Ctrl-C: the files keep what was measured and are marked, no process is left.
. "$ROOT/tests/cli/bench_collective/common.bash"
# measuring DIR: begins a benchmark that takes long, and waits until it has measured some messages.
measuring() {
    rm -rf emu/*
    "$SPECTER" bench p2p --gpus 3 --repeat 2000 --network dgx_h100_400g -o "$1" >"$1.out" 2>"$1.err" &
    bench=$!
    for _ in $(seq 3000); do
        [[ $(cat "$1"/*/execution_log.csv 2>/dev/null | wc -l) -lt 3 ]] || return
        kill -0 $bench 2>/dev/null || break
        sleep 0.1
    done
    cat "$1.err"
    exit 1
}
ended() {
    wait $bench
    echo "$1: status $?"
    grep -v '^emu:' "$1.err" # a stand-in may say that a rank is gone
    head -1 "$1.out"
    grep -h ^complete "$1"/*/metadata_rank_0.yml
    "$SPECTER" bench report "$1"/* >again
    echo "again: status $?"
    diff "$1.out" again | grep -v '^[0-9,cd]*$\|Files:'
    left_behind
}
measuring rank
kill -KILL "$(cut -d' ' -f2 "/proc/$bench/task/$bench/children")"
ended rank
measuring interrupted
kill -INT $bench
ended interrupted
exit 0
