#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The tracer against NVIDIA's own headers and libraries of several generations, from PyPI:
#
#     BUILD=build tests/wheels/run.sh [PATTERN]     or: make check-headers [T=PATTERN]
#
# For each wheel: (1) every source of the tracer compiles with its headers, so that each prototype of the
# hook table is either that header's or one it does not have; (2) without a GPU, every function of the
# table that the library has gives through the tracer what it gives without, whether the library is
# opened RTLD_LOCAL or is as good as linked; one that it does not have gives the library's own error;
# and the tracer has asked this library for its version. What is fetched stays in build/wheels (up to
# 6 GB). Ends with `N passed, N failed`; status 77 without network.
set -uo pipefail

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
CACHE=$ROOT/build/wheels
CC=${CC:-cc}
WORK=$BUILD/wheels-run
PIP=(python3 -m pip --disable-pip-version-check)

# package, version ("newest" is asked for), CUDA generation, families of the hook table. Headers alone:
# the families are "-".
WHEELS='
nvidia-cuda-nvcc-cu11     11.8.89        cu11  -
nvidia-cuda-cccl-cu11     11.8.89.post1  cu11  -
nvidia-cuda-nvcc-cu12     12.9.86        cu12  -
nvidia-cuda-cccl-cu12     12.9.27        cu12  -
nvidia-cuda-crt           newest         cu13  -
nvidia-cuda-cccl          newest         cu13  -
nvidia-cuda-runtime-cu11  11.8.89        cu11  CUDART
nvidia-cuda-runtime-cu12  12.9.79        cu12  CUDART
nvidia-cuda-runtime       newest         cu13  CUDART
nvidia-cublas-cu11        11.11.3.6      cu11  CUBLAS,CUBLASLT
nvidia-cublas-cu12        12.9.1.4       cu12  CUBLAS,CUBLASLT
nvidia-cublas             13.1.0.3       cu13  CUBLAS,CUBLASLT
nvidia-nccl-cu11          2.14.3         cu11  NCCL
nvidia-nccl-cu11          2.16.5         cu11  NCCL
nvidia-nccl-cu11          2.21.5         cu11  NCCL
nvidia-nccl-cu12          2.18.3         cu12  NCCL
nvidia-nccl-cu12          2.20.5         cu12  NCCL
nvidia-nccl-cu12          2.23.4         cu12  NCCL
nvidia-nccl-cu12          2.26.5         cu12  NCCL
nvidia-nccl-cu12          2.27.7         cu12  NCCL
nvidia-nccl-cu13          2.28.9         cu13  NCCL
nvidia-nccl-cu13          2.29.7         cu13  NCCL
nvidia-nccl-cu13          2.30.7         cu13  NCCL
nvidia-nccl-cu13          newest         cu13  NCCL
'

library_of() {
    case $1 in
    NCCL) echo libnccl ;;
    CUBLAS) echo libcublas ;;
    CUBLASLT) echo libcublasLt ;;
    CUDART) echo libcudart ;;
    esac
}

skip() {
    echo "skipped: $1"
    exit 77
}

# ---- fetching ----

newest() {
    timeout 60 "${PIP[@]}" index versions "$1" 2>/dev/null | sed -n '1s/.*(\(.*\)).*/\1/p'
}

# Headers and the libraries that have hooks; what else is in a wheel is not kept.
unpack() {
    python3 - "$1" "$2" <<'PYTHON'
import re, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if re.search(r"(/include/.*[^/]|/lib(nccl|cublas|cublasLt|cudart)\.so\.[0-9.]*)$", name):
            wheel.extract(name, sys.argv[2])
PYTHON
}

# Names the folder of a wheel's files on stdout.
fetch() {
    local package=$1 version=$2 dir
    [[ $version != newest ]] || version=$(newest "$package")
    dir=$CACHE/$package-$version
    echo "$dir"
    [[ ! -e $dir/done ]] || return 0
    [[ -n $version ]] || return 1
    rm -rf "$dir"
    mkdir -p "$dir"
    timeout 400 "${PIP[@]}" download -q --no-deps --only-binary=:all: -d "$dir/fetched" \
        "$package==$version" >&2 || return 1
    unpack "$dir"/fetched/*.whl "$dir" || return 1
    rm -rf "$dir/fetched"
    touch "$dir/done"
}

# ---- compiling ----

# The compiler's own headers and the C library's; CUDA that is installed here must not help out.
system_includes() {
    echo -nostdinc
    for dir in "$("$CC" -print-file-name=include)" "/usr/include/$("$CC" -print-multiarch 2>/dev/null)" \
        /usr/include/"$(uname -m)"-linux-gnu /usr/include; do
        [[ ! -d $dir ]] || echo "-isystem $dir"
    done
}

# Folders to include from: those that hold one of the headers that others name.
includes_of() {
    find "$@" \( -name nccl.h -o -name cuda.h -o -name cublas_v2.h -o -path '*/crt/host_config.h' \
        -o -path '*/nv/target' \) -printf '%h\n' | sed 's,/\(crt\|nv\)$,,' | sort -u | sed 's/^/-isystem /'
}

