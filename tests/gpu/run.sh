#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What only a GPU can tell: `make check-gpu`, on a machine with one NVIDIA GPU and PyTorch.
#
#     tests/gpu/run.sh [-o FOLDER] [-t SECONDS] [CHECK...]     all checks, or those named
#     tests/gpu/run.sh --list                                  names and expected seconds
#
# Leaves logs, traces and report.md in FOLDER (default: build/gpu). The report holds every figure, with date
# and machine, and is what docs/measurements/ keeps (report.py). A machine may be had for minutes only: with
# -t no check begins that is not expected to end in time, and a later call with the same FOLDER runs
# those that have no result yet; checks named are run again. Ends with `N passed, N failed, N skipped`; where there is
# no GPU it says so and is skipped with status 77.
set -u

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
HERE=$ROOT/tests/gpu
BUILD=$(realpath "${BUILD:-$ROOT/build}")
SPECTER=$BUILD/specter
PYTHON=${PYTHON:-python3}
OUT=$BUILD/gpu
BUDGET=

# Name and seconds it may be expected to take, the most telling first; check_NAME is in checks/*.bash.
CHECKS='
doctor                 5
no_context             5
contexts               10
reset                  10
exit                   15
processes              20
threads                10
nccl_by_handle         10
group_exit             10
same_results           60
complete               2
agreement              40
cost                   10
hook                   80
harvester              60
graph                  40
overhead_transformer   150
overhead_launch_bound  150
ranks2                 40
ranks4                 60
plugin                 40
identity               40
compile                120
'

# shellcheck source=tests/gpu/lib.bash
. "$HERE/lib.bash"
for file in "$HERE"/checks/*.bash; do
    # shellcheck source=/dev/null
    . "$file"
done

if [ "${1:-}" = --ranks ]; then # what several_ranks runs under capture
    shift
    on_one_gpu "$@"
    exit
fi
if [ "${1:-}" = --list ]; then
    echo "$CHECKS" | sed '/^$/d'
    exit
fi

while getopts o:t: option; do
    case $option in
    o) OUT=$OPTARG ;;
    t) BUDGET=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
CHOSEN=" $* "

skip_all() {
    echo "skip: $*"
    exit 77
}

[ -x "$SPECTER" ] || skip_all "no $SPECTER: build first"
command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1 || skip_all "no NVIDIA GPU answers"
"$PYTHON" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null ||
    skip_all "no PyTorch that finds the GPU"

mkdir -p "$OUT/checks"
OUT=$(realpath "$OUT")
export PYTHONUNBUFFERED=1 PYTHONPATH=$HERE RANK=0 WORLD_SIZE=1 LOCAL_RANK=0

# ---- running them ----

passed=0 failed=0 skipped=0 left=0

# run_check NAME SECONDS: its log, figures and verdict go to $OUT/checks/NAME.*; one that takes four times
# as long as expected has failed.
run_check() {
    local name=$1 status=0 begun=$SECONDS verdict=passed
    local log=$OUT/checks/$name.log limit=$((60 + 4 * $2)) watch
    rm -f "$OUT/checks/$name".*
    SPECTER_FIGURES=$OUT/checks/$name.figures "check_$name" >"$log" 2>&1 &
    watch=$!
    (
        sleep "$limit"
        echo "still running after $limit s: ended" >>"$log"
        pkill -TERM -P $watch
        kill -TERM $watch
    ) 2>/dev/null &
    wait $watch || status=$?
    # shellcheck disable=SC2046 # the watcher first, or it would see its sleep end and speak
    kill $! $(pgrep -P $!) 2>/dev/null
    case $status in
    0) passed=$((passed + 1)) ;;
    77) verdict=skipped skipped=$((skipped + 1)) ;;
    *) verdict=failed failed=$((failed + 1)) ;;
    esac
    echo "$verdict $((SECONDS - begun))" >"$OUT/checks/$name.verdict"
    echo "$verdict $name"
    [ "$verdict" = passed ] || sed 's/^/    /' "$log" | tail -n 12
}

# chosen NAME: named on the command line, or all were meant and this one has no result yet.
chosen() {
    [[ $CHOSEN == *" $1 "* ]] || { [ "$CHOSEN" = "  " ] && [ ! -e "$OUT/checks/$1.verdict" ]; }
}

for name in $CHOSEN; do
    grep -q "^$name " <<<"$CHECKS" || { echo "run.sh: no check is named $name" >&2; exit 2; }
done
while read -r name seconds; do
    [ -n "$name" ] && chosen "$name" || continue
    if [ -n "$BUDGET" ] && ((SECONDS + seconds > BUDGET)); then
        left=$((left + 1))
        continue
    fi
    run_check "$name" "$seconds" </dev/null
done <<<"$CHECKS"
"$PYTHON" "$HERE/report.py" "$OUT" "$ROOT" $(awk 'NF { print $1 }' <<<"$CHECKS")
[ $left = 0 ] || echo "$left checks were left for a later call"
echo "$passed passed, $failed failed, $skipped skipped; figures in $OUT/report.md"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
