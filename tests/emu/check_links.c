/* SPDX-License-Identifier: MIT
 *
 * Every directed pair of ranks: latency and rate of messages by two sizes, and what an AllReduce
 * takes. Rank 0 prints the pairs that differ from most others of their sort.
 *
 *     check_links
 */
#include <math.h>
#include <stdbool.h>

#include "check.h"
#include "emu.h"

#define MIB ((size_t)1 << 20)
#define RANKS_MAX 16

struct measured_link {
    double us, GBps;
};

static ncclComm_t comm;
static cudaStream_t stream;
static cudaEvent_t begin, end;
static char *buffer;
static struct measured_link links[RANKS_MAX][RANKS_MAX];

static double stop(void)
{
    float ms;
    OK(cudaEventRecord(end, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventElapsedTime(&ms, begin, end));
    return (double)ms * 1e3;
}

static void start(void)
{
    emu_join((emu_time() / 1000000000 + 1) * 1000000000);
    OK(cudaEventRecord(begin, stream));
}

static double message(int from, int to, size_t bytes)
{
    start();
    if (check_rank() == from)
        OK(ncclSend(buffer, bytes, ncclInt8, to, comm, stream));
    if (check_rank() == to)
        OK(ncclRecv(buffer, bytes, ncclInt8, from, comm, stream));
    return stop();
}

/* Every rank learns what the receiver saw. */
static double broadcast_from(int rank, double us)
{
    double value = us;
    OK(cudaMemcpy(buffer, &value, sizeof value, cudaMemcpyHostToDevice));
    OK(ncclBroadcast(buffer, buffer, 1, ncclFloat64, rank, comm, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&value, buffer, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

static struct measured_link measure(int from, int to)
{
    double few = broadcast_from(to, message(from, to, 1)),
           many = broadcast_from(to, message(from, to, 256 * MIB));
    return (struct measured_link){few, (double)(256 * MIB - 1) / (many - few) / 1e3};
}

static bool same_node(int a, int b)
{
    int gpus = check_env("GPUS_PER_NODE", 8);
    return a / gpus == b / gpus;
}

/* The best of its sort. */
static struct measured_link usual(bool near)
{
    struct measured_link best = {HUGE_VAL, 0};
    for (int i = 0; i < check_world(); i++)
        for (int j = 0; j < check_world(); j++)
            if (i != j && same_node(i, j) == near) {
                best.us = fmin(best.us, links[i][j].us);
                best.GBps = fmax(best.GBps, links[i][j].GBps);
            }
    return best;
}

static void print_links(bool near, const char *name)
{
    struct measured_link best = usual(near);
    if (best.GBps <= 0)
        return;
    printf("%s: %.1f us, %.1f GB/s\n", name, best.us, best.GBps);
    for (int i = 0; i < check_world(); i++)
        for (int j = 0; j < check_world(); j++)
            if (i != j && same_node(i, j) == near &&
                (links[i][j].us > best.us * 1.001 || links[i][j].GBps < best.GBps * 0.999))
                printf("  %d>%d: %+.1f us, %.3f of the rate\n", i, j, links[i][j].us - best.us,
                       links[i][j].GBps / best.GBps);
}

int main(void)
{
    double reduced;
    comm = check_comm("links");
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaMalloc((void **)&buffer, 256 * MIB));
    for (int from = 0; from < check_world(); from++)
        for (int to = 0; to < check_world(); to++)
            if (from != to)
                links[from][to] = measure(from, to);
    start();
    OK(ncclAllReduce(buffer, buffer, 128 * MIB, ncclFloat16, ncclSum, comm, stream));
    reduced = stop();
    if (check_rank() == 0) {
        print_links(true, "NVLink");
        print_links(false, "network");
        printf("AllReduce: %.0f us\n", reduced);
    }
    OK(ncclCommDestroy(comm));
    return 0;
}
