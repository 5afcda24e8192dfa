# specter/specter.h compiles as C and C++ of any standard with all warnings, links with nothing, and
# its functions are there for ctypes, too.
. "$ROOT/tests/cli/tracer/common.bash"
cat >use.c <<'END'
#include <specter/specter.h>
int main(void)
{
    specter_iteration(NULL);
    specter_range_push("a");
    specter_mark("b");
    specter_range_pop();
    return dlerror() != NULL; /* what is not found leaves no message */
}
END
cp use.c use.cc
flags=(-I"$ROOT/include" -Wall -Wextra -Wpedantic -Wshadow -Werror)
"${CC:-cc}" -std=c11 "${flags[@]}" -o c use.c -ldl && ./c || fail "C"
"${CC:-cc}" -std=gnu99 -O2 "${flags[@]}" -o c use.c -ldl && ./c || fail "C99"
if command -v c++ >/dev/null; then
    c++ -std=c++11 "${flags[@]}" -Wold-style-cast -o cc use.cc -ldl && ./cc || fail "C++"
fi
for function in specter_mark specter_iteration specter_range_push specter_range_pop; do
    nm -D --defined-only "$LIBSPECTER" | grep -q " T $function\$" || echo "$function is not exported"
done
