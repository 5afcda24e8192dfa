# A library that the constructor of another opens, before the tracer's own constructor runs, did not come with the
# program: a plugin that is bound to it keeps it, as it does untraced, when its opener closes it.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
PRELOAD=$LIBSPECTER
unset LD_LIBRARY_PATH
little_nccl 1 || exit 1
cat >early.c <<'C'
#include <dlfcn.h>
static void *handle;
__attribute__((constructor)) static void open_it(void)
{
    handle = dlopen("./v1/libnccl.so.2", RTLD_NOW | RTLD_GLOBAL);
}
int close_it(void);
int close_it(void) { return handle ? dlclose(handle) : -1; }
C
cat >plugin.c <<'C'
int ncclGroupStart(void);
int use(void);
int use(void) { return ncclGroupStart() + 0; }
C
cat >main.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int close_it(void);
int main(void)
{
    void *plugin = dlopen("./plugin.so", RTLD_LAZY);
    int (*use)(void) = plugin ? (int (*)(void))dlsym(plugin, "use") : 0;
    if (!use)
        return puts(dlerror()), 1;
    printf("%d\n", use());
    printf("closed %d, ", close_it());
    puts(dlopen("./v1/libnccl.so.2", RTLD_NOW | RTLD_NOLOAD) ? "is still there" : "is gone");
    printf("%d\n", use());
    return 0;
}
C
"$cc" -shared -fPIC -o early.so early.c -ldl && "$cc" -shared -fPIC -Wl,-z,lazy -o plugin.so plugin.c &&
    "$cc" -o main main.c ./early.so -ldl || exit 1
./main >plain || fail "untraced: status $?"
traced out ./main >traced || fail "traced: status $?"
cat plain
diff plain traced
check out/*
