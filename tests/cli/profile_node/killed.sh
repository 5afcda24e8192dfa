# SPDX-License-Identifier: MIT
# Ctrl-C and SIGTERM in the middle: what was measured stays and is marked, the rest is not begun, and no process
# is left.
. "$ROOT/tests/cli/profile_node/common.bash"
# ended SIGNAL WHOM: WHOM is the process, or - for its group, as a terminal does it.
ended() {
    set -m
    "$ROOT/scripts/profile_node.sh" --quick --gpus 4 -o "$1" >"$1.out" 2>"$1.err" &
    node=$!
    set +m
    for _ in $(seq 600); do
        ! compgen -G "$1/bench/collectives_*.json" >/dev/null || break
        sleep 0.1
    done
    kill -"$1" -- "${2#process}$node"
    wait $node
    echo "$1: status $?"
    mask <"$1.err"
    steps "$1"
    grep -ho '"complete":.*' "$1"/bench/collectives_*.json | tr -d '\t'
    compgen -G "$1.tar.gz"
    for process in /proc/[0-9]*; do
        [[ $(readlink "$process/cwd") != "$PWD" ]] ||
            tr '\0' ' ' <"$process/cmdline" 2>/dev/null | grep -E 'specter |launch|train|profile_node\.sh'
    done
}
ended INT -
ended TERM process
exit 0
