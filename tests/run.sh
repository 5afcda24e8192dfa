#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs the tests that `make check` has built and ends with one line: N passed, N failed.
#
#   BUILD=build tests/run.sh [--unit|--cli] [--update] [--slowest N] [--without PATTERN] [PATTERN...]
#
# --slowest prints the N command-line tests that took most seconds of the processor, and how long they ran;
# --without leaves out those that the pattern finds.
#
# The unit binary prints TAP. A command-line test is tests/cli/<command>/<case>.sh, run in an empty
# folder of its own with SPECTER, LIBSPECTER, ROOT, BUILD, SHARED, TESTDATA, CC and CUDA_INCLUDE set
# and hardly anything else. Where <case>.out, .err or .status stand beside it, its stdout, stderr and
# exit status (default 0) must equal them, lines that start with `glob:` by shell pattern. Status 77 is
# a skip, its reason on stdout. A new case starts with empty golden files and --update, and a look at
# the difference.
#
# Results go to stdout at the end. How far the tests are goes to stderr meanwhile: on a terminal one line
# that is rewritten, elsewhere a line now and then. Ctrl-C ends all at once, with what is known by then.
set -euo pipefail

ROOT=$(cd "$(dirname "$0")/.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
WORK=$BUILD/test-runs
JOBS=${JOBS:-2}
SLOWEST=0 WITHOUT=
LIMIT=${LIMIT:-300} # seconds a test, for one that hangs: a busy machine takes ten times as long as an idle one

# progress WHAT: of the lines `total N`, `begin NAME` and `ok|skip|fail NAME` on stdin, how many have ended,
# how many of these failed, and which run. Where stderr is no terminal, after each tenth and every 20 s.
progress() {
    local what=$1 total=0 ended=0 failed=0 word name line tenth=0 said=$SECONDS
    local -A running=()
    shopt -s checkwinsize
    (:) # after which bash knows the terminal's COLUMNS
    while :; do
        if read -r -t 1 word name; then
            case $word in
            total) total=$name ;;
            begin) running[$name]=1 ;;
            *)
                ended=$((ended + 1))
                [[ $word != fail ]] || failed=$((failed + 1))
                unset "running[$name]"
                ;;
            esac
        elif (($? <= 128)); then # not the time that was up, but the end
            break
        fi
        line="check: $ended of $total $what done, $failed failed; running: ${!running[*]}"
        line=${line%; running: }
        if [[ -t 2 ]]; then
            printf '\r\033[K%s' "${line:0:${COLUMNS:-80}-1}" >&2
        elif ((SECONDS - said >= 20 || (SECONDS - said >= 2 && ended * 10 >= (tenth + 1) * total))); then
            echo "$line" >&2
            said=$SECONDS tenth=$((total > 0 ? ended * 10 / total : 0))
        fi
    done
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

