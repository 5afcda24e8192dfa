#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Kills a traced program at moments that a seed chooses, and holds what it leaves against what it did:
#
#     BUILD=build tests/tracer/kills.sh ROUNDS [SEED]
#
# The program logs each AllReduce that has finished. Whatever finished more than a second before its last
# word is in the trace, in a ring as far as that goes back; every line is whole but for the last one of an
# ordinary trace. Half of the rounds are SIGKILL, half SIGTERM; half record into a ring. Prints what is
# wrong, and the round's seed; status 1. Four rounds run at once, in folders of their own, under the
# current one.
set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
SPECTER=$BUILD/specter LIBSPECTER=$BUILD/libspecter.so TMPDIR=${TMPDIR:-$PWD}
. "$ROOT/tests/cli/tracer/common.bash"

RING=3500 # more than a second's operations, less than all: a step has eleven and takes over 4 ms

# check_survivors TRACE LOG RING: the AllReduces of the log, by their number in the communicator, that must
# be in the trace and are not. In a ring of N, only those of the last N operations, those that were being
# written (#) among them: they are where older ones were.
check_survivors() {
    awk -v ring="$3" '
        FNR == NR {
            if (match($0, /^[{#]"id":[0-9]+/)) {
                id = substr($0, 7, RLENGTH - 6) + 0
                if (id > newest) newest = id
                if (/^{/ && /"op":"AllReduce"/ && !/"timing":"none"/ && match($0, /"seq":[0-9]+/))
                    there[substr($0, RSTART + 6, RLENGTH - 6)] = 1
            }
            next
        }
        NF == 2 { at[$1] = $2; last = $2; n++ }
        END {
            for (i in at) {
                if (at[i] > last - 1e9 || (ring && 11 * i <= newest - ring)) continue
                expected++
                if (!(i in there)) missing++
            }
            if (!expected) print "nothing to expect of " n " steps"
            if (missing) print missing " of " expected " operations are missing"
        }' "$1" "$2"
}

# round SEED: one program, killed after 1.3 to 2.3 s.
round() {
    local seed=$1 dir=round$1 ring=0 signal=KILL status wrong
    local -i after=$((1300 + seed * 7919 % 1000))
    ((seed % 2 == 0)) || signal=TERM
    ((seed / 2 % 2 == 0)) || ring=$RING
    mkdir "$dir" && cd "$dir" || exit 1
    (
        export EMU_CLOCK=real EMU_DIR=$PWD SPECTER_OVERHEAD=0 SPECTER_RING=$ring SPECTER_OUTPUT=out LD_PRELOAD=$PRELOAD
        exec "$FLIGHT" survive log
    ) 2>err &
    sleep $((after / 1000)).$(printf %03d $((after % 1000)))
    kill -$signal $!
    wait $! 2>/dev/null
    wrong=$(
        check --torn out/*
        check_survivors out/*.jsonl log $ring
        "$SPECTER" analyze out >analysis 2>&1
        status=$?
        [[ $status == 0 || $status == 4 ]] || echo "analyze: status $status"
    )
    cd ..
    [[ -z $wrong ]] || echo "round $seed (SIG$signal, ring $ring, after $after ms): $wrong"
    [[ -n $wrong ]] || rm -r "$dir"
}

rounds=${1:?usage: kills.sh ROUNDS [SEED]} seed=${2:-1} bad=0
for ((at = seed; at < seed + rounds; at += 4)); do
    for ((i = at; i < at + 4 && i < seed + rounds; i++)); do
        round $i &
    done >>wrong 2>/dev/null
    wait
done
[[ ! -s wrong ]] || { cat wrong; exit 1; }
