/* SPDX-License-Identifier: MIT
 *
 * NCCL calls of several ranks for the tracer's tests: `nccl_calls SCENARIO`, started by
 * examples/launch.sh. Prints only what went wrong.
 */
#include <stdbool.h>

#include "../emu/check.h"

#include "../../tracer/hooks/nccl_types.h"

/* Functions that the installed header may not have yet. */
#define HOOK(_lib, _ret, _fn, _params, ...) _ret _fn _params;
#include "../../tracer/hooks/nccl.def"
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *uniqueId);

#define BUFFER_BYTES (1 << 16)

static ncclComm_t world;
static cudaStream_t stream;
static char *a, *b;
static int rank, ranks;

static void sync_stream(void)
{
    OK(cudaStreamSynchronize(stream));
}

/* One element to each member, so that a communicator that came out wrong hangs or fails. */
static void meet(ncclComm_t comm, size_t count)
{
    OK(ncclAllReduce(a, b, count, ncclFloat32, ncclSum, comm, stream));
    sync_stream();
}

/* ---- what moves data ---- */

static void rooted(void)
{
    size_t part = 10 * sizeof(float), mine = (size_t)rank * part;
    float factor = 0.5f;
    ncclRedOp_t half;

    OK(ncclGather(a, rank == 1 ? b : NULL, 10, ncclFloat32, 1, world, stream));
    OK(ncclScatter(rank == 1 ? a : NULL, b, 10, ncclFloat32, 1, world, stream));
    OK(ncclGather(rank == 0 ? b + mine : a, b, 10, ncclFloat32, 0, world, stream));
    OK(ncclScatter(a, rank == 0 ? a + mine : b, 10, ncclFloat32, 0, world, stream));
    OK(ncclAlltoAll(a, b, 3, ncclInt64, world, stream));
    OK(ncclRedOpCreatePreMulSum(&half, &factor, ncclFloat32, ncclScalarHostImmediate, world));
    OK(ncclAllReduce(a, b, 5, ncclFloat32, half, world, stream));
    OK(ncclRedOpDestroy(half, world));
    OK(ncclGroupStart());
    OK(ncclGather(a, b, 6, ncclInt8, 0, world, stream));
    OK(ncclScatter(a, b, 7, ncclInt8, 0, world, stream));
    OK(ncclGroupEnd());
    CHECK(ncclGather(a, b, 1, ncclInt8, ranks, world, stream), ncclInvalidArgument);
    sync_stream();
}

static void configured(void)
{
    OK(ncclAllReduceConfig(a, a, 1, ncclFloat16, ncclMax, world, stream, NULL));
    OK(ncclReduceConfig(a, b, 2, ncclFloat16, ncclSum, 1, world, stream, NULL));
    OK(ncclBroadcastConfig(a, b, 3, ncclFloat16, 1, world, stream, NULL));
    OK(ncclAllGatherConfig(a, b, 4, ncclFloat16, world, stream, NULL));
    OK(ncclReduceScatterConfig(a, b, 5, ncclFloat16, ncclSum, world, stream, NULL));
    OK(ncclAlltoAllConfig(a, b, 6, ncclFloat16, world, stream, NULL));
    OK(ncclGatherConfig(a, b, 7, ncclFloat16, 1, world, stream, NULL));
    OK(ncclScatterConfig(a, b, 8, ncclFloat16, 1, world, stream, NULL));
    sync_stream();
}

/* Puts to the next rank, signals to both neighbours. The messages in between keep their numbers. */
static void one_sided(void)
{
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    ncclWaitSignalDesc_t one = {1, before, 0, 0}, both[] = {{1, before, 0, 0}, {1, next, 0, 0}};
    ncclWindow_t window;

    OK(ncclCommWindowRegister(world, b, BUFFER_BYTES, &window, NCCL_WIN_DEFAULT));
    for (int i = 0; i < 2; i++) {
        OK(ncclPutSignal(a, 100, ncclFloat32, next, window, 64, 0, 0, 0, world, stream));
        OK(ncclWaitSignal(1, &one, world, stream));
        OK(ncclGroupStart());
        OK(ncclSend(a, 9, ncclFloat32, next, world, stream));
        OK(ncclRecv(b, 9, ncclFloat32, before, world, stream));
        OK(ncclGroupEnd());
    }
    CHECK(ncclPutSignal(a, 1, ncclInt8, next, NULL, 0, 0, 0, 0, world, stream) != ncclSuccess, 1);
    OK(ncclSignal(next, 0, 0, 0, world, stream));
    OK(ncclSignal(before, 0, 0, 0, world, stream));
    OK(ncclWaitSignal(2, both, world, stream));
    sync_stream();
    OK(ncclCommWindowDeregister(world, window));
}

/* ---- communicators ---- */

static void scalable(void)
{
    ncclUniqueId ids[2] = {check_id("first"), check_id("second")}, other[2] = {ids[1], ids[0]};
    ncclComm_t comm, swapped, bad;

    OK(ncclCommInitRankScalable(&comm, ranks, rank, 2, ids, NULL));
    OK(ncclCommInitRankScalable(&swapped, ranks, rank, 2, other, NULL));
    CHECK(ncclCommInitRankScalable(&bad, ranks, rank, 0, ids, NULL), ncclInvalidArgument);
    CHECK(ncclCommInitRankScalable(&bad, ranks, rank, 1 << 30, ids, NULL), ncclInvalidArgument);
    meet(comm, 2);
    meet(swapped, 3);
    OK(ncclCommDestroy(comm));
    OK(ncclCommDestroy(swapped));
}

