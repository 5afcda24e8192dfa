#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Run by packaging/check.sh in the root: check-inside.sh deb|tarball FILE, in the folder of FILE, with the stand-in
# libraries in lib/, and launch.sh and train. Each check is a line; the last one counts.
set -uo pipefail

. ./count.bash

records() {
    rm -rf traces
    LD_LIBRARY_PATH=/src/lib specter capture -o traces -- ./launch.sh -n 4 ./train --tp 2 --iters 3 &&
        [[ -s traces/specter_trace_rank3.jsonl ]]
}
analyzes() { specter analyze traces | grep '^4 ranks'; }
replays() { specter replay traces --gpu a100_sxm --scale 1,8 | grep '^ *32 '; }
completes() {
    # shellcheck disable=SC1091
    . "$1/share/bash-completion/completions/specter"
    COMP_WORDS=(specter an) COMP_CWORD=1
    _specter
    [[ ${COMPREPLY[0]} == analyze ]]
}
has_manual() { cat "$1"/share/man/man1/specter-capture.1* | { gzip -dcf; } | grep 'SPECTER-CAPTURE 1'; }
has_schema() { grep -q '"trace"\|"title"' "$1/share/specter/schemas/trace.json"; }
leaves_nothing() {
    local left
    left=$(find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /src -o -path /tmp \) -prune -o \
        -iname '*specter*' -print | grep -v '^/var/log\|^/var/cache')
    [[ -z $left ]] || { echo "$left"; return 1; }
}

uses() {
    check "version" eval "specter --version | grep '^specter [0-9]'"
    check "records the example on the stand-ins" records
    check "analyzes" analyzes
    check "replays" replays
    check "man page" has_manual "$1"
    check "completion" completes "$1"
    check "schemas" has_schema "$1"
}

case $1 in
deb)
    export DEBIAN_FRONTEND=noninteractive
    check "apt's lists" apt-get update
    check "installs" apt-get install -y --no-install-recommends "./$2"
    uses /usr
    check "purges" dpkg --purge specter
    check "purged: leaves nothing" leaves_nothing
    ;;
tarball)
    check "unpacks" tar -C /opt -xzf "$2"
    folder=$(echo /opt/specter-*)
    PATH=$folder/bin:$PATH
    uses "$folder"
    mv "$folder" "/opt/specter elsewhere" # relocatable; a preload's path must hold no space
    mv "/opt/specter elsewhere" /opt/elsewhere-specter
    PATH=/opt/elsewhere-specter/bin:$PATH
    hash -r
    check "records where it was moved to" records
    check "is removed" rm -r /opt/elsewhere-specter
    check "removed: leaves nothing" leaves_nothing
    ;;
esac
counts
