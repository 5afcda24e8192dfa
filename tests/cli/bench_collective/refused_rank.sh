# SPDX-License-Identifier: MIT
# A rank whose communicator the library refuses is named at once with the reason, while the others wait for it in theirs.
. "$ROOT/tests/cli/bench_collective/common.bash"
cat >refuses.c <<'C'
#include <dlfcn.h>
#include <stdlib.h>

typedef struct {
    char bytes[128];
} id;

int ncclCommInitRank(void **comm, int ranks, id unique, int rank)
{
    int (*real)(void **, int, id, int) = dlsym(RTLD_NEXT, "ncclCommInitRank");
    return *getenv("RANK") == '2' ? 2 : real(comm, ranks, unique, rank); /* ncclSystemError */
}
C
${CC:-cc} -shared -fPIC -o librefuses.so refuses.c -L"$BUILD/emu/lib" -Wl,--no-as-needed -l:libnccl.so.2 -ldl || exit 1
timeout 60 "$SPECTER" bench collective --lib "$PWD/librefuses.so" --gpus 3 --op all_reduce --elements 1000 \
    --timeout 600 2>&1 | grep '^specter: rank'
echo "status ${PIPESTATUS[0]}"
left_behind
exit 0
