/* SPDX-License-Identifier: MIT
 *
 * Calls of RCCL for the tracer's tests, by rank 1 of 4. Prints only what went wrong.
 */
#include "../emu/rocm/hip.h"

#include <stdio.h>

static int failures;

static void check(long long got, long long want, const char *what, int line)
{
    if (got == want)
        return;
    fprintf(stderr, "rccl_calls.c:%d: %s is %lld, not %lld\n", line, what, got, want);
    failures++;
}

#define CHECK(_got, _want) check((long long)(_got), (long long)(_want), #_got, __LINE__)
#define OK(_call) CHECK(_call, 0)

int main(void)
{
    static char a[4096], b[4096];
    const size_t counts[] = {1, 2, 0, 4}, places[] = {0, 1, 3, 3};
    hipStream_t stream;
    ncclUniqueId id;
    ncclComm_t comm;

    OK(hipSetDevice(1));
    OK(hipStreamCreateWithFlags(&stream, 1));
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRank(&comm, 4, id, 1));
    OK(ncclAllReduce(a, a, 10, ncclFloat16, ncclSum, comm, stream));
    OK(ncclAllToAll(a, b, 20, ncclFloat32, comm, stream));
    OK(ncclAllToAllv(a, counts, places, b, counts, places, ncclFloat32, comm, stream));
    OK(ncclAllReduceWithBias(a, b, 30, ncclBfloat16, ncclMax, comm, stream, b));
    OK(ncclGroupStart());
    OK(ncclAllToAllv(a, counts, places, b, counts, places, ncclInt8, comm, stream));
    OK(ncclSend(a, 5, ncclInt8, 2, comm, stream));
    OK(ncclGroupEnd());
    CHECK(ncclAllReduceWithBias(a, b, 30, ncclBfloat16, ncclMax, comm, stream, NULL),
          ncclInvalidArgument);
    CHECK(ncclAllToAllv(a, NULL, NULL, b, NULL, NULL, ncclInt8, NULL, stream), ncclInvalidArgument);
    OK(ncclAllReduce(a, a, 40, ncclFloat16, ncclSum, comm, NULL));
    OK(hipStreamSynchronize(stream));
    OK(hipStreamSynchronize(NULL));
    OK(ncclCommDestroy(comm));
    return failures != 0;
}
