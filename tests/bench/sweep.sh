#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Measures the cost of a point of `specter sweep` beside the simulation itself: a recording of two ranks and a
# dozen operations, so that reading options, making the program and writing rows decide. Points that
# have a replay of their own, and 50 scales to a replay; one thread, and one a core. The best of three.
#
#   BUILD=build tests/bench/sweep.sh
set -euo pipefail

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
SPECTER=$(realpath "${BUILD:-$ROOT/build}")/specter
cores=$(nproc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

gpus=$("$SPECTER" profiles gpu --json | sed -n 's/.*"name":[[:space:]]*"\(.*\)".*/"\1"/p' | paste -sd,)

# $1 threads, $2 scales: points a second.
rate() {
    local best=0 points start end now
    echo "{\"from_gpu\": [$gpus], \"gpus\": [$gpus], \"calibrate\": [true, false]," \
        "\"scales\": [$(seq -s, 1 "$2")]}" >"$work/grid.json"
    for _ in 1 2 3; do
        start=$(date +%s%N)
        "$SPECTER" sweep "$work/grid.json" "$ROOT/tests/cli/replay/data/two_ranks" --threads "$1" \
            >"$work/rows.csv" 2>/dev/null
        end=$(date +%s%N)
        points=$(($(wc -l <"$work/rows.csv") - 1))
        now=$((points * 1000000000 / (end - start)))
        best=$((now > best ? now : best))
    done
    echo "$best"
}

own=$(rate 1 1) own_all=$(rate "$cores" 1) shared=$(rate 1 50) shared_all=$(rate "$cores" 50)
printf '%-24s %12s %12s\n' 'points a second' '1 thread' "$cores threads" \
    'a replay each' "$own" "$own_all" '50 scales to a replay' "$shared" "$shared_all"
printf '{"points_per_s": %s, "points_per_s_all": %s, "shared_per_s": %s, "shared_per_s_all": %s, "threads": %s}\n' \
    "$own" "$own_all" "$shared" "$shared_all" "$cores"
