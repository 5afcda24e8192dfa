#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Measures the cost of a traced call: CPU time of the calling thread per call, under libspecter.so and
# under a naive tracer (naive.c), on libraries whose functions return at once (stub.c), less that of the
# same calls untraced. Rounds of all are interleaved and the best of each counts. Prints a
# table and, last, one line of JSON: its figures are the mean of an NCCL call and a GEMM; comms_ratio is
# the cost of a traced call on the last of 5,000 communicators over that of one on the first. Fails when
# a record was dropped, or when all that the tracer may ever touch comes to 16 MiB.
#
#     BUILD=build tests/bench/tracer.sh [ROUNDS]
set -euo pipefail
export LC_ALL=C

BUILD=$(realpath "${BUILD:-build}")
ROUNDS=${1:-7}
BURSTS=8
CALLS=3000 # a burst: fits into the smallest ring that four threads get

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH=$BUILD/bench/lib BENCH_OUTPUT=$scratch/out
unset LD_PRELOAD SPECTER_SYNC SPECTER_RANKS

# under untraced|hook|naive ARGUMENT...: the program of the benchmark under one tracer or none.
under() {
    local preload=
    case $1 in
    hook) preload=$BUILD/libspecter.so ;;
    naive) preload=$BUILD/bench/libnaive.so ;;
    esac
    shift
    rm -rf "$BENCH_OUTPUT"
    mkdir "$BENCH_OUTPUT"
    SPECTER_OUTPUT=$BENCH_OUTPUT NAIVE_OUTPUT=$BENCH_OUTPUT/naive.jsonl LD_PRELOAD=$preload \
        "$BUILD/bench/calls" "$@"
}

dropped=0
count_dropped() {
    local n
    n=$(sed -n 's/.*"event":"shutdown".*"dropped":\([0-9]*\).*/\1/p' "$BENCH_OUTPUT"/*.jsonl)
    [[ -n $n ]] || { echo "the trace has no end" >&2; exit 1; }
    dropped=$((dropped + n))
}

for ((round = 1; round <= ROUNDS; round++)); do
    for call in nccl gemm; do
        for threads in 1 4; do
            for who in untraced hook naive; do
                echo "$call $threads $who $(under $who $call $threads $BURSTS $CALLS)"
                [[ $who != hook ]] || count_dropped
            done
        done
    done
done >"$scratch/times"

for ((round = 1; round <= ROUNDS; round++)); do
    under hook comms $BURSTS $CALLS
    count_dropped
done >"$scratch/comms"
comms=$(awk '
    NR == 1 || $1 < first { first = $1 }
    NR == 1 || $2 < last { last = $2 }
    END { print first, last }' "$scratch/comms")

read -r rss_without data_without < <(under untraced memory)
read -r rss_with data_with < <(under hook memory)

awk -v dropped=$dropped -v comms="$comms" -v rss_kib=$((rss_with - rss_without)) \
    -v data_kib=$((data_with - data_without)) '
    { key = $1 " " $2 " " $3 }
    !(key in best) || $4 < best[key] { best[key] = $4 }
    function net(call, threads, who) {
        return best[call " " threads " " who] - best[call " " threads " untraced"]
    }
    function mean(threads, who) { return (net("nccl", threads, who) + net("gemm", threads, who)) / 2 }
    END {
        printf "CPU time of the calling thread per call, ns\n"
        printf "%-14s %8s %10s %8s %8s %8s\n", "call", "threads", "untraced", "specter", "naive", "ratio"
        name["nccl"] = "ncclAllReduce"; name["gemm"] = "cublasGemmEx"
        for (threads = 1; threads <= 4; threads += 3)
            for (i = 1; i <= 2; i++) {
                call = i == 1 ? "nccl" : "gemm"
                hook = net(call, threads, "hook"); naive = net(call, threads, "naive")
                printf "%-14s %8d %10.1f %8.1f %8.1f %8.1f\n", name[call], threads, \
                    best[call " " threads " untraced"], hook, naive, naive / hook
            }
        split(comms, comm)
        printf "of 5000 communicators, a call on the first takes %.1f ns, on the last %.1f\n", comm[1], comm[2]
        printf "memory with all rings and 5000 communicators in use: %.1f MiB resident, %.1f MiB mapped\n", \
            rss_kib / 1024, data_kib / 1024
        printf "{\"hook_ns\":%.1f,\"naive_ns\":%.1f,\"ratio\":%.1f,", \
            mean(1, "hook"), mean(1, "naive"), mean(1, "naive") / mean(1, "hook")
        printf "\"hook_ns_4t\":%.1f,\"naive_ns_4t\":%.1f,\"ratio_4t\":%.1f,", \
            mean(4, "hook"), mean(4, "naive"), mean(4, "naive") / mean(4, "hook")
        printf "\"comms_ratio\":%.2f,\"dropped\":%d,\"rss_mib\":%.1f}\n", comm[2] / comm[1], dropped, rss_kib / 1024
        exit dropped > 0 || data_kib >= 16384
    }' "$scratch/times"
