#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Roots of Debian releases in which something is tried, for check-root.sh and packaging/check.sh. Sourced in the root of
# the repository; run with --inside by itself, behind the namespaces.

ROOT_HELPER=$PWD/scripts/root.bash

skip() {
    echo "skip: $*"
    exit 77
}

# Where apt gets Debian's packages.
mirror() {
    apt-get indextargets --format '$(ORIGIN) $(LABEL) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
        awk '$1 == "Debian" && $2 == "Debian" && $3 !~ /-/ { print $4; exit }'
}

# make_root ROOT SUITE PACKAGES: the least of a Debian release, and packages (with commas between); what debootstrap says
# goes to ROOT.log.
make_root() {
    local root=$1 suite=$2 packages=$3 from
    [[ $(id -u) == 0 ]] || skip "only root can make a root"
    command -v apt-get >/dev/null || skip "no apt, whose configuration says where packages come from"
    unshare --mount --pid --fork true 2>/dev/null || skip "no right to make a mount namespace"
    if ! command -v debootstrap >/dev/null; then
        { apt-get update && apt-get install -y --no-install-recommends debootstrap; } >"$root.log" 2>&1 </dev/null ||
            skip "no debootstrap: $(tail -n 1 "$root.log")"
    fi
    from=$(mirror)
    [[ -n $from ]] || skip "apt's configuration names no mirror of Debian"
    echo "${0##*/}: making a root of $suite with ${packages:-nothing more}"
    in_namespaces debootstrap --variant=minbase ${packages:+--include="$packages"} "$suite" "$root" "$from" \
        >"$root.log" 2>&1 </dev/null ||
        skip "debootstrap makes no $suite: $(tail -n 1 "$root.log")"
}

# Runs a command in namespaces of its own: mounts and processes are gone with it, however it ends. A signal that comes
# meanwhile ends it.
in_namespaces() {
    unshare --mount --pid --fork --kill-child --propagation private "$@" &
    wait $!
}

# in_root ROOT FOLDER COMMAND...
in_root() { in_namespaces "$ROOT_HELPER" --inside "$@"; }

on_signal() {
    kill -KILL $(jobs -p) 2>/dev/null
    wait
    exit "$1"
}

inside() {
    local root=$1 proxy=() name
    shift
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    for name in http_proxy https_proxy no_proxy; do
        proxy+=(${!name:+"$name=${!name}"})
    done
    exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb "${proxy[@]}" \
        chroot "$root" /bin/sh -c 'cd "$0" && exec "$@"' "$@"
}

if [[ ${1:-} == --inside && $0 == "${BASH_SOURCE[0]}" ]]; then
    set -euo pipefail
    shift
    inside "$@"
fi
