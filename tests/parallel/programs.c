/* SPDX-License-Identifier: MIT
 *
 * Shared by the programs; see programs.h.
 *
 *     examples/launch.sh -n 8 build/emu/programs moe --steps 4
 */
#include "programs.h"

#include "specter/specter.h"

#include "emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS 64
#define MEMORY ((size_t)4 << 30) /* mapped, not filled */
#define KERNEL_NS 1000

/* ---- groups ---- */

void make_two_groups(struct job *j, int inner)
{
    make_three_groups(j, inner, 1);
}

void make_three_groups(struct job *j, int inner, int third)
{
    if (j->world % (inner * third))
        fail("WORLD_SIZE", "groups do not divide it");
    j->inner_size = inner;
    j->inner_rank = j->rank % inner;
    j->third_size = third;
    j->third_rank = j->rank / inner % third;
    NCCL(ncclCommSplit(j->all, j->rank / inner, j->rank, &j->in.inner, NULL));
    NCCL(ncclCommSplit(j->all, j->rank % (inner * third), j->rank, &j->in.outer, NULL));
    if (third > 1)
        NCCL(ncclCommSplit(j->all, j->rank / (inner * third) * inner + j->inner_rank, j->rank,
                           &j->in.third, NULL));
}

/* ---- work ---- */

void host_work(uint64_t ns)
{
    emu_work(ns);
}

/* Row-major m x n x k, as train_step.c has it. */
void product(struct job *j, int m, int n, int k)
{
    const float one = 1, zero = 0;
    uint16_t *a = (uint16_t *)j->memory, *b = a + 128 * MIB, *c = b + 128 * MIB;

    CUBLAS(cublasGemmEx(j->cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, CUDA_R_16BF, n, a,
                        CUDA_R_16BF, k, &zero, c, CUDA_R_16BF, n, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT));
}

void fixed_kernel(struct job *j, int stream, const char *name, uint64_t ns)
{
    const dim3 grid = {1, 1, 1}, block = {256, 1, 1};

    CUDA(cudaLaunchKernel(emuKernel(name, ns), grid, block, NULL, 0, j->streams[stream]));
}

void kernel(struct job *j, int stream, const char *name, size_t bytes)
{
    fixed_kernel(j, stream, name, KERNEL_NS + emuMemoryNs(bytes));
}

void order(struct job *j, int earlier, int later)
{
    cudaEvent_t event = j->events[j->next_event++ % EVENTS];

    CUDA(cudaEventRecord(event, j->streams[earlier]));
    CUDA(cudaStreamWaitEvent(j->streams[later], event, 0));
}

/* ---- communication ---- */

static int size_of(ncclComm_t comm)
{
    int size;

    NCCL(ncclCommCount(comm, &size));
    return size;
}

static char *there(struct job *j)
{
    return j->memory + MEMORY / 2;
}

void all_reduce(struct job *j, ncclComm_t comm, int stream, size_t bytes)
{
    NCCL(ncclAllReduce(j->memory, there(j), bytes / 2, ncclBfloat16, ncclSum, comm,
                       j->streams[stream]));
}

void all_gather(struct job *j, ncclComm_t comm, int stream, size_t bytes)
{
    NCCL(ncclAllGather(j->memory, there(j), bytes / 2 / (size_t)size_of(comm), ncclBfloat16, comm,
                       j->streams[stream]));
}

void reduce_scatter(struct job *j, ncclComm_t comm, int stream, size_t bytes)
{
    NCCL(ncclReduceScatter(j->memory, there(j), bytes / 2 / (size_t)size_of(comm), ncclBfloat16,
                           ncclSum, comm, j->streams[stream]));
}

void broadcast(struct job *j, ncclComm_t comm, int stream, size_t bytes)
{
    NCCL(ncclBroadcast(j->memory, j->memory, bytes / 2, ncclBfloat16, 0, comm, j->streams[stream]));
}

