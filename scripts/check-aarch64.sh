#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Tests the parts of the tracer that depend on the processor, on aarch64 under qemu: rings, symbol tables, the
# assembly behind dlsym(), calls by every way that leads to a library. Status 77 when a tool is not
# there. Called by `make check-aarch64`.
set -euo pipefail

cd "$(dirname "$0")/.."
ROOTFS=/usr/aarch64-linux-gnu
CC=aarch64-linux-gnu-gcc
B=build/aarch64
for tool in qemu-aarch64 $CC; do
    command -v "$tool" >/dev/null || { echo "skip: no $tool (Debian: qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"; exit 77; }
done
[[ -e $ROOTFS/lib/ld-linux-aarch64.so.1 ]] || { echo "skip: no C library in $ROOTFS (Debian: libc6-dev-arm64-cross)"; exit 77; }

make -j2 --no-print-directory B=$B CC=$CC AR=aarch64-linux-gnu-ar CUDA_INCLUDE= WERROR=1 CFLAGS=-O2 \
    $B/libspecter.so $B/tracer-unit-tests $B/tracer/{steps,lookups,libsteps.so,calls}

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
passed=0 failed=0
result() {
    if [[ $1 == 0 ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "fail aarch64/$2"
    fi
}

# qemu [VARIABLE=VALUE...] PROGRAM ARGUMENT...
qemu() {
    local set=(-E "LD_LIBRARY_PATH=$B/emu/lib" -E "EMU_DIR=$TMP" -E RANK=0)
    while [[ $1 == *=* ]]; do
        set+=(-E "$1")
        shift
    done
    qemu-aarch64 -L $ROOTFS "${set[@]}" "$@"
}
traced() { qemu "LD_PRELOAD=$B/libspecter.so" "SPECTER_OUTPUT=$TMP/$1" "${@:2}"; }

# Prints the records of a trace, but for those of the process and of clocks, which are paced by real time.
records() { grep -hv '"event":"\(init\|clock\|shutdown\)"' "$TMP/$1"/*.jsonl | sort; }

qemu "SPECTER_ROOT=$PWD" $B/tracer-unit-tests >"$TMP/tap" 2>&1 || true
grep '^not ok' -B 3 "$TMP/tap" || true
planned=$(sed -n 's/^1\.\.//p' "$TMP/tap")
ended=$(grep -c '^ok\|^not ok' "$TMP/tap" || true)
[[ $ended == "$planned" ]] || tail -n 3 "$TMP/tap"
passed=$((passed + $(grep -c '^ok' "$TMP/tap" || true)))
failed=$((failed + $(grep -c '^not ok' "$TMP/tap" || true) + (ended != ${planned:--1})))

# the same steps by every way to a function
status=0
traced linked $B/tracer/steps || status=$?
result $status steps
for way in handle default "local $B/tracer/libsteps.so"; do
    # shellcheck disable=SC2086  # words
    traced "${way%% *}" $B/tracer/lookups $way >"$TMP/said" || result 1 "lookups $way"
    status=0
    diff <(records linked) <(records "${way%% *}") || status=1
    result $status "records of $way"
done

# versions side by side, and what must be as untraced
for v in 1 2 3 4 5; do
    mkdir "$TMP/v$v"
    printf 'int ncclCommFinalize(void *c) { (void)c; return %d; } int ncclGroupStart(void) { return %d; }\n' $v $v |
        $CC -shared -fPIC -Wl,-soname,libnccl.so.2 -o "$TMP/v$v/libnccl.so.2" -xc -
done
for scenario in "versions $(echo "$TMP"/v?/libnccl.so.2)" "threads $TMP/v1/libnccl.so.2 $TMP/v2/libnccl.so.2" \
    "missing $TMP/v3/libnccl.so.2" "closed $TMP/v4/libnccl.so.2" next version; do
    status=0
    # shellcheck disable=SC2086
    diff <(qemu $B/tracer/lookups $scenario 2>&1) <(traced other $B/tracer/lookups $scenario 2>&1) || status=1
    result $status "lookups ${scenario%% *}"
done

# operations, groups, threads
for scenario in gemms collectives groups splits capture threads; do
    status=0
    traced calls $B/tracer/calls $scenario || status=1
    result $status "calls $scenario"
done
echo "$passed passed, $failed failed"
[[ $failed == 0 && $passed -gt 20 ]]
