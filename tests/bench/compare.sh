#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Measures `specter compare` beyond loading: two recordings of 64 ranks with 10,000 operations each, on the
# stand-ins, one on a slower network. Times are CPU time of all threads in user mode, which other work on the machine
# changes least, the best of three; memory is the peak. Loading is `specter analyze` of both, in memory `compare` of the
# step alone. At most 3 s and 200 MB beyond, with workbooks, too; `analyze --xlsx` at most 200 MB.
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

used() { # COMMAND...: ms of user time, and MB at the peak
    python3 -c 'import resource, subprocess, sys
times, before = [], 0
for _ in range(3):
    subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    times.append(now.ru_utime - before)
    before = now.ru_utime
print(round(1000 * min(times)), now.ru_maxrss * 1024 // 1000000)' "$@"
}
ops=$(cat "$work"/base/*.jsonl | grep -c '"id":')
read -r base plain < <(used "$SPECTER" analyze "$work/base" --json /dev/null)
read -r test _ < <(used "$SPECTER" analyze "$work/test" --json /dev/null)
read -r rows loaded < <(used "$SPECTER" compare "$work/base" "$work/test" --table step)
read -r all causes < <(used "$SPECTER" compare "$work/base" "$work/test")
read -r page html < <(used "$SPECTER" compare "$work/base" "$work/test" --html "$work/page.html")
read -r written workbooks < <(used "$SPECTER" compare "$work/base" "$work/test" -o "$work/out")
read -r _ books < <(used "$SPECTER" analyze "$work/base" --xlsx "$work/out")
load=$((base + test))
printf '%-42s %8s\n' "operations a side" "$ops" 'analyze both, ms' "$load" 'compare without causes, ms' "$rows" \
    'compare, ms' "$all" 'of it beyond loading, ms (at most 3000)' $((all - load)) 'compare --html, ms' "$page" \
    'compare -o, ms' "$written" 'compare: MB beyond loading (at most 200)' $((causes - loaded)) \
    'compare --html: MB beyond loading' $((html - loaded)) 'compare -o: MB beyond loading (at most 200)' $((workbooks - loaded)) \
    'analyze --xlsx: MB beyond (at most 200)' $((books - plain))
printf '{"operations": %s, "analyze_ms": %s, "rows_ms": %s, "compare_ms": %s, "compare_to_analyze": %s, "html_ms": %s, ' \
    "$ops" "$load" "$rows" "$all" "$(awk "BEGIN { printf \"%.2f\", $all / $load }")" "$page"
printf '"xlsx_ms": %s, "more_MB": %s, "html_more_MB": %s, "compare_xlsx_more_MB": %s, "xlsx_MB": %s, "xlsx_more_MB": %s}\n' \
    "$written" $((causes - loaded)) $((html - loaded)) $((workbooks - loaded)) "$books" $((books - plain))
