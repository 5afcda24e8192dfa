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

# Prints the compiler for a processor, to be make's CC.
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

# get_libraries ARCH: what the command line links, as archives and headers in build/deps/old/ARCH, from Debian: four
# archives as they are, and cJSON and libxlsxwriter, which have none, compiled from their sources. Their licenses are in
# licenses/, by the names that `specter --version` has. And libgcc.a, which stands before what zig has in its place:
# that brings memcpy(), exp() and the like into a program instead of the C library's, and a shared library exports them.
get_libraries() {
    local arch=$1 to=$DEPS/old/$1 deb=amd64 apt options from cc gcc
    [[ ! -d $to/licenses ]] || return 0
    [[ $arch == x86_64 ]] || deb=arm64
    say "fetching libraries for $arch into ${to#"$PWD"/}"
    apt=$to/apt
    rm -rf "$to" && mkdir -p "$to"/{include,lib,root,source} "$apt"/{lists/partial,cache/archives/partial}
    from=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(RELEASE) $(REPO_URI) $(CODENAME)' \
        'Created-By: Packages' | awk '$1 == "Debian" && $2 == "Debian" && $3 !~ /-/ { print $4, $5; exit }')
    printf '%s\n' "deb $from main" "deb-src $from main" >"$apt/sources.list"
    options=(-o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" -o Dir::Etc::sourcelist="$apt/sources.list"
        -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User= -o APT::Architecture=$deb -o APT::Architectures=$deb)
    apt-get -q "${options[@]}" update >"$to/log"
    gcc=$(apt-cache "${options[@]}" show gcc | sed -n 's/^Depends:.* \(gcc-[0-9]*\) .*/\1/p' | head -n 1)
    (cd "$to/source" && apt-get -q "${options[@]}" download zlib1g-dev libsqlite3-dev libzstd-dev libyaml-dev \
        "$gcc-base" "lib$gcc-dev" && apt-get -q "${options[@]}" source cjson libxlsxwriter) >>"$to/log" 2>&1
    for file in "$to"/source/*.deb; do dpkg -x "$file" "$to/root"; done
    cp -R "$to"/root/usr/include/. "$to/include/"
    cp "$to"/root/usr/lib/*-linux-gnu/lib{z,sqlite3,zstd,yaml}.a "$to/lib/"
    cp "$to"/root/usr/lib/gcc/*-linux-gnu/*/libgcc.a "$to/"
    cc=$(old_cc "$arch")
    mkdir "$to/include/cjson"
    cp "$to"/source/cjson-*/cJSON.h "$to/include/cjson/"
    cp -R "$to"/source/libxlsxwriter-*/include/. "$to/include/"
    compile_archive "$cc" "$to/lib/libcjson.a" "$to"/source/cjson-*/cJSON.c
    compile_archive "$cc -I$to/include" "$to/lib/libxlsxwriter.a" "$to"/source/libxlsxwriter-*/src/*.c \
        "$to"/source/libxlsxwriter-*/third_party/{minizip/{ioapi,zip},md5/md5,tmpfileplus/tmpfileplus}.c
    copy_licenses "$to"
}

# licenses/NAME of each library, and licenses/NAME-VERSION of what the compiler adds to a program: where its source is,
# and the license. Last, so that the folder says that all is there.
copy_licenses() {
    local to=$1/licenses.new name text source
    mkdir "$to"
    while read -r name text source; do
        printf 'The programs contain parts of %s, unmodified, from %s. Its license:\n\n' "${name%%-*}" "$source" |
            cat - "$text" >"$to/$name"
    done < <(licensed "$1")
    mv "$to" "$1/licenses"
}

# A line for each: the name, the text, the source. Libraries have the names that `specter --version` has.
licensed() {
    local pair file zig gcc
    for pair in zlib:zlib1g SQLite:libsqlite3 zstd:libzstd libyaml:libyaml; do
        file=$(echo "$1/source/${pair#*:}"-dev_*.deb)
        echo "${pair%:*} $1/root/usr/share/doc/${pair#*:}-dev/copyright $(from_package "$file")"
    done
    for pair in cJSON:cjson libxlsxwriter:libxlsxwriter; do
        file=$(echo "$1/source/${pair#*:}"_*.dsc)
        echo "${pair%:*}" "$1/source/${pair#*:}"-*/debian/copyright \
            "source package ${pair#*:} $(sed -n 's/^Version: //p' "$file" | head -n 1) of Debian"
    done
    gcc=$(echo "$1"/source/libgcc-*-dev_*.deb)
    file=$(dpkg-deb --show --showformat '${source:Upstream-Version}' "$gcc")
    echo "libgcc-$file $(echo "$1"/root/usr/share/doc/gcc-*-base/copyright) $(from_package "$gcc")"
    zig=$(echo "$DEPS"/zig/lib/python3*/site-packages/ziglang)
    echo "glibc-$GLIBC $zig/lib/libc/glibc/LICENSES the sources of glibc $GLIBC in zig $ZIG_VERSION (start of programs)"
}

from_package() {
    dpkg-deb --show --showformat 'source package ${source:Package} ${source:Version} of Debian' "$1"
}

# compile_archive CC ARCHIVE FILE...
compile_archive() {
    local cc=$1 archive=$2 file objects=()
    for file in "${@:3}"; do
        # shellcheck disable=SC2086  # words
        $cc -O2 -fPIE -w -c -o "${file%.c}.o" "$file"
        objects+=("${file%.c}.o")
    done
    rm -f "$archive"
    $ZIG ar rcs "$archive" "${objects[@]}"
}
