# Threads with the smallest stack there is: even their first calls, which look for the real function.
. "$ROOT/tests/cli/tracer/common.bash"
export LD_LIBRARY_PATH=$BUILD/bench/lib
PRELOAD=$LIBSPECTER # what a sanitizer needs of a stack is not the tracer's
traced out "$INSTANT" small_stacks >calls || fail "status $?"
check out/*
[[ $(grep -c '"count":1,' out/*.jsonl) == 10 && $(grep -c '"count":77,"dtype"' out/*.jsonl) == 10 ]] || fail "calls are missing"
