# A library that is closed and opened again, at the same address or at another one, counts as called: the
# closing record names none as uncalled, whether the calls are linked or go by pointers of dlsym().
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
PRELOAD=$LIBSPECTER
unset LD_LIBRARY_PATH
little_nccl 1 || exit 1
cat >plugin.c <<'C'
int ncclGroupStart(void);
int use(void);
int use(void) { return ncclGroupStart() + 0; }
C
cat >main.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
/* reopen FILE FUNCTION same|other */
static void *first;
static int use(const char *file, const char *function, int is_first, const char *place)
{
    struct link_map *map;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL), *in_the_way = 0;
    int (*f)(void) = library ? (int (*)(void))dlsym(library, function) : 0;
    if (!f || f() != 1 || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
        return puts("no call"), 1;
    if (is_first)
        first = (void *)map->l_addr;
    else if ((first == (void *)map->l_addr) != (strcmp(place, "same") == 0))
        return 77;
    if (!is_first)
        return 0; /* it stays open: what is gone cannot be named */
    dlclose(library);
    if (strcmp(place, "other") == 0)
        in_the_way = mmap(first, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    return in_the_way == MAP_FAILED;
}
int main(int argc, char **argv)
{
    int status = argc == 4 ? use(argv[1], argv[2], 1, argv[3]) : 2;
    return status ? status : use(argv[1], argv[2], 0, argv[3]);
}
C
"$cc" -shared -fPIC -o plugin.so plugin.c v1/libnccl.so.2 -Wl,-rpath,"$PWD/v1" && "$cc" -o reopen main.c -ldl || exit 1
for call in "plugin.so use" "v1/libnccl.so.2 ncclGroupStart"; do
    for place in same other; do
        status=0
        traced out ./reopen "./${call% *}" "${call#* }" $place || status=$?
        [[ $status == 0 || $status == 77 ]] || fail "$call, $place: status $status" # 77: the loader put it elsewhere
        check out/*
        ! grep -h '"kind":"uncalled"' out/* || fail "$call, $place: uncalled"
        rm -r out
    done
done
