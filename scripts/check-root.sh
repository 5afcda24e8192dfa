#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A newcomer's machine: makes a root of a Debian release with git, make and gcc and nothing else, clones
# the commit into it, and runs `make demo` and `make check` there; scripts/setup.sh gets the rest.
#
#   scripts/check-root.sh [--shared] SUITE [PATTERN...]     bookworm, bullseye, ...
#
# --shared lays a copy of ../shared beside the clone; PATTERN is T of `make check`. Needs root, and
# debootstrap, which is installed where it is missing; the packages come from where apt's configuration
# has Debian's. Status 77 with the reason where no such root can be made. A root that failed stays for a
# look at its build/test-runs.
set -euo pipefail

cd "$(dirname "$0")/.."
SELF=$PWD/scripts/check-root.sh
PACKAGES=git,make,gcc

skip() {
    echo "skip: $*"
    exit 77
}

# Where apt gets Debian's packages.
mirror() {
    apt-get indextargets --format '$(ORIGIN) $(LABEL) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
        awk '$1 == "Debian" && $2 == "Debian" && $3 !~ /-/ { print $4; exit }'
}

# Makes the root; what debootstrap says goes to a log.
make_root() {
    local root=$1 suite=$2 from
    [[ $(id -u) == 0 ]] || skip "only root can make a root"
    command -v apt-get >/dev/null || skip "no apt, whose configuration says where packages come from"
    unshare --mount --pid --fork true 2>/dev/null || skip "no right to make a mount namespace"
    if ! command -v debootstrap >/dev/null; then
        { apt-get update && apt-get install -y --no-install-recommends debootstrap; } >"$root.log" 2>&1 </dev/null ||
            skip "no debootstrap: $(tail -n 1 "$root.log")"
    fi
    from=$(mirror)
    [[ -n $from ]] || skip "apt's configuration names no mirror of Debian"
    echo "check-root: making a root of $suite with $PACKAGES"
    debootstrap --variant=minbase --include=$PACKAGES "$suite" "$root" "$from" >"$root.log" 2>&1 </dev/null ||
        skip "debootstrap makes no $suite: $(tail -n 1 "$root.log")"
}

# In namespaces of its own: mounts and processes are gone with it, however it ends. A signal that comes
# meanwhile ends it.
in_root() {
    local root=$1
    shift
    unshare --mount --pid --fork --kill-child --propagation private "$SELF" --inside "$root" "$@" &
    wait $!
}

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
        chroot "$root" /bin/sh -c 'cd /src/specter && exec "$@"' sh "$@"
}

main() {
    local shared=0 suite root status=0
    [[ ${1:-} != --shared ]] || { shared=1 && shift; }
    suite=${1:?the name of a Debian release}
    shift
    root=$(mktemp -d "${TMPDIR:-/var/tmp}/specter-$suite.XXXXXX")
    trap 'rm -rf "$root" "$root.log"' EXIT
    trap 'on_signal 130' INT
    trap 'on_signal 143' TERM HUP
    make_root "$root" "$suite"
    mkdir "$root/src"
    git clone -q --no-hardlinks . "$root/src/specter"
    [[ $shared == 0 || ! -d ../shared ]] || cp -R ../shared "$root/src/shared"
    echo "check-root: make demo"
    in_root "$root" make demo >"$root.log" 2>&1 || { tail -n 30 "$root.log" && exit 1; }
    echo "check-root: make check"
    in_root "$root" make check ${1:+T="$*"} || status=$?
    if [[ $status != 0 ]]; then
        trap - EXIT
        echo "check-root: the root stays in $root"
    fi
    exit $status
}

if [[ ${1:-} == --inside ]]; then
    shift
    inside "$@"
else
    main "$@"
fi
