#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Measures one node and records a training job on it: from a fresh clone to a folder that `specter analyze` and
# `specter replay` take. Without root and without asking; over ssh, in a batch job, or at the machine itself.
#
#   scripts/profile_node.sh [--quick] [--sync] [-o DIR] [--gpus N]
#
# BUILD=DIR takes the specter that is built there, and neither sets up nor builds. docs/bench.md says what the
# folder holds.
set -u
set -o pipefail

usage() {
    cat <<EOF
usage: scripts/profile_node.sh [--quick] [--sync] [-o DIR] [--gpus N]

Sets up and builds specter, measures this node's GPUs (specter bench: state,
collective, p2p, gemm, drift), records a training job on all of them, analyzes it,
and fits a profile of the machine. Needs no root and asks nothing.

options:
      --quick        two minutes: fewer sizes, GEMMs and steps
      --sync         record with 'specter capture --sync': each call is timed by
                     waiting for it, and nothing overlaps
  -o, --output DIR   where all goes; default ./traces. Earlier results stay
      --gpus N       the first N GPUs; default: all that are visible
  -h, --help         show this help

environment:
  BUILD=DIR          take the specter that is built there: no setup, no build
  PYTHON=PROGRAM     where PyTorch is looked for; default python3

PyTorch with CUDA trains a transformer (tests/gpu/workload.py); without it
examples/train.c is built with the CUDA and NCCL libraries that are here.

Exit status: 0 all done; 1 a collective gave wrong results; 2 bad option; 3 no
GPU, no build, or DIR cannot be written; 4 a step failed or a signal ended the
run: the other results stand, and bench/run_TIME/summary.txt says which.
EOF
}

ROOT=$(cd "$(dirname "$0")/.." && pwd)
quick='' sync='' output=traces gpus=''
began=$SECONDS

complain() { echo "profile_node: $*" >&2; }

# value OPTION COUNT: ends where an option has nothing behind it.
value() { [ "$2" -gt 1 ] || { complain "$1 needs a value (see --help)"; exit 2; }; }

while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=1 ;;
    --sync) sync=--sync ;;
    -o | --output) value "$1" $# && output=$2 && shift ;;
    --output=*) output=${1#*=} ;;
    --gpus) value "$1" $# && gpus=$2 && shift ;;
    --gpus=*) gpus=${1#*=} ;;
    -h | --help) usage && exit ;;
    *) complain "'$1' is no option (see --help)" && exit 2 ;;
    esac
    shift
done
[[ -n $output ]] || { complain "-o: no folder is named" && exit 2; }
[[ -z $gpus || $gpus =~ ^[1-9][0-9]{0,3}$ ]] || { complain "--gpus: '$gpus' is no number of GPUs" && exit 2; }
output=${output%"${output##*[!/]}"} # without slashes behind it
case ${output##*/} in
'') complain "-o: '/' is no folder for results" && exit 2 ;;
. | ..) output=$(mkdir -p "$output" && cd "$output" && pwd) || exit 3 ;;
esac
[[ $output != -* ]] || output=./$output

# ---- where results go ----

# free_name BEFORE BEHIND: the first of BEFOREBEHIND, BEFORE-2BEHIND, ... that is not there.
free_name() {
    local name=$1$2 i=1
    while [[ -e $name || -L $name ]]; do
        i=$((i + 1))
        name=$1-$i$2
    done
    echo "$name"
}

bench=$output/bench

make_folder() {
    run=$(free_name "$bench/run_$(date +%Y%m%d_%H%M%S)" '')
    mkdir -p "$run" 2>/dev/null || { complain "cannot write to '$output'" && exit 3; }
}

scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT

# ---- steps ----

steps='' # a line each: name, what became of it, seconds, why
running='' stopped='' failed='' wrong=''

# The command that runs ends by itself, and is killed when it does not within 15 s (timeout -k).
on_signal() {
    stopped=SIG$1
    [[ -z $running ]] || kill -TERM "$running" 2>/dev/null
}
trap 'on_signal INT' INT
trap 'on_signal TERM' TERM
trap 'on_signal HUP' HUP

# note_step NAME STATE SECONDS [WHY]: also in the summary, which is thus true at any moment.
note_step() {
    local line
    line=$(printf '%-11s %-8s %4d s  %s' "$1" "$2" "$3" "${4-}" | sed 's/ *$//')
    echo "$line"
    steps+=$line$'\n'
    summary >"$run/summary.txt"
}

