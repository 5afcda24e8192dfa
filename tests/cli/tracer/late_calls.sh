# Calls after the tracer's own exit handler, by other handlers, destructors and threads that
# still run, are in the trace or counted as dropped, in a ring, too. A library's destructor runs last of
# all.
. "$ROOT/tests/cli/tracer/common.bash"
export LD_LIBRARY_PATH=$BUILD/bench/lib:$PWD
${CC:-cc} -DLATE_LIBRARY -I"$ROOT/tracer/abi" -fPIC -shared -o liblate.so "$ROOT/tests/tracer/late_calls.c" || exit 1

# late NAME WANT COMMAND...: WANT calls besides those that the program has counted.
late() {
    local name=$1 more=$2 made
    shift 2
    made=$(traced "$name" "$@")
    echo "$name: status $?"
    check "$name"/*
    [[ $(grep -c '"event":"shutdown"' "$name"/*) == 1 ]] || fail "$name: not one closing record"
    made=${made% calls}
    ((made >= 31)) || fail "$name: '$made' calls"
    (($(closing "$name"/* total_ops) + $(closing "$name"/* dropped) == made + more)) ||
        fail "$name: of $made + $more calls $(closing "$name"/* total_ops) are recorded, $(closing "$name"/* dropped) dropped"
}
late handlers 0 "$BUILD/tracer/late_calls" handlers
closing handlers/* dropped
late threads 0 "$BUILD/tracer/late_calls" threads
SPECTER_RING=50 late ring 0 "$BUILD/tracer/late_calls" handlers
grep -c '^{"id"' ring/*
PRELOAD="$PRELOAD $PWD/liblate.so" late library 96 "$BUILD/tracer/late_calls" handlers
closing library/* dropped

# The child of a bare clone() neither ends its parent's trace nor writes to it.
traced clone "$BUILD/tracer/late_calls" clone >/dev/null
echo "clone: status $?"
check clone/*
(($(closing clone/* total_ops) + $(closing clone/* dropped) == 31)) || fail "clone: $(tail -n 1 clone/*)"
