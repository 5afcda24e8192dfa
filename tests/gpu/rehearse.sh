#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The GPU suite on the stand-ins (tests/emu), with a real PyTorch: `make rehearse-gpu`, on a machine
# without a GPU. So that on one with a GPU everything works the first time.
#
#     tests/gpu/rehearse.sh [-o FOLDER] [CHECK...]      all checks, or those named
#     tests/gpu/rehearse.sh --run COMMAND...            one command in the environment that the checks get
#
# PyTorch comes from PyPI into build/torch the first time (some 3 GB to fetch); SPECTER_TORCH names a
# virtual environment that has it. Both stay as they are: the libraries are replaced in a copy, whose
# files are hard links. Ends with `N passed, N failed, N skipped`; status 77 where PyTorch cannot be had.
set -eu

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
STAGE=$BUILD/rehearse
VERSION=2.11.0

# Checks whose claims cannot hold on the stand-ins, and why. They run all the same, on the real clock: one that
# comes to its verdict counts as skipped, whatever that is; one whose program breaks has failed.
FORM_ONLY='
hook                   on a busy machine and without a driver, what a hook costs is not what it costs beside one
harvester              the stand-ins have no events of hardware to wait for
overhead_transformer   the model is small and its kernels are sleeps: its overhead is no real one'"'"'s
overhead_launch_bound  the calls that would bound it cost the stand-ins other times than a driver
'

# Checks that cannot run on the stand-ins at all, and why.
NOT_HERE='
'

skip_all() {
    echo "skip: $*"
    exit 77
}

has_torch() {
    [ -x "$1/bin/python" ] && "$1/bin/python" -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("torch"))'
}

# A virtual environment with PyTorch: the one named, else our own.
find_torch() {
    TORCH=${SPECTER_TORCH:-$BUILD/torch}
    ! has_torch "$TORCH" || return 0
    [ -z "${SPECTER_TORCH:-}" ] || skip_all "no PyTorch in $SPECTER_TORCH"
    command -v python3 >/dev/null || skip_all "no python3"
    python3 -m venv "$TORCH" 2>/dev/null || skip_all "python3 makes no virtual environment"
    "$TORCH/bin/python" -m pip install -q "torch==$VERSION" numpy >"$BUILD/torch-pip.log" 2>&1 ||
        skip_all "pip cannot fetch torch==$VERSION: $(tail -n 1 "$BUILD/torch-pip.log")"
}

# The copy, with the stand-ins in the place of the libraries. libtorch finds its libraries by a path of
# its own, so that LD_LIBRARY_PATH alone would not do; no package of Python has libcuda or libnvidia-ml.
stage() {
    local lib old site
    [ "$(cat "$STAGE/of" 2>/dev/null)" = "$TORCH" ] || rm -rf "$STAGE"
    mkdir -p "$STAGE/bin"
    [ -d "$STAGE/venv" ] || cp -al "$TORCH" "$STAGE/venv" 2>/dev/null || cp -a "$TORCH" "$STAGE/venv"
    echo "$TORCH" >"$STAGE/of"
    site=$(echo "$STAGE"/venv/lib/python3*/site-packages/nvidia)
    for lib in "$BUILD"/emu/lib/lib*.so.*; do
        for old in "$site"/*/lib/"${lib##*/}"; do
            if [ -e "$old" ] || [ -L "$old" ]; then ln -sfn "$lib" "$old"; fi
        done
    done
    cp "$ROOT/tests/gpu/rehearsal/nvidia-smi" "$STAGE/bin/"
}

# names TABLE: its first column.
names() { awk 'NF { print $1 }' <<<"$1"; }

# chosen_of NAME...: of these, the checks that this call is about.
chosen_of() {
    local name
    for name in "$@"; do
        [[ " $CHOSEN " != *" $name "* ]] || echo "$name"
    done
}

# Checks whose claims count.
run_real() {
    local set
    # shellcheck disable=SC2046 # names, word by word
    set=$(chosen_of $("$ROOT/tests/gpu/run.sh" --list | awk '{ print $1 }' |
        grep -vxFf <(names "$FORM_ONLY$NOT_HERE")))
    [ -n "$set" ] || return 0
    # shellcheck disable=SC2086 # names, word by word
    "$ROOT/tests/gpu/run.sh" -o "$out" $set | grep -v 'figures in' || true
}

# Checks that have to come to a verdict; which one is not asked.
run_for_form() {
    local name reason
    while read -r name reason; do
        [ -n "$(chosen_of "$name")" ] || continue
        EMU_CLOCK=real "$ROOT/tests/gpu/run.sh" -o "$out" "$name" >/dev/null || true
        if [ -s "$out/checks/$name.log" ] && ! grep -qE 'Traceback|command not found|No such file' "$out/checks/$name.log"; then
            echo "skipped $name, which ran: $reason"
            echo "skipped 0" >"$out/checks/$name.verdict"
        else
            echo "failed $name"
            sed 's/^/    /' "$out/checks/$name.log" | tail -n 12
        fi
    done <<<"$FORM_ONLY"
}

# Checks that do not run.
run_none() {
    local name reason
    while read -r name reason; do
        [ -n "$(chosen_of "$name")" ] || continue
        echo "skipped $name: $reason"
        echo "skipped 0" >"$out/checks/$name.verdict"
    done <<<"$NOT_HERE"
}

count() { cat "$out"/checks/*.verdict | grep -c "^$1" || true; }

find_torch
stage
# One clock for the threads of a process: PyTorch's take turns in ways that the stand-ins cannot see.
export EMU_CLOCK=${EMU_CLOCK:-process}
export SPECTER_REHEARSAL=1 EMU_FABRIC=${EMU_FABRIC:-$ROOT/tests/gpu/rehearsal/h200.conf} BUILD
export PYTHON=$STAGE/venv/bin/python PATH=$STAGE/bin:$STAGE/venv/bin:$PATH CUDA_VISIBLE_DEVICES=0
export LD_LIBRARY_PATH=$BUILD/emu/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} RANK=0 WORLD_SIZE=1 LOCAL_RANK=0

if [ "${1:-}" = --run ]; then
    shift
    exec "$@"
fi

out=$STAGE/gpu
if [ "${1:-}" = -o ]; then
    out=$2
    shift 2
fi
rm -rf "$out"
mkdir -p "$out/checks"
CHOSEN=${*:-$("$ROOT/tests/gpu/run.sh" --list | awk '{ printf "%s ", $1 }')}
run_real
run_for_form
run_none
echo "$(count passed) passed, $(count failed) failed, $(count skipped) skipped, on the stand-ins with PyTorch $VERSION"
[ "$(count failed)" = 0 ] && [ "$(count passed)" != 0 ]