# Why a command failed, by the end of what it printed: one line.
reason() {
    local line
    line=$(grep -v '^specter: note:' "$1" | grep -E '^(specter|setup|profile_node|make|train): |rror' | tail -n 1)
    [[ -n $line ]] || line=$(grep -v '^ *$' "$1" | tail -n 1)
    [[ -n $line ]] || line="it printed nothing"
    tr -d '\r' <<<"${line#specter: }" | cut -c1-200
}

# run_group LOG LIMIT COMMAND...: in a process group of its own, which is empty afterwards; sets $status.
run_group() {
    local log=$1 limit=$2
    shift 2
    set -m
    timeout -k 15 "$limit" "$@" </dev/null >>"$log" 2>&1 &
    running=$!
    set +m
    [[ -z $stopped ]] || kill -TERM "$running" 2>/dev/null
    while :; do # a signal ends the wait, not the command
        status=0
        wait "$running" || status=$?
        kill -0 "$running" 2>/dev/null || break
    done 2>/dev/null
    kill -KILL -- "-$running" 2>/dev/null
    running=''
}

# step NAME LIMIT COMMAND...: what it prints goes to run_TIME/NAME.txt. Status 1 where it failed.
step() {
    local name=$1 limit=$2 log=$run/$1.txt from=$SECONDS status state=failed why=''
    shift 2
    [[ -z $stopped ]] || return 1
    [[ ! -t 1 ]] || printf '%s ...\r' "$name"
    run_group "$log" "$limit" "$@"
    if [[ -n $stopped ]]; then
        state=stopped why="by $stopped; what it measured is kept"
    elif ((status == 0)); then
        state=ok
    elif ((status == 124 || (status == 137 && SECONDS - from >= limit))); then
        why="still running after $limit s"
    elif ((status == 1)) && [[ $name == collective ]]; then
        wrong=1 state=wrong why=$(grep -m 1 'wrong elements' "$log")
    else
        why="$(reason "$log") (status $status, $log)"
    fi
    note_step "$name" "$state" $((SECONDS - from)) "$why"
    [[ $state != failed ]] || failed=1
    [[ $state == ok ]]
}

skip() { [[ -n $stopped ]] || note_step "$1" skipped 0 "$2"; }

# ---- the machine ----

# Whatever launcher this shell stands below, this is one node and the script starts its processes.
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE SLURM_PROCID OMPI_COMM_WORLD_RANK PMI_RANK TORCHELASTIC_RUN_ID
export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 10000))

# The path of a library, as `specter doctor` names it first.
library() { awk -v name="$1" '$2 == name' "$scratch/doctor" | grep -oE "/[^ ,]*/$1\.so[^ ,]*" | head -n 1; }

