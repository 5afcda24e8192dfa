/* SPDX-License-Identifier: MIT
 *
 * Programs for tests of windows, sampling, bounded files and the flight recorder:
 *
 *     flight steps N NS
 *     flight hang N
 *     flight late N FILE END
 *     flight survive LOG THREADS
 *
 * steps: N steps, each followed by NS nanoseconds of the host's own work. hang: N steps, then an
 * operation whose other member never comes. late: N steps, an operation that waits for its other
 * member for more than a second, a disk that FILE has filled, 200 more steps; END is "ends": then
 * the operation does, or "never". survive: steps without an end, after the first 100 beside THREADS
 * threads that do nothing but spin; LOG gets, for each AllReduce that has finished, its number and
 * the time (CLOCK_MONOTONIC, ns).
 *
 * A step is an AllReduce, a message to itself, eight products of different shapes, and a
 * synchronisation.
 */
#include "calls.h"

#include "../emu/emu.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static void step(struct world *w)
{
    float one = 1, zero = 0;
    OK(ncclAllReduce(w->a, w->b, 64, ncclFloat32, ncclSum, w->comm, w->stream));
    OK(ncclGroupStart());
    OK(ncclSend(w->a, 16, ncclFloat32, 0, w->comm, w->stream));
    OK(ncclRecv(w->b, 16, ncclFloat32, 0, w->comm, w->stream));
    OK(ncclGroupEnd());
    for (int m = 1; m <= 8; m++)
        OK(cublasSgemm(w->cublas, CUBLAS_OP_N, CUBLAS_OP_N, m, 8, 8, &one, w->a, 8, w->b, 8, &zero,
                       w->c, 8));
    OK(cudaStreamSynchronize(w->stream));
}

static void steps(struct world *w, const char *count, const char *work_ns)
{
    for (long i = atol(count); i > 0; i--) {
        step(w);
        emu_work((uint64_t)atol(work_ns));
    }
}

/* Opens d[0] and d[1], of one communicator, and lets only the first call. */
static void call_alone(struct world d[2])
{
    ncclComm_t comms[2];
    OK(ncclCommInitAll(comms, 2, NULL));
    for (int i = 0; i < 2; i++)
        world_open(&d[i], i, comms[i]);
    OK(cudaSetDevice(0));
    OK(ncclAllReduce(d[0].a, d[0].b, 99, ncclFloat32, ncclSum, d[0].comm, d[0].stream));
}

static void fill_disk(const char *path)
{
    static const char zeros[4096];
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0);
    while (write(fd, zeros, sizeof zeros) > 0)
        continue;
}

static void late(struct world *w, const char *count, const char *filler, const char *end)
{
    struct world d[2];
    steps(w, count, "0");
    call_alone(d);
    usleep(1400000);
    fill_disk(filler);
    steps(w, "200", "0");
    usleep(300000);
    if (strcmp(end, "ends") != 0)
        exit(failures != 0);
    OK(cudaSetDevice(1));
    OK(ncclAllReduce(d[1].a, d[1].b, 99, ncclFloat32, ncclSum, d[1].comm, d[1].stream));
    OK(cudaStreamSynchronize(d[1].stream));
}

static void hang(struct world *w, const char *count)
{
    struct world d[2];
    steps(w, count, "0");
    call_alone(d);
    alarm(60); /* in case the test does not kill it */
    for (;;)
        pause();
}

static void *spin(void *unused)
{
    for (;;)
        atomic_signal_fence(memory_order_seq_cst);
    return unused;
}

static void start_spinning(int threads)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    while (threads-- > 0)
        CHECK(pthread_create(&thread, &attr, spin, NULL) == 0);
}

static void survive(struct world *w, const char *path, const char *threads)
{
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    CHECK(log >= 0);
    alarm(60);
    for (int i = 0;; i++) {
        struct timespec now;
        char line[64];
        int len;
        if (i == 100)
            start_spinning(atoi(threads));
        step(w);
        clock_gettime(CLOCK_MONOTONIC, &now);
        len = snprintf(line, sizeof line, "%d %" PRId64 "\n", i,
                       (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
        CHECK(write(log, line, (size_t)len) == len);
        usleep(4000);
    }
}

int main(int argc, char **argv)
{
    struct world w;
    world_open(&w, 0, NULL);
    if (argc == 4 && strcmp(argv[1], "steps") == 0)
        steps(&w, argv[2], argv[3]);
    else if (argc == 3 && strcmp(argv[1], "hang") == 0)
        hang(&w, argv[2]);
    else if (argc == 5 && strcmp(argv[1], "late") == 0)
        late(&w, argv[2], argv[3], argv[4]);
    else if (argc == 4 && strcmp(argv[1], "survive") == 0)
        survive(&w, argv[2], argv[3]);
    else
        return 2;
    return failures != 0;
}
