# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# A compiler for older systems than this one, for release.sh and gpu-bundle.sh: zig's, which has the symbol
# versions of every glibc and a linker for both processors. It is fetched from PyPI into build/deps/zig.
# Sourced in the root of the repository.

ZIG_VERSION=0.14.1
GLIBC=2.28 # RHEL 8, Ubuntu 20.04, Debian 10
DEPS=$PWD/build/deps
ZIG="$DEPS/zig/bin/python -m ziglang"
export ZIG_GLOBAL_CACHE_DIR=$DEPS/zig-cache ZIG_LOCAL_CACHE_DIR=$DEPS/zig-cache

has_zig() { [[ -x $DEPS/zig/bin/python ]] && $ZIG version 2>/dev/null | grep -qx "$ZIG_VERSION"; }

get_zig() {
    has_zig && return
    say "fetching zig $ZIG_VERSION into ${DEPS#"$PWD"/}/zig"
    mkdir -p "$DEPS"
    "$(type -P /usr/bin/python3 || type -P python3)" -m venv "$DEPS/zig"
    "$DEPS/zig/bin/python" -m pip install -q "ziglang==$ZIG_VERSION"
}

# What make's CC is for a processor.
old_cc() { echo "$ZIG cc -target $1-linux-gnu.$GLIBC -fno-sanitize=all"; }

# The newest glibc that a file needs, as 2.34; 0 for none.
newest_glibc() {
    readelf -VW "$1" | grep -o 'Name: GLIBC_[0-9.]*' | sed 's/.*_//' | sort -V | tail -n 1 | grep . || echo 0
}

# check_glibc FILE...: none needs a newer one than GLIBC.
check_glibc() {
    local file need bad=0
    for file in "$@"; do
        readelf -h "$file" >/dev/null
        need=$(newest_glibc "$file")
        if [[ $(printf '%s\n' "$need" "$GLIBC" | sort -V | tail -n 1) != "$GLIBC" ]]; then
            say "'$file' needs glibc $need, and $GLIBC is the limit" >&2
            bad=1
        fi
    done
    return $bad
}
