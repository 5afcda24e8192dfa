# Functions of the tests of jobs that hang: sourced, not run.
. "$ROOT/tests/cli/tracer/common.bash"
unset RANK WORLD_SIZE LOCAL_RANK

# hangs WAY N: runs it on eight ranks until the traces of N of them hold an operation that does not
# end, kills it, and prints what specter says of it.
hangs() {
    export WORLD_SIZE=8 EMU_CLOCK=real SPECTER_OUTPUT=traces SPECTER_RUN=hang
    export SPECTER_EXAMPLE_ID=$PWD/id EMU_DIR=$PWD
    local rank pids=()
    for rank in {0..7}; do
        RANK=$rank LOCAL_RANK=$rank LD_PRELOAD=$PRELOAD "$BUILD/tracer/hang" "$1" 2>/dev/null &
        pids+=($!)
    done
    for _ in {1..400}; do
        [[ $(grep -ls '"timing":"none"' traces/* | wc -l) -ge $2 ]] && break
        sleep 0.05
    done
    sleep 0.3 # for the lines of the others of them
    kill -9 "${pids[@]}"
    wait 2>/dev/null
    unset LD_LIBRARY_PATH
    "$SPECTER" analyze --full traces --json out.json --fail-on 'hangs>0' >out.txt 2>err.txt
    echo "status $?"
    grep -q '^1. Hang: ' out.txt || cat out.txt err.txt
    awk '/"hangs":/ { on = 1 } /"coverage":/ { on = 0 } on && /"(cause|text)":/' out.json |
        sed -E 's/^[[:space:]]*//; s/[0-9.]+ m?s([,;"])/T\1/; s/\\"[0-9a-f]{16}\\"/ID/g'
} 2>/dev/null
