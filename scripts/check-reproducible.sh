#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds the commit twice, in two folders, with another locale, time zone and number of jobs, and compares programs and
# packages byte for byte. Called by `make check-reproducible`; variables of make, such as CC=gcc, are arguments.
set -euo pipefail

cd "$(dirname "$0")/.."
work=$(mktemp -d "${TMPDIR:-/var/tmp}/specter-twice.XXXXXX")
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

build() { # FOLDER JOBS MAKE-ARGUMENT...
    git clone -q --no-hardlinks . "$1"
    make -s -C "$1" -j"$2" --no-print-directory "${@:3}" >"$1.log" 2>&1 || { tail -n 20 "$1.log"; exit 1; }
}

targets=(all wheel)
! command -v dpkg-deb >/dev/null || targets+=(deb)
build "$work/a" 2 "$@" "${targets[@]}"
second=$work/another-longer-folder
(export LC_ALL=C.UTF-8 TZ=Asia/Tokyo && build "$second" 1 "$@" "${targets[@]}")
passed=0 failed=0
while read -r file; do
    if cmp "$work/a/build/$file" "$second/build/$file"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done < <(cd "$work/a/build" && ls specter *.so dist/*.whl dist/*.deb 2>/dev/null)
echo "$passed passed, $failed failed"
[[ $failed == 0 && $passed -ge 3 ]]
