#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A package in the least of a Debian release: installs it, uses it, removes it, and says what is left of it.
#
#   BUILD=build packaging/check.sh deb SUITE FILE.deb
#   BUILD=build packaging/check.sh tarball SUITE FILE.tar.gz      unpacked into /opt
#
# BUILD has the stand-in libraries and the example that are recorded: BUILD/emu/lib, BUILD/examples/train. Needs root
# and debootstrap (scripts/root.bash); status 77 with the reason where there are none. Ends with a line of counts.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=scripts/root.bash
. scripts/root.bash

main() {
    local kind=$1 suite=$2 file=$3 root status=0
    [[ -e $file ]] || { echo "check: no '$file'" >&2; exit 1; }
    root=$(mktemp -d "${TMPDIR:-/var/tmp}/specter-$suite.XXXXXX")
    trap 'rm -rf "$root" "$root.log"' EXIT
    trap 'on_signal 130' INT
    trap 'on_signal 143' TERM HUP
    make_root "$root" "$suite" ""
    mkdir -p "$root/src/lib"
    cp "$file" packaging/check-inside.sh packaging/count.bash examples/launch.sh "$BUILD/examples/train" "$root/src/"
    cp -L "$BUILD"/emu/lib/*.so.* "$root/src/lib/"
    in_root "$root" /src bash check-inside.sh "$kind" "$(basename "$file")" || status=$?
    exit $status
}

main "$@"
