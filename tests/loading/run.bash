#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs loading patterns (loader.c tells what they are) and says on stdout what is wrong:
#
#   run.bash [-v|-b|-1] [WORD...]   the patterns whose name holds one of the words (regular
#                                   expressions): in the current folder, if it is empty, or in
#                                   a new one
#   run.bash -l                     the names of all patterns
#   run.bash -c                     what differences.txt lists and is no pattern
#
#   -v  also the steps, and what a pattern tells without a preload; -b names only; -1 shows the
#       difference of the first pattern and the names of the others
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
TRACER=$(realpath "${LIBSPECTER:-$BUILD/libspecter.so}")
HERE=$ROOT/tests/loading
OBJECTS=$BUILD/loading
MODES=(plain traced no_dlsym disabled)
DETAIL=all # of differences: all, first, none, steps
unset LD_PRELOAD LD_LIBRARY_PATH LD_DEBUG "${!SPECTER_@}"

# The patterns of the families, a line each: name|program|front|behind|environment. With a folder, also
# its <name>, the steps.
expand() {
    awk -v into="${1:-}" -f "$HERE/expand.awk" "$HERE"/patterns/*.txt
}

# run_one MODE NAME PROGRAM FRONT BEHIND ENVIRONMENT
run_one() {
    local mode=$1 name=$2 program=$3 front=$4 behind=$5 environment=$6 tracer=$TRACER status=0
    (
        cd "$OBJECTS"
        # shellcheck disable=SC2163,SC2086  # NAME=VALUE words
        [[ -z $environment ]] || export $environment
        export SPECTER_OUTPUT=$WORK/traces/$mode/$name
        case $mode in
        plain) tracer= && export LD_DEBUG=bindings ;;
        no_dlsym) export SPECTER_NO_DLSYM=1 ;;
        disabled) export SPECTER_DISABLE=1 ;;
        esac
        LD_PRELOAD="${front:+./$front} $tracer ${behind:+./$behind}" \
            exec "./$program" "$WORK/steps/$name"
    ) >"$WORK/$mode/$name" 2>"$WORK/$mode.err/$name" || status=$?
    echo "status $status" >>"$WORK/$mode/$name"
} 2>/dev/null

# Paths as they are in objects.txt.
short_paths() {
    find "$WORK"/{plain,traced,no_dlsym,disabled}{,.err} -type f -print0 |
        xargs -0 sed -i -e "s|$OBJECTS/||g" -e 's|\([ :]\)\./|\1|g; s|\([ /]\)\./|\1|g'
}

# The modes of `modes` in which differences.txt lists the pattern, with a space on both sides.
listed_modes() {
    local pattern modes all=' '
    while read -r pattern modes _; do
        # shellcheck disable=SC2053  # the pattern is meant as one
        [[ -z $pattern || $pattern == \#* || $1 != $pattern ]] || all+="${modes//,/ } "
    done <"$HERE/differences.txt"
    echo "$all"
}

show_difference() {
    diff -U 3 "$WORK/plain/$2" "$WORK/$1/$2" | tail -n +3 | sed 's/^/    /' || true
    grep -v "binding file\|^$" "$WORK/$1.err/$2" | head -n 3 | sed 's/^/    stderr: /' || true
}

# Says in which modes a pattern differs from the plain run. Modes that differ in the same way are told
# together.
compare_modes() {
    local name=$1 mode other alike told=' ' listed
    listed=$(listed_modes "$name")
    for mode in traced no_dlsym disabled; do
        if cmp -s "$WORK/plain/$name" "$WORK/$mode/$name"; then
            [[ $listed != *" $mode "* ]] ||
                echo "$name: $mode is listed in differences.txt, and does not differ"
            continue
        fi
        if [[ $told$listed == *" $mode "* || $listed == *" $mode? "* ]]; then
            continue
        fi
        alike=
        for other in traced no_dlsym disabled; do
            ! cmp -s "$WORK/$mode/$name" "$WORK/$other/$name" || alike+=" $other"
        done
        told+="$alike "
        echo "$name: differs from the plain run:$alike"
        [[ $DETAIL == none ]] || show_difference "$mode" "$name"
    done
}

# Prints the differences of a pattern between the modes, and errors in it.
judge() {
    local name=$1
    compare_modes "$name"
    ! grep -E "^loader:|^  (plug|host|link|lib(nccl|cu)).*: cannot open" "$WORK/plain/$name" ||
        echo "$name: the pattern is wrong"
    awk -f "$HERE/bindings.awk" "$WORK/plain.err/$name" "$WORK/plain/$name"
    find "$WORK/traces/traced" -path "*/$name/*.jsonl" -print0 |
        xargs -0 awk -v name="$name" -f "$HERE/records.awk" "$WORK/plain/$name"
    [[ ! -e $WORK/traces/disabled/$name ]] || echo "$name: SPECTER_DISABLE=1 left a trace"
}

run_patterns() {
    local name program front behind environment mode wrong
    while IFS='|' read -r name program front behind environment; do
        for mode in "${MODES[@]}"; do
            run_one "$mode" "$name" "$program" "$front" "$behind" "$environment"
        done
    done <"$WORK/list"
    short_paths
    while IFS='|' read -r name program front behind environment; do
        if [[ $DETAIL == steps ]]; then
            echo "$name: ${front:+LD_PRELOAD=$front ... }${behind:+LD_PRELOAD=... $behind }$environment $program"
            sed 's/^/    /' "$WORK/plain/$name"
        fi
        wrong=$(judge "$name")
        [[ -n $wrong ]] || continue
        echo "$wrong"
        [[ $DETAIL != first ]] || DETAIL=none
    done <"$WORK/list"
}

unknown_differences() {
    local pattern name names
    names=$(expand | cut -d'|' -f1)
    while read -r pattern _; do
        [[ -n $pattern && $pattern != \#* ]] || continue
        for name in $names; do
            # shellcheck disable=SC2053  # the pattern is meant as one
            [[ $name != $pattern ]] || continue 2
        done
        echo "differences.txt: no pattern is '$pattern'"
    done <"$HERE/differences.txt"
}

main() {
    while [[ ${1:-} == -* ]]; do
        case $1 in
        -v) DETAIL=steps ;;
        -b) DETAIL=none ;;
        -1) DETAIL=first ;;
        -l) expand | cut -d'|' -f1; return ;;
        -c) unknown_differences; return ;;
        *) sed -n '/^#   run/,/^#       diff/s/^#   //p' "${BASH_SOURCE[0]}"; return 2 ;;
        esac
        shift
    done
    [[ -e $OBJECTS/built ]] || { "$HERE/build.sh" "$OBJECTS" && touch "$OBJECTS/built"; }
    WORK=$PWD
    [[ -z $(ls -A) ]] || WORK=$(mktemp -d)
    mkdir -p "$WORK"/{steps,plain,traced,no_dlsym,disabled}{,.err} "$WORK"/traces/{traced,no_dlsym}
    expand "$WORK/steps" | grep -E "$(IFS="|"; echo "$*")" >"$WORK/list" || echo "no such pattern"
    cut -d'|' -f1 "$WORK/list" | sort | uniq -d | sed 's/$/: two patterns have this name/'
    run_patterns
    [[ $DETAIL != steps ]] || echo "$(wc -l <"$WORK/list") patterns, in $WORK"
}

main "$@"
