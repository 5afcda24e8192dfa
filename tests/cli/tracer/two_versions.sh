# Two versions of a library in one process: each caller gets the one that it was linked to, also from
# the same hook, and a library that calls itself stays with itself.
. "$ROOT/tests/cli/tracer/common.bash"
command -v "${CC:-cc}" >/dev/null || { echo "no compiler"; exit 77; }
cc=${CC:-cc}
unset LD_LIBRARY_PATH
for v in 2 3; do
    cat >nccl$v.c <<C
int ncclCommFinalize(void *comm) { (void)comm; return $v * 10; }
int ncclGroupStart(void) { return ncclCommFinalize(0); }
C
    echo 'int ncclGroupStart(void); int ncclCommFinalize(void *); int use(void) { return ncclGroupStart() + ncclCommFinalize(0) / 10; }' >plugin$v.c
    $cc -shared -fPIC -Wl,-soname,libnccl.so.$v -o libnccl.so.$v nccl$v.c &&
        $cc -shared -fPIC -o plugin$v.so plugin$v.c ./libnccl.so.$v -Wl,-rpath,"$PWD" || exit 1
done
cat >main.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    int (*use[2])(void) = {0, 0};
    const char *names[] = {"./plugin2.so", "./plugin3.so"};
    for (int i = 0; i < 2; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return puts(dlerror()), 1;
        use[i] = (int (*)(void))dlsym(library, "use");
        for (int k = 0; k <= i; k++)
            printf("%d ", use[k]());
    }
    return puts("") < 0;
}
C
$cc -o main main.c -ldl && ./main >plain && traced out ./main >traced || exit 1
cat traced
cmp plain traced
