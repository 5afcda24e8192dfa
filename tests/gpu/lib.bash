# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Shared by the checks of the GPU suite; run.sh has set ROOT, HERE, BUILD, SPECTER, PYTHON and OUT.

# claim WHAT MEASURED [LIMIT [UNIT]], equal WHAT MEASURED WANTED, note TEXT: figures of a check that a shell
# has, as figures.py describes them; status 1 where the claim does not hold.
claim() { "$PYTHON" "$HERE/figures.py" claim "$@"; }
equal() { "$PYTHON" "$HERE/figures.py" equal "$@"; }
note() { "$PYTHON" "$HERE/figures.py" note "$@"; }

# ask NAME ARGUMENT...: a question of checks.py about what a check has left.
ask() { "$PYTHON" "$HERE/checks.py" "$@"; }

# also COMMAND...: goes on when it fails, but the check has failed.
export WORST=0
also() { "$@" || WORST=$?; }

# on_one_gpu COUNT COMMAND...: ranks of one job on the same GPU. Each is a node of its own to NCCL, because
# two ranks of a node may not share a device; they talk over sockets. When one fails, the others have ten
# seconds to end: they may wait for it for ever.
on_one_gpu() {
    local count=$1 rank pids=() status=0
    local port=$((20000 + RANDOM % 12000)) # below those that the system hands out
    shift
    for ((rank = 0; rank < count; rank++)); do
        RANK=$rank WORLD_SIZE=$count MASTER_PORT=$port NCCL_HOSTID=rank$rank NCCL_IB_DISABLE=1 NCCL_NET=Socket \
            NCCL_SOCKET_IFNAME=lo NCCL_MAX_NCHANNELS=2 "$@" &
        pids+=($!)
    done
    for ((rank = 0; rank < count; rank++)); do
        wait -n || { status=$? && break; }
    done
    [ $status = 0 ] || end_ranks "${pids[@]}"
    return $status
}

# end_ranks PID...: those that are still there after ten seconds.
end_ranks() {
    echo "a rank failed: the others are ended"
    for _ in {1..100}; do
        kill -0 "$@" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL "$@" 2>/dev/null
    wait
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
