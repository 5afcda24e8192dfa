# SPDX-License-Identifier: MIT
# A failed measurement is one line; a killed rank is named; Ctrl-C keeps what was measured; no process is left.
. "$ROOT/tests/cli/bench_collective/common.bash"
bench() {
    rm -rf emu/*
    "$SPECTER" bench drift "$@" >out 2>err
    echo "$?: $(cat err)"
}
bench --gpus 2 --seconds 0
bench --gpus 2 --seconds nan
bench --gpus 2 --windows 0
bench stray
bench --gpus 2 --seconds 1 -o /none/file
bench --gpus 2 --seconds 1 -o /dev/full
bench --gpus 2 --seconds 1 --json /dev/full
bench --gpus 2 --seconds 1 --port 1000000
LD_LIBRARY_PATH= CUDA_HOME=/none bench
# measuring: begins a benchmark that takes long, and waits until its ranks have a communicator's library.
measuring() {
    local children
    rm -rf emu/*
    "$SPECTER" bench drift --gpus 2 --seconds 86400 >out 2>err &
    bench=$!
    for _ in $(seq 3000); do
        children=$(cat "/proc/$bench/task/$bench/children" 2>/dev/null)
        [[ $(cat /dev/null ${children:+$(printf '/proc/%s/maps ' $children)} 2>/dev/null | grep -c 'r-xp.*libnccl') -lt 2 ]] || return
        kill -0 $bench 2>/dev/null || break
        sleep 0.1
    done
    cat err
    exit 1
}
ended() {
    wait $bench
    echo "$1: status $?"
    left_behind
}
measuring
kill -KILL "$(cut -d' ' -f2 "/proc/$bench/task/$bench/children")"
ended killed
measuring
kill -INT $bench
ended interrupted
exit 0
