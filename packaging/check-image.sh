#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The image of packaging/container/Containerfile: built by buildah, which needs no daemon, and run as its user.
#
#   packaging/check-image.sh FILE.tar.gz
#
# In place of the image that the Containerfile begins with stands the least of that Debian release, made by debootstrap
# (scripts/root.bash), because nothing is fetched from a registry of images. Needs root; status 77 with the reason where
# it cannot be done. Ends with a line of counts.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=scripts/root.bash
. scripts/root.bash
# shellcheck source=packaging/count.bash
. packaging/count.bash
CONTAINERFILE=packaging/container/Containerfile

image() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }

# make_base NAME: the root as an image of that name.
make_base() {
    local made mounted
    made=$(image from scratch) && mounted=$(image mount "$made") &&
        tar -C "$work/root" --one-file-system -cf - . | tar -C "$mounted" -xf - &&
        image umount "$made" && image commit -q "$made" "$1" && image rm "$made"
}

of_image() { image inspect --format "{{$1}}" "$container"; }

# Runs the entry point of the image with these arguments, as its user.
run() {
    image run --isolation chroot -v "$work/traces:/traces:ro" "$container" -- \
        "$(of_image 'index .OCIv1.Config.Entrypoint 0')" "$@"
}

has_version() { run --version | grep '^specter [0-9]'; }
helps() { run "$(of_image 'index .OCIv1.Config.Cmd 0')" | grep capture; }
analyzes() { run analyze /traces | grep '^2 ranks'; }
is_not_root() { of_image .OCIv1.Config.User | grep -x '[1-9][0-9]*:[1-9][0-9]*'; }

main() {
    local file=$1 base suite container
    [[ -e $file ]] || { echo "check-image: no '$file'" >&2; exit 1; }
    command -v buildah >/dev/null || skip "no buildah"
    work=$(mktemp -d "${TMPDIR:-/var/tmp}/specter-image.XXXXXX")
    trap 'rm -rf "$work" "$check_log"' EXIT
    trap 'on_signal 130' INT
    trap 'on_signal 143' TERM HUP
    base=$(sed -n 's/^FROM //p' "$CONTAINERFILE")
    suite=${base##*:}
    mkdir "$work/root" "$work/traces"
    chmod 755 "$work" "$work/traces"
    make_root "$work/root" "${suite%-slim}" ""
    make_base "$base" >"$work/log" 2>&1 || skip "buildah makes no image here: $(tail -n 1 "$work/log")"
    cp tests/data/two_ranks/*.jsonl "$work/traces/"
    check "builds" image bud --isolation chroot --pull=never -q -t specter --build-arg "TARBALL=$file" \
        -f "$CONTAINERFILE" .
    container=$(image from --pull=never localhost/specter) || true # the checks that follow fail, then
    check "version" has_version
    check "starts with the help" helps
    check "its user is not root" is_not_root
    check "analyzes" analyzes
    counts
}

main "$@"
