/* SPDX-License-Identifier: MIT
 *
 * A job of eight ranks that stops, one way a name: `hang skip|size|pipeline|message`. In each rank
 * 5, or rank 3 for the message, does not do what the others wait for; all then wait for ever, or
 * until they are killed.
 */
#include "../emu/check.h"

#include <stdbool.h>

struct job {
    ncclComm_t world;
    cudaStream_t stream, messages;
    float *buffer;
};

static void reduce(struct job *j, ncclComm_t comm, size_t count)
{
    OK(ncclAllReduce(j->buffer, j->buffer, count, ncclFloat32, ncclSum, comm, j->stream));
}

/* Every size is another one, so that the calls of rank 5 can be told to be the next ones. */
static void skip(struct job *j)
{
    for (int k = 0; k < 6; k++) {
        if (check_rank() != 5 || k != 3)
            reduce(j, j->world, 256u * (unsigned)(k + 1));
    }
}

static void size(struct job *j)
{
    for (int k = 0; k < 6; k++)
        reduce(j, j->world, check_rank() == 5 && k == 3 ? 128 : 256);
}

/* Pairs of ranks pass messages to each other between the collectives of the odd and of the even
 * ranks. Rank 5 leaves out its third collective, and goes on to the next message. */
static void pipeline(struct job *j)
{
    int rank = check_rank();
    ncclComm_t dp, pair;
    OK(ncclCommSplit(j->world, rank % 2, rank, &dp, NULL));
    OK(ncclCommSplit(j->world, rank / 2, rank, &pair, NULL));
    for (int step = 0; step < 3; step++) {
        if (rank % 2 == 0)
            OK(ncclSend(j->buffer, 64, ncclFloat32, 1, pair, j->messages));
        else
            OK(ncclRecv(j->buffer, 64, ncclFloat32, 0, pair, j->messages));
        OK(cudaStreamSynchronize(j->messages));
        if (rank != 5 || step != 2)
            reduce(j, dp, 256);
        OK(cudaStreamSynchronize(j->stream));
        if (rank % 2 == 1)
            OK(ncclSend(j->buffer, 64, ncclFloat32, 0, pair, j->messages));
        else
            OK(ncclRecv(j->buffer, 64, ncclFloat32, 1, pair, j->messages));
        OK(cudaStreamSynchronize(j->messages));
    }
    if (rank == 5) /* of the next step, which rank 4 does not come to */
        OK(ncclRecv(j->buffer, 64, ncclFloat32, 0, pair, j->messages));
    if (rank == 4)
        reduce(j, dp, 256);
    OK(cudaStreamSynchronize(j->messages));
}

static void message(struct job *j)
{
    reduce(j, j->world, 256);
    if (check_rank() == 2)
        OK(ncclRecv(j->buffer, 64, ncclFloat32, 3, j->world, j->messages));
    OK(cudaStreamSynchronize(j->messages));
}

static const struct {
    const char *name;
    void (*run)(struct job *j);
} ways[] = {{"skip", skip}, {"size", size}, {"pipeline", pipeline}, {"message", message}};

int main(int argc, char **argv)
{
    struct job j;
    alarm(30); /* in case the test does not kill it */
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (argc != 2 || strcmp(argv[1], ways[i].name) != 0)
            continue;
        j.world = check_comm("world");
        OK(cudaStreamCreateWithFlags(&j.stream, cudaStreamNonBlocking));
        OK(cudaStreamCreateWithFlags(&j.messages, cudaStreamNonBlocking));
        OK(cudaMalloc((void **)&j.buffer, 1 << 16));
        ways[i].run(&j);
        OK(cudaStreamSynchronize(j.stream));
        pause(); /* who has nothing to wait for is still there */
        return 0;
    }
    fprintf(stderr, "hang: no way '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
}
