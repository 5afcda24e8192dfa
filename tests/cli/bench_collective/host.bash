# Functions of the tests of libraries without a GPU: sourced, not run.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
# Their libraries keep memory to the end.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export MASTER_PORT=$((20000 + RANDOM % 10000))

# module NAME: skips the test where the build does without it.
module() { [[ -e $BUILD/specter_bench_$1.so ]] || { echo "built without $1"; exit 77; }; }

# mpi N COMMAND...: with N processes on this machine, however few cores it has.
mpi() {
    local root=
    [[ $(id -u) != 0 ]] || root=--allow-run-as-root
    command -v mpirun >/dev/null || { echo "no mpirun"; exit 77; }
    # shellcheck disable=SC2086  # may be none
    exec mpirun $root --oversubscribe -n "$@"
}

# Sizes, counts and wrong elements of nccl-tests' table: what does not depend on times.
without_times() {
    awk '/^# Out of/ { exit } /^# [a-z_]+, / { print } !/^#/ && NF >= 13 { print $1, $2, $3, $4, $5, $9, $13 }' "$@"
}

# grows COMMAND...: 16 MiB take longer than 64 KiB, by the medians; a busy machine gets three tries.
grows() {
    local _
    for _ in 1 2 3; do
        ("$@" --op all_reduce --bytes 64K:16M --factor 16 --iters 11 --warmup 2 --json times.json) || return
        python3 -c '
import json, sys
rows = [r for r in json.load(open("times.json"))["runs"][0]["rows"] if not r["in_place"]]
times = [r["median_us"] for r in rows]
grow = times[0] < times[-1]
print([rows[0]["bytes"], rows[-1]["bytes"]], "grow", grow)
sys.exit(not grow)' >grown && break
    done
    cat grown
}

# The processes that a benchmark of this folder has left behind.
left_behind() {
    local process
    for process in /proc/[0-9]*; do
        [[ $(readlink "$process/exe") != "$SPECTER" || $(readlink "$process/cwd") != "$PWD" ]] ||
            echo "left behind: ${process#/proc/}"
    done
}