void reduce(struct job *j, ncclComm_t comm, int stream, size_t bytes)
{
    NCCL(ncclReduce(j->memory, there(j), bytes / 2, ncclBfloat16, ncclSum, 0, comm,
                    j->streams[stream]));
}

void all_to_all(struct job *j, ncclComm_t comm, int stream, size_t bytes)
{
    NCCL(ncclAlltoAll(j->memory, there(j), bytes / 2 / (size_t)size_of(comm), ncclBfloat16, comm,
                      j->streams[stream]));
}

void put(struct job *j, ncclComm_t comm, int stream, size_t bytes, int to)
{
    NCCL(ncclSend(j->memory, bytes / 2, ncclBfloat16, to, comm, j->streams[stream]));
}

void take(struct job *j, ncclComm_t comm, int stream, size_t bytes, int from)
{
    NCCL(ncclRecv(there(j), bytes / 2, ncclBfloat16, from, comm, j->streams[stream]));
}

void swap(struct job *j, ncclComm_t comm, int stream, size_t bytes, int to, int from)
{
    NCCL(ncclGroupStart());
    put(j, comm, stream, bytes, to);
    take(j, comm, stream, bytes, from);
    NCCL(ncclGroupEnd());
}

void read_loss(struct job *j)
{
    float loss;

    CUDA(cudaMemcpyAsync(&loss, j->memory, sizeof(loss), cudaMemcpyDeviceToHost,
                         j->streams[COMPUTE]));
    CUDA(cudaStreamSynchronize(j->streams[COMPUTE]));
}

unsigned pick(unsigned a, unsigned b, unsigned below)
{
    uint32_t x = (a + 1) * 2654435761u ^ (b + 1) * 2246822519u;

    x ^= x >> 15;
    x *= 2246822519u;
    return (x ^ x >> 13) % below;
}

/* ---- a run ---- */

static const struct program *find(const char *name)
{
    const struct program *const tables[] = {data_programs, model_programs, exchange_programs};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct program *p = tables[i]; p->name; p++)
            if (!strcmp(p->name, name))
                return p;
    fail(name, "no such program");
}

static void make_streams(struct job *j)
{
    for (int i = 0; i < STREAMS; i++)
        CUDA(cudaStreamCreateWithFlags(&j->streams[i], cudaStreamNonBlocking));
    j->events = calloc(EVENTS, sizeof(*j->events));
    for (int i = 0; i < EVENTS; i++)
        CUDA(cudaEventCreateWithFlags(&j->events[i], cudaEventDisableTiming));
    CUBLAS(cublasCreate(&j->cublas));
    CUBLAS(cublasSetStream(j->cublas, j->streams[COMPUTE]));
    CUDA(cudaMalloc((void **)&j->memory, MEMORY));
}

static void finish(struct job *j)
{
    ncclComm_t comms[] = {j->in.third, j->in.outer, j->in.inner, j->all};

    CUDA(cudaDeviceSynchronize());
    for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++)
        if (comms[i])
            NCCL(ncclCommDestroy(comms[i]));
    CUBLAS(cublasDestroy(j->cublas));
    free(j->events);
}

int main(int argc, char **argv)
{
    static struct job j;
    const struct program *p;
    int steps = 5, devices;

    if (argc == 4 && !strcmp(argv[2], "--steps"))
        steps = atoi(argv[3]);
    else if (argc != 2)
        fail("usage", "programs NAME [--steps N]");
    p = find(argv[1]);
    j.rank = env_number("RANK", 0);
    j.world = env_number("WORLD_SIZE", 1);
    CUDA(cudaGetDeviceCount(&devices));
    CUDA(cudaSetDevice(env_number("LOCAL_RANK", j.rank) % devices));
    make_streams(&j);
    j.all = join_all(j.rank, j.world, getenv("SPECTER_EXAMPLE_ID"));
    p->start(&j);
    for (j.at = 0; j.at < steps; j.at++) {
        specter_iteration("step");
        p->step(&j);
        read_loss(&j);
    }
    finish(&j);
    return 0;
}
