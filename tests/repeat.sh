#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The tests N times, each second time beside two busy loops: what hangs on a moment fails in some runs.
# Prints a line a run and what failed in it, with the seconds it took; status 1 where anything failed.
#
#   BUILD=build tests/repeat.sh N [PATTERN...]
set -uo pipefail

cd "$(dirname "$0")/.."
runs=$1 failed=0 busy=()
shift
log=$(mktemp)
end_busy() {
    [[ ${#busy[@]} == 0 ]] || kill "${busy[@]}"
    busy=()
}
trap 'end_busy; rm -f "$log"' EXIT

for ((run = 1; run <= runs; run++)); do
    beside=
    if ((run % 2 == 0)); then
        beside=", beside two busy loops"
        for _ in 1 2; do
            while :; do :; done &
            busy+=($!)
        done
    fi
    began=$SECONDS
    tests/run.sh "$@" >"$log" || failed=$((failed + 1))
    end_busy
    echo "run $run: $(tail -n 1 "$log") in $((SECONDS - began)) s$beside"
    grep '^fail\|^    ' "$log"
done
echo "$((runs - failed)) passed, $failed failed"
[[ $failed == 0 ]]
