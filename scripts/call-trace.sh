#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Counts the source files that one reads to follow `specter replay --scale 8` from the parsed options on: its first
# 1,600 calls, and all; of this tree, and of another commit.
#
#   BUILD=build scripts/call-trace.sh [--list] [BASE]     --list: the files of this tree, by their first call
#
# Builds specter with -finstrument-functions in $BUILD/calls, and replays a job of eight ranks that the stand-ins run.
# Status 77 where something is missing. `make call-trace BASE=<commit>`.
set -euo pipefail

CALLS=1600
ROOT=$(cd "$(dirname "$0")/.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
SPECTER=$BUILD/specter
work=$BUILD/calls
list=
[[ ${1:-} != --list ]] || { list=1; shift; }
command -v addr2line >/dev/null || { echo "call-trace.sh: no addr2line (package binutils)"; exit 77; }
for part in specter libspecter.so examples/train emu/lib/libnccl.so.2; do
    [[ -e $BUILD/$part ]] || { echo "call-trace.sh: no $part in $BUILD: make all emu"; exit 77; }
done
rm -rf "$work"
mkdir -p "$work"
. "$ROOT/scripts/recordings.bash"
capture h100 tp 8

# files_of TREE NAME: the source files of the functions that are called, a line `CALL FILE` each.
files_of() {
    local tree=$1 build=$work/$2
    mkdir -p "$build"
    "${CC:-cc}" -c -O1 -o "$build/call_trace.o" "$ROOT/scripts/call_trace.c"
    env -u MAKEFLAGS make -C "$tree" -j"$(nproc)" B="$build" CFLAGS='-O1 -g -finstrument-functions' \
        LDFLAGS="$build/call_trace.o" "$build/specter" >"$build/log" 2>&1 ||
        { tail -n 5 "$build/log" >&2; echo "call-trace.sh: the build failed: $build/log" >&2; return 1; }
    CALL_TRACE=$build/calls "$build/specter" replay "$trace" --scale 8 >/dev/null
    cut -d' ' -f2 "$build/calls" | addr2line -e "$build/specter" | sed "s/:.*//; s#^$tree/##" |
        paste -d' ' <(cut -d' ' -f1 "$build/calls") -
}

# report NAME < FILES
report() {
    awk -v most="$CALLS" -v name="$1" '
        !seen[$2]++ { files++; first += $1 <= most }
        END { printf "%s: %d source files in the first %d calls, %d in all, for %d functions\n", name, first, most, files, NR }'
}

files_of "$ROOT" new >"$work/new.files"
[[ -z $list ]] || awk '!seen[$2]++' "$work/new.files"
report "this tree" <"$work/new.files"
[[ -n ${1:-} ]] || exit 0
commit=$(git -C "$ROOT" rev-parse --verify "$1^{commit}")
git -C "$ROOT" worktree prune
git -C "$ROOT" worktree add -q --detach "$work/tree" "$commit"
trap 'git -C "$ROOT" worktree remove --force "$work/tree" 2>/dev/null || true' EXIT
files_of "$work/tree" base >"$work/base.files"
report "${commit:0:12}" <"$work/base.files"