# True when the file's lines equal those of the golden file, `glob:` lines by pattern.
matches() {
    local golden=$1 got=$2 want line
    cmp -s "$golden" "$got" && return 0
    grep -q '^glob:' "$golden" || return 1
    exec 3<"$golden" 4<"$got"
    while IFS= read -r want <&3; do
        IFS= read -r line <&4 || return 1
        if [[ $want == glob:* ]]; then
            # shellcheck disable=SC2053  # the pattern is meant as one
            [[ $line == ${want#glob:} ]] || return 1
        else
            [[ $line == "$want" ]] || return 1
        fi
    done
    ! IFS= read -r line <&4
}

# Compares one golden file; with --update rewrites it instead. Explains on stdout. A script without an
# .out says nothing when all is well: what its checks print is a failure.
compare() {
    local golden=$1 got=$2 what=$3
    if [[ ! -e $golden ]]; then
        [[ $what == stdout && -s $got ]] || return 0
        echo "stdout, where nothing was expected:"
        head -n 20 "$got"
        return 1
    fi
    matches "$golden" "$got" && return 0
    if [[ $UPDATE == 1 ]]; then
        cp "$got" "$golden"
        return 0
    fi
    echo "$what differs (- wanted, + got):"
    diff -u --label "${golden#"$ROOT"/}" --label "$what" "$golden" "$got" | tail -n +3 | head -40
    return 1
}

# Ends what a test has left running, whichever process group it hid in: its TMPDIR is its own alone. With
# `all`, what any test of this run has started.
end_leftovers() {
    local pid marks=("-xF" "TMPDIR=$1")
    [[ $1 != all ]] || marks=("-e" "^TMPDIR=$WORK/" "-e" "^SPECTER_TESTS=$WORK\$")
    grep -lz "${marks[@]}" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r _ _ pid _; do
        kill -9 "$pid" 2>/dev/null || true
    done || true
}

# Runs a part of the tests in a process group of its own, so that a signal ends it at once; without job
# control its SIGINT would be ignored, and that of the tests with it.
JOB=
in_group() {
    local status=0
    set -m
    "$@" &
    JOB=$!
    set +m
    wait "$JOB" || status=$?
    JOB=
    return "$status"
}

# stopped SIGNAL STATUS
stopped() {
    trap '' HUP INT QUIT TERM
    if [[ -n $JOB ]]; then
        { kill -9 -- "-$JOB" && wait "$JOB"; } 2>/dev/null || true
    fi
    end_leftovers all
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
    collect
    summarize "$WORK/results" || true
    echo "check: ended by SIG$1 before all tests had run"
    exit "$2"
}

# Moves what commands have written with --json to where check_results looks at it, when all tests have run.
keep_results() {
    local from=$1 to=$2 file n=0
    while IFS= read -r -d '' file; do
        mkdir -p "$to" && mv "$file" "$to/$((n += 1)).json"
    done < <(find "$from" -type f -name '*.json' -size -8M -exec grep -lZm 1 -P '^\t+"schema":\t"specter\.' {} + 2>/dev/null)
}

# Every result that the tests have left fits its schema, which knows each of its keys: as one test more.
check_results() {
    [[ -d $WORK/json ]] || return 0
    if ! type -P python3 >/dev/null; then
        echo "skip schemas: no python3"
    elif "$ROOT/scripts/schemas.py" --check "$WORK/json" >"$WORK/schemas.log" 2>&1; then
        echo "ok schemas"
    else
        echo "fail schemas"
        sed 's/^/    /;40q' "$WORK/schemas.log"
    fi
}

# Milliseconds of the processor that the children of a shell took, from what its `times` says.
processor_ms() { tail -n 1 | awk -F '[m.,s ]+' '{ print ($1 + $4) * 60000 + ($2 + $5) * 1000 + $3 + $6 }'; }

# Runs one case; leaves `ok`, `skip` or `fail` in its result file, with what there is to say.
run_case() {
    local script=$1 name=$2 dir=$WORK/$2 status=0 want=0 bad=0 began=${EPOCHREALTIME/./}
    mkdir -p "$dir/run"
    if [[ ! -s $script ]]; then
        echo "fail $name: the script is empty" >"$dir/result"
        return
    fi
    # 4 GiB a file: a test that never ends must not fill the disk of all others.
    (ulimit -S -f $((4 << 20)) && cd "$dir/run" && env -i PATH="$PATH" HOME="$dir/run" LC_ALL=C TMPDIR="$dir" PAGER=cat \
        SPECTER="$BUILD/specter" LIBSPECTER="$BUILD/libspecter.so" ROOT="$ROOT" BUILD="$BUILD" \
        SHARED="$SHARED" TESTDATA="$ROOT/tests/data" CC="${CC:-cc}" \
        CUDA_INCLUDE="${CUDA_INCLUDE:-}" \
        ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"} \
        ${UBSAN_OPTIONS:+UBSAN_OPTIONS="$UBSAN_OPTIONS"} \
        timeout -k 5 "$LIMIT" bash "$script" </dev/null >"$dir/out" 2>"$dir/err") || status=$?
    end_leftovers "$dir"
    times >"$dir/times" # of this shell, and of its children
    echo "$(processor_ms <"$dir/times") $(((${EPOCHREALTIME/./} - began) / 1000)) $name" >"$dir/took"
    if [[ $status == 77 ]]; then
        echo "skip $name: $(head -n 1 "$dir/out")" >"$dir/result"
        return
    fi
    [[ -e ${script%.sh}.status ]] && want=$(<"${script%.sh}.status")
    {
        compare "${script%.sh}.out" "$dir/out" stdout || bad=1
        compare "${script%.sh}.err" "$dir/err" stderr || bad=1
        if [[ $status != "$want" ]]; then
            if [[ $UPDATE == 1 && -e ${script%.sh}.status ]]; then
                echo "$status" >"${script%.sh}.status"
            else
                bad=1
                echo "exit status $status, want $want$([[ $status != 124 ]] || echo " (ran past $LIMIT s)")"
            fi
        fi
        if [[ $bad == 1 ]]; then
            [[ -e ${script%.sh}.err ]] || tail -n 20 "$dir/err"
        fi
    } >"$dir/why"
    if [[ $bad == 0 ]]; then
        keep_results "$dir/run" "$WORK/json/$name"
        rm -rf "$dir/run" # a failed test's folder stays for a look
        echo "ok $name" >"$dir/result"
    else
        { echo "fail $name"; sed 's/^/    /' "$dir/why"; } >"$dir/result"
    fi
}

# The unit binary's TAP as result lines; a crash is a failure of its own. They go to the results here, not where it
# is called: a signal's summary is for the screen.
run_unit() {
    local status=0
    exec >"$WORK/results" 9>&-
    (cd "$ROOT" && SPECTER_TESTS=$WORK SPECTER_ROOT=$ROOT timeout -k 5 $((4 * LIMIT)) "$BUILD/unit-tests" "$@" \
        2>"$WORK/unit.err" </dev/null) | tee "$WORK/unit.tap" |
        sed -un 's/^1\.\./total /p; s/^\(ok\) .* - /\1 /p; s/^not ok .* - /fail /p' |
        progress "unit tests" || status=${PIPESTATUS[0]}
    if ! awk '
        /^1\.\./  { plan = substr($0, 4) }
        /^#/      { notes = notes "    " substr($0, 3) "\n" }
        /^ok/     { ended++; sub(/^ok [0-9]+ - /, "unit/")
                    if (sub(/ # SKIP /, ": ")) print "skip " $0; else print "ok " $0; notes = "" }
        /^not ok/ { ended++; sub(/^not ok [0-9]+ - /, "unit/"); printf "fail %s\n%s", $0, notes; notes = "" }
        END       { if (plan == "" || ended + 0 < plan + 0) { printf "fail unit/ended early\n%s", notes; exit 1 } }' \
        "$WORK/unit.tap"; then
        echo "    exit status $status"
        tail -n 40 "$WORK/unit.err" | sed 's/^/    /'
    elif [[ $status != 0 && $status != 1 ]]; then
        echo "fail unit/exit status $status"
        tail -n 40 "$WORK/unit.err" | sed 's/^/    /'
    fi
}

# Runs one case and says so, for progress.
tell_case() {
    local name=${1#"$ROOT"/tests/cli/} verdict
    name=${name%.sh}
    echo "begin $name"
    run_case "$1" "$name"
    read -r verdict _ <"$WORK/$name/result"
    echo "$verdict $name"
}

run_cases() {
    {
        echo "total $(wc -l <"$WORK/cases")"
        tr '\n' '\0' <"$WORK/cases" | xargs -0 -r -n 1 -P "$JOBS" "$0" --case 9>&-
    } | progress "command-line tests"
}

# Results of the command-line tests behind those of the unit tests.
collect() {
    find "$WORK" -mindepth 3 -maxdepth 3 -name result -print0 | sort -z | xargs -0 -r cat >>"$WORK/results"
}

# Returns whether a name has one of the words of WITHOUT.
left_out() {
    local word
    for word in $WITHOUT; do
        [[ $1 != *"$word"* ]] || return 0
    done
    return 1
}

list_cases() {
    local script pattern
    for script in "$ROOT"/tests/cli/*/*.sh; do
        [[ -e $script ]] || continue
        ! left_out "${script#"$ROOT"/tests/}" || continue
        [[ $# == 0 ]] && echo "$script"
        for pattern in "$@"; do
            [[ ${script#"$ROOT"/tests/} == *"$pattern"* ]] && echo "$script" && break
        done
    done
    return 0
}

slowest() {
    find "$WORK" -mindepth 3 -maxdepth 3 -name took -print0 | xargs -0 -r cat | sort -rn |
        awk -v most="$SLOWEST" 'NR <= most { printf "  %6.1f s of the processor in %6.1f s  %s\n", $1 / 1000, $2 / 1000, $3 }'
}

summarize() {
    local results=$1 passed failed skipped
    grep -v '^ok' "$results" || true
    passed=$(grep -c '^ok' "$results" || true)
    failed=$(grep -c '^fail' "$results" || true)
    skipped=$(grep -c '^skip' "$results" || true)
    echo "$passed passed, $failed failed$([[ $skipped == 0 ]] || echo ", $skipped skipped")"
    [[ $failed == 0 && $passed != 0 ]]
}

main() {
    local unit=1 cli=1
    while [[ ${1:-} == --* ]]; do
        case $1 in
        --unit) cli=0 ;;
        --cli) unit=0 ;;
        --update) UPDATE=1 ;;
        --slowest) SLOWEST=$2; shift ;;
        --without) WITHOUT=$2; shift ;;
        *) echo "run.sh: unknown option '$1'" >&2; exit 2 ;;
        esac
        shift
    done
    exec 9>"$BUILD/test-runs.lock"
    flock 9 # two runs in one build folder would empty each other's
    rm -rf "$WORK"
    mkdir -p "$WORK"
    trap 'stopped HUP 129' HUP
    trap 'stopped INT 130' INT
    trap 'stopped QUIT 131' QUIT
    trap 'stopped TERM 143' TERM
    : >"$WORK/results"
    [[ $unit == 0 ]] || in_group run_unit "$@"
    if [[ $cli == 1 ]]; then
        list_cases "$@" >"$WORK/cases"
        in_group run_cases || true # each case's result tells
        collect
        check_results >>"$WORK/results"
    fi
    slowest
    summarize "$WORK/results"
}

export BUILD UPDATE=${UPDATE:-0}
SHARED=
[[ ! -d $ROOT/../shared ]] || SHARED=$(cd "$ROOT/../shared" && pwd)
if [[ ${1:-} == --case ]]; then
    tell_case "$2"
else
    main "$@"
fi
