#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Checks that this tree prints the same numbers as another commit: JSON of all commands and all exports, over the traces
# and tables in ../shared and over captures of the training example and of tests/parallel. Words may differ.
#
#   scripts/check-same.sh BASE [PATTERN]     PATTERN: only inputs whose name contains it
#
# Both commits read the same files, which the stand-ins of this tree record. Prints each number that differs, and how
# many words do; status 1 when a number differs, 77 when nothing is built here. `make check-same BASE=<commit>`.
set -euo pipefail
export LC_ALL=C

ROOT=$(cd "$(dirname "$0")/.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
SPECTER=$BUILD/specter
SHARED=$ROOT/../shared
base=$(git -C "$ROOT" rev-parse --verify "${1:?a commit to compare with}^{commit}")
pattern=${2:-}
for part in specter libspecter.so examples/train emu/programs emu/lib/libnccl.so.2; do
    [[ -e $BUILD/$part ]] || { echo "check-same.sh: no $part in $BUILD: make all emu"; exit 77; }
done
command -v python3 >/dev/null || { echo "check-same.sh: no python3"; exit 77; }
work=$BUILD/same
rm -rf "$work"
mkdir -p "$work"
trap 'git -C "$ROOT" worktree remove --force "$work/tree" 2>/dev/null || true' EXIT
. "$ROOT/scripts/recordings.bash"

# ---- both programs ----

echo "check-same: building $(git -C "$ROOT" log -1 --format='%h %s' "$base")"
git -C "$ROOT" worktree prune
git -C "$ROOT" worktree add -q --detach "$work/tree" "$base"
# The other tree uses the libraries that setup.sh unpacked here.
[[ ! -d $ROOT/build/deps ]] || { mkdir -p "$work/tree/build" && cp -a "$ROOT/build/deps" "$work/tree/build/deps"; }
# Without what the caller told make: this BASE is a variable of older trees.
env -u MAKEFLAGS make -C "$work/tree" -j"$(nproc)" B=build build/specter >"$work/build.log" 2>&1 ||
    { tail -n 5 "$work/build.log"; echo "check-same: that commit does not build: $work/build.log"; exit 3; }

# ---- questions ----

# ask NAME ARGUMENT...: the same question to both; what they print or write at the last argument, OUT.
ask() {
    local name=$1 which
    shift
    [[ $name == *"$pattern"* ]] || return 0
    for which in base new; do
        mkdir -p "$work/$which"
        program=$SPECTER
        [[ $which == new ]] || program=$work/tree/build/specter
        (cd "$work/inputs" && timeout 600 "$program" "${@//OUT/$work/$which/$name}" \
            >"$work/$which/$name.stdout" 2>"$work/$which/$name.stderr"
            echo "status $?" >"$work/$which/$name.status") || true
    done
}

of_trace() {
    local name=$1 path=$2
    ask "$name.analyze" analyze "$path" --gpu h100_sxm --network dgx_h100_400g --json OUT.json
    ask "$name.tables" analyze "$path" --format csv
    ask "$name.metrics" metrics "$path" --json OUT.json
    ask "$name.replay" replay "$path" --gpu a100_sxm --network dgx_a100_200g --scale 1,2,8 --json OUT.json
    ask "$name.whatif" replay "$path" --gpu h100_sxm --network dgx_h100_400g --straggler rank=0,slow=1.5 --jitter 10 \
        --draws 8 --no-calibrate --json OUT.json
    ask "$name.chrome" export "$path" --format chrome -o OUT.json
    ask "$name.csv" export "$path" --format csv -o OUT.csv
    ask "$name.chakra" export "$path" --format chakra -o OUT.chakra
}

echo "check-same: recording"
mkdir -p "$work/inputs"
for name in dp tp pp fsdp ep $(cut -d'|' -f1 <<<"$PROGRAMS_OF_TESTS"); do
    [[ -n $pattern && $name != *"${pattern%%.*}"* ]] && continue
    capture h100 "$name" 8
    ln -sfn "$trace" "$work/inputs/$name"
done

echo "check-same: asking"
cd "$work/inputs"
for trace in *; do
    [[ ! -e $trace ]] || of_trace "$trace" "$trace"
done
if [[ -d $SHARED/data/traces ]]; then
    ln -sfn "$(realpath "$SHARED")" "$work/inputs/.shared"
    for trace in .shared/data/traces/{param/*_kineto*,hta/*/*.gz,tracelens/*.gz,nsys-ai/*.sqlite,pipit/*.sqlite}; do
        of_trace "$(basename "$trace")" "$trace"
    done
    for trace in "$SHARED"/data/traces/flight_recorder/*/; do
        name=$(basename "$trace")
        ask "$name.analyze" analyze ".shared/data/traces/flight_recorder/$name" --json OUT.json
    done
    ask validate validate .shared/data/measured/{collectives,gemm,p2p}.csv --json OUT.json
fi
ask profiles profiles --json
for op in all_reduce all_gather reduce_scatter broadcast alltoall; do
    ask "predict.$op" predict collective --op $op --bytes 8:8G --ranks 2,8,16,64,1024 --gpu h100_sxm --json
done
ask predict.p2p predict p2p --bytes 1:1G --gpu h100_sxm --json
ask predict.gemm predict gemm -m 4096 -n 4096 -k 4096 --gpu h100_sxm --json
[[ ! -e dp ]] || echo '{"traces": "dp", "gpus": [null, "a100_sxm"], "networks": [null, "dgx_a100_200g"], "scales": [1, 2, 16]}' >grid.json
[[ ! -e grid.json ]] || ask sweep sweep grid.json --json OUT.json
for log in "$ROOT"/tests/data/nccl_tests/*; do
    ask "bench.$(basename "$log")" bench report "$log" --json OUT.json
done

# ---- answers ----

python3 "$ROOT/scripts/check_same.py" "$work/base" "$work/new"