/* Without the ranks of `list`, if this one remains. */
static void shrink(int *list, int count, size_t elements)
{
    ncclComm_t small = NULL;

    for (int i = 0; i < count; i++)
        if (list[i] == rank)
            return;
    OK(ncclCommShrink(world, list, count, &small, NULL, NCCL_SHRINK_DEFAULT));
    meet(small, elements);
    OK(ncclCommDestroy(small));
}

/* Each set of survivors counts for itself; a split, to which all come, is the first for all. */
static void shrinks(void)
{
    int last[] = {3}, ends[] = {3, 0}, turned[] = {0, 3};
    ncclComm_t child;

    shrink(last, 1, 2);
    shrink(ends, 2, 3);
    shrink(rank == 1 ? turned : ends, 2, 4);
    shrink(last, 1, 5);
    OK(ncclCommSplit(world, rank % 2, 0, &child, NULL));
    meet(child, 6);
    CHECK(ncclCommShrink(world, last, -1, &child, NULL, 0), ncclInvalidArgument);
    CHECK(ncclCommShrink(world, NULL, 1, &child, NULL, 0), ncclInvalidArgument);
    CHECK(ncclCommShrink(world, last, 1 << 30, &child, NULL, 0), ncclInvalidArgument);
}

/* The last rank does not come; the others end what waits for it, and go on without it. `meeting`
 * keeps it there until they are done. */
static void leave_one_out(bool revoke)
{
    int last[] = {ranks - 1};
    ncclComm_t meeting = check_comm("meeting"), small;

    if (rank < ranks - 1) {
        OK(ncclAllReduce(a, b, 1000, ncclFloat32, ncclSum, world, stream));
        if (revoke)
            OK(ncclCommRevoke(world, NCCL_REVOKE_DEFAULT));
        OK(ncclCommShrink(world, last, 1, &small, NULL,
                          revoke ? NCCL_SHRINK_DEFAULT : NCCL_SHRINK_ABORT));
        CHECK(ncclAllReduce(a, b, 1, ncclInt8, ncclSum, world, stream) != ncclSuccess, 1);
        meet(small, 2);
        OK(ncclCommDestroy(small));
    }
    meet(meeting, 3);
}

static void aborted(void)
{
    leave_one_out(false);
}

static void revoked(void)
{
    leave_one_out(true);
}

static void in_group(void)
{
    int last[] = {ranks - 1};
    ncclComm_t small = NULL;

    if (rank == ranks - 1)
        return;
    OK(ncclGroupStart());
    OK(ncclCommShrink(world, last, 1, &small, NULL, NCCL_SHRINK_DEFAULT));
    OK(ncclGroupEnd());
    meet(small, 2);
}

static void await(ncclComm_t comm)
{
    ncclResult_t state = ncclInProgress;

    while (state == ncclInProgress)
        OK(ncclCommGetAsyncError(comm, &state));
    OK(state);
}

static void nonblocking(void)
{
    ncclUniqueId ids[2] = {check_id("first"), check_id("second")};
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    int last[] = {ranks - 1};
    ncclComm_t comm = NULL, small = NULL;

    config.blocking = 0;
    CHECK(ncclCommInitRankScalable(&comm, ranks, rank, 2, ids, &config), ncclInProgress);
    await(comm);
    if (rank == ranks - 1)
        return;
    CHECK(ncclCommShrink(comm, last, 1, &small, NULL, NCCL_SHRINK_DEFAULT), ncclInProgress);
    await(small);
    CHECK(ncclGather(a, b, 4, ncclInt8, 0, small, stream), ncclInProgress);
    await(small);
    sync_stream();
}

/* The last rank joins a communicator of the others. */
static void grow(void)
{
    ncclComm_t old = NULL, grown;
    bool joins = rank == ranks - 1, root = rank == 0;
    ncclUniqueId id = check_id("grow");

    OK(ncclCommSplit(world, joins ? NCCL_SPLIT_NOCOLOR : 0, 0, &old, NULL));
    OK(ncclCommGrow(old, ranks, joins || root ? &id : NULL, joins ? rank : -1, &grown, NULL));
    meet(grown, 2);
}

static void suspended(void)
{
    OK(ncclCommSuspend(world, 1));
    CHECK(ncclAllReduce(a, b, 1, ncclInt8, ncclSum, world, stream), ncclInvalidUsage);
    OK(ncclCommResume(world));
    meet(world, 2);
}

static const struct scenario {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"rooted", rooted},     {"configured", configured}, {"one_sided", one_sided},
    {"scalable", scalable}, {"shrinks", shrinks},       {"aborted", aborted},
    {"revoked", revoked},   {"in_group", in_group},     {"nonblocking", nonblocking},
    {"grow", grow},         {"suspended", suspended},
};

int main(int argc, char **argv)
{
    rank = check_rank();
    ranks = check_world();
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (argc != 2 || strcmp(argv[1], scenarios[i].name) != 0)
            continue;
        world = check_comm("world");
        OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        OK(cudaMalloc((void **)&a, BUFFER_BYTES));
        OK(cudaMalloc((void **)&b, BUFFER_BYTES));
        scenarios[i].run();
        return 0;
    }
    fprintf(stderr, "nccl_calls: no scenario '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
}
