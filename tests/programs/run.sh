#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Real programs with the tracer in them and without:
#
#     BUILD=build tests/programs/run.sh [PATTERN...]     or: make check-programs [T=PATTERN] [GET=1]
#
# Each program of tests/programs/cases is prepared once and then run four times in the same empty
# folder: untraced, with LD_PRELOAD=libspecter.so set by hand, so and with SPECTER_DISABLE=1, and by
# `specter capture`. What it wrote to stdout and stderr, its exit status, the files that it left, and
# every process that came of it, with its parent, how it ended and the descriptors that were open then
# (observe.c), must be the same; a program without a traced call leaves no trace. What differs between
# two untraced runs as well, such as pids, the case removes.
#
# Programs that are not installed are skipped by name. GET=1 fetches it first, with apt-get and pip, into
# build/programs (get.sh): nothing is installed into the system. JOBS programs run at a time.
# Prints a line a program and ends with `N passed, N failed, N skipped`; the status is 0 when none
# failed and one passed. What the runs of a failed program left is in build/program-runs/<name>.
#
# To add a program, write cases/<name>.bash with these functions, which bash sources:
#
#     prepare   in $MADE: exits 77 with the reason where something is missing (`need`), compiles
#     program   in an empty folder: runs the program; must write something and return 0
#     normalize optional, a filter: takes out what differs anyhow; $1 is stdout, stderr, processes or files
#
# and, where they hold: CALLS=yes (it makes traced calls, so traces must be there and be right),
# OBSERVE=alone (its processes have a debugger of their own), COMMAND=name (get.sh may have unpacked it).
set -uo pipefail

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
PROGRAMS=$ROOT/build/programs
WORK=$BUILD/program-runs
OBSERVE_TOOL=$WORK/observe
CC=${CC:-cc}
JOBS=${JOBS:-2}
LIMIT=${LIMIT:-240} # seconds a run
MODES="traced disabled captured"
STREAMS="status stdout stderr files processes"

# The variables that a program gets, and hardly any others. A cache of compiled files would make one run unlike the next.
clean_env() {
    local unpacked=$PROGRAMS/apt/root
    env -i PATH="$PATH:$unpacked/usr/bin:$unpacked/bin" HOME="$1/home" TMPDIR="$1/tmp" LC_ALL=C TZ=UTC \
        ROOT="$ROOT" BUILD="$BUILD" PROGRAMS="$PROGRAMS" MADE="$1/made" CC="$CC" \
        ${SPECTER_TORCH:+SPECTER_TORCH="$SPECTER_TORCH"} CCACHE_DISABLE=1 PYTHONDONTWRITEBYTECODE=1 \
        PYTHONHASHSEED=0 "${@:2}"
}

# Removes values that differ in every program: numbers of pipes, sockets, files without a name, and processes.
usual() {
    sed -E 's/(pipe|socket):\[[0-9]+\]/\1/g; s,/#[0-9]+ \(deleted\),/NAMELESS,g; s,/proc/[0-9]+,/proc/PID,g
            s/(line [0-9]+:) +[0-9]+ /\1 PID /'
}

# Lines that `specter capture` itself writes; its own process, which is the parent of the program's, and
# the one that it asks for the loader's cache.
without_capture() {
    case $1 in
    stderr) sed -E '/^specter: |^  - |^next: specter /d' ;;
    processes) sed -E '/^(- specter|specter ldconfig) /d; s/^specter /- /' ;;
    *) cat ;;
    esac
}

# without_trace FOLDER: where there were traced calls, and only there, the tracer itself has open the folder of
# the traces, a file there, and the list of what is mapped (tracer/coverage_gaps.c), from number 200 on.
without_trace() {
    if [[ $CALLS == yes ]]; then sed -E "s,( 2[0-9]{2})? $1(/[^ ]*)?,,g; s, 2[0-9]{2} /proc/PID/maps,,g"; else cat; fi
}

# files DIR: every file, link and folder left, with a checksum.
files() {
    (cd "$1" && find run home tmp -type f -exec cksum {} + && find run home tmp ! -type f -printf '%y %p %l\n') |
        sort -k 3
}

# A program gets three descriptors and none that happened to be open here.
close_others() {
    local fd
    for fd in /proc/self/fd/*; do
        fd=${fd##*/}
        ((fd < 3)) || eval "exec $fd>&-"
    done
}

# run_once DIR NAME MODE: leaves MODE.stdout and the like in DIR, and MODE.traces.
run_once() {
    local dir=$1 name=$2 mode=$3 stream alone='' status=0
    local command=(bash "$ROOT/tests/programs/case.bash" "$name" program)
    local preload=(LD_PRELOAD="$BUILD/libspecter.so" SPECTER_OUTPUT="$dir/$mode.traces")
    rm -rf "$dir/run" "$dir/home" "$dir/tmp"
    mkdir -p "$dir/run" "$dir/home" "$dir/tmp" "$dir/$mode.traces"
    [[ $OBSERVE != alone ]] || alone=-1
    case $mode in
    untraced) command=(env "${command[@]}") ;;
    traced) command=(env "${preload[@]}" "${command[@]}") ;;
    disabled) command=(env "${preload[@]}" SPECTER_DISABLE=1 "${command[@]}") ;;
    captured) command=("$BUILD/specter" capture -o "$dir/$mode.traces" -- "${command[@]}") ;;
    esac
    # shellcheck disable=SC2086  # an option or nothing
    (close_others && cd "$dir/run" && clean_env "$dir" timeout -k 5 "$LIMIT" \
        "$OBSERVE_TOOL" $alone "$dir/processes" "${command[@]}" </dev/null >"$dir/stdout" 2>"$dir/stderr") || status=$?
    echo $status >"$dir/status"
    files "$dir" >"$dir/files"
    cp "$dir/processes" "$dir/$mode.observed"
    for stream in $STREAMS; do
        without_capture "$([[ $mode != captured ]] || echo "$stream")" <"$dir/$stream" | usual | without_trace "$dir/$mode.traces" |
            bash "$ROOT/tests/programs/case.bash" "$name" normalize "$stream" |
            if [[ $stream == processes ]]; then sort; else cat; fi >"$dir/$mode.$stream"
    done
}

