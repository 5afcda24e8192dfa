#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Compares a 1 MiB AllReduce of four processes by `specter bench collective` with a plain loop over the
# same library: interleaved rounds, their medians. The ratio should be below 1.5.
#
#   BUILD=build tests/bench/collective.sh
set -euo pipefail

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
ROUNDS=${ROUNDS:-9} ITERS=50 ELEMENTS=262144
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=()
[[ $(id -u) != 0 ]] || root=(--allow-run-as-root)
mpi=(mpirun "${root[@]}" --oversubscribe -n 4)

# The median of an out-of-place AllReduce, as specter measures it.
specter() {
    "$@" --op all_reduce --elements $ELEMENTS --iters $ITERS --warmup 3 --json "$work/times.json"
    sed -n 's/.*"median_us":[[:space:]]*\([0-9.]*\).*/\1/p' "$work/times.json" | head -n 1
}
ours_mpi() { specter "${mpi[@]}" "$BUILD/specter" bench collective --backend mpi; }
loop_mpi() { "${mpi[@]}" "$BUILD/bench/loop_mpi" $ELEMENTS $ITERS; }
ours_gloo() { specter "$BUILD/specter" bench collective --backend gloo --gpus 4; }
loop_gloo() { mkdir "$work/store" && "$BUILD/bench/loop_gloo" "$work/store" 4 $ELEMENTS $ITERS && rm -r "$work/store"; }

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

json=
printf '%-8s %14s %14s %8s\n' library 'specter, us' 'plain loop, us' ratio
for library in mpi gloo; do
    [[ -x $BUILD/bench/loop_$library ]] || continue
    for _ in $(seq "$ROUNDS"); do
        ours_$library >>"$work/ours_$library"
        loop_$library >>"$work/loop_$library"
    done
    ours=$(median "$work/ours_$library") loop=$(median "$work/loop_$library")
    ratio=$(awk -v a="$ours" -v b="$loop" 'BEGIN { printf "%.3f", a / b }')
    printf '%-8s %14.1f %14.1f %8s\n' $library "$ours" "$loop" "$ratio"
    json+="${json:+, }\"${library}_us\": $ours, \"${library}_loop_us\": $loop, \"${library}_ratio\": $ratio"
done
[[ -n $json ]] || echo "neither gloo nor MPI was there at the build"
echo "{$json}"
