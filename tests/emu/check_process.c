/* SPDX-License-Identifier: MIT
 *
 * With EMU_CLOCK=process: a thread's call begins where the latest call of any thread ended, however
 * the program ordered them; otherwise each thread has a clock of its own.
 */
#include <pthread.h>

#include "check.h"
#include "emu.h"

static cudaStream_t stream;
static float *buffer;

/* As an autograd thread: it computes and launches while the first thread waits for it. */
static void *backward(void *ended)
{
    OK(cudaMemsetAsync(buffer, 0, 64, stream));
    emu_work(1000000);
    *(uint64_t *)ended = emuHostClockNs();
    return NULL;
}

int main(void)
{
    int one_clock = strcmp(getenv("EMU_CLOCK") != NULL ? getenv("EMU_CLOCK") : "", "process") == 0;
    uint64_t before, ended, after;
    pthread_t thread;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&buffer, 4096));
    emu_work(5000000);
    before = emuHostClockNs();
    OK(pthread_create(&thread, NULL, backward, &ended));
    OK(pthread_join(thread, NULL));
    CHECK(ended > before, one_clock);
    CHECK(ended >= before + 1000000, one_clock);
    after = emuHostClockNs();
    CHECK(after >= ended && after > before, one_clock);
    OK(cudaMemsetAsync(buffer, 0, 64, stream));
    CHECK(emuHostClockNs() > after, 1);
    puts(one_clock ? "one clock" : "a clock a thread");
    return 0;
}
