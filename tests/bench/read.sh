#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Measures the time and memory of reading traces. Makes its inputs in build/bench/read: a long trace
# of our own out of a capture on the stand-in libraries, a long PyTorch profile out of a real one in
# ../shared (or our fixture), and a folder with a file of 1 MB for each of many ranks. Our reader of
# JSON Lines stands beside one that has cJSON parse each line and takes the same fields, the reader of
# profiles beside Python's json.load; both must find the same operations. Rounds of all are
# interleaved, and the best of each counts: processor time of the reading thread, but for the folder,
# which takes what time it takes on all cores. Prints a table and, last, one line of JSON.
#
#     BUILD=build SIZE_MB=500 FILES=1000 ROUNDS=3 KEEP=1 tests/bench/read.sh
#
# KEEP=1 leaves the inputs there and takes them again. Never more than 64 files are open.
set -euo pipefail
export LC_ALL=C

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
SIZE_MB=${SIZE_MB:-500}
FILES=${FILES:-$((SIZE_MB < 500 ? SIZE_MB * 2 : 1000))}
ROUNDS=${ROUNDS:-3}
WORK=${WORK:-$BUILD/bench/read}
command -v python3 >/dev/null || { echo "bench-read needs python3, to compare with" >&2; exit 3; }
ulimit -n 64

[[ -n ${KEEP:-} ]] || trap 'rm -rf "$WORK"' EXIT
mkdir -p "$WORK"

# input NAME COMMAND...: makes it unless it is there; the size is part of the name.
input() {
    local name=$1
    shift
    [[ -e $WORK/$name ]] || { "$@" "$WORK/$name.new" && mv "$WORK/$name.new" "$WORK/$name"; }
}

capture() {
    LD_LIBRARY_PATH=$BUILD/emu/lib PATH=$BUILD:$BUILD/examples:$ROOT/examples:$PATH \
        specter capture -o "$1" -- launch.sh -n 2 train --tp 2 --iters 60 >/dev/null 2>&1
}

own() { "$BUILD/bench/grow" jsonl "$WORK/capture/specter_trace_rank0.jsonl" "$2" "$1"; }

profile() {
    local real=${SHARED:-$ROOT/../shared}/data/traces/param/linear_kineto.json.gz
    if [[ -e $real ]]; then
        gzip -dc "$real" >"$WORK/one.json"
    else
        cp "$ROOT/tests/data/kineto_two_ranks/rank0.json" "$WORK/one.json"
    fi
    "$BUILD/bench/grow" kineto "$WORK/one.json" "$2" "$1"
    rm "$WORK/one.json"
}

# The same trace as that of each of $1 ranks of one job.
folder() {
    own 1000000 "$WORK/one.jsonl"
    mkdir -p "$2"
    python3 - "$WORK/one.jsonl" "$2" "$1" <<'END'
import sys
text, n = open(sys.argv[1], 'rb').read(), int(sys.argv[3])
text = text.replace(b'"world_size":2', b'"world_size":%d' % n)
for r in range(n):
    one = text.replace(b'"rank":0', b'"rank":%d' % r, 1)
    one = one.replace(b'"comm_rank":0,"comm_size":2', b'"comm_rank":%d,"comm_size":%d' % (r, n))
    open('%s/specter_trace_rank%d.jsonl' % (sys.argv[2], r), 'wb').write(one)
END
    rm "$WORK/one.jsonl"
}

# Python's reader, with the same line at the end as bench_read.
python_json() {
    python3 - "$1" <<'END'
import json, resource, sys, time
work = {'kernel', 'gpu_memcpy', 'gpu_memset'}
start, wall = time.process_time(), time.time()
ops = dur = 0
with open(sys.argv[1], encoding='utf-8', errors='replace') as f:
    trace = json.load(f)
for event in trace['traceEvents']:
    if event.get('ph') == 'X' and event.get('cat') in work:
        ops += 1
        dur += round(event['dur'] * 1000)
print('%.6f %.6f %d %d %d' % (time.process_time() - start, time.time() - wall,
                              resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, ops, dur))
END
}

bytes() { du -Lb --apparent-size "$1" | tail -1 | cut -f1; }

mb=1000000
large=own.$SIZE_MB.jsonl small=own.small.$SIZE_MB.jsonl
kineto=profile.$SIZE_MB.json many=ranks.$FILES
input capture capture
input "$large" own $((SIZE_MB * mb))
input "$small" own $((SIZE_MB * mb / 10))
input "$kineto" profile $((SIZE_MB * mb))
input "$many" folder "$FILES"

cd "$WORK"
for ((round = 1; round <= ROUNDS; round++)); do
    for way in specter cjson kineto; do
        file=$([[ $way == kineto ]] && echo "$kineto" || echo "$large")
        echo "$way $("$BUILD/bench/bench_read" $way "$file")"
    done
    echo "small $("$BUILD/bench/bench_read" specter "$small")"
    echo "python $(python_json "$kineto")"
    echo "folder $("$BUILD/bench/bench_read" folder "$many" 0)"
done >times

awk -v own="$(bytes "$large")" -v kineto="$(bytes "$kineto")" -v files="$FILES" -v cores="$(nproc)" '
    { time = $1 == "folder" ? $3 : $2 }
    !($1 in best) || time < best[$1] { best[$1] = time }
    $4 > rss[$1] { rss[$1] = $4 }
    { ops[$1] = $5; dur[$1] = $6 }
    function rate(way, bytes) { return bytes / best[way] / 1e6 }
    function row(name, way, bytes) {
        printf "%-34s %9.0f MB %9.0f MB/s %9.1f MiB\n", name, bytes / 1e6, rate(way, bytes), rss[way] / 1024
    }
    END {
        printf "%-34s %12s %14s %13s\n", "reader, one thread", "file", "speed", "memory"
        row("own JSON Lines", "specter", own)
        row("  the same, by lines with cJSON", "cjson", own)
        row("PyTorch profile (Kineto)", "kineto", kineto)
        row("  the same, Python json.load", "python", kineto)
        printf "own JSON Lines in memory of %.1f MiB for a tenth of the file\n", rss["small"] / 1024
        printf "%d files of 1 MB, on %d cores: %.2f s, %.0f MiB\n", files, cores, best["folder"], \
            rss["folder"] / 1024
        same = ops["specter"] == ops["cjson"] && dur["specter"] == dur["cjson"] && ops["specter"] > 0
        both = ops["kineto"] == ops["python"] && dur["kineto"] == dur["python"] && ops["kineto"] > 0
        if (!same || !both)
            print "the readers do not find the same operations" > "/dev/stderr"
        printf "{\"jsonl_MBps\":%.0f,\"cjson_MBps\":%.0f,", rate("specter", own), rate("cjson", own)
        printf "\"kineto_MBps\":%.0f,\"kineto_rss_ratio\":%.3f,", rate("kineto", kineto), \
            rss["kineto"] * 1024 / kineto
        printf "\"python_json_MBps\":%.0f,\"files1000_s\":%.3f,", rate("python", kineto), best["folder"]
        printf "\"files\":%d,\"files_rss_mib\":%.0f,", files, rss["folder"] / 1024
        printf "\"jsonl_rss_mib_small\":%.1f,\"jsonl_rss_mib_large\":%.1f,", rss["small"] / 1024, \
            rss["specter"] / 1024
        printf "\"jsonl_ratio\":%.1f,\"kineto_ratio\":%.1f}\n", best["cjson"] / best["specter"], \
            best["python"] / best["kineto"]
        exit !same || !both
    }' times
