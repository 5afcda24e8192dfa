# A library that the program unloads goes, as it does untraced, and one that comes later to the same
# place is found anew.
. "$ROOT/tests/cli/tracer/common.bash"
export LD_LIBRARY_PATH=$BUILD/bench/lib
PRELOAD=$LIBSPECTER
cat >plugin.c <<'C'
int ncclGroupStart(void);
int ncclGroupEnd(void);
int use(void);
int use(void) { return ncclGroupStart() != 0 || ncclGroupEnd() != 0; }
C
cat >main.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
static void use_plugin(void)
{
    void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_GLOBAL);
    int (*use)(void) = plugin != NULL ? (int (*)(void))dlsym(plugin, "use") : NULL;
    if (use == NULL || use() != 0)
        puts(plugin == NULL ? dlerror() : "a call failed");
    if (plugin != NULL)
        dlclose(plugin);
}
int main(void)
{
    use_plugin();
    puts(dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD) != NULL ? "is still there" : "is gone");
    use_plugin();
    return 0;
}
C
${CC:-cc} -shared -fPIC -o plugin.so plugin.c "$BUILD/bench/lib/libnccl.so.2" || exit 1
${CC:-cc} -o main main.c -ldl || exit 1
./main >plain
traced out ./main >traced
cat traced
cmp plain traced
check out/*

