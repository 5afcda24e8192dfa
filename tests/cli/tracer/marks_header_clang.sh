# specter/specter.h calls each function by the type that it has, says clang's sanitizer.
checked=(-rdynamic -fsanitize=function -fno-sanitize-recover=function)
echo 'int main() { return 0; }' >empty.cc
clang++ "${checked[@]}" -o empty empty.cc 2>/dev/null || { echo "no clang++ with -fsanitize=function"; exit 77; }
. "$ROOT/tests/cli/tracer/marks_header.bash"
cat >real.cc <<'END'
extern "C" {
void specter_mark(const char *) {}
void specter_iteration(const char *) {}
void specter_range_push(const char *) {}
void specter_range_pop(void) {}
}
END
clang++ "${checked[@]}" -o checked use.cc real.cc -I"$ROOT/include" -ldl && ./checked ||
    fail "a function is called by another type"
