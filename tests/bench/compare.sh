#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What `specter compare` takes beyond loading: two recordings of 64 ranks with 10,000 operations each, on the
# stand-ins, one on a slower network. Loading is `specter analyze` of both. The best of three. At most 3 s beyond.
#
#   BUILD=build tests/bench/compare.sh
set -euo pipefail

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
SPECTER=$BUILD/specter
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

record() { # FOLDER CONF
    local train="$BUILD/examples/train --tp 8 --iters 264 --hidden 512 --tokens 256"
    # shellcheck disable=SC2086  # words
    EMU_FABRIC=$2 LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o "$work/$1" -- \
        "$ROOT/examples/launch.sh" -n 64 $train >/dev/null 2>"$work/log" || { cat "$work/log" && exit 1; }
}
fabric=$ROOT/tests/emu/fabric/h100.conf
{ cat "$fabric"; echo 'intra_GBps = 200'; } >"$work/slow.conf"
record base "$fabric"
record test "$work/slow.conf"

best() { # COMMAND...: milliseconds
    local least= start now
    for _ in 1 2 3; do
        start=$(date +%s%N)
        "$@" >/dev/null
        now=$((($(date +%s%N) - start) / 1000000))
        [[ -n $least && $least -le $now ]] || least=$now
    done
    echo "$least"
}
ops=$(cat "$work"/base/*.jsonl | grep -c '"id":')
load=$(($(best "$SPECTER" analyze "$work/base") + $(best "$SPECTER" analyze "$work/test")))
rows=$(best "$SPECTER" compare "$work/base" "$work/test" --table step)
all=$(best "$SPECTER" compare "$work/base" "$work/test")
printf '%-34s %8s\n' "operations a side" "$ops" 'analyze both, ms' "$load" 'compare without causes, ms' "$rows" \
    'compare, ms' "$all"
printf '{"operations": %s, "analyze_ms": %s, "rows_ms": %s, "compare_ms": %s, "compare_to_analyze": %s}\n' \
    "$ops" "$load" "$rows" "$all" "$(awk "BEGIN { printf \"%.2f\", $all / $load }")"
