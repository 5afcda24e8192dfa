/* SPDX-License-Identifier: MIT
 *
 * One rank dies; the others are told. Rank 1 kills itself before the operation named:
 *
 *     check_gone collective|message|split
 *
 * Or it lives and never comes, and the others end their queued collectives, all of them at once:
 *
 *     check_gone abort
 */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define QUEUED 30
/* At most, on a busy machine; one after the other they would take QUEUED seconds. */
#define ABORT_S 15

/* Kernels that wait for rank 1 leave at once, those after them, too. */
static void abort_queued(ncclComm_t comm, float *buffer, cudaStream_t stream)
{
    time_t begin = time(NULL);
    if (check_rank() == 1) {
        sleep(1);
    } else {
        for (int i = 0; i < QUEUED; i++)
            OK(ncclAllReduce(buffer, buffer, 8, ncclFloat32, ncclSum, comm, stream));
    }
    OK(ncclCommAbort(comm));
    CHECK(time(NULL) - begin < ABORT_S, 1);
    OK(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "collective";
    ncclComm_t comm = check_comm("gone"), child;
    ncclResult_t state = ncclSuccess;
    cudaStream_t stream;
    float *buffer;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&buffer, 4096));
    OK(ncclAllReduce(buffer, buffer, 8, ncclFloat32, ncclSum, comm, stream));
    OK(cudaStreamSynchronize(stream));
    if (strcmp(what, "abort") == 0) {
        abort_queued(comm, buffer, stream);
        return 0;
    }
    if (check_rank() == 1)
        raise(SIGKILL);
    if (strcmp(what, "split") == 0) {
        CHECK(ncclCommSplit(comm, 0, 0, &child, NULL), ncclRemoteError);
        return 0;
    }
    if (strcmp(what, "message") == 0)
        OK(ncclRecv(buffer, 8, ncclFloat32, 1, comm, stream));
    else
        OK(ncclAllReduce(buffer, buffer, 8, ncclFloat32, ncclSum, comm, stream));
    CHECK(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
    OK(ncclCommGetAsyncError(comm, &state));
    CHECK(state, ncclRemoteError);
    OK(ncclCommAbort(comm));
    return 0;
}
