# SPDX-License-Identifier: MIT
# A failed measurement is one line; of a job that ends early the sizes before it are kept and marked, and no
# process is left.
. "$ROOT/tests/cli/bench_collective/common.bash"
export EMU_FABRIC=$PWD/fabric.conf
echo 'fill_bytes = 4096' >fabric.conf
tune() {
    rm -rf emu/*
    "$SPECTER" bench tune "$@" >out 2>err
    echo "$?: $(cat err)"
}
tune --op alltoall
tune --op ,
tune --algo ring,star
tune --proto LL256
tune --channels 0,4
tune --channels 65
tune --gain 0
tune --budget nan
tune --bytes 1M:1K
tune --dtype fp4 --gpus 2
tune stray
tune --gpus 1
tune --gpus 2 -o /none/dir
LD_LIBRARY_PATH= CUDA_HOME=/none tune
small=(--gpus 2 --op reduce --bytes 1K --channels 0 --check 4K)
tune "${small[@]}" --json /dev/full
tune "${small[@]}" --port 1000000
NCCL_ALGO=Tree NCCL_MAX_CTAS=4 tune "${small[@]}"
head -1 out
tune "${small[@]}" --algo tree # which Reduce has not
head -1 out
mkdir full
ln -s /dev/full full/tuner.csv
tune "${small[@]}" -o full
# A budget that does not suffice leaves sizes out, and says so.
tune --gpus 2 --op all_reduce --bytes 1K:64M --factor 1.1 --check 4K --budget 1 --json result.json
grep -c '^Not measured: [0-9]* sizes, the time was up (--budget).' out
python3 -c '
import json
doc = json.load(open("result.json"))
assert not doc["complete"] and doc["not_measured"] > 0 and doc["sizes"], doc["not_measured"]'

tune --gpus 2 --op all_reduce --bytes 1K:64M --factor 1.1 --check 4K --budget 1 --fail-on 'missing>0' | sed 's/is [0-9.]*/is N/'
# measuring NAME: begins a benchmark that takes long, and waits until it has measured something.
measuring() {
    rm -rf emu/*
    "$SPECTER" bench tune --gpus 3 --op all_reduce --bytes 1K:64M --factor 1.001 --budget 10000 -o "$1" >"$1.out" \
        2>"$1.err" &
    bench=$!
    for _ in $(seq 3000); do
        [[ ! -e $1/tune.json ]] || return
        kill -0 $bench 2>/dev/null || break
        sleep 0.05
    done
    cat "$1.err"
    exit 1
}
ended() {
    wait $bench
    echo "$1: status $?"
    grep -v '^emu:' "$1.err" # a stand-in may say that a rank is gone
    grep -c '^Ended early' "$1.out"
    python3 -c '
import json, sys
doc = json.load(open(sys.argv[1] + "/tune.json"))
print(sys.argv[1] + ": complete", doc["complete"], len(doc["sizes"]) > 0)' "$1"
    ls "$1"
    left_behind
}
measuring rank
kill -KILL "$(cut -d' ' -f2 "/proc/$bench/task/$bench/children")"
ended rank
measuring interrupted
kill -INT $bench
ended interrupted
exit 0
