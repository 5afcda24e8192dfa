#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What only a GPU can tell: `make check-gpu`, on a machine with one NVIDIA GPU and PyTorch.
#
#   tests/gpu/run.sh [-o FOLDER] [CHECK...]     all checks, or those named
#
# Leaves logs, traces and report.md in FOLDER (default: build/gpu). The report holds every figure, with date
# and machine, and is what docs/measurements/ keeps. Ends with `N passed, N failed, N skipped`; where there
# is no GPU it says so and is skipped with status 77.
set -u

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
HERE=$ROOT/tests/gpu
BUILD=$(realpath "${BUILD:-$ROOT/build}")
SPECTER=$BUILD/specter
PYTHON=${PYTHON:-python3}
OUT=$BUILD/gpu

# on_one_gpu COUNT COMMAND...: ranks of one job on the same GPU. Each is a node of its own to NCCL, because
# two ranks of a node may not share a device; they talk over sockets.
on_one_gpu() {
    local count=$1 rank pids=() status=0
    shift
    for ((rank = 0; rank < count; rank++)); do
        RANK=$rank WORLD_SIZE=$count NCCL_HOSTID=rank$rank NCCL_IB_DISABLE=1 NCCL_NET=Socket \
            NCCL_SOCKET_IFNAME=lo NCCL_MAX_NCHANNELS=2 "$@" &
        pids+=($!)
    done
    for rank in "${pids[@]}"; do wait "$rank" || status=$?; done
    return $status
}

if [ "${1:-}" = --ranks ]; then # what several_ranks runs under capture
    shift
    on_one_gpu "$@"
    exit
fi

while getopts o: option; do
    case $option in
    o) OUT=$OPTARG ;;
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

mkdir -p "$OUT"
OUT=$(realpath "$OUT")
GPU=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
export PYTHONUNBUFFERED=1 PYTHONPATH=$HERE RANK=0 WORLD_SIZE=1 LOCAL_RANK=0

# workload NAME [OPTION...]: the bare command of a training program.
workload() { "$PYTHON" "$HERE/workload.py" "$@"; }

# traced FOLDER COMMAND...: recorded, by capture's defaults and $CAPTURE.
traced() {
    local folder=$OUT/traces/$1
    shift
    rm -rf "$folder"
    # shellcheck disable=SC2086 # options, word by word
    "$SPECTER" capture -o "$folder" ${CAPTURE:-} -- "$@"
}

# ---- the checks ----

check_doctor() { "$SPECTER" doctor; }

# Costs of the driver's calls that recording an operation makes.
check_cost() {
    cc -O2 -o "$OUT/cost" "$HERE/cost.c" -ldl && "$OUT/cost"
}

# A situation ends as it does untraced.
situation() {
    local name=$1 plain status=0
    plain=$("$PYTHON" "$HERE/api.py" "$name" 2>&1) || { echo "untraced: $plain"; return 1; }
    traced "$name" "$PYTHON" "$HERE/api.py" "$name" || status=$?
    echo "status $status"
    return $status
}
check_no_context() { situation no_context; }
check_reset() { situation reset; }
check_exit() { situation exit; }
check_nccl_by_handle() { situation nccl && "$PYTHON" "$HERE/checks.py" ranks "$OUT/traces/nccl" 1; }
check_group_exit() { situation group_exit; }

check_same_results() {
    local small="--deterministic --layers 2 --width 512 --tokens 128 --steps 5"
    workload transformer $small >"$OUT/plain.json" &&
        traced same "$PYTHON" "$HERE/workload.py" transformer $small >"$OUT/traced.json" &&
        "$PYTHON" "$HERE/checks.py" same "$OUT/plain.json" "$OUT/traced.json"
}

check_complete() { "$PYTHON" "$HERE/checks.py" complete "$OUT/traces/same"; }

# Device times against CUPTI's, of the same steps.
check_agreement() {
    traced agreement "$PYTHON" "$HERE/workload.py" transformer --steps 5 --profile "$OUT/agreement.json" &&
        "$PYTHON" "$HERE/agreement.py" "$OUT/traces/agreement" "$OUT/agreement.json"
}

