#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Measures how much faster two read together: PyTorch profiles of eight ranks (SIZE_MB in all, grown from a real one
# of ../shared or from our fixture), analysed by one rank of MPI on one core, by two on two cores, and by one process with threads on
# two. The best of ROUNDS, interleaved; elapsed time. At least 1.6 times as fast with two; ranks are not bound to a
# processor, so that rank 0 has both once the other has read its share. Prints a table and, last,
# one line of JSON.
#
#   BUILD=build SIZE_MB=1000 ROUNDS=3 tests/bench/merge.sh
set -euo pipefail

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
SIZE_MB=${SIZE_MB:-1000}
ROUNDS=${ROUNDS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

real=${SHARED:-$ROOT/../shared}/data/traces/param/linear_kineto.json.gz
if [[ -e $real ]]; then gzip -dc "$real"; else cat "$ROOT/tests/data/kineto_two_ranks/rank0.json"; fi >"$work/one.json"
"$BUILD/bench/grow" kineto "$work/one.json" "$work/rank0.json" $((SIZE_MB * 125000))
mkdir "$work/traces"
for i in 0 1 2 3 4 5 6 7; do
    sed -E "1,40{/\"distributedInfo\"/d; s/\"schemaVersion\"/\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": $i, \
\"world_size\": 8}, &/}" "$work/rank0.json" >"$work/traces/rank$i.json"
done
rm "$work/rank0.json"

declare -A least
timed() { # NAME COMMAND...
    local start=$(date +%s%N) now
    "${@:2}" >"$work/$1.out" 2>"$work/$1.err" || { cat "$work/$1.err" && exit 1; }
    now=$((($(date +%s%N) - start) / 1000000))
    [[ -n ${least[$1]:-} && ${least[$1]} -le $now ]] || least[$1]=$now
}
for ((i = 0; i < ROUNDS; i++)); do
    timed one taskset -c 0 mpirun --bind-to none -n 1 "$BUILD/specter-mpi" analyze "$work/traces" --json -
    timed two taskset -c 0,1 mpirun --oversubscribe --bind-to none -n 2 "$BUILD/specter-mpi" analyze "$work/traces" --json -
    timed threads taskset -c 0,1 "$BUILD/specter" analyze "$work/traces" --json -
done
cmp "$work/one.out" "$work/two.out"
cmp "$work/one.out" "$work/threads.out"
ratio() { awk "BEGIN { printf \"%.2f\", ${least[one]} / ${least[$1]} }"; }
size=$(du -sm "$work/traces" | cut -f1)
printf '%-34s %8s\n' 'traces, MB' "$size" 'one MPI rank on one core, ms' "${least[one]}" 'two on two cores, ms' \
    "${least[two]}" 'one process on two cores, ms' "${least[threads]}"
printf '{"MB": %s, "one_ms": %s, "two_ms": %s, "threads_ms": %s, "two_to_one": %s, "threads_to_one": %s}\n' "$size" \
    "${least[one]}" "${least[two]}" "${least[threads]}" "$(ratio two)" "$(ratio threads)"
