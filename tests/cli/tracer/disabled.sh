# SPECTER_DISABLE=1: no thread, no file, no descriptor, no library kept from being unloaded; pointers of
# dlsym() are the loader's own, and a library that comes later is bound as if the tracer were not there.
. "$ROOT/tests/cli/tracer/common.bash"
command -v "${CC:-cc}" >/dev/null || { echo "no compiler"; exit 77; }
unset LD_LIBRARY_PATH
cc=${CC:-cc}
cat >nccl.c <<'C'
#include <stdio.h>
int ncclGroupStart(void) { return 7; }
int cudaDeviceSynchronize(void) { return 8; }
__attribute__((destructor)) static void unloaded(void) { puts("unloaded"); }
C
cat >plugin.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int ncclGroupStart(void), cudaDeviceSynchronize(void);
#pragma weak ncclGroupEnd
int ncclGroupEnd(void);
static void show(const char *how, void *p)
{
    Dl_info info;
    const char *slash = p && dladdr(p, &info) ? strrchr(info.dli_fname, '/') : 0;
    printf("%s: %s\n", how, slash ? slash + 1 : "nowhere");
}
void use(void);
void use(void)
{
    printf("%d %d %d\n", ncclGroupStart(), cudaDeviceSynchronize(), ncclGroupEnd ? 1 : 0);
    show("reference", (void *)ncclGroupStart);
    show("versioned reference", (void *)cudaDeviceSynchronize);
    show("default", dlsym(RTLD_DEFAULT, "ncclGroupStart"));
    show("default", dlsym(RTLD_DEFAULT, "cudaDeviceSynchronize"));
    show("next", dlsym(RTLD_NEXT, "ncclGroupStart"));
}
C
cat >main.c <<'C'
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
static int entries(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    while (d && readdir(d))
        n++;
    closedir(d);
    return n;
}
int main(void)
{
    for (int i = 0; i < 2; i++) {
        void *plugin = dlopen("./plugin.so", RTLD_LAZY | RTLD_LOCAL);
        void (*use)(void) = plugin ? (void (*)(void))dlsym(plugin, "use") : 0;
        if (!use)
            return puts(dlerror()), 1;
        use();
        printf("threads %d, descriptors %d\n", entries("/proc/self/task") - 2, entries("/proc/self/fd") - 3);
        printf("closed %d\n", dlclose(plugin));
    }
    return 3;
}
C
$cc -shared -fPIC -o libnccl.so.2 -Wl,-soname,libnccl.so.2 nccl.c &&
    $cc -shared -fPIC -o plugin.so plugin.c ./libnccl.so.2 -Wl,-rpath,"$PWD" &&
    $cc -o main main.c -ldl || exit 1
./main >plain
echo "status $?" >>plain
SPECTER_DISABLE=1 traced out ./main >disabled 2>&1
echo "status $?" >>disabled
diff plain disabled
[[ ! -e out ]] || echo "a file was made"
grep -v descriptors plain