check_overhead_transformer() {
    "$PYTHON" "$HERE/overhead.py" "$SPECTER" transformer --limit 1
}
check_overhead_launch_bound() {
    "$PYTHON" "$HERE/overhead.py" "$SPECTER" launch_bound --limit 3 -- --steps 200 --warmup 50
}

# A graph's capture still works, its launches are timed, its result is the untraced one.
check_graph() {
    workload graph --steps 20 >"$OUT/plain.json" &&
        traced graph "$PYTHON" "$HERE/workload.py" graph --steps 20 >"$OUT/traced.json" &&
        "$PYTHON" "$HERE/checks.py" same "$OUT/plain.json" "$OUT/traced.json" &&
        "$PYTHON" "$HERE/checks.py" graph "$OUT/traces/graph" 25
}

# How much of a compiled step's device time each kind of record stands for.
check_compile() {
    traced compile "$PYTHON" "$HERE/workload.py" compile --steps 5 --profile "$OUT/compile.json" &&
        "$PYTHON" "$HERE/checks.py" complete "$OUT/traces/compile" &&
        "$PYTHON" "$HERE/checks.py" seen "$OUT/traces/compile" "$OUT/compile.json"
}

several_ranks() {
    local count=$1 small="--layers 2 --width 512 --tokens 128 --steps 5"
    traced "ranks$count" "$BASH" "$0" --ranks "$count" "$PYTHON" "$HERE/workload.py" transformer $small &&
        "$PYTHON" "$HERE/checks.py" ranks "$OUT/traces/ranks$count" "$count" &&
        "$SPECTER" analyze "$OUT/traces/ranks$count"
}
check_ranks2() { several_ranks 2; }
check_ranks4() { several_ranks 4; }

check_plugin() {
    CAPTURE=--nccl-plugin several_ranks 2 && "$PYTHON" "$HERE/checks.py" plugin "$OUT/traces/ranks2"
}

# A captured step, replayed on its own GPU, takes its own time.
check_identity() {
    traced identity "$PYTHON" "$HERE/workload.py" transformer --marks &&
        "$SPECTER" replay "$OUT/traces/identity" --scale 1 &&
        "$SPECTER" replay "$OUT/traces/identity" --scale 1 --json "$OUT/identity.json" >/dev/null &&
        "$PYTHON" "$HERE/checks.py" identity "$OUT/identity.json" 3
}

CHECKS="doctor cost no_context reset exit nccl_by_handle group_exit same_results complete agreement
 overhead_transformer overhead_launch_bound graph compile ranks2 ranks4 plugin identity"

# ---- running them ----

report() { printf '%s\n' "$@" >>"$OUT/report.md"; }

begin_report() {
    : >"$OUT/report.md"
    report "# $GPU, $(date -u +%F)" "" "Written by tests/gpu/run.sh at $(git -C "$ROOT" rev-parse --short HEAD 2>/dev/null)." "" '```'
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm,power.limit --format=csv \
        >>"$OUT/report.md"
    "$PYTHON" -c 'import torch; print("PyTorch", torch.__version__, "CUDA", torch.version.cuda, "NCCL", torch.cuda.nccl.version())' \
        >>"$OUT/report.md"
    report '```'
}

passed=0 failed=0 skipped=0
run_check() {
    local name=$1 status=0 log=$OUT/$1.log verdict=passed
    "check_$name" >"$log" 2>&1 || status=$?
    case $status in
    0) passed=$((passed + 1)) ;;
    77) verdict=skipped skipped=$((skipped + 1)) ;;
    *) verdict=failed failed=$((failed + 1)) ;;
    esac
    echo "$verdict $name"
    [ "$verdict" = passed ] || sed 's/^/    /' "$log" | tail -n 12
    report "" "## $name: $verdict" "" '```'
    tail -n 60 "$log" >>"$OUT/report.md"
    report '```'
}

begin_report
for name in $CHECKS; do
    [ "$CHOSEN" = "  " ] || [[ $CHOSEN == *" $name "* ]] || continue
    run_check "$name"
done
echo "$passed passed, $failed failed, $skipped skipped; figures in $OUT/report.md"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
