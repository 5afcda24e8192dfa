# A call for which no library is there gets that library's error, and one line says so.
. "$ROOT/tests/cli/tracer/common.bash"
command -v "${CC:-cc}" >/dev/null || { echo "no compiler"; exit 77; }
cat >alone.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    int (*nccl)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "ncclGroupStart");
    int (*cuda)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "cudaDeviceSynchronize");
    if (!nccl || !cuda)
        return 1;
    int first = cuda(), second = nccl(), third = nccl();
    printf("%d %d %d\n", second, third, first);
    return 0;
}
C
"${CC:-cc}" -o alone alone.c -ldl || exit 1
traced out ./alone
ls -d out 2>&1 | sed 's/.*: //'
