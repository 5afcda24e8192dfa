# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the checks of the GPU suite share; run.sh has set ROOT, HERE, BUILD, SPECTER, PYTHON and OUT.

# on_one_gpu COUNT COMMAND...: ranks of one job on the same GPU. Each is a node of its own to NCCL, because
# two ranks of a node may not share a device; they talk over sockets.
on_one_gpu() {
    local count=$1 rank pids=() status=0
    shift
    for ((rank = 0; rank < count; rank++)); do
        RANK=$rank WORLD_SIZE=$count NCCL_HOSTID=rank$rank NCCL_IB_DISABLE=1 NCCL_NET=Socket \
            NCCL_SOCKET_IFNAME=lo NCCL_MAX_NCHANNELS=2 "$@" &
        pids+=($!)
    done
    for rank in "${pids[@]}"; do wait "$rank" || status=$?; done
    return $status
}

# seconds COUNT: how long a check may measure; on the stand-ins, where figures mean nothing, a moment.
seconds() { if [ -n "${SPECTER_REHEARSAL:-}" ]; then echo 1; else echo "$1"; fi; }

# workload NAME [OPTION...]: the bare command of a training program.
workload() { "$PYTHON" "$HERE/workload.py" "$@"; }

# traced FOLDER COMMAND...: recorded, by capture's defaults and $CAPTURE.
traced() {
    local folder=$OUT/traces/$1
    shift
    rm -rf "$folder"
    # shellcheck disable=SC2086 # options, word by word
    "$SPECTER" capture -o "$folder" ${CAPTURE:-} -- "$@"
}