# Prints the errors in the traces of a run.
judge_traces() {
    local dir=$1 mode=$2 file
    local traces=("$dir/$mode.traces"/*)
    if [[ $mode == disabled || $CALLS != yes ]]; then
        [[ ! -e ${traces[0]} ]] || echo "$mode: left a trace: ${traces[*]##*/}"
        return
    fi
    [[ -e ${traces[0]} ]] || echo "$mode: traced calls and no trace"
    for file in "${traces[@]}"; do
        [[ ! -e $file ]] || "$BUILD/tracer/check_trace" "$file" 2>&1 | head -n 5
    done
}

judge() {
    local dir=$1 mode stream
    [[ $(<"$dir/untraced.status") == 0 ]] || {
        echo "untraced: status $(<"$dir/untraced.status")"
        tail -n 15 "$dir/untraced.stderr"
        return
    }
    [[ -s $dir/untraced.stdout && -s $dir/untraced.processes ]] || echo "untraced: no output"
    for mode in $MODES; do
        for stream in $STREAMS; do
            cmp -s "$dir/untraced.$stream" "$dir/$mode.$stream" && continue
            [[ $OBSERVE != alone || $mode != captured || $stream != processes ]] || continue # that is capture alone
            echo "$mode: $stream differs (- untraced, + $mode):"
            diff -a -U 1 "$dir/untraced.$stream" "$dir/$mode.$stream" | tail -n +3 | head -n 30
        done
        judge_traces "$dir" "$mode"
    done
}

# Runs one case and prints its line.
run_case() {
    local name=$1 dir=$WORK/$1 began=${EPOCHREALTIME/./} mode status=0 CALLS=no OBSERVE=all took
    # shellcheck disable=SC1090  # CALLS and OBSERVE
    . "$ROOT/tests/programs/cases/$name.bash"
    rm -rf "$dir"
    mkdir -p "$dir/made" "$dir/home" "$dir/tmp"
    (cd "$dir/made" && clean_env "$dir" timeout -k 5 "$LIMIT" bash "$ROOT/tests/programs/case.bash" "$name" prepare \
        </dev/null >"$dir/prepare.log" 2>&1) || status=$?
    if [[ $status == 77 ]]; then
        echo "skipped $name: $(tail -n 1 "$dir/prepare.log")" | tee "$dir/result"
        return
    elif [[ $status != 0 ]]; then
        { echo "failed  $name: it cannot be prepared"; tail -n 15 "$dir/prepare.log" | sed 's/^/    /'; } |
            tee "$dir/result"
        return
    fi
    for mode in untraced $MODES; do
        run_once "$dir" "$name" "$mode"
    done
    judge "$dir" >"$dir/why"
    took=$(((${EPOCHREALTIME/./} - began) / 100000))
    if [[ -s $dir/why ]]; then
        { echo "failed  $name"; sed 's/^/    /' "$dir/why"; } | tee "$dir/result"
    else
        printf 'passed  %-18s %3d processes, %4d descriptors, %2d traces, %5s s\n' "$name" \
            "$(wc -l <"$dir/traced.observed")" "$(grep -oE ' [0-9]+ [/a-z]' "$dir/traced.observed" | wc -l)" \
            "$(find "$dir/traced.traces" -type f | wc -l)" "$((took / 10)).$((took % 10))" | tee "$dir/result"
        rm -rf "$dir/run" "$dir/home" "$dir/tmp" "$dir/made" "$dir"/*.traces
    fi
}

# Names of the cases that one of the patterns is part of; all without a pattern.
chosen() {
    local file pattern
    for file in "$ROOT"/tests/programs/cases/*.bash; do
        file=${file##*/}
        for pattern in "${@:-}"; do
            [[ $file == *"$pattern"* ]] && echo "${file%.bash}" && break
        done
    done
}

main() {
    local passed failed skipped
    exec 9>"$BUILD/program-runs.lock"
    flock 9 # two runs in one build folder would empty each other's
    rm -rf "$WORK"
    mkdir -p "$WORK"
    "$CC" -std=c11 -D_GNU_SOURCE -O1 -o "$OBSERVE_TOOL" "$ROOT/tests/programs/observe.c" || exit 1
    "$OBSERVE_TOOL" "$WORK/tried" true || { echo "skipped all: processes cannot be observed here (ptrace)"; exit 77; }
    [[ ${GET:-0} != 1 ]] || "$ROOT/tests/programs/get.sh" "$@"
    chosen "$@" | tr '\n' '\0' | xargs -0 -r -n 1 -P "$JOBS" "$0" --case 9>&-
    passed=$(cat "$WORK"/*/result | grep -c ^passed)
    failed=$(cat "$WORK"/*/result | grep -c ^failed)
    skipped=$(cat "$WORK"/*/result | grep -c ^skipped)
    echo "$passed passed, $failed failed, $skipped skipped"
    [[ $failed == 0 && $passed != 0 ]]
}

export ROOT BUILD CC PROGRAMS
if [[ ${1:-} == --case ]]; then
    run_case "$2"
else
    main "$@"
fi
