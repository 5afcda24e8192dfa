# dlerror() asks the program's allocator for no more than glibc's own does, also in threads that end with an error's text.
. "$ROOT/tests/cli/tracer/common.bash"
[[ ! -e $BUILD/libspecter-san.so ]] || { echo "the program has an allocator of its own"; exit 77; }
export LD_LIBRARY_PATH=$BUILD/bench/lib
"$BUILD/tracer/loader_errors" 2>own || fail "untraced: status $?"
traced traces "$BUILD/tracer/loader_errors" 2>with || fail "traced: status $?"
(($(<with) <= $(<own))) || fail "free(NULL) is called $(<with) times, not $(<own)"
