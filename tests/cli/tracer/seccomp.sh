# A filter that kills for a system call that the program itself does not make, such as getpid(), for its
# thread or for the whole process: the status is the program's, and the trace is whole.
. "$ROOT/tests/cli/tracer/common.bash"
export LD_LIBRARY_PATH=$BUILD/bench/lib
PRELOAD=$LIBSPECTER # a sanitizer asks the system for more
for what in thread process; do
    "$BUILD/tracer/filtered" $what
    [[ $? == 5 ]] || { echo "no seccomp filters here"; exit 77; }
    traced $what "$BUILD/tracer/filtered" $what
    echo "$what: status $?"
    check $what/*
    echo "$(closing $what/* total_ops) operations, $(closing $what/* dropped) dropped"
done
