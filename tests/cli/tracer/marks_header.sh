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
# each is called by the type that it has
cat >real.cc <<'END'
extern "C" {
void specter_mark(const char *) {}
void specter_iteration(const char *) {}
void specter_range_push(const char *) {}
void specter_range_pop(void) {}
}
END
checked=(-rdynamic -fsanitize=function -fno-sanitize-recover=function)
if command -v clang++ >/dev/null && clang++ "${checked[@]}" -o checked use.cc real.cc -I"$ROOT/include" -ldl 2>/dev/null; then
    ./checked || fail "a function is called by another type"
fi
