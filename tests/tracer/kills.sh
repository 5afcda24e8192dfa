#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Kills a traced program at moments that a seed chooses, and holds what it leaves against what it did:
#
#     BUILD=build tests/tracer/kills.sh ROUNDS [SEED]
#
# The program logs each AllReduce that has finished. Whatever finished more than a second before the kill
# is in the trace, in a ring as far as that goes back; every line is whole but for the last one of an
# ordinary trace. Every other round records into a ring, and every tenth has 300 threads of the program
# spin beside it. Prints what is wrong, and the round's seed; status 1. Four rounds run at once, those
# with spinning threads alone, in folders of their own, under the current one.
set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
SPECTER=$BUILD/specter LIBSPECTER=$BUILD/libspecter.so TMPDIR=${TMPDIR:-$PWD}
. "$ROOT/tests/cli/tracer/common.bash"

RING=3500 # more than a second's operations, less than all: a step has eleven and takes over 4 ms

# check_survivors TRACE LOG RING NS: the AllReduces of the log that finished a second before NS
# (CLOCK_MONOTONIC), by their number in the communicator, that must be in the trace and are not. In a ring
# of N, only those of the last N operations. Where the program has said nothing for the last half second,
# though it says something every few milliseconds, the machine stood still, and the second counts from
# half a second after its last word.
check_survivors() {
    awk -v ring="$3" -v killed="$4" '
        FNR == NR {
            if (match($0, /^{"id":[0-9]+/)) {
                id = substr($0, 7, RLENGTH - 6) + 0
                if (id > newest) newest = id
                if (/"op":"AllReduce"/ && !/"timing":"none"/ && match($0, /"seq":[0-9]+/))
                    there[substr($0, RSTART + 6, RLENGTH - 6)] = 1
            }
            next
        }
        NF == 2 { at[$1] = last = $2; n++ }
        END {
            if (killed > last + 5e8) killed = last + 5e8
            for (i in at) {
                if (at[i] > killed - 1e9 || (ring && 11 * i <= newest - ring)) continue
                expected++
                if (i in there) continue
                missing++
                if (killed - at[i] > oldest) oldest = killed - at[i]
            }
            if (!expected) print "nothing to expect of " n " steps"
            if (missing)
                printf "%d of %d operations are missing, up to %.2f s old\n", missing, expected, oldest / 1e9
        }' "$1" "$2"
}

spins() { (($1 % 10 == 0)); }

# round SEED: one program, killed 1.3 to 2.3 s after its first step; beside spinning threads 2 to 4 s.
round() {
    local seed=$1 dir=round$1 ring=0 threads=0 killed wrong status wait
    local -i after=$((1300 + seed * 7919 % 1000))
    ((seed / 10 % 2 == seed % 2)) || ring=$RING # as often with spinning threads as without
    ! spins "$seed" || { threads=300 after=$((2000 + seed * 7919 % 2000)); }
    mkdir "$dir" && cd "$dir" || exit 1
    (
        export EMU_CLOCK=real EMU_DIR=$PWD SPECTER_OVERHEAD=0 SPECTER_RING=$ring SPECTER_OUTPUT=out LD_PRELOAD=$PRELOAD
        exec "$FLIGHT" survive log $threads
    ) 2>err &
    for ((wait = 0; wait < 500; wait++)); do
        [[ ! -s log ]] || break
        sleep 0.02
    done
    sleep $((after / 1000)).$(printf %03d $((after % 1000)))
    read -r killed _ </proc/uptime
    kill -KILL $!
    wait $! 2>/dev/null
    wrong=$(
        check --torn out/*
        check_survivors out/*.jsonl log $ring "${killed/./}0000000"
        "$SPECTER" analyze out >analysis 2>&1
        status=$?
        [[ $status == 0 || $status == 4 ]] || echo "analyze: status $status"
    )
    cd ..
    [[ -z $wrong ]] || echo "round $seed (ring $ring, $threads threads, after $after ms): $wrong"
    [[ -n $wrong ]] || rm -r "$dir"
}

rounds=${1:?usage: kills.sh ROUNDS [SEED]} seed=${2:-1} bad=0
for ((at = seed; at < seed + rounds; at += 4)); do
    for ((i = at; i < at + 4 && i < seed + rounds; i++)); do
        spins $i || round $i &
    done >>wrong 2>/dev/null
    wait
    for ((i = at; i < at + 4 && i < seed + rounds; i++)); do
        ! spins $i || round $i
    done >>wrong 2>/dev/null
done
[[ ! -s wrong ]] || { cat wrong; exit 1; }
