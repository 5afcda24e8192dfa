# Functions of the tests of processes with several GPUs: sourced, not run.
. "$ROOT/tests/cli/tracer/common.bash"

# devices DIR PROCESSES COUNT WAY: as many processes, with so many GPUs each, numbered by the launcher.
devices() {
    local dir=$1 n=$2 count=$3 way=$4 rank first
    export WORLD_SIZE=$n SPECTER_EXAMPLE_ID=$PWD/id.$dir SPECTER_RUN=$dir
    pids=()
    for ((rank = 0; rank < n; rank++)); do
        first=$((rank * count))
        RANK=$rank CUDA_VISIBLE_DEVICES=$(seq -s , $first $((first + count - 1))) SPECTER_OUTPUT=$dir \
            LD_PRELOAD=$PRELOAD "$BUILD/tracer/devices" "$count" "$way" &
        pids+=($!)
    done
}
