# SPDX-License-Identifier: MIT
# A rank that is killed, and Ctrl-C: what was measured is kept and marked, no process is left behind.
. "$ROOT/tests/cli/bench_collective/common.bash"
# measuring KIND: begins a benchmark without an end, and waits until it has measured something.
measuring() {
    "$SPECTER" bench collective --gpus 3 --op all_reduce --bytes 8:1M --factor 1.0001 --iters 20 -o "$1" \
        >"$1.out" 2>"$1.err" &
    bench=$!
    for _ in $(seq 3000); do
        [[ $(grep -c -v '^#' "$1.out") -lt 3 ]] || return
        kill -0 $bench 2>/dev/null || break
        sleep 0.1
    done
    cat "$1.err"
    exit 1
}
child() {
    cut -d' ' -f"$1" "/proc/$bench/task/$bench/children"
}
ended() {
    wait $bench
    echo "$1: status $?"
    grep -v '^specter: no --network\|^emu:' "$1.err" # a stand-in may say that a rank is gone
    python3 -c '
import glob, json, sys
doc = json.load(open(glob.glob(sys.argv[1] + "/*.json")[0]))
print(sys.argv[1] + ": complete", doc["complete"], len(doc["runs"][0]["rows"]) >= 2)' "$1"
    left_behind
}
measuring rank
kill -KILL "$(child 2)"
ended rank
measuring interrupted
kill -INT $bench
ended interrupted
measuring first
kill -KILL "$(child 1)"
wait $bench
echo "first: status $?"
left_behind
exit 0
