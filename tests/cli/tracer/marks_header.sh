# specter/specter.h compiles as C of any standard with all warnings, links with nothing, and its
# functions are there for ctypes, too.
. "$ROOT/tests/cli/tracer/marks_header.bash"
"${CC:-cc}" -std=c11 "${flags[@]}" -o c use.c -ldl && ./c || fail "C"
"${CC:-cc}" -std=gnu99 -O2 "${flags[@]}" -o c use.c -ldl && ./c || fail "C99"
for function in specter_mark specter_iteration specter_range_push specter_range_pop; do
    nm -D --defined-only "$LIBSPECTER" | grep -q " T $function\$" || echo "$function is not exported"
done
