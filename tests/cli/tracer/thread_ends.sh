# Calls by destructors of thread-local values, in whatever round, are recorded, and the thread's ring
# serves others when it has ended: nothing is dropped.
. "$ROOT/tests/cli/tracer/common.bash"
export LD_LIBRARY_PATH=$BUILD/bench/lib
PRELOAD=$LIBSPECTER # a thread sanitizer is gone before the last destructors
for how in one_by_one at_once; do
    traced $how "$BUILD/tracer/thread_ends" $how || fail "$how: status $?"
    check $how/*
    echo "$(closing $how/* total_ops) operations, $(closing $how/* dropped) dropped"
done
