#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# libspecter.so as it can be given away: for x86_64 and aarch64, and for every glibc from 2.28 on
# (RHEL 8, Ubuntu 20.04, Debian 10). Called by `make release`.
#
#   scripts/release.sh               builds build/release/ARCH/libspecter.so and checks them
#   scripts/release.sh --check FILE...   only that these need no newer glibc; status 1 when they do
#
# The compiler is zig's, which has the symbol versions of every glibc and a linker for both
# processors; it is fetched from PyPI into build/deps/zig. The command line is not built this way: it
# needs cJSON and zlib, which a distribution has for its own glibc only. A trace written on an old
# system is read by a `specter` built anywhere.
set -euo pipefail

cd "$(dirname "$0")/.."
ZIG_VERSION=0.14.1
GLIBC=2.28
DEPS=$PWD/build/deps

say() { echo "release: $*"; }

# The newest glibc that a file needs, as 2.34; 0 for none.
newest() {
    readelf -VW "$1" | grep -o 'Name: GLIBC_[0-9.]*' | sed 's/.*_//' | sort -V | tail -n 1 | grep . || echo 0
}

check() {
    local file need bad=0
    for file in "$@"; do
        readelf -h "$file" >/dev/null
        need=$(newest "$file")
        if [[ $(printf '%s\n' "$need" "$GLIBC" | sort -V | tail -n 1) != "$GLIBC" ]]; then
            say "'$file' needs glibc $need, and $GLIBC is the limit" >&2
            bad=1
        fi
    done
    return $bad
}

get_zig() {
    local python=$DEPS/zig/bin/python
    [[ -x $python ]] && "$python" -m ziglang version 2>/dev/null | grep -qx "$ZIG_VERSION" && return
    say "fetching zig $ZIG_VERSION into ${DEPS#"$PWD"/}/zig"
    mkdir -p "$DEPS"
    "$(type -P /usr/bin/python3 || type -P python3)" -m venv "$DEPS/zig"
    "$python" -m pip install -q "ziglang==$ZIG_VERSION"
}

# Without CUDA's headers: what tracer/abi declares is enough, and the same everywhere.
build() {
    local arch=$1 zig="$DEPS/zig/bin/python -m ziglang"
    make -j2 --no-print-directory B="build/release/$arch" WERROR=1 CUDA_INCLUDE= CFLAGS=-O2 \
        CC="$zig cc -target $arch-linux-gnu.$GLIBC -fno-sanitize=all" AR="$zig ar" LDFLAGS=-Wl,-s \
        "build/release/$arch/libspecter.so"
}

main() {
    local arch file
    if [[ ${1:-} == --check ]]; then
        check "${@:2}"
        return
    fi
    export ZIG_GLOBAL_CACHE_DIR=$DEPS/zig-cache ZIG_LOCAL_CACHE_DIR=$DEPS/zig-cache
    get_zig
    for arch in x86_64 aarch64; do
        file=build/release/$arch/libspecter.so
        build "$arch"
        check "$file"
        nm -D --defined-only "$file" | awk '{ print $3 }' | LC_ALL=C sort |
            diff - "build/release/$arch/tracer/exports.txt"
        say "$file needs glibc $(newest "$file")"
    done
}

main "$@"
