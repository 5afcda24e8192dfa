#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What `specter compare` takes beyond loading: two recordings of 64 ranks with 10,000 operations each, on the
# stand-ins, one on a slower network. Loading is `specter analyze` of both. The best of three. At most 3 s beyond.
# Beside it the peak memory of `analyze --xlsx` of one, and how much of it the workbooks take: at most 200 MB.
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
peak() { # COMMAND...: peak memory in MB
    python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 // 1000000)' "$@"
}
ops=$(cat "$work"/base/*.jsonl | grep -c '"id":')
load=$(($(best "$SPECTER" analyze "$work/base") + $(best "$SPECTER" analyze "$work/test")))
rows=$(best "$SPECTER" compare "$work/base" "$work/test" --table step)
all=$(best "$SPECTER" compare "$work/base" "$work/test")
plain=$(peak "$SPECTER" analyze "$work/base" --json /dev/null)
books=$(peak "$SPECTER" analyze "$work/base" --xlsx "$work/out")
printf '%-34s %8s\n' "operations a side" "$ops" 'analyze both, ms' "$load" 'compare without causes, ms' "$rows" \
    'compare, ms' "$all" 'analyze --xlsx, MB at its peak' "$books" 'of it for workbooks, MB' $((books - plain))
printf '{"operations": %s, "analyze_ms": %s, "rows_ms": %s, "compare_ms": %s, "compare_to_analyze": %s, "xlsx_MB": %s, "xlsx_more_MB": %s}\n' \
    "$ops" "$load" "$rows" "$all" "$(awk "BEGIN { printf \"%.2f\", $all / $load }")" "$books" $((books - plain))
