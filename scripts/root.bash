#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Roots of Debian releases in which something is tried, for check-root.sh and packaging/check.sh. Sourced in the root of
# the repository; run with --inside by itself, behind the namespaces, and with --bases by .ci/run.

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

# need_debootstrap LOG: skips where no root can be made. Leaves the mirror in FROM.
need_debootstrap() {
    [[ $(id -u) == 0 ]] || skip "only root can make a root"
    command -v apt-get >/dev/null || skip "no apt, whose configuration says where packages come from"
    unshare --mount --pid --fork true 2>/dev/null || skip "no right to make a mount namespace"
    if ! command -v debootstrap >/dev/null; then
        { apt-get update && apt-get install -y --no-install-recommends debootstrap; } >"$1" 2>&1 </dev/null ||
            skip "no debootstrap: $(tail -n 1 "$1")"
    fi
    FROM=$(mirror)
    [[ -n $FROM ]] || skip "apt's configuration names no mirror of Debian"
}

# make_root ROOT SUITE PACKAGES: the least of a Debian release, and packages (with commas between); what debootstrap says
# goes to ROOT.log. With ROOT_BASES=FOLDER each release is made there once and copied; `root.bash --bases SUITE...`
# makes them before they are asked for.
make_root() {
    local root=$1 suite=$2 packages=$3
    need_debootstrap "$root.log"
    echo "${0##*/}: making a root of $suite with ${packages:-nothing more}"
    if [[ -z ${ROOT_BASES-} ]]; then
        in_namespaces debootstrap --variant=minbase ${packages:+--include="$packages"} "$suite" "$root" "$FROM" \
            >"$root.log" 2>&1 </dev/null ||
            skip "debootstrap makes no $suite: $(tail -n 1 "$root.log")"
        return
    fi
    make_base "$suite" >"$root.log" 2>&1 </dev/null ||
        skip "debootstrap makes no $suite: $(tail -n 1 "$root.log")"
    cp -a "$ROOT_BASES/$suite/." "$root/"
    [[ -z $packages ]] || in_root "$root" / sh -c 'apt-get update && apt-get install -y --no-install-recommends "$@" &&
        apt-get clean && rm -rf /var/lib/apt/lists/*' sh ${packages//,/ } >"$root.log" 2>&1 </dev/null ||
        skip "no packages for $suite: $(tail -n 1 "$root.log")"
}

# make_base SUITE: the release in ROOT_BASES, unless it is there. A second caller waits until the first has made it.
make_base() {
    local base=$ROOT_BASES/$1 status=0
    mkdir -p "$ROOT_BASES"
    exec 8>"$base.lock"
    flock 8 &
    wait $!
    if [[ ! -e $base ]]; then
        rm -rf "$base.new"
        in_namespaces debootstrap --variant=minbase "$1" "$base.new" "$FROM" 8>&- && mv "$base.new" "$base" ||
            status=1
    fi
    exec 8>&-
    return $status
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

if [[ $0 == "${BASH_SOURCE[0]}" ]]; then
    set -euo pipefail
    case ${1:-} in
    --inside) inside "${@:2}" ;;
    --bases)
        trap 'on_signal 143' INT TERM HUP
        need_debootstrap /dev/null
        for suite in "${@:2}"; do make_base "$suite" || true; done
        ;;
    esac
fi
