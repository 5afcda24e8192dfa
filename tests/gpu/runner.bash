# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Runs the checks of run.sh, each in a process of its own with a time limit, and keeps their results.
#
# $OUT/checks holds of each check NAME.log, NAME.figures (figures.py) and NAME.verdict: a line `VERDICT SECONDS
# BUILD`, a line that says why where it did not pass, and what nvidia-smi says of the GPU at its end. Every process of a
# check has SPECTER_FIGURES in its environment, by which it is found wherever it went.

RUNNING='' # the process that watches the check
STOPPED='' # the signal that ended all
GRACE=60   # seconds; a check may take so long, and four times what is expected; with -t twice

STATE=clocks.sm,power.draw,temperature.gpu,clocks_event_reasons.active

# processes_of FIGURES: process ids, one a line.
processes_of() {
    grep -lzxF "SPECTER_FIGURES=$1" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3
}

# end_leftovers FIGURES: what a check has left running is told to end, then killed; a process that is about to end
# gets a moment for that.
end_leftovers() {
    local signal round pid
    for signal in 0 TERM KILL; do
        for round in 1 2 3 4 5 6 7 8 9 10; do
            [ -n "$(processes_of "$1")" ] || return 0
            if [ "$round$signal" = 1TERM ]; then
                for pid in $(processes_of "$1"); do
                    echo "left running, ended: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
                done
            fi
            for pid in $(processes_of "$1"); do kill -$signal "$pid"; done 2>/dev/null
            sleep 0.1
        done
    done
    echo "still running, although killed: $(processes_of "$1" | paste -sd ' ')"
}

# most_of SECONDS: how long a check that is expected to take so long may take at most: on a machine that is had for
# minutes, one that hangs must leave some of them to the others.
most_of() { echo $((GRACE + $1 * (${#BUDGET} > 0 ? 2 : 4))); }

# limit_of SECONDS: the same, or what is left.
limit_of() {
    local limit rest=$((BUDGET - SECONDS))
    limit=$(most_of "$1")
    if [ -z "$BUDGET" ] || ((limit < rest)); then echo "$limit"; else echo "$((rest > 1 ? rest : 1))"; fi
}

# judge STATUS TOOK LIMIT SECONDS FIGURES: the verdict, and on a second line why.
judge() {
    if [ -n "$STOPPED" ]; then
        printf 'interrupted\nby SIG%s\n' "$STOPPED"
    elif [[ $1 =~ ^(124|137)$ ]] && (($2 >= $3 && $3 < $(most_of "$4"))); then
        printf 'interrupted\nthe time was up after %s s\n' "$3"
    elif [[ $1 =~ ^(124|137)$ ]] && (($2 >= $3)); then
        printf 'failed\nstill running after %s s\n' "$3"
    elif (($1 == 77)); then
        printf 'skipped\n'
    elif (($1 > 128)) && kill -l $(($1 - 128)) >/dev/null 2>&1; then
        printf 'failed\nended by SIG%s\n' "$(kill -l $(($1 - 128)))"
    elif (($1 != 0)); then
        printf 'failed\nstatus %s\n' "$1"
    elif [ ! -s "$5" ]; then
        printf 'failed\nit wrote no figure\n'
    elif grep -q '"holds": false' "$5"; then
        printf 'failed\na claim does not hold\n'
    else
        printf 'passed\n'
    fi
}

# run_check NAME SECONDS
run_check() {
    local base=$OUT/checks/$1 limit status=0 begun=$SECONDS verdict took
    limit=$(limit_of "$2")
    rm -f "$base".*
    SPECTER_FIGURES=$base.figures timeout -k 10 "$limit" "$BASH" "$0" -o "$OUT" --one "$1" </dev/null >"$base.log" 2>&1 &
    RUNNING=$!
    [ -z "$STOPPED" ] || kill -TERM $RUNNING # the signal came when nothing was there to be ended
    while :; do # a signal ends the wait, not the check
        status=0
        wait $RUNNING || status=$?
        kill -0 $RUNNING 2>/dev/null || break
    done
    RUNNING=
    took=$((SECONDS - begun))
    end_leftovers "$base.figures" >>"$base.log"
    verdict=$(judge $status $took "$limit" "$2" "$base.figures")
    [[ $verdict != *$'\n'* ]] || echo "run.sh: ${verdict#*$'\n'}" >>"$base.log"
    {
        echo "${verdict%%$'\n'*} $took $BUILD_ID"
        [[ $verdict == *$'\n'* ]] && echo "${verdict#*$'\n'}" || echo
        nvidia-smi --query-gpu=$STATE --format=csv,noheader 2>/dev/null | head -n 1
    } >"$base.verdict"
    echo "${verdict/$'\n'*/} $1"
    [[ $verdict == passed ]] || tail -n 12 "$base.log" | sed 's/^/    /'
}

# due NAME [CHOSEN...]: whether it is to run: it was named; or all are, and it has no result yet.
due() {
    local name=$1
    shift
    [[ " $* " == *" $name "* ]] && return
    [ $# = 0 ] && ! grep -q '^[pfs]' "$OUT/checks/$name.verdict" 2>/dev/null
}

on_signal() {
    STOPPED=$1
    [ -z "$RUNNING" ] || kill -TERM "$RUNNING" 2>/dev/null
}

report() { "$PYTHON" "$HERE/report.py" "$OUT" <<<"$CHECKS"; }

count() { cat "$OUT"/checks/*.verdict 2>/dev/null | grep -c "^$1 "; }

# run_all [CHECK...]: those that are due, and what they came to.
run_all() {
    local name seconds left=0
    BUILD_ID=$(cat "$SPECTER" "$BUILD/libspecter.so" | cksum | cut -d' ' -f1)
    [ $# -gt 0 ] || [ -n "$BUDGET" ] || rm -rf "$OUT/checks" "$OUT/machine.json"
    mkdir -p "$OUT/checks"
    grep -qs "\"build\": \"$BUILD_ID\"" "$OUT/machine.json" ||
        "$PYTHON" "$HERE/machine.py" "$ROOT" "$BUILD" "$BUILD_ID" >"$OUT/machine.json"
    trap 'on_signal INT' INT
    trap 'on_signal TERM' TERM
    trap 'on_signal HUP' HUP
    while read -r name seconds _ <&3; do
        [ -n "$name" ] || continue
        due "$name" "$@" || continue
        if [ -n "$STOPPED" ] || { [ -n "$BUDGET" ] && ((SECONDS + seconds > BUDGET)); }; then
            left=$((left + 1))
            continue
        fi
        run_check "$name" "$seconds"
        report
    done 3<<<"$CHECKS"
    report
    ((left += $(count interrupted)))
    [ $left = 0 ] || echo "$left left for a later call"
    echo "$(count passed) passed, $(count failed) failed, $(count skipped) skipped; figures in $OUT/report.md"
    [ -z "$STOPPED" ] || exit $((128 + $(kill -l "$STOPPED")))
    [ "$(count failed)" = 0 ] && [ "$(count passed)" != 0 ]
}
