/* SPDX-License-Identifier: MIT
 *
 * A query must answer even if what it asks for cannot come before the asker goes on: rank 0 asks
 * once about a collective that rank 1 enters only after a word from rank 0, outside of CUDA.
 */
#include "check.h"

int main(void)
{
    ncclComm_t comm = check_comm("poll");
    cudaStream_t stream;
    cudaEvent_t event;
    float *buffer;
    char path[512];
    snprintf(path, sizeof path, "%s.word", getenv("SPECTER_EXAMPLE_ID"));
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    OK(cudaMalloc((void **)&buffer, 4096));
    while (check_rank() == 1 && access(path, F_OK) != 0)
        usleep(1000);
    /* the clock passes the other rank's, so that the answer does not follow from the clocks */
    if (check_rank() == 0)
        for (int i = 0; i < 100; i++)
            OK(cudaMemsetAsync(buffer, 0, 4096, stream));
    OK(ncclAllReduce(buffer, buffer, 8, ncclFloat32, ncclSum, comm, stream));
    OK(cudaEventRecord(event, stream));
    if (check_rank() == 0) {
        CHECK(cudaEventQuery(event), cudaErrorNotReady);
        fclose(fopen(path, "w"));
    }
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventQuery(event));
    if (check_rank() == 0)
        puts("answered");
    return 0;
}
