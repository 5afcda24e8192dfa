/* SPDX-License-Identifier: MIT
 *
 * One rank dies; the others are told. Rank 1 kills itself before the operation named:
 *
 *     check_gone collective|message|split
 */
#include <signal.h>

#include "check.h"

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
