# A filter that kills for a system call that the program itself does not make, such as getpid() or pwrite(),
# for its thread or for the whole process: the status is the program's, and the trace is whole, also in a
# ring and with a closing record that is written again.
. "$ROOT/tests/cli/tracer/common.bash"
export LD_LIBRARY_PATH=$BUILD/bench/lib
PRELOAD=$LIBSPECTER # a sanitizer asks the system for more

# filtered NAME ARGUMENT...
filtered() {
    local name=$1
    shift
    "$BUILD/tracer/filtered" "$@"
    [[ $? == 5 ]] || { echo "no seccomp filters here"; exit 77; }
    traced "$name" "$BUILD/tracer/filtered" "$@"
    echo "$name: status $?"
    check "$name"/*
    echo "$(closing "$name"/* total_ops) operations, $(closing "$name"/* dropped) dropped"
}
filtered thread thread
filtered process process
filtered late process late
SPECTER_RING=50 filtered ring process late
