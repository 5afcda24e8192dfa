#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# specter as it can be given away: for x86_64 and aarch64, and for every glibc from 2.28 on (RHEL 8, Ubuntu 20.04,
# Debian 10). Called by `make release`.
#
#   scripts/release.sh [ARCH...]     build/release/specter-VERSION-linux-ARCH.tar.gz, its .spdx.json, and the wheel
#   scripts/release.sh --check FILE...   only that these need no newer glibc; status 1 when they do
#   scripts/release.sh --stand-ins ARCH...   build/release/ARCH/emu/lib and examples/train, which checks record
#   scripts/release.sh --fetch ARCH...       only the compiler and the libraries, from PyPI and from Debian
#
# The libraries that the command line links are inside of it; modules of `specter bench` for MPI and gloo, which need a
# system's own ones, are built from the source. Bytes depend on the commit and on SOURCE_DATE_EPOCH (the commit's time).
set -euo pipefail

cd "$(dirname "$0")/.."
say() { echo "release: $*"; }
# shellcheck source=scripts/old-glibc.bash
. scripts/old-glibc.bash
GENERATOR=build/release/$(uname -m)/specter # prints man pages and names libraries for both

# old_make ARCH TARGET...: without CUDA's headers, because what tracer/abi declares is enough, and the same everywhere.
old_make() {
    local arch=$1 old=build/deps/old/$1
    DEPS_CPPFLAGS="-isystem $old/include" make -j2 --no-print-directory B="build/release/$arch" WERROR=1 CUDA_INCLUDE= \
        CFLAGS=-O2 CC="$(old_cc "$arch")" AR="$ZIG ar" LDFLAGS="$old/libgcc.a -L$old/lib -Wl,-s" DEPS_ROOT= \
        MPI_FOUND= GLOO_FOUND= GENERATOR="$GENERATOR" "${@:2}"
}

# has_libraries ARCH: the build found each library that was fetched for it.
has_libraries() {
    local archive name
    for archive in "build/deps/old/$1/lib"/lib*.a; do
        name=${archive##*/lib}
        grep -qw -e "-l${name%.a}" "build/release/$1/flags" || { say "$1: built without ${name%.a}" >&2; exit 1; }
    done
}

# Packs the files that `make install` installs, below one folder that can stand anywhere, and the licenses of what is
# linked into them: as a tarball and as a wheel, with an SPDX list of both.
pack() {
    local arch=$1 name=build/release/specter-$VERSION-linux-$1 tree=build/release/$1/dist/stage
    rm -rf "$tree"
    old_make "$arch" -o all install DESTDIR="$PWD/$tree" prefix= >/dev/null
    install -D -m 644 -t "$tree/share/doc/specter" LICENSE
    install -D -m 644 -t "$tree/share/doc/specter/licenses" "build/deps/old/$arch/licenses"/*
    packaging/sbom/sbom.py "$tree" "$VERSION" "$GENERATOR" >"$name.spdx.json"
    packaging/python/wheel.py "$tree" "$VERSION" "manylinux_${GLIBC/./_}_$arch" build/release >/dev/null
    cp -R "$tree" "$name"
    cp README.md CHANGELOG.md LICENSE "$name/"
    tar -C build/release --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w \
        --mtime="@$SOURCE_DATE_EPOCH" -cf - "${name##*/}" | gzip -9n >"$name.tar.gz"
    rm -r "$name"
}

main() {
    local arch built
    if [[ ${1:-} == --check ]]; then
        check_glibc "${@:2}"
        return
    fi
    get_zig
    if [[ ${1:-} == --stand-ins ]]; then
        for arch in "${@:2}"; do old_make "$arch" stand-ins; done
        return
    fi
    if [[ ${1:-} == --fetch ]]; then
        for arch in "${@:2}"; do get_libraries "$arch"; done
        return
    fi
    VERSION=$(sed -n 's/^VERSION *:= *//p' Makefile)
    export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
    [[ $# != 0 ]] || set -- x86_64 aarch64
    for arch; do
        get_libraries "$arch"
        built=build/release/$arch
        old_make "$arch" all
        has_libraries "$arch"
        check_glibc "$built/libspecter.so" "$built/specter"
        nm -D --defined-only "$built/libspecter.so" | awk '$3 != "SPECTER" { sub(/@.*/, "", $3); print $3 }' |
            LC_ALL=C sort |
            diff - "$built/tracer/exports.txt"
        [[ -x $GENERATOR ]] || { say "man pages need $GENERATOR: build that first" >&2; exit 1; }
        pack "$arch"
        say "specter-$VERSION-linux-$arch.tar.gz: libspecter.so needs glibc $(newest_glibc "$built/libspecter.so")," \
            "specter $(newest_glibc "$built/specter")"
    done
}

main "$@"
