/* SPDX-License-Identifier: MIT
 *
 * Rank 1 calls the second AllReduce with another size than the others; all wait for ever.
 */
#include "check.h"

int main(void)
{
    ncclComm_t comm = check_comm("mismatch");
    size_t count = check_rank() == 1 ? 7 : 8;
    cudaStream_t stream;
    float *buffer;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&buffer, 4096));
    OK(ncclAllReduce(buffer, buffer, 8, ncclFloat32, ncclSum, comm, stream));
    OK(ncclAllReduce(buffer, buffer, count, ncclFloat32, ncclSum, comm, stream));
    OK(cudaStreamSynchronize(stream));
    return 0;
}
