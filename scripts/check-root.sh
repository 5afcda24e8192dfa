#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A newcomer's machine: makes a root of a Debian release with git, make and gcc and nothing else, clones
# the commit into it, and runs `make demo` and `make check` there; scripts/setup.sh gets the rest.
#
#   scripts/check-root.sh [--shared] SUITE [PATTERN...]     bookworm, bullseye, ...
#
# --shared lays a copy of ../shared beside the clone; PATTERN is T of `make check`, $WITHOUT its WITHOUT, and
# $CFLAGS its CFLAGS.
# Needs root, and debootstrap, which is installed where it is missing; the packages come from where apt's
# configuration has Debian's. Status 77 with the reason where no such root can be made. A root that failed stays for a
# look at its build/test-runs.
set -euo pipefail

cd "$(dirname "$0")/.."
PACKAGES=git,make,gcc
# shellcheck source=scripts/root.bash
. scripts/root.bash

main() {
    local shared=0 suite root status=0
    [[ ${1:-} != --shared ]] || { shared=1 && shift; }
    suite=${1:?the name of a Debian release}
    shift
    root=$(mktemp -d "${TMPDIR:-/var/tmp}/specter-$suite.XXXXXX")
    trap 'rm -rf "$root" "$root.log"' EXIT
    trap 'on_signal 130' INT
    trap 'on_signal 143' TERM HUP
    make_root "$root" "$suite" "$PACKAGES"
    mkdir "$root/src"
    git clone -q --no-hardlinks . "$root/src/specter"
    [[ $shared == 0 || ! -d ../shared ]] || cp -R ../shared "$root/src/shared"
    echo "check-root: make demo"
    in_root "$root" /src/specter make demo ${CFLAGS:+CFLAGS="$CFLAGS"} >"$root.log" 2>&1 ||
        { tail -n 30 "$root.log" && exit 1; }
    echo "check-root: make check"
    in_root "$root" /src/specter make check ${CFLAGS:+CFLAGS="$CFLAGS"} ${1:+T="$*"} \
        ${WITHOUT:+WITHOUT="$WITHOUT"} || status=$?
    if [[ $status != 0 ]]; then
        trap - EXIT
        echo "check-root: the root stays in $root"
    fi
    exit $status
}

main "$@"
