#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Finds out what the build lacks and gets it. Says what it does; does nothing when nothing is missing.
#
#   as root                installs the distribution's packages
#   with sudo, a terminal  the same, after asking
#   otherwise              unpacks the packages into build/deps/root (Debian and its kin), which
#                          scripts/deps.mk finds; elsewhere names what an administrator should install
#
#   scripts/setup.sh [--build | --ci]
#
# --build builds as well: from a fresh clone to build/specter in one command. --ci adds what single tests and
# .ci/run want: C++, gloo, MPI, Slurm, clang with its sanitizers, clang-format, Python with PyTorch, sqlite3, zstd,
# protoc, locales, a compiler and qemu for aarch64, mandoc, zsh, fish, rpmbuild, lintian, Environment Modules; and
# packages from PyPI (packaging/python/tools.txt) in build/deps/python. What of these cannot be had is said, and does
# without.
set -euo pipefail

cd "$(dirname "$0")/.."
CC=${CC:-cc}
DEPS=build/deps
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT

say() { echo "setup: $*"; }

# True when a small program with these headers and linker flags builds.
builds() {
    local source=$1 libdir
    shift
    libdir=$(echo "$DEPS"/root/usr/lib/*-linux-gnu)
    printf '%s\n' "$source" >"$TMP/try.c"
    # shellcheck disable=SC2086  # CC may be two words
    $CC -I"$DEPS/root/usr/include" "$TMP/try.c" -o "$TMP/try" -L"$libdir" "$@" >"$TMP/log" 2>&1
}

has_cc() { builds '#include <stdio.h>
int main(void) { return puts("") < 0; }'; }
has_make() { command -v make >/dev/null; }
has_cjson() { builds '#include <cjson/cJSON.h>
int main(void) { return cJSON_Version() == NULL; }' -lcjson; }
has_zlib() { builds '#include <zlib.h>
int main(void) { return zlibVersion() == NULL; }' -lz; }
has_sqlite() { builds '#include <sqlite3.h>
int main(void) { return sqlite3_libversion() == 0; }' -lsqlite3; }
has_zstd() { builds '#include <zstd.h>
int main(void) { return ZSTD_versionNumber() == 0; }' -lzstd; }
has_yaml() { builds '#include <yaml.h>
int main(void) { return yaml_get_version_string() == 0; }' -lyaml; }
has_xlsx() { builds '#include <xlsxwriter.h>
int main(void) { return lxw_version() == NULL; }' -lxlsxwriter; }
has_openpyxl() {
    [[ -x /usr/bin/python3 ]] && /usr/bin/python3 -c \
        'import importlib.util, sys; sys.exit(importlib.util.find_spec("openpyxl") is None)'
}
has_chromium() {
    local name
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" >/dev/null && return
    done
    return 1
}
has_sqlite_cli() { command -v sqlite3 >/dev/null; }
has_zstd_cli() { command -v zstd >/dev/null; }
has_protoc() { command -v protoc >/dev/null; }
has_cxx() { command -v c++ >/dev/null; }
has_gloo() { [[ -e /usr/include/gloo/allreduce.h ]]; }
has_mpi() { command -v mpicc >/dev/null && command -v mpirun >/dev/null; }
has_slurm() { command -v srun >/dev/null && command -v slurmd >/dev/null && command -v munged >/dev/null; }
has_locales() { [[ -e /usr/share/i18n/locales/de_DE ]]; }
has_qemu() { command -v qemu-aarch64 >/dev/null; }
has_aarch64() {
    command -v aarch64-linux-gnu-gcc >/dev/null && [[ -e /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 ]]
}
has_mandoc() { command -v mandoc >/dev/null; }
has_shells() { command -v zsh >/dev/null && command -v fish >/dev/null; }
has_clang() { command -v clang >/dev/null; }
has_clang_rt() { CC=clang builds 'int main(void) { return 0; }' -fsanitize=address,undefined; }
has_clang_format() { command -v clang-format >/dev/null; }
has_rpmbuild() { command -v rpmbuild >/dev/null; }
has_lintian() { command -v lintian >/dev/null; }
has_modules() { command -v modulecmd >/dev/null || [[ -e /usr/share/lmod/lmod/libexec/lmod ]]; }
has_python_tools() { [[ -e $DEPS/python/complete ]] && cmp -s packaging/python/tools.txt "$DEPS/python/complete"; }
has_torch() {
    [[ -x /usr/bin/python3 ]] && /usr/bin/python3 -c \
        'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'
}

# need|apt|dnf|pacman|apk|zypper
PACKAGES='
cc|gcc libc6-dev|gcc glibc-devel|gcc|gcc musl-dev|gcc glibc-devel
make|make|make|make|make|make
cjson|libcjson-dev|cjson-devel|cjson|cjson-dev|cJSON-devel
zlib|zlib1g-dev|zlib-devel|zlib|zlib-dev|zlib-devel
sqlite|libsqlite3-dev|sqlite-devel|sqlite|sqlite-dev|sqlite3-devel
zstd|libzstd-dev|libzstd-devel|zstd|zstd-dev|libzstd-devel
yaml|libyaml-dev|libyaml-devel|libyaml|yaml-dev|libyaml-devel
xlsx|libxlsxwriter-dev|libxlsxwriter-devel|libxlsxwriter|libxlsxwriter-dev|libxlsxwriter-devel
openpyxl|python3-openpyxl|python3-openpyxl|python-openpyxl|py3-openpyxl|python3-openpyxl
chromium|chromium|chromium|chromium|chromium|chromium
sqlite_cli|sqlite3|sqlite|sqlite|sqlite|sqlite3
zstd_cli|zstd|zstd|zstd|zstd|zstd
protoc|protobuf-compiler|protobuf-compiler|protobuf|protoc|protobuf-devel
cxx|g++|gcc-c++|gcc|g++|gcc-c++
gloo|libgloo-dev|gloo-devel|gloo|gloo-dev|gloo-devel
mpi|libopenmpi-dev openmpi-bin|openmpi-devel|openmpi|openmpi-dev|openmpi-devel
slurm|slurm-wlm munge|slurm slurm-slurmctld slurm-slurmd munge|slurm-llnl munge|slurm munge|slurm slurm-node munge
locales|locales|glibc-locale-source|glibc|musl-locales|glibc-i18ndata
qemu|qemu-user|qemu-user-static|qemu-user|qemu-aarch64|qemu-linux-user
aarch64|gcc-aarch64-linux-gnu libc6-dev-arm64-cross|gcc-aarch64-linux-gnu|aarch64-linux-gnu-gcc||
mandoc|mandoc|mandoc|mandoc|mandoc|mandoc
shells|zsh fish|zsh fish|zsh fish|zsh fish|zsh fish
clang|clang|clang|clang|clang|clang
clang_rt|libclang-rt-dev|compiler-rt|compiler-rt|compiler-rt|clang
clang_format|clang-format|clang-tools-extra|clang|clang-extra-tools|clang-tools
rpmbuild|rpm|rpm-build|rpm-tools|rpm|rpm-build
lintian|lintian|lintian|lintian|lintian|lintian
modules|environment-modules|environment-modules|env-modules|environment-modules|Modules
torch|python3-torch|python3-torch|python-pytorch|py3-pytorch|python3-torch
'

manager() {
    local m
    for m in apt-get dnf pacman apk zypper; do
        command -v "$m" >/dev/null && echo "$m" && return
    done
    echo none
}

# Package names of the given needs, for this distribution.
packages() {
    local column need
    case $(manager) in
    dnf) column=3 ;; pacman) column=4 ;; apk) column=5 ;; zypper) column=6 ;; *) column=2 ;;
    esac
    for need in "$@"; do
        grep "^$need|" <<<"$PACKAGES" | cut -d '|' -f "$column"
    done | tr '\n' ' ' | sed 's/ $//'
}

install_command() {
    case $(manager) in
    apt-get) echo "apt-get install -y --no-install-recommends" ;;
    dnf) echo "dnf install -y" ;;
    pacman) echo "pacman -S --noconfirm --needed" ;;
    apk) echo "apk add" ;;
    zypper) echo "zypper --non-interactive install" ;;
    none) echo "" ;;
    esac
}

# Runs a command that talks much; shows its end only when it fails.
quietly() {
    "$@" >"$TMP/log" 2>&1 </dev/null && return
    tail -n 5 "$TMP/log" | sed 's/^/setup:   /'
    return 1
}

# As root, or through the sudo words given first. apt's lists may be missing or old: once more after
# an update. A release that lacks one of the packages refuses all of them: then each alone.
install_packages() {
    local sudo=$1 list=$2 package
    [[ -n $list ]] || return 1
    export DEBIAN_FRONTEND=noninteractive
    say "installing $list"
    # shellcheck disable=SC2046,SC2086  # words
    if [[ $(manager) == apt-get ]]; then
        $sudo $(install_command) $list >"$TMP/log" 2>&1 </dev/null && return
        say "fetching apt's package lists"
        quietly $sudo apt-get update || true
    fi
    # shellcheck disable=SC2046,SC2086
    quietly $sudo $(install_command) $list && return
    [[ $list == *" "* ]] || return 1
    for package in $list; do
        # shellcheck disable=SC2046,SC2086
        $sudo $(install_command) $package >"$TMP/log" 2>&1 </dev/null || say "$package cannot be installed"
    done
}

# Installs the tools that tests take from PyPI, each by itself where not all of them can be had.
get_python_tools() {
    local python tool
    python=$(type -P python3) && "$python" -m venv "$DEPS/python" >"$TMP/log" 2>&1 || return 1
    say "fetching Python tools into $DEPS/python"
    python=$DEPS/python/bin/python
    grep -v '^#' packaging/python/tools.txt >"$TMP/tools"
    "$python" -m pip install -q -r "$TMP/tools" >"$TMP/log" 2>&1 </dev/null || while read -r tool; do
        "$python" -m pip install -q "$tool" >"$TMP/log" 2>&1 </dev/null || say "$tool cannot be had"
    done <"$TMP/tools"
    cp packaging/python/tools.txt "$DEPS/python/complete"
}

# Without root: the packages' files into build/deps/root. apt keeps state of its own there when the
# system's lists do not know the packages.
unpack_packages() {
    local root=$PWD/$DEPS/root apt=$PWD/$DEPS/apt own=() package
    say "no root: unpacking $* into $DEPS/root"
    mkdir -p "$root" "$apt/lists/partial" "$apt/cache/archives/partial" "$TMP/debs"
    if ! (cd "$TMP/debs" && apt-get download "$@" >"$TMP/log" 2>&1); then
        say "fetching package lists into $DEPS/apt"
        own=(-o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=)
        quietly apt-get "${own[@]}" update || return 1
        for package in "$@"; do
            (cd "$TMP/debs" && apt-get "${own[@]}" download "$package" >"$TMP/log" 2>&1) ||
                say "$package cannot be had"
        done
    fi
    for package in "$TMP"/debs/*.deb; do
        [[ -e $package ]] || continue
        dpkg -x "$package" "$root"
    done
    rm -rf "$apt"
}

# The needs that an unprivileged user can unpack, as packages with their run-time halves.
unpackable() {
    local need
    for need in "$@"; do
        case $need in
        cjson) echo libcjson-dev libcjson1 ;;
        zlib) echo zlib1g-dev zlib1g ;;
        sqlite) echo libsqlite3-dev libsqlite3-0 ;;
        zstd) echo libzstd-dev libzstd1 ;;
        yaml) echo libyaml-dev libyaml-0-2 ;;
        xlsx) echo libxlsxwriter-dev ;;
        esac
    done
}

missing() {
    local need
    for need in "$@"; do
        "has_$need" || echo "$need"
    done
}

agreed_to_sudo() {
    local answer
    [[ -t 0 && -t 2 ]] && command -v sudo >/dev/null || return 1
    read -r -p "setup: $1 missing; install with 'sudo $(install_command) $1'? [y/N] " answer
    [[ $answer == [yY]* ]]
}

# Gets the given needs by the best way there is; whether that worked shows in missing().
get() {
    local list files
    list=$(packages "$@")
    files=$(unpackable "$@" | tr '\n' ' ')
    if [[ $(manager) == none ]]; then
        return
    elif [[ $(id -u) == 0 ]]; then
        install_packages "" "$list" || true
    elif agreed_to_sudo "$list"; then
        install_packages sudo "$list" || true
    elif [[ $(manager) == apt-get && -n $files ]] && has_cc; then
        # shellcheck disable=SC2086  # words
        unpack_packages $files || true
    fi
}

main() {
    local needs need optional=() left
    case ${1:-} in
    "" | --build | --ci) ;;
    *)
        say "'$1' is no option; known: --build, --ci" >&2
        exit 2
        ;;
    esac
    mapfile -t needs < <(missing cc make cjson zlib sqlite zstd yaml xlsx)
    [[ ${#needs[@]} == 0 ]] || get "${needs[@]}"
    left=$(missing cc make cjson zlib | tr '\n' ' ')
    if [[ -n $left ]]; then
        # shellcheck disable=SC2086  # words
        say "still missing: $left- ask an administrator for: $(install_command) $(packages $left)" >&2
        exit 1
    fi
    left=$(missing sqlite zstd yaml xlsx | tr '\n' ' ')
    if [[ -n $left ]]; then
        # shellcheck disable=SC2086  # words
        say "building without $(packages $left)"
    elif [[ ${#needs[@]} != 0 ]]; then
        say "complete"
    fi
    [[ ${1:-} != --build ]] || exec make -j"$(nproc)"
    [[ ${1:-} == --ci ]] || return 0
    for need in cxx gloo mpi slurm clang clang_rt clang_format torch sqlite_cli zstd_cli protoc locales qemu aarch64 \
        mandoc shells openpyxl chromium rpmbuild lintian modules; do
        "has_$need" && continue
        [[ $(id -u) != 0 ]] || install_packages "" "$(packages "$need")" || true
        "has_$need" || optional+=("$need")
    done
    has_python_tools || get_python_tools || optional+=(python_tools)
    [[ ${#optional[@]} == 0 ]] || say "doing without: ${optional[*]}"
}

main "$@"
