#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# libspecter.so as it can be given away: for x86_64 and aarch64, and for every glibc from 2.28 on
# (RHEL 8, Ubuntu 20.04, Debian 10). Called by `make release`.
#
#   scripts/release.sh               builds build/release/ARCH/libspecter.so and checks them
#   scripts/release.sh --check FILE...   only that these need no newer glibc; status 1 when they do
#
# The command line is not built this way: it needs cJSON and zlib, which a distribution has for its own
# glibc only. A trace written on an old system is read by a `specter` built anywhere.
set -euo pipefail

cd "$(dirname "$0")/.."
say() { echo "release: $*"; }
# shellcheck source=scripts/old-glibc.bash
. scripts/old-glibc.bash

# Without CUDA's headers: what tracer/abi declares is enough, and the same everywhere.
build() {
    make -j2 --no-print-directory B="build/release/$1" WERROR=1 CUDA_INCLUDE= CFLAGS=-O2 \
        CC="$(old_cc "$1")" AR="$ZIG ar" LDFLAGS=-Wl,-s "build/release/$1/libspecter.so"
}

main() {
    local arch file
    if [[ ${1:-} == --check ]]; then
        check_glibc "${@:2}"
        return
    fi
    get_zig
    for arch in x86_64 aarch64; do
        file=build/release/$arch/libspecter.so
        build "$arch"
        check_glibc "$file"
        nm -D --defined-only "$file" | awk '$3 != "SPECTER" { sub(/@.*/, "", $3); print $3 }' |
            LC_ALL=C sort |
            diff - "build/release/$arch/tracer/exports.txt"
        say "$file needs glibc $(newest_glibc "$file")"
    done
}

main "$@"
