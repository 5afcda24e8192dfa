# Functions of the tests of dump: sourced, not run.
. "$ROOT/tests/cli/tracer/common.bash"

# start DIR: a program that hangs after 20 steps, in the background; returns when it does.
start() {
    SPECTER_OUTPUT=$1 LD_PRELOAD=$PRELOAD "$FLIGHT" hang 20 &
    pid=$!
    for ((i = 0; i < 200; i++)); do
        grep -qs '"type":"nccl"' "$1"/* && return
        sleep 0.05
    done
}

stop() {
    kill -9 "$pid"
    wait "$pid" 2>/dev/null || true
}

# dump ARGUMENTS...: the folder in `made`, with its name blotted out in what is said.
dump() {
    "$SPECTER" dump "$@" 2>said
    local status=$?
    made=$(sed -n 's/.* in \(.*\); next.*/\1/p' said)
    sed 's/dump-[0-9T.]*/dump-TIME/g; s/ on [^ ,;]*;/ on HOST;/' said
    [[ $status == 0 ]] || echo "status $status"
}
