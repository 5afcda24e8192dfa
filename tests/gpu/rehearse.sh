#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The GPU suite on the stand-ins (tests/emu), with a real PyTorch: `make rehearse-gpu`, on a machine
# without a GPU. So that on one with a GPU everything works the first time.
#
#     tests/gpu/rehearse.sh [-o FOLDER] [CHECK...]      what makes sense here, or the checks named
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

# Checks that cannot hold on the stand-ins, and why.
NOT_HERE='
cost                   the stand-ins answer at once: what a call costs is a GPU'"'"'s to tell
overhead_transformer   the stand-ins'"'"' time is virtual: recording costs none of it
overhead_launch_bound  the stand-ins'"'"' time is virtual: recording costs none of it
compile                no driver modules in the stand-ins
'

skip_all() {
    echo "skip: $*"
    exit 77
}

# A virtual environment with PyTorch: the one named, else our own.
find_torch() {
    TORCH=${SPECTER_TORCH:-$BUILD/torch}
    [ -x "$TORCH/bin/python" ] && "$TORCH/bin/python" -c "import importlib.util as i; exit(not i.find_spec('torch'))" &&
        return
    [ -z "${SPECTER_TORCH:-}" ] || skip_all "no PyTorch in $SPECTER_TORCH"
    command -v python3 >/dev/null || skip_all "no python3"
    python3 -m venv "$TORCH" 2>/dev/null || skip_all "python3 makes no virtual environment"
    "$TORCH/bin/python" -m pip install -q "torch==$VERSION" numpy >"$BUILD/torch-pip.log" 2>&1 ||
        skip_all "pip cannot fetch torch==$VERSION: $(tail -n 1 "$BUILD/torch-pip.log")"
}

# The copy, with the stand-ins in the place of the libraries. libtorch finds its libraries by a path of
# its own, so that LD_LIBRARY_PATH alone would not do; libcuda and libnvidia-ml are nobody's in Python.
stage() {
    local lib site
    [ "$(cat "$STAGE/of" 2>/dev/null)" = "$TORCH" ] || rm -rf "$STAGE"
    mkdir -p "$STAGE/bin"
    [ -d "$STAGE/venv" ] || cp -al "$TORCH" "$STAGE/venv" 2>/dev/null || cp -a "$TORCH" "$STAGE/venv"
    echo "$TORCH" >"$STAGE/of"
    site=$(echo "$STAGE"/venv/lib/python3*/site-packages/nvidia)
    for lib in "$BUILD"/emu/lib/lib*.so.*; do
        for old in "$site"/*/lib/"${lib##*/}"; do
            [ ! -e "$old" ] || ln -sfn "$lib" "$old"
        done
    done
    cp "$ROOT/tests/gpu/rehearsal/nvidia-smi" "$STAGE/bin/"
}

find_torch
stage
export SPECTER_REHEARSAL=1 EMU_FABRIC=${EMU_FABRIC:-$ROOT/tests/gpu/rehearsal/h200.conf}
export PYTHON=$STAGE/venv/bin/python PATH=$STAGE/bin:$STAGE/venv/bin:$PATH BUILD
export LD_LIBRARY_PATH=$BUILD/emu/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} CUDA_VISIBLE_DEVICES=0
export RANK=0 WORLD_SIZE=1 LOCAL_RANK=0

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
if [ $# = 0 ]; then
    # shellcheck disable=SC2046 # names, word by word
    set -- $("$ROOT/tests/gpu/run.sh" --list | awk '{ print $1 }' | grep -vxFf <(awk '{ print $1 }' <<<"$NOT_HERE" | grep .))
fi
left_out=0
while read -r name reason; do
    [ -n "$name" ] || continue
    case " $* " in *" $name "*) continue ;; esac
    echo "skipped $name: $reason"
    left_out=$((left_out + 1))
done <<<"$NOT_HERE"
status=0
"$ROOT/tests/gpu/run.sh" -o "$out" "$@" | tee "$STAGE/log" || true
sed -n '$s/\([0-9]*\) skipped.*/\1/p' "$STAGE/log" | {
    read -r counts
    skipped=${counts##* }
    echo "${counts% *} $((skipped + left_out)) skipped, on the stand-ins with PyTorch $VERSION"
}
grep -q ' 0 failed' "$STAGE/log" || status=1
exit $status
