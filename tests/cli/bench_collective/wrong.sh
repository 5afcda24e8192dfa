# SPDX-License-Identifier: MIT
# A library that gives one rank one wrong element is found out, with rank and place.
. "$ROOT/tests/cli/bench_collective/common.bash"
cat >wrong.c <<'C'
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

/* As the library's, but rank 2 has a byte of element 777 changed. */
int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op, void *comm, void *stream)
{
    int (*real)(const void *, void *, size_t, int, int, void *, void *) = dlsym(RTLD_NEXT, "ncclAllReduce");
    int (*set)(void *, int, size_t, void *) = dlsym(RTLD_DEFAULT, "cudaMemsetAsync");
    int error = real(send, receive, count, type, op, comm, stream);
    if (error == 0 && atoi(getenv("RANK")) == 2)
        error = set((char *)receive + 777 * 4, 0x55, 1, stream);
    return error;
}
C
${CC:-cc} -shared -fPIC -o libwrong.so wrong.c -L"$BUILD/emu/lib" -Wl,--no-as-needed -l:libnccl.so.2 -ldl || exit 1
"$SPECTER" bench collective --lib "$PWD/libwrong.so" --gpus 4 --op all_reduce,all_gather --elements 1000 \
    --iters 2 --warmup 0 --network dgx_h100_400g >table
status=$?
without_times table
exit $status
