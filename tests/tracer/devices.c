/* SPDX-License-Identifier: MIT
 *
 * Processes that drive several GPUs each: `devices COUNT WAY` is one of WORLD_SIZE such processes,
 * the one of RANK, which make one communicator of all their GPUs. One thread works for all of its
 * process (`thread`), or one for each GPU (`threads`). In the way `hang` the last process leaves
 * out the third collective of its last GPU, and all wait until they are killed.
 */
#include "../emu/check.h"

#include <cublas_v2.h>
#include <pthread.h>
#include <stdbool.h>

#define GPUS_MAX 8
#define STEPS 5
#define SIZE 64

struct gpu {
    int device;
    bool idle_in_third;
    ncclComm_t comm;
    cudaStream_t stream;
    cublasHandle_t cublas;
    float *a, *b, *c;
};

static void gpu_open(struct gpu *g)
{
    OK(cudaSetDevice(g->device));
    OK(cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&g->a, SIZE * SIZE * sizeof(float)));
    OK(cudaMalloc((void **)&g->b, SIZE * SIZE * sizeof(float)));
    OK(cudaMalloc((void **)&g->c, SIZE * SIZE * sizeof(float)));
    OK(cublasCreate(&g->cublas));
    OK(cublasSetStream(g->cublas, g->stream));
}

static void multiply(struct gpu *g)
{
    const float one = 1, zero = 0;
    OK(cudaSetDevice(g->device));
    OK(cublasSgemm(g->cublas, CUBLAS_OP_N, CUBLAS_OP_N, SIZE, SIZE, SIZE, &one, g->a, SIZE, g->b,
                   SIZE, &zero, g->c, SIZE));
}

static void reduce(struct gpu *g)
{
    OK(ncclAllReduce(g->c, g->c, SIZE * SIZE, ncclFloat32, ncclSum, g->comm, g->stream));
}

static void wait_for(struct gpu *g)
{
    OK(cudaSetDevice(g->device));
    OK(cudaStreamSynchronize(g->stream));
}

/* Works as a framework of one thread: on all GPUs in turn, with the collectives in one group. */
static void work_in_turn(struct gpu *gpus, int count)
{
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < count; i++)
            multiply(&gpus[i]);
        OK(ncclGroupStart());
        for (int i = 0; i < count; i++) {
            if (step != 2 || !gpus[i].idle_in_third)
                reduce(&gpus[i]);
        }
        OK(ncclGroupEnd());
        for (int i = 0; i < count; i++)
            wait_for(&gpus[i]);
    }
}

static void *work_alone(void *gpu)
{
    for (int step = 0; step < STEPS; step++) {
        multiply(gpu);
        reduce(gpu);
        wait_for(gpu);
    }
    return NULL;
}

static void work_in_threads(struct gpu *gpus, int count)
{
    pthread_t threads[GPUS_MAX];
    for (int i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, work_alone, &gpus[i]), 0);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    int count = argc == 3 ? (int)strtol(argv[1], NULL, 10) : 0;
    struct gpu gpus[GPUS_MAX] = {0};
    ncclUniqueId id;
    if (count < 1 || count > GPUS_MAX) {
        fprintf(stderr, "usage: devices COUNT thread|threads|hang\n");
        return 2;
    }
    alarm(30); /* in case the test does not kill it */
    id = check_id("devices");
    OK(ncclGroupStart());
    for (int i = 0; i < count; i++) {
        gpus[i].device = i;
        OK(cudaSetDevice(i));
        OK(ncclCommInitRank(&gpus[i].comm, count * check_world(), id, count * check_rank() + i));
    }
    OK(ncclGroupEnd());
    for (int i = 0; i < count; i++)
        gpu_open(&gpus[i]);
    gpus[count - 1].idle_in_third =
        strcmp(argv[2], "hang") == 0 && check_rank() == check_world() - 1;
    if (strcmp(argv[2], "threads") == 0)
        work_in_threads(gpus, count);
    else
        work_in_turn(gpus, count);
    return 0;
}
