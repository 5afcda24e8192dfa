#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Checks that only a GPU can answer: `make check-gpu`, on a machine with one NVIDIA GPU and PyTorch.
#
#     tests/gpu/run.sh [-o FOLDER] [-t SECONDS] [CHECK...]   all checks anew, or those named
#     tests/gpu/run.sh --list                                names, expected seconds, what is asked
#     tests/gpu/run.sh [-o FOLDER] --publish [DIR]           the report into docs/measurements
#     tests/gpu/run.sh [-o FOLDER] --pack FILE.tar.gz [MIB]  what fits of FOLDER in one file
#
# Leaves logs, figures, traces and report.md in FOLDER (default: build/gpu); the report is written after
# each check. A machine may be had for minutes only: with -t no check begins that is not expected to end in
# time, none runs on beyond it, and those that have a result in FOLDER are not run again, so that the next
# call continues; FOLDER may also be an archive of --pack, unpacked. A check that hangs is ended with
# all that it started. SIGINT and SIGTERM end the check that runs, which counts as not run. Ends with `N passed, N
# failed, N skipped` of FOLDER, status 1 where one failed or none passed; without a GPU or PyTorch, with
# a line that says so and status 77.
#
# $GPU_CHECKS is the folder of the checks, for tests of this script.
set -u

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
HERE=$ROOT/tests/gpu
BUILD=$(realpath "${BUILD:-$ROOT/build}")
SPECTER=$BUILD/specter
PYTHON=${PYTHON:-python3}
OUT=$BUILD/gpu
BUDGET=
VERB=run

# Name, seconds it may be expected to take and what it asks, the most telling first; check_NAME is in checks/*.bash.
CHECKS='
doctor                   20  does doctor find the machine fit to be recorded
same_results             30  are losses and weights those of the untraced run, to the last bit
complete                  2  is every operation of that run recorded
agreement                25  are durations those that CUPTI tells
identity                 70  does a captured step, replayed on its own GPU, take its own time
facts                   120  do the stand-ins answer as these libraries do, and what do calls cost on both
overhead_transformer    200  what does recording cost a transformer step
contexts                 10  does a program have its contexts, and no other
reset                    10  does a program survive cudaDeviceReset
exit                     20  does a program end as untraced, with work still queued, by a signal or an exception
examples                120  small traces for examples/traces: does every command read them
gemm                    140  are GEMMs as long as the model says
bench_alone              40  does bench measure a rank alone, and the clock of its GPU
bench_shared             90  does bench measure two ranks on one GPU: right results, one clock, overlap
as_found                 20  how far are the models from a step, at the clocks that were found
overhead_launch_bound   160  what does recording cost a step that the host cannot keep up with
graph                    30  is a captured graph unharmed, and are its launches timed
ranks2                   40  do two ranks on one GPU train as untraced, and are their collectives matched
no_context                5  do calls that need no context make none
compile                 100  how much of a compiled step is seen
hook                    130  what does a hooked call cost the program
harvester                70  what does the harvester cost beside the program
nccl_by_handle           25  are the NCCL calls of a ctypes program recorded
plugin                   40  does the NCCL profiler plugin work beside the preload
late_rank                25  does analyze name a rank that is slowed
hang                     45  does analyze name what a job hangs in, while it hangs
processes                25  do a forked and a spawned process work as untraced
threads                  10  are threads with streams of their own told apart
group_exit               10  does a program end well inside ncclGroupStart
ranks4                   45  as ranks2, with four, which add up gradients of two batches
fsdp                     40  as ranks2, with sharded weights
pipeline                 40  as ranks2, with stages that send each other micro-batches
'

# shellcheck source=tests/gpu/lib.bash
. "$HERE/lib.bash"
# shellcheck source=tests/gpu/runner.bash
. "$HERE/runner.bash"
for file in "${GPU_CHECKS:-$HERE/checks}"/*.bash; do
    # shellcheck source=/dev/null
    . "$file"
done

usage() {
    sed -n 's/^# \{5\}\(tests.*\)/\1/p' "$0" >&2
    exit 2
}

skip_all() {
    echo "skip: $*"
    exit 77
}

while [ $# -gt 0 ]; do
    case $1 in
    -o | -t) [ $# -gt 1 ] || usage ;;&
    -o) OUT=$2 && shift ;;
    -t) [[ $2 =~ ^[0-9]+$ ]] || usage && BUDGET=$2 && shift ;;
    --list | --publish | --pack) VERB=${1#--} && shift && break ;;
    --one) check_"$2" && exit "$WORST" ;; # a check in a process of its own
    --ranks) shift && on_one_gpu "$@" && exit ;; # what several_ranks runs under capture
    -*) usage ;;
    *) break ;;
    esac || exit
    shift
done

case $VERB in
list) echo "$CHECKS" | sed '/^$/d' && exit ;;
publish) "$PYTHON" "$HERE/keep.py" publish "$OUT" "${1:-$ROOT/docs/measurements}" && exit || exit ;;
pack) [ $# -gt 0 ] || usage && "$PYTHON" "$HERE/keep.py" pack "$OUT" "$@" && exit || exit ;;
esac
for name; do
    grep -q "^$name " <<<"$CHECKS" || { echo "run.sh: no check is named '$name'" >&2; exit 2; }
done

[ -x "$SPECTER" ] || skip_all "no $SPECTER: build first"
nvidia-smi -L >/dev/null 2>&1 || [ -e /dev/nvidiactl ] || skip_all "no NVIDIA GPU answers"
why=$("$PYTHON" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>&1) ||
    skip_all "no PyTorch that finds the GPU${why:+ (${why##*$'\n'})}"

mkdir -p "$OUT/checks"
OUT=$(realpath "$OUT")
export BUILD PYTHON PYTHONUNBUFFERED=1 PYTHONPATH=$HERE RANK=0 WORLD_SIZE=1 LOCAL_RANK=0
run_all "$@"
