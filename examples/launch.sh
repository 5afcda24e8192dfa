#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Starts a command once for each rank on this machine, as torchrun would.
#
#     examples/launch.sh -n RANKS [-g GPUS_PER_NODE] COMMAND [ARGUMENT...]
#
# Sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, SPECTER_EXAMPLE_ID (where examples
# leave the unique id) and, unless it is set, EMU_DIR (the folder in which the stand-in libraries
# meet; no other program reads it). Returns the first status that is not 0, and then ends the others.
set -u

usage() {
    echo "usage: ${0##*/} -n RANKS [-g GPUS_PER_NODE] COMMAND [ARGUMENT...]" >&2
    exit 2
}

ranks='' gpus=8
while getopts n:g: option; do
    case $option in
    n) ranks=$OPTARG ;;
    g) gpus=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[[ $ranks =~ ^[1-9][0-9]*$ && $gpus =~ ^[1-9][0-9]*$ && $# -gt 0 ]] || usage

parent=${TMPDIR:-/tmp}
[ -w /dev/shm ] && parent=/dev/shm
scratch=$(mktemp -d "$parent/specter-launch.XXXXXX") || exit 2
pids=()
# A process in the background of a script ignores SIGINT: ranks are ended by SIGTERM.
end_all() {
    [ ${#pids[@]} -gt 0 ] && kill "${pids[@]}" 2>/dev/null
}
trap 'rm -rf "$scratch"' EXIT
trap 'end_all; wait; exit 143' TERM
trap 'end_all; wait; exit 130' INT

export WORLD_SIZE=$ranks MASTER_ADDR=${MASTER_ADDR:-127.0.0.1} MASTER_PORT=${MASTER_PORT:-29500}
export SPECTER_EXAMPLE_ID=$scratch/id EMU_DIR=${EMU_DIR:-$scratch}
for ((rank = 0; rank < ranks; rank++)); do
    RANK=$rank LOCAL_RANK=$((rank % gpus)) "$@" &
    pids+=($!)
done

# Looks at the processes in turn: `wait -n` of bash forgets some of those that end together. `read -t`
# would need no process to pass the time, but up to bash 5.1 it waits for ever where its alarm comes early.
status=0
while [ ${#pids[@]} -gt 0 ]; do
    left=()
    for pid in "${pids[@]}"; do
        if kill -0 "$pid" 2>/dev/null; then
            left+=("$pid")
            continue
        fi
        wait "$pid"
        code=$?
        if [ $code -ne 0 ] && [ $status -eq 0 ]; then
            status=$code
            end_all
        fi
    done
    pids=(${left[@]+"${left[@]}"})
    [ ${#pids[@]} -eq 0 ] || LD_PRELOAD= sleep 0.03
done
exit $status
