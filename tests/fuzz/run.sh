#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs the fuzzers one after the other for some seconds each, from what is in tests/fuzz/corpus and
# what earlier runs found worth keeping. Ends with one line a target, and with 1 when any failed.
#
#   tests/fuzz/run.sh build/fuzz SECONDS TARGET...
set -uo pipefail

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
dir=$1 seconds=$2
shift 2
failed=0
for target; do
    mkdir -p "$dir/corpus/$target" "$dir/found"
    seeds=$ROOT/tests/fuzz/corpus/$target
    [[ -d $seeds ]] || seeds=
    log=$dir/$target.log
    ASAN_OPTIONS=allocator_may_return_null=0:detect_leaks=1 \
        "$dir/tests/fuzz/fuzz-$target" -max_total_time="$seconds" -max_len=16384 -timeout=10 \
        -rss_limit_mb=2048 -artifact_prefix="$dir/found/$target-" "$dir/corpus/$target" \
        ${seeds:+"$seeds"} >"$log" 2>&1
    status=$?
    runs=$(sed -n 's/^Done \([0-9]*\) runs in \([0-9]*\) second.*/\1 runs in \2 s/p' "$log")
    cover=$(grep -o 'cov: [0-9]*' "$log" | tail -1)
    if [[ $status == 0 ]]; then
        echo "ok   $target: $runs, $cover"
    else
        echo "FAIL $target: see $log"
        grep -m 5 -E 'ERROR|runtime error|SUMMARY|Test unit' "$log"
        failed=1
    fi
done
exit $failed
