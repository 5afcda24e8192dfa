/* SPDX-License-Identifier: MIT
 *
 * With EMU_CLOCK=real: the host's clock is the real one, and work is over when its time has come.
 */
#include <time.h>

#include "check.h"
#include "emu.h"

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(void)
{
    size_t bytes = (size_t)60 << 30; /* 20 ms of a memory of 3 TB/s */
    uint64_t begun = now(), host = emuHostClockNs(), took;
    cudaEvent_t start, stop;
    cudaStream_t stream;
    char *buffer;
    float ms;
    CHECK(host >= begun && host - begun < 1000000000u, 1);
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&stop));
    OK(cudaMalloc((void **)&buffer, bytes));
    begun = now();
    OK(cudaEventRecord(start, stream));
    for (int i = 0; i < 10; i++)
        OK(cudaMemsetAsync(buffer, 0, bytes, stream));
    OK(cudaEventRecord(stop, stream));
    CHECK(cudaEventQuery(stop), cudaErrorNotReady);
    OK(cudaStreamSynchronize(stream));
    took = now() - begun;
    OK(cudaEventQuery(stop));
    OK(cudaEventElapsedTime(&ms, start, stop));
    CHECK(ms > 180, 1);
    CHECK((double)took / 1e6 >= (double)ms - 1, 1);
    puts("real time passes");
    return 0;
}
