#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# specter as it can be given away: for x86_64 and aarch64, and for every glibc from 2.28 on (RHEL 8, Ubuntu 20.04,
# Debian 10). Called by `make release`.
#
#   scripts/release.sh [ARCH...]     build/release/specter-VERSION-linux-ARCH.tar.gz and the wheels, checked
#   scripts/release.sh --check FILE...   only that these need no newer glibc; status 1 when they do
#   scripts/release.sh --stand-ins   build/release/ARCH/emu/lib and examples/train of this processor, for check-tarball
#
# The libraries that the command line links are inside of it; modules of `specter bench` for MPI and gloo, which need a
# system's own ones, are built from the source. Bytes depend on the commit and on SOURCE_DATE_EPOCH (the commit's time).
set -euo pipefail

cd "$(dirname "$0")/.."
say() { echo "release: $*"; }
# shellcheck source=scripts/old-glibc.bash
. scripts/old-glibc.bash

# old_make ARCH TARGET...: without CUDA's headers, because what tracer/abi declares is enough, and the same everywhere.
old_make() {
    local arch=$1 old=build/deps/old/$1
    DEPS_CPPFLAGS="-isystem $old/include" make -j2 --no-print-directory B="build/release/$arch" WERROR=1 CUDA_INCLUDE= \
        CFLAGS=-O2 CC="$(old_cc "$arch")" AR="$ZIG ar" LDFLAGS="-L$old/lib -Wl,-s" DEPS_ROOT= MPI_FOUND= GLOO_FOUND= \
        "${@:2}"
}

# The x86_64 build prints man pages and the like for both.
install_tree() {
    local arch=$1 tree=$2
    rm -rf "$tree"
    old_make "$arch" -o all install DESTDIR="$PWD/$tree" prefix= GENERATOR="${GENERATOR:-build/release/$arch/specter}" >/dev/null
}

# What `make install` installs below one folder that can stand anywhere.
pack() {
    local arch=$1 name=specter-$VERSION-linux-$1
    install_tree "$arch" "build/release/$name"
    cp README.md CHANGELOG.md LICENSE "build/release/$name/"
    tar -C build/release --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w \
        --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" | gzip -9n >"build/release/$name.tar.gz"
    rm -r "build/release/$name"
    install_tree "$arch" "build/release/$arch/dist/stage"
    packaging/python/wheel.py "build/release/$arch/dist/stage" "$VERSION" "manylinux_${GLIBC/./_}_$arch" build/release >/dev/null
}

main() {
    local arch built
    if [[ ${1:-} == --check ]]; then
        check_glibc "${@:2}"
        return
    fi
    get_zig
    if [[ ${1:-} == --stand-ins ]]; then
        old_make "$(uname -m)" stand-ins
        return
    fi
    VERSION=$(sed -n 's/^VERSION *:= *//p' Makefile)
    export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
    [[ $# != 0 ]] || set -- x86_64 aarch64
    for arch; do
        get_libraries "$arch"
        built=build/release/$arch
        old_make "$arch" all
        check_glibc "$built/libspecter.so" "$built/specter"
        nm -D --defined-only "$built/libspecter.so" | awk '$3 != "SPECTER" { sub(/@.*/, "", $3); print $3 }' |
            LC_ALL=C sort |
            diff - "$built/tracer/exports.txt"
        if [[ $arch != "$(uname -m)" ]]; then
            [[ -n ${GENERATOR:-} ]] || GENERATOR=$(echo build/release/"$(uname -m)"/specter)
            [[ -x $GENERATOR ]] || { say "man pages need build/release/$(uname -m)/specter: build that first" >&2; exit 1; }
        fi
        pack "$arch"
        say "specter-$VERSION-linux-$arch.tar.gz: libspecter.so needs glibc $(newest_glibc "$built/libspecter.so")," \
            "specter $(newest_glibc "$built/specter")"
    done
}

main "$@"
