# A program that calls all of specter/specter.h, and the warnings it is compiled with: sourced.
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
