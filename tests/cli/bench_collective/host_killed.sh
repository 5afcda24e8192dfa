# A rank of gloo or MPI that is killed, and Ctrl-C: what was measured is kept and marked, and no process is
# left behind, whatever the launcher does meanwhile.
. "$ROOT/tests/cli/bench_collective/host.bash"
module gloo
module mpi
# measuring NAME LAUNCHER...: begins a benchmark without an end, and waits until it has measured something.
measuring() {
    name=$1
    ("${@:2}" --op all_reduce --bytes 8:1M --factor 1.0001 --iters 5 -o "$1" >"$1.out" 2>"$1.err") &
    bench=$!
    for _ in $(seq 1200); do
        [[ $(grep -c -v '^#' "$1.out") -lt 3 ]] || return
        kill -0 $bench 2>/dev/null || break
        sleep 0.1
    done
    cat "$1.err"
    exit 1
}
# The process of a rank of ours.
rank() {
    local process
    for process in /proc/[0-9]*; do
        [[ $(readlink "$process/exe") == "$SPECTER" && $(readlink "$process/cwd") == "$PWD" ]] || continue
        tr '\0' '\n' <"$process/environ" | grep -qxE "(RANK|OMPI_COMM_WORLD_RANK)=$1" && echo "${process#/proc/}"
    done
}
ended() {
    # Open MPI's launcher itself hangs behind a signal now and then: then the ranks have to have ended without it.
    (exec >/dev/null 2>&1; sleep 100; kill -KILL $bench) &
    wait $bench
    echo "$name: failed $(($? != 0))"
    kill $!
    python3 -c '
import glob, json, sys
doc = json.load(open(glob.glob(sys.argv[1] + "/*.json")[0]))
print(sys.argv[1] + ": complete", doc["complete"], len(doc["runs"][0]["rows"]) >= 1)' "$name"
    left_behind
}
gloo() { exec "$SPECTER" bench collective --backend gloo --gpus 3 "$@"; }
open_mpi() { mpi 3 "$SPECTER" bench collective --backend mpi "$@"; }
measuring gloo_rank gloo
kill -KILL "$(rank 2)"
ended
grep '^specter' gloo_rank.err
measuring gloo_interrupted gloo
kill -INT $bench
ended
measuring mpi_rank open_mpi
kill -KILL "$(rank 2)"
ended
measuring mpi_interrupted open_mpi
kill -INT $bench
ended
measuring gloo_hangs gloo --timeout 2
kill -STOP "$(rank 2)"
ended
grep '^specter' gloo_hangs.err
measuring mpi_hangs open_mpi --timeout 2
kill -STOP "$(rank 2)"
ended
# A rank whose launcher has gone first says that its output could not be written.
grep '^specter: rank' mpi_hangs.err
