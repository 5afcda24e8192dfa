#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Fetches what run.sh lacks into build/programs, and PyTorch into build/torch, where rehearse-gpu has it:
#
#     tests/programs/get.sh [PATTERN...]
#
# Debian's packages are unpacked into build/programs/apt/root (one folder less, and make would read what
# ends in .d there), where the programs are found behind those that are installed; Python's go into an
# environment of their own, NCCL's wheels into folders. Nothing is installed into the system; Java, Node and
# valgrind run only where they are installed. What cannot be had is said; the programs that want it are
# skipped then. Needs some 7 GB, most of it PyTorch with its CUDA libraries.
set -uo pipefail

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
PROGRAMS=$ROOT/build/programs
PIP=(python3 -m pip --disable-pip-version-check)

# case|command that it needs|package that has it
PACKAGES='
gdb|gdb|gdb
strace|strace|strace
tmux|tmux|tmux
ruby|ruby|ruby
sqlite3|sqlite3|sqlite3
go|go|golang-go
musl|musl-gcc|musl-tools
busybox|busybox|busybox-static
'

# case|modules|packages: those of one environment fit together.
MODULES='
gunicorn|gunicorn|gunicorn
cupy|cupy|cupy-cuda12x==13.6.0 nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-runtime-cu12==12.9.79
jax|jax_plugins.xla_cuda12|jax==0.7.2 jaxlib==0.7.2 jax-cuda12-plugin==0.7.2 jax-cuda12-pjrt==0.7.2
'

# The versions that the cases nccl_*, torch_nccl and cupy have.
NCCL='cu12-2.21.5 cu12-2.26.2 cu13-2.28.9 cu13-2.29.7 cu13-2.30.7'
TORCH='torch==2.11.0 numpy'

say() { echo "get: $*"; }

# is_wanted CASES PATTERN...: whether run.sh would run one of them.
is_wanted() {
    local pattern
    for pattern in "${@:2}"; do
        [[ $1.bash != *"$pattern"* ]] || return 0
    done
    [[ $# == 1 ]]
}

# The packages that installing these would add, each unpacked; the system is asked, and not changed.
unpack() {
    local packages package debs=$PROGRAMS/debs
    packages=$(apt-get -s install --no-install-recommends "$@" 2>/dev/null | awk '/^Inst / { print $2 }')
    [[ -n $packages ]] || return 1
    mkdir -p "$debs" "$PROGRAMS/apt/root"
    # shellcheck disable=SC2086  # names
    (cd "$debs" && apt-get -o APT::Sandbox::User= download $packages) >"$PROGRAMS/apt.log" 2>&1 || return 1
    for package in "$debs"/*.deb; do
        dpkg -x "$package" "$PROGRAMS/apt/root" || return 1
    done
    rm -rf "$debs"
}

get_packages() {
    local name command package
    command -v apt-get >/dev/null || return 0
    while IFS='|' read -r name command package; do
        [[ -n $name ]] && is_wanted "$name" "$@" || continue
        ! command -v "$command" >/dev/null && [[ ! -e $PROGRAMS/apt/root/usr/bin/$command ]] || continue
        say "unpacking $package"
        unpack "$package" || say "no $package: $(tail -n 1 "$PROGRAMS/apt.log" 2>/dev/null)"
    done <<<"$PACKAGES"
}

# get_environment DIR PACKAGE...
get_environment() {
    local dir=$1
    shift
    if [[ ! -x $dir/bin/python ]] && ! python3 -m venv "$dir" 2>/dev/null; then
        say "python3 makes no environment"
        return 1
    fi
    say "fetching $*"
    timeout 1200 "$dir/bin/python" -m pip install -q --disable-pip-version-check "$@" >"$PROGRAMS/pip.log" 2>&1 &&
        return
    say "cannot be had: $*: $(grep -i error "$PROGRAMS/pip.log" | tail -n 1)"
    return 1
}

has_module() { [[ -x $1/bin/python ]] && "$1/bin/python" -c "import importlib.util, sys
sys.exit(importlib.util.find_spec('$2') is None)" 2>/dev/null; }

get_modules() {
    local name module packages
    while IFS='|' read -r name module packages; do
        [[ -n $name ]] && is_wanted "$name" "$@" || continue
        # shellcheck disable=SC2086  # names
        has_module "$PROGRAMS/python" "$module" || get_environment "$PROGRAMS/python" $packages
    done <<<"$MODULES"
}

get_torch() {
    is_wanted "torch_cpu torch_emulated torch_gloo torch_nccl" "$@" || return 0
    # shellcheck disable=SC2086  # names
    has_module "${SPECTER_TORCH:-$ROOT/build/torch}" torch || get_environment "$ROOT/build/torch" $TORCH
}

get_nccl() {
    local name dir
    for name in $NCCL; do
        dir=$PROGRAMS/nccl/$name
        is_wanted "nccl_$name torch_nccl cupy" "$@" && [[ ! -e $dir/done ]] || continue
        say "fetching NCCL $name"
        rm -rf "$dir"
        mkdir -p "$dir"
        timeout 600 "${PIP[@]}" download -q --no-deps --only-binary=:all: -d "$dir" \
            "nvidia-nccl-${name%%-*}==${name#*-}" >"$PROGRAMS/pip.log" 2>&1 &&
            python3 -m zipfile -e "$dir"/*.whl "$dir" && rm -f "$dir"/*.whl && touch "$dir/done" && continue
        say "cannot be had: NCCL $name: $(grep -i error "$PROGRAMS/pip.log" | tail -n 1)"
    done
}

mkdir -p "$PROGRAMS"
get_packages "$@"
if "${PIP[@]}" --version >/dev/null 2>&1; then
    get_modules "$@"
    get_nccl "$@"
    get_torch "$@"
else
    say "no pip: none of Python's packages"
fi
