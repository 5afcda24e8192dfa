# A call for which no library is there gets that library's error, and one line says so.
. "$ROOT/tests/cli/tracer/common.bash"
command -v "${CC:-cc}" >/dev/null || { echo "no compiler"; exit 77; }
cat >alone.c <<'C'
#include <stdio.h>
int ncclGroupStart(void), cudaDeviceSynchronize(void);
int main(void)
{
    int first = cudaDeviceSynchronize(), second = ncclGroupStart(), third = ncclGroupStart();
    printf("%d %d %d\n", second, third, first);
    return 0;
}
C
"${CC:-cc}" -o alone alone.c -Wl,--unresolved-symbols=ignore-all || exit 1
traced out ./alone
ls -d out 2>&1 | sed 's/.*: //'
