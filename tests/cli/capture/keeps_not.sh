# A property that a preload cannot keep is told before the program runs, in one line, and only where it is so: a weak
# reference that is tested and that no library has, dladdr() of a linked function. Each program runs untraced and
# traced.
. "$ROOT/tests/cli/doctor/common.bash"
mkdir lib
"$cc" -shared -fPIC -Wl,-soname,libnccl.so.2 -o lib/libnccl.so.2 -xc - <<<'int ncclGroupStart(void) { return 0; }' || exit 1
cat >weak.c <<'C'
#include <stdio.h>
#pragma weak ncclGroupStart
int ncclGroupStart(void);
int main(void) { return puts(ncclGroupStart ? "there" : "not there") < 0; }
C
cat >called.c <<'C'
#include <stdio.h>
#pragma weak ncclGroupStart
int ncclGroupStart(void);
int main(int argc, char **argv) { (void)argv; return argc > 1 ? ncclGroupStart() : puts("called only") < 0; }
C
cat >asks.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int ncclGroupStart(void);
int main(void)
{
    Dl_info i;
    return dladdr((void *)ncclGroupStart, &i) != 0 ? puts(strrchr(i.dli_fname, '/')) < 0 : 1;
}
C
sed 's/(void \*)ncclGroupStart/(void *)main/; s/{$/{ ncclGroupStart();/' asks.c | sed 's/strrchr.*)) </"own") </' >own.c
link() { "$cc" -fPIE -pie -o "$@" -ldl || exit 1; }
link weak weak.c
link called called.c
link asks asks.c lib/libnccl.so.2
link provided weak.c -Wl,--no-as-needed lib/libnccl.so.2
link own own.c lib/libnccl.so.2
"$cc" -shared -fPIC -o lib/libhas.so -xc - <<<'#pragma weak ncclGroupStart
int ncclGroupStart(void); int has(void) { return ncclGroupStart != 0; }' &&
    link by_library -xc - -xnone lib/libhas.so <<<'int puts(const char *); int has(void); int main(void) { return puts(has() ? "there" : "not there") < 0; }'
export LD_LIBRARY_PATH=$PWD/lib
for program in weak by_library asks called provided own; do
    echo "--- $program: $(./$program)"
    "$SPECTER" capture -o traces -- ./$program 2>err
    sed "/^specter: no NCCL/,\$d; s|$PWD|PWD|g" err
done
export ASAN_OPTIONS=verify_asan_link_order=0 # of a sanitized build: the user's library comes before its runtime
echo "--- preloaded by the user: $(LD_PRELOAD=libnccl.so.2 ./weak)"
LD_PRELOAD=libnccl.so.2 "$SPECTER" capture -o traces -- ./weak 2>err
sed '/^specter: no NCCL/,$d' err
# One line, whatever number of libraries it is so in.
for n in 1 2; do
    "$cc" -shared -fPIC -o lib/libhas$n.so -xc - <<<"#pragma weak ncclGroupStart
int ncclGroupStart(void); int has$n(void) { return ncclGroupStart != 0; }" || exit 1
done
link by_three -xc - -xnone lib/libhas.so lib/libhas1.so lib/libhas2.so <<<'int has(void), has1(void), has2(void); int main(void) { return has() + has1() + has2() > 3; }'
unset LD_PRELOAD
"$SPECTER" capture -o traces -- ./by_three 2>&1 | sed "/^specter: no NCCL/,\$d; s|$PWD|PWD|g"
exit 0
