# A program with more thread-local variables than fit on a small stack is recorded all the same.
. "$ROOT/tests/cli/tracer/common.bash"
command -v cc >/dev/null || { echo "no compiler"; exit 77; }
cat >big.c <<'C'
#include <dlfcn.h>
static __thread char big[600 * 1024];
int main(void)
{
    int (*start)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "ncclGroupStart");
    int (*end)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "ncclGroupEnd");
    big[start() + end()] = 1;
    return big[0] - 1;
}
C
cc -D_GNU_SOURCE -o big big.c -L"$BUILD/emu/lib" -Wl,--no-as-needed -l:libnccl.so.2 -Wl,--allow-shlib-undefined -ldl || exit 1
traced out ./big || exit 1
check out/*
grep -c '"event":"shutdown"' out/*
