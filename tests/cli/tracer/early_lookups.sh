# A preload behind ours whose constructor, which runs before ours, looks functions up and calls one.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
little_nccl 6 || exit 1
"$cc" -shared -fPIC -o early.so -xc - -ldl <<'C' || exit 1
#include <dlfcn.h>
#include <stdio.h>
__attribute__((constructor)) static void early(void)
{
    void *library = dlopen("v6/libnccl.so.2", RTLD_NOW);
    int (*start)(void) = library ? (int (*)(void))dlsym(library, "ncclGroupStart") : 0;
    fprintf(stderr, "%d\n", start ? start() : -1);
}
C
LD_PRELOAD="$PRELOAD:$PWD/early.so" SPECTER_OUTPUT=out "$LOOKUPS" next
