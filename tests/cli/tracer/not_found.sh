# A function that no library has is not found, though the tracer has one of that name.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
unset LD_LIBRARY_PATH
little_nccl 7 || exit 1
same missing
same missing v7/libnccl.so.2
cat traced
"$cc" -shared -fPIC -o plugin.so -Wl,--no-as-needed v7/libnccl.so.2 -Wl,-rpath,"$PWD/v7" -xc - <<'C' || exit 1
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
__attribute__((destructor)) static void gone(void) { puts("gone"); } /* before it is closed */
/* Of the scope of a local library, only its own objects see the library that it needs. */
int steps_linked(void)
{
    int (*start)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "ncclGroupStart");
    return dlsym(RTLD_DEFAULT, "ncclAllReduce") ? 1 : start ? start() : 2;
}
C
same local ./plugin.so
cat traced