# Says what went wrong and returns how many sources did not compile.
compile() {
    local bad=0 source
    for source in "$ROOT"/tracer/*.c; do
        # shellcheck disable=SC2046  # many options each
        (cd "$ROOT" && "$CC" -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -fsyntax-only -Wall -Wextra -Werror \
            -I"$BUILD/tracer" $(system_includes) $(includes_of "$@") -idirafter tracer/abi "$source") \
            >"$WORK/cc" 2>&1 && continue
        bad=$((bad + 1))
        grep -m 3 'error' "$WORK/cc" >&2
    done
    return $bad
}

# ---- calling ----

run_forward() {
    local mode=$1 preload=$2 family=$3 library=$4
    env -i PATH="$PATH" LD_LIBRARY_PATH="$(dirname "$library")" SPECTER_OUTPUT="$WORK/trace" SPECTER_NO_DLSYM=1 \
        ${preload:+LD_PRELOAD="$preload"} "$WORK/forward" "$family" "$library" "$mode" \
        >"$WORK/$mode" 2>"$WORK/$mode.err"
}

# Prints how many functions the library has, how many of those and of the others came back right; the
# status says whether all did.
compare() {
    paste -d ' ' "$WORK/plain" "$WORK/local" "$WORK/global" | awk '
        { n = NF / 3; same = 1
          for (i = 1; i <= n; i++) if ($i != $(i + n) || $i != $(i + 2 * n)) same = 0 }
        $2 == "there" { there++; right += same; if (!same) print > "/dev/stderr" }
        $2 == "absent" { absent++; ok = $6 == $9 && $6 > 0 && $6 < 10000; refused += ok
                         if (!ok) print > "/dev/stderr" }
        END { print there + 0, right + 0, absent + 0, refused + 0
              exit !(there > 0 && there == right && absent == refused) }'
}

# Every process that made traced calls into NCCL asked the library that they went to.
asked_version() {
    local want=$1
    cat "$WORK"/trace/*.jsonl | grep '"event":"init"' | sed 's/.*"nccl":\([^,]*\),.*/\1/' | sort -u >"$WORK/asked"
    [[ $(<"$WORK/asked") == "$want" ]] && return
    echo "the tracer asked for the version and got: $(tr '\n' ' ' <"$WORK/asked")" >&2
    return 1
}

# 2.30.7 as NCCL numbers it.
nccl_code() {
    local major minor patch
    IFS=. read -r major minor patch <<<"$1"
    echo $((major * 10000 + minor * 100 + patch))
}

call() {
    local family=$1 library=$2 version=$3
    rm -rf "$WORK/trace"
    if ! run_forward plain "" "$family" "$library" ||
        ! run_forward local "$BUILD/libspecter.so" "$family" "$library" ||
        ! run_forward global "$BUILD/libspecter.so $library" "$family" "$library"; then
        tail -n 3 "$WORK"/*.err >&2
        echo "0 0 0 0"
        return 1
    fi
    compare || return 1
    [[ $family != NCCL ]] || asked_version "$(nccl_code "$version")"
}

# ---- all of them ----

# Folders of the headers of a generation, but for NCCL's; and its last NCCL, for those that are none.
headers_of() {
    awk -v generation="$1" -v families="$2" '
        $1 == generation && $2 != "NCCL" { print $4 }
        $1 == generation && $2 == "NCCL" { nccl = $4 }
        END { if (families != "NCCL") print nccl }' "$WORK/fetched"
}

check_wheel() {
    local generation=$1 families=$2 package=$3 dir=$4 family library compiled=no status=0 good counts
    local version=${dir##*-}
    mapfile -t headers < <(headers_of "$generation" "$families")
    if compile "$dir" "${headers[@]}"; then compiled=yes; fi
    for family in ${families//,/ }; do
        library=$(find "$dir" -name "$(library_of "$family").so.*" | head -n 1)
        good=ok
        counts=$(call "$family" "$library" "$version") || good=FAILED
        [[ $compiled == yes ]] || good=FAILED
        [[ $good == ok ]] || status=1
        # shellcheck disable=SC2086  # four numbers
        set -- $counts
        printf '%-24s  %-10s  %-8s  %8s  %9s  %7s  %s\n' "$package" "$version" "$family" $compiled \
            "$2/$1" "$4/$3" "$good"
    done
    return $status
}

main() {
    local pattern=${1:-} package version generation families dir passed=0 failed=0
    python3 -m pip --version >/dev/null 2>&1 || skip "no pip"
    [[ -n $(newest nvidia-nccl-cu13) ]] || skip "no package index within reach"
    mkdir -p "$WORK" "$CACHE"
    "$CC" -std=c11 -D_GNU_SOURCE -O1 -o "$WORK/forward" "$ROOT/tests/wheels/forward.c" -ldl || exit 1
    while read -r package version generation families; do
        [[ -n $package ]] || continue
        if dir=$(fetch "$package" "$version"); then
            echo "$generation $families $package $dir"
        else
            echo "$package $version cannot be had" >&2
            echo "none - $package $dir"
        fi
    done <<<"$WHEELS" >"$WORK/fetched"
    failed=$(grep -c ^none "$WORK/fetched")
    printf '%-24s  %-10s  %-8s  %8s  %9s  %7s\n' wheel version calls compiled forwarded refused
    while read -r generation families package dir; do
        [[ $generation != none && $families != - && $dir == *"$pattern"* ]] || continue
        if check_wheel "$generation" "$families" "$package" "$dir"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
        fi
    done <"$WORK/fetched"
    echo "$passed passed, $failed failed"
    [[ $failed == 0 ]]
}

main "$@"
