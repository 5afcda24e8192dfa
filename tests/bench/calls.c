/* SPDX-License-Identifier: MIT
 *
 * One round of the tracer's benchmark, run by tracer.sh with and without a tracer preloaded:
 *
 *     calls nccl|gemm THREADS BURSTS CALLS    prints CPU ns per call of the calling thread
 *     calls comms BURSTS CALLS                prints the same of the first of COMMS communicators
 * and of the last calls memory                            prints VmRSS and VmData, kB, when each
 * ring was full and there were COMMS communicators besides
 *
 * Between bursts it waits until the files in $BENCH_OUTPUT no longer grow: what the tracer has
 * recorded is then written, and the next burst finds its rings empty.
 */
#include <cublas_v2.h>
#include <dirent.h>
#include <nccl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A tracer's, when one is preloaded. */
extern void specter_range_push(const char *name) __attribute__((weak));

#define THREADS_MAX 256
#define COMMS 5000
#define STEADY_US 25000 /* the tracer looks at its rings every 10 ms */

struct worker {
    pthread_t thread;
    int number;
    int64_t cpu_ns;
    ncclComm_t comm;
    char handle[64]; /* its address is a communicator's, a stream's and a cuBLAS handle's */
};

static struct worker workers[THREADS_MAX];
static pthread_barrier_t barrier;
static void (*make_calls)(struct worker *w, int calls);
static int threads, bursts, calls_per_burst;

static char comm_handles[COMMS][64]; /* an address is a communicator's */
static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t bytes_written(void)
{
    const char *path = getenv("BENCH_OUTPUT");
    DIR *dir = path != NULL ? opendir(path) : NULL;
    int64_t sum = 0;
    struct dirent *entry;
    struct stat st;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
            sum += st.st_size;
    }
    if (dir != NULL)
        closedir(dir);
    return sum;
}

static void await_written(void)
{
    int64_t before, now = bytes_written();
    do {
        before = now;
        usleep(STEADY_US);
        now = bytes_written();
    } while (now != before);
}

static void call_nccl(struct worker *w, int calls)
{
    static float buffer[2];
    cudaStream_t stream = (cudaStream_t)w->handle;
    for (int i = 0; i < calls; i++)
        ncclAllReduce(buffer, buffer + 1, 1 << 20, ncclFloat16, ncclSum, w->comm, stream);
}

static void call_gemm(struct worker *w, int calls)
{
    static const float one = 1, zero = 0;
    cublasHandle_t handle = (cublasHandle_t)w->handle;
    for (int i = 0; i < calls; i++)
        cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, 4096, 4096, 4096, &one, NULL, CUDA_R_16F,
                     4096, NULL, CUDA_R_16F, 4096, &zero, NULL, CUDA_R_16F, 4096,
                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static void open_comm(struct worker *w, int ranks)
{
    ncclUniqueId id;
    memset(&id, w->number, sizeof id);
    w->comm = (ncclComm_t)w->handle;
    ncclCommInitRank(&w->comm, ranks, id, 0);
}

static void *run(void *worker)
{
    struct worker *w = worker;
    open_comm(w, 8);
    make_calls(w, 1); /* what happens once */
    for (int i = 0; i < bursts; i++) {
        int64_t begun;
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            await_written();
        pthread_barrier_wait(&barrier);
        begun = cpu_ns();
        make_calls(w, calls_per_burst);
        w->cpu_ns += cpu_ns() - begun;
    }
    return NULL;
}

/* Makes a tracer remember more of a thread and its communicator: a range that is open, and numbers
 * for each of many peers. */
static void take_more(struct worker *w)
{
    if (specter_range_push != NULL)
        specter_range_push("open");
    open_comm(w, 4096);
    ncclSend(NULL, 1, ncclFloat16, 1, w->comm, (cudaStream_t)w->handle);
}

/* Each of an id of its own. */
static void make_comms(void)
{
    ncclUniqueId id;
    memset(&id, 1, sizeof id);
    for (int i = 0; i < COMMS; i++) {
        ncclComm_t comm = (ncclComm_t)comm_handles[i];
        memcpy(&id, &i, sizeof i);
        ncclCommInitRank(&comm, 8, id, 0);
    }
}

/* Blocks are given out in the order of first calls, large rings first: the n-th has at most
 * 32768/n slots, and all of them are used once. */
static void *fill_ring(void *worker)
{
    struct worker *w = worker;
    int left = 32768 / (w->number + 1);
    void *volatile some = malloc(1); /* the C library's memory for the thread is not the tracer's */
    free(some);
    if (w->number == 0)
        make_comms();
    for (; left > 0; left -= 32) {
        call_nccl(w, 32);
        usleep(1000);
    }
    pthread_barrier_wait(&barrier); /* none ends before the last has begun */
    take_more(w);
    pthread_barrier_wait(&barrier);
    return NULL;
}

/* Bursts on the first and on the last take turns. */
static void compare_comms(int times, int calls)
{
    struct worker ends[2];
    memset(ends, 0, sizeof ends);
    make_comms();
    ends[0].comm = (ncclComm_t)comm_handles[0];
    ends[1].comm = (ncclComm_t)comm_handles[COMMS - 1];
    for (int i = 0; i < 2 * times; i++) {
        struct worker *w = &ends[i % 2];
        int64_t begun;
        await_written();
        begun = cpu_ns();
        call_nccl(w, calls);
        w->cpu_ns += cpu_ns() - begun;
    }
    for (int i = 0; i < 2; i++)
        printf("%.2f%c", (double)ends[i].cpu_ns / times / calls, i == 0 ? ' ' : '\n');
}

static void start(int count, void *(*body)(void *))
{
    threads = count;
    if (pthread_barrier_init(&barrier, NULL, (unsigned)count) != 0)
        exit(3);
    for (int i = 0; i < count; i++) {
        workers[i].number = i;
        if (pthread_create(&workers[i].thread, NULL, body, &workers[i]) != 0)
            exit(3);
    }
    for (int i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
}

static long status_kib(const char *key)
{
    char line[256];
    long value = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && value < 0 && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtol(line + strlen(key), NULL, 10);
    }
    if (f != NULL)
        fclose(f);
    return value;
}

int main(int argc, char **argv)
{
    double sum = 0;
    if (argc == 2 && strcmp(argv[1], "memory") == 0) {
        start(THREADS_MAX, fill_ring);
        printf("%ld %ld\n", status_kib("VmRSS:"), status_kib("VmData:"));
        return 0;
    }
    if (argc == 4 && strcmp(argv[1], "comms") == 0) {
        compare_comms(atoi(argv[2]), atoi(argv[3]));
        return 0;
    }
    if (argc != 5)
        return 2;
    make_calls = strcmp(argv[1], "gemm") == 0 ? call_gemm : call_nccl;
    bursts = atoi(argv[3]);
    calls_per_burst = atoi(argv[4]);
    start(atoi(argv[2]), run);
    for (int i = 0; i < threads; i++)
        sum += (double)workers[i].cpu_ns;
    printf("%.2f\n", sum / threads / bursts / calls_per_burst);
    return 0;
}