# GPUs in $all and $gpu, and the folders of CUDA's and NCCL's libraries in $libraries.
look_around() {
    local name path
    "$BUILD/specter" doctor >"$scratch/doctor" 2>&1
    all=$(sed -n 's/^[a-z]* *gpu *\([0-9][0-9]*\) devices\{0,1\}.*/\1/p' "$scratch/doctor")
    gpu=$(sed -n 's/^[a-z]* *gpu .*, the first is \(.*\), driver for .*/\1/p' "$scratch/doctor")
    [[ -z $stopped ]] || return
    ((${all:-0} > 0)) || {
        complain "no GPU: $(sed -n 's/^[a-z]* *gpu *//p' "$scratch/doctor")"
        exit 3
    }
    ((${gpus:-1} <= all)) || { complain "--gpus $gpus: there are $all" && exit 2; }
    gpus=${gpus:-$all}
    libraries=${LD_LIBRARY_PATH:-}
    for name in libcudart libcublas libcublasLt libnccl; do
        path=$(library $name)
        [[ -z $path || :$libraries: == *":${path%/*}:"* ]] || libraries+=${libraries:+:}${path%/*}
    done
}

specter_bench() {
    local kind=$1
    shift
    step "$kind" "$limit" env LD_LIBRARY_PATH="$libraries" "$BUILD/specter" bench "$kind" "$@"
}

# ---- the training job ----

has_torch() {
    local status
    run_group /dev/null 120 "${PYTHON:-python3}" -c 'import sys, torch, torch.distributed as d
sys.exit(not (torch.cuda.is_available() and d.is_nccl_available()))'
    ((status == 0))
}

# examples/train.c, linked with the libraries that are here. Not in /tmp, where programs may not run.
build_train() {
    local found=() name path
    for name in libnccl libcublas libcublasLt libcudart; do
        path=$(library $name)
        [[ -n $path ]] || { echo "no $name here, which examples/train.c needs" && return 1; }
        found+=("$path" "-Wl,-rpath,${path%/*}")
    done
    # shellcheck disable=SC2086  # CC may be two words
    LD_LIBRARY_PATH=$libraries ${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -I"$ROOT/include" -I"$ROOT/tracer/abi" \
        -o "$run/train" "$ROOT"/examples/train*.c "$ROOT/examples/start.c" "${found[@]}" \
        -Wl,--allow-shlib-undefined -lm -ldl
}

# The command of one rank, in $job; what it is, in $job_is. The libraries that it takes, in $job_libraries.
find_job() {
    job_libraries=$libraries
    if has_torch; then
        job_libraries=${LD_LIBRARY_PATH:-} # PyTorch brings its own
        job=("${PYTHON:-python3}" "$ROOT/tests/gpu/workload.py" transformer --marks --steps "$job_steps")
        job_is="a transformer in PyTorch (tests/gpu/workload.py)"
        return
    fi
    build_train >"$run/workload.txt" 2>&1 || return
    job=("$run/train" --iters "$job_steps")
    ((gpus < 4 || gpus % 2)) || job+=(--tp 2)
    job_is="examples/train.c"
}

record_job() {
    local from=$SECONDS
    [[ -z $stopped ]] || return 1
    touch "$run/.before"
    find_job || {
        note_step workload failed $((SECONDS - from)) "$(reason "$run/workload.txt") ($run/workload.txt)"
        failed=1
        return 1
    }
    # shellcheck disable=SC2086  # one word or none
    step workload "$limit" env LD_LIBRARY_PATH="$job_libraries" "$BUILD/specter" bench state -o "$run/workload.csv" -- \
        "$BUILD/specter" capture $sync -o "$output" -- "$ROOT/examples/launch.sh" -n "$gpus" -g "$gpus" "${job[@]}"
    rm -f "$run/train"
}

# Prints the number of files that this run's capture has left.
traces() { find "$output" -maxdepth 1 -type f -name 'specter_*' -newer "$run/.before" 2>/dev/null | wc -l; }

# ---- the end ----

# paragraph NAME LINES: the first line behind the step's name, the others below it.
paragraph() {
    [[ -z $2 ]] || sed -e "1s/^ */  $(printf %-11s "$1") /" -e '2,$s/^ */              /' <<<"$2"
}

# of STEP AWK-PROGRAM: what it takes from what the step printed.
of() { [[ ! -e $run/$1.txt ]] || awk -v n="$gpus" "$2" "$run/$1.txt"; }

# Verdicts of the steps that have run, each as long as its sentence.
verdicts() {
    local op
    # shellcheck disable=SC2016  # awk's
    for op in $(of collective '$0 ~ "^[A-Za-z]+, " n " ranks on 1 node: " { sub(",.*", ""); print }'); do
        paragraph collective "$(of collective "/^$op, $gpus ranks on 1 node: / { on = 1 } on { print } on && /\.\$/ { exit }")"
    done
    paragraph p2p "$(of p2p '/^specter:/ { next } /^GB\/s|^Both ways|^More/ { exit } { print }')"
    paragraph gemm "$(of gemm '/^specter:/ { next } /^ +dtype/ { exit } { print }')"
    paragraph drift "$(of drift '/^Clocks over/ { print; exit }')"
    paragraph workload "$(of analyze '/^1\. / { on = 1; sub("1. ", "") } /^2\. |^ *$/ { on = 0 } on { print }')"
}

files() {
    local name
    (($(traces) == 0)) || echo "  $output: the traces of $(traces) of $gpus ranks of this run"
    echo "  $bench: tables for 'specter validate' and 'specter calibrate'"
    echo "  $run: what each step printed"
    for name in "$profile" "$archive"; do
        [[ ! -f $name ]] || echo "  $name"
    done
}

summary() {
    if [[ -n $stopped ]]; then
        echo "complete: no, ended by $stopped"
    elif [[ -z ${finished:-} ]]; then
        echo "complete: no, a later step was not reached"
    else
        echo "complete: $([[ -n $failed$wrong ]] && echo 'no, a step failed' || echo yes)"
    fi
    echo "specter:  $("$BUILD/specter" --version 2>/dev/null | head -n 1)"
    echo "node:     ${gpus:-?} x ${gpu:-?}${job_is:+; the job is $job_is}"
    echo
    printf %s "$steps"
}

next() {
    local from folder
    from=$(cd "$output" && pwd)
    printf -v folder %q "${from##*/}"
    printf '  scp -r %s@%s:%q .\n' "$(id -un)" "$(hostname)" "$from"
    (($(traces) == 0)) || echo "  specter analyze $folder"
    (($(traces) == 0)) || echo "  specter replay $folder"
    [[ ! -f $profile ]] || (($(traces) == 0)) ||
        echo "  specter replay $folder --from-gpu $folder/${profile##*/} --gpu b200_sxm"
    [[ ! -f $profile ]] || echo "  specter validate $folder/bench"
}

finish() {
    finished=1
    summary >"$run/summary.txt"
    echo
    echo "Measured in $((SECONDS - began)) s: $gpus x $gpu${job_is:+, and $job_is}"
    verdicts
    echo "Files:"
    files
    echo "Next, on a machine of yours:"
    next
    rm -f "$run/.before"
    [[ -z $stopped ]] || complain "ended by $stopped: what was measured until then is kept, and marked in $run/summary.txt"
    [[ -z $stopped$failed ]] || exit 4
    [[ -z $wrong ]] || exit 1
}

# ---- all of it ----

profile='' archive=''
if [[ -z ${BUILD:-} ]]; then
    BUILD=$ROOT/build
    make_folder
    step build 1800 "$ROOT/scripts/setup.sh" --build || { [[ -z $stopped ]] || exit 4; exit 3; }
fi
[[ -x $BUILD/specter ]] || { complain "no specter in $BUILD" && exit 3; }
BUILD=$(cd "$BUILD" && pwd)
look_around
[[ -z $stopped ]] || { complain "ended by $stopped before anything was measured" && exit 4; }
[[ -n ${run-} ]] || make_folder
echo "profile_node: $gpus of $all x $gpu, into $output"

limit=$([[ -n $quick ]] && echo 120 || echo 1800) # seconds a step
per_node=$(for ((n = 2; n < gpus; n *= 2)); do printf '%d,' $n; done)$gpus
many=(--gpus "$gpus")
if [[ -n $quick ]]; then
    sizes=(--bytes 4K:64M --factor 8 --iters 20 --warmup 5 --check 16K)
    messages=(--sizes 1:16M --repeat 5) gemms=(--budget 5) drift_s=5 job_steps=5
else
    sizes=(--bytes 1K:1G --factor 2 --check 4M)
    messages=() gemms=() drift_s=60 job_steps=20
fi

specter_bench state -o "$run/state.csv"
if ((gpus > 1)); then
    # Without those that have a root, whose calls overlap (docs/bench.md).
    specter_bench collective --op all_reduce,all_gather,reduce_scatter,alltoall,sendrecv --dtype bf16 "${sizes[@]}" \
        --per-node "$per_node" "${many[@]}" -o "$bench"
    specter_bench p2p ${messages[@]+"${messages[@]}"} "${many[@]}" -o "$bench"
else
    skip collective "one GPU"
    skip p2p "one GPU"
fi
specter_bench gemm ${gemms[@]+"${gemms[@]}"} -o "$bench"
specter_bench drift --seconds $drift_s "${many[@]}" -o "$run/drift.csv"
record_job
if [[ -n $stopped ]]; then
    finish
elif (($(traces) > 0)); then
    step analyze "$limit" "$BUILD/specter" analyze "$output"
else
    skip analyze "no traces of this run"
fi
profile=$(free_name "$output/profile" .json)
step calibrate "$limit" "$BUILD/specter" calibrate "$bench" -o "$profile"
finished=1 && summary >"$run/summary.txt"
archive=$(free_name "$output" .tar.gz)
step archive "$limit" tar -czf "$archive" --exclude=.before -C "$(dirname "$output")" "$(basename "$output")" ||
    rm -f "$archive"
finish
