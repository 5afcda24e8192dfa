#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The GPU suite as one archive (tests/gpu/README.md says what to do with it):
#
#   scripts/gpu-bundle.sh                              build/gpu-bundle.tar.gz; called by `make gpu-bundle`
#   scripts/gpu-bundle.sh --assemble BUILD PROGRAM...  BUILD/gpu-bundle and .tar.gz of what lies built in BUILD
#
# Where `make release` has left its compiler in build/deps/zig, the programs run on every glibc from 2.28 on;
# else they need the glibc of this machine or a newer one. Shared libraries that specter links and that are
# not libc's travel in build/lib of the bundle.
set -euo pipefail

cd "$(dirname "$0")/.."
say() { echo "gpu-bundle: $*"; }
# shellcheck source=scripts/old-glibc.bash
. scripts/old-glibc.bash

LIMIT=20000000 # bytes of the archive

# The libraries that specter links, where the old compiler finds nothing else of this system: an archive where
# there is one, because a shared library may need a newer glibc.
link_libraries() {
    local links=$DEPS/links name file header
    rm -rf "$links"
    mkdir -p "$links/lib" "$links/include/cjson"
    for name in cjson z sqlite3 zstd yaml; do
        for file in "lib$name.a" "lib$name.so"; do
            file=$(cc ${DEPS_LIBDIR:+-L"$DEPS_LIBDIR"} -print-file-name="$file")
            [[ $file != /* ]] || { ln -s "$(realpath "$file")" "$links/lib/$(basename "$file")" && break; }
        done
    done
    for header in cjson/cJSON.h zlib.h zconf.h sqlite3.h zstd.h zstd_errors.h yaml.h; do
        file=$(echo "#include <$header>" | cc -I build/deps/root/usr/include -M -xc - 2>/dev/null |
            tr -s ' ' '\n' | grep "/$header\$" | head -n 1) || continue
        ln -s "$(realpath "$file")" "$links/include/$header"
    done
}

build_old() {
    link_libraries
    DEPS_CPPFLAGS="-isystem build/deps/links/include" make -j2 --no-print-directory B=build/old-glibc CUDA_INCLUDE= \
        CFLAGS=-O2 CC="$(old_cc x86_64)" AR="$ZIG ar" LDFLAGS="-Lbuild/deps/links/lib -Wl,-s" gpu-bundle-here
    rm -rf build/gpu-bundle
    mv build/old-glibc/gpu-bundle build/old-glibc/gpu-bundle.tar.gz build/
}

# Shared libraries that a program of the bundle needs and that every system with glibc does not have.
foreign_libraries() {
    ldd "$1" | awk '$2 == "=>" && $3 ~ "^/" { print $1, $3 }' |
        grep -vE '^(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[-a-z0-9_]*)\.so' || true
}

assemble() {
    local build=$1 bundle=$1/gpu-bundle name path
    shift
    rm -rf "$bundle"
    mkdir -p "$bundle/build"/{lib,emu,examples,tests/gpu} "$bundle"/{tests/emu,examples,src/base}
    cp "$build/bundle/specter" "$build/libspecter.so" "$bundle/build/"
    foreign_libraries "$build/bundle/specter" | while read -r name path; do cp -L "$path" "$bundle/build/lib/$name"; done
    cp -R "$build/emu/lib" "$bundle/build/emu/"
    cp "$build/examples/train" "$bundle/build/examples/"
    for name in "$@"; do cp "$build/tests/gpu/$name" "$bundle/build/tests/gpu/"; done
    sed "s|$PWD/||g" "$build/flags" >"$bundle/build/flags"
    cp -R tests/gpu "$bundle/tests/"
    cp -R tests/emu/fabric "$bundle/tests/emu/"
    cp examples/launch.sh "$bundle/examples/"
    cp src/base/kernel_class.c "$bundle/src/base/" # its table is what kineto.py tells kernels by
    find "$bundle" -name __pycache__ -prune -exec rm -rf {} +
    mv "$bundle/tests/gpu/run-all.sh" "$bundle/"
    git describe --always --dirty --abbrev=10 >"$bundle/COMMIT" 2>/dev/null || echo unknown >"$bundle/COMMIT"
    echo "$VERSION" >"$bundle/VERSION"
    tar -C "$build" --sort=name --owner=0 --group=0 --numeric-owner -cf - gpu-bundle | gzip -9n >"$bundle.tar.gz"
}

# Says how large an archive is and how many files it holds; fails where it is too large.
tell() {
    local size need
    size=$(stat -c %s "$1")
    need=$(tar -tzf "$1" | grep -c .)
    say "$1: $need files, $((size / 1024)) KiB"
    ((size < LIMIT)) || { say "more than $LIMIT bytes" >&2; return 1; }
}

if [[ ${1:-} == --assemble ]]; then
    assemble "${@:2}"
    exit
fi
rm -f build/gpu-bundle.tar.gz build/old-glibc/gpu-bundle.tar.gz # of another commit, though nothing else differs
if has_zig; then
    build_old
else
    say "build/deps/zig is not there (make release fetches it): for this machine's glibc and newer"
    make -j2 --no-print-directory gpu-bundle-here
fi
tell build/gpu-bundle.tar.gz
