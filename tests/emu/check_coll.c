/* SPDX-License-Identifier: MIT
 *
 * Every collective, and messages, give the right numbers, in every type and operator, in place and
 * not, inside groups and not. Prints the number of comparisons on rank 0.
 */
#include <math.h>
#include <stdbool.h>

#include "check.h"
#include "number.h"

#define COUNT 200 /* elements a part: odd sizes, several cache lines */
#define PARTS 64

static ncclComm_t comm;
static cudaStream_t stream;
static char *in, *out;
static int rank, world;
static unsigned long compared;

/* Element i of rank r's data: small enough that a sum over 64 ranks is exact in every type but the
 * 8-bit floats, whose sums are 0 to 3 a rank at 2 ranks. */
static double value(int r, size_t i)
{
    return (double)((r + 1 + (int)(i % 3)) % 2);
}

static void fill(ncclDataType_t type, size_t count)
{
    memset(out, 0xee, COUNT * PARTS * 8);
    for (size_t i = 0; i < count; i++)
        number_put(in, i, (enum number)type, value(rank, i));
}

static void expect(const void *array, ncclDataType_t type, size_t i, double want)
{
    double got = number_get(array, i, (enum number)type);
    if (fabs(got - want) > 1e-6) {
        fprintf(stderr, "rank %d: type %d element %zu is %g, not %g\n", rank, (int)type, i, got,
                want);
        exit(1);
    }
    compared++;
}

static double reduced(ncclRedOp_t op, size_t i)
{
    double result = value(0, i);
    for (int r = 1; r < world; r++) {
        double v = value(r, i);
        result = op == ncclProd  ? result * v
                 : op == ncclMax ? fmax(result, v)
                 : op == ncclMin ? fmin(result, v)
                                 : result + v;
    }
    return op == ncclAvg ? result / world : result;
}

static void sync_stream(void)
{
    OK(cudaStreamSynchronize(stream));
}

static void all_reduce(ncclDataType_t type, ncclRedOp_t op, int in_place)
{
    fill(type, COUNT);
    OK(ncclAllReduce(in, in_place ? in : out, COUNT, type, op, comm, stream));
    sync_stream();
    for (size_t i = 0; i < COUNT; i++)
        expect(in_place ? in : out, type, i, reduced(op, i));
}

static void all_reduces(void)
{
    /* Averages of integers and of 8-bit floats round: the others are exact. */
    static const ncclDataType_t types[] = {ncclInt8,    ncclUint8,   ncclInt32,   ncclUint32,
                                           ncclInt64,   ncclUint64,  ncclFloat16, ncclFloat32,
                                           ncclFloat64, ncclBfloat16};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int op = ncclSum; op <= ncclMin; op++)
            all_reduce(types[t], (ncclRedOp_t)op, t % 2);
    all_reduce(ncclFloat32, ncclAvg, 0);
    all_reduce(ncclFloat64, ncclAvg, 1);
    all_reduce(ncclFloat8e4m3, ncclMax, 0);
    all_reduce(ncclFloat8e5m2, ncclMin, 0);
}

static void premultiplied(void)
{
    float factor = 0.5f;
    ncclRedOp_t op;
    OK(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarHostImmediate, comm));
    fill(ncclFloat32, COUNT);
    OK(ncclAllReduce(in, out, COUNT, ncclFloat32, op, comm, stream));
    sync_stream();
    for (size_t i = 0; i < COUNT; i++)
        expect(out, ncclFloat32, i, reduced(ncclSum, i) / 2);
    OK(ncclRedOpDestroy(op, comm));
}

static void rooted(int root)
{
    fill(ncclInt32, COUNT);
    OK(ncclReduce(in, out, COUNT, ncclInt32, ncclSum, root, comm, stream));
    sync_stream();
    if (rank == root)
        for (size_t i = 0; i < COUNT; i++)
            expect(out, ncclInt32, i, reduced(ncclSum, i));
    fill(ncclFloat16, COUNT);
    OK(ncclBroadcast(in, out, COUNT, ncclFloat16, root, comm, stream));
    OK(ncclBcast(in, COUNT, ncclFloat16, root, comm, stream));
    sync_stream();
    for (size_t i = 0; i < COUNT; i++) {
        expect(out, ncclFloat16, i, value(root, i));
        expect(in, ncclFloat16, i, value(root, i));
    }
}

static void gathered(void)
{
    fill(ncclBfloat16, COUNT);
    OK(ncclAllGather(in, out, COUNT, ncclBfloat16, comm, stream));
    sync_stream();
    for (size_t i = 0; i < COUNT * (size_t)world; i++)
        expect(out, ncclBfloat16, i, value((int)(i / COUNT), i % COUNT));
    fill(ncclFloat32, COUNT * (size_t)world);
    OK(ncclReduceScatter(in, out, COUNT, ncclFloat32, ncclSum, comm, stream));
    sync_stream();
    for (size_t i = 0; i < COUNT; i++)
        expect(out, ncclFloat32, i, reduced(ncclSum, (size_t)rank * COUNT + i));
    fill(ncclInt8, COUNT * (size_t)world);
    OK(ncclAlltoAll(in, out, COUNT, ncclInt8, comm, stream));
    sync_stream();
    for (size_t i = 0; i < COUNT * (size_t)world; i++)
        expect(out, ncclInt8, i, value((int)(i / COUNT), (size_t)rank * COUNT + i % COUNT));
}

/* To and from one rank; the others need no second buffer. In place at the root's own part. */
static void one_to_all(int root)
{
    bool here = rank == root;
    char *part = out + (size_t)rank * COUNT * sizeof(float);
    fill(ncclFloat32, COUNT);
    OK(ncclGather(in, here ? out : NULL, COUNT, ncclFloat32, root, comm, stream));
    sync_stream();
    for (size_t i = 0; here && i < COUNT * (size_t)world; i++)
        expect(out, ncclFloat32, i, value((int)(i / COUNT), i % COUNT));
    for (size_t i = 0; i < COUNT; i++)
        number_put(part, i, NUMBER_F32, value(rank, i));
    OK(ncclGather(here ? part : in, here ? out : NULL, COUNT, ncclFloat32, root, comm, stream));
    sync_stream();
    for (size_t i = 0; here && i < COUNT * (size_t)world; i++)
        expect(out, ncclFloat32, i, value((int)(i / COUNT), i % COUNT));
    fill(ncclFloat16, COUNT * (size_t)world);
    OK(ncclScatter(here ? in : NULL, out, COUNT, ncclFloat16, root, comm, stream));
    sync_stream();
    for (size_t i = 0; i < COUNT; i++)
        expect(out, ncclFloat16, i, value(root, (size_t)rank * COUNT + i));
}

/* Each to each and to itself, twice each way, as an all-to-all of messages. */
static void messages(void)
{
    size_t step = COUNT * sizeof(float);
    fill(ncclFloat32, COUNT);
    for (int round = 0; round < 3; round++) {
        OK(ncclGroupStart());
        for (int peer = 0; peer < world; peer++) {
            OK(ncclSend(in, COUNT, ncclFloat32, peer, comm, stream));
            OK(ncclRecv(out + (size_t)peer * step, COUNT, ncclFloat32, peer, comm, stream));
            OK(ncclSend(in, 7, ncclFloat32, peer, comm, stream));
            OK(ncclRecv(out + (size_t)(world + peer) * step, 7, ncclFloat32, peer, comm, stream));
        }
        OK(ncclGroupEnd());
    }
    sync_stream();
    for (int peer = 0; peer < world; peer++)
        for (size_t i = 0; i < COUNT; i++) {
            expect(out + (size_t)peer * step, ncclFloat32, i, value(peer, i));
            if (i < 7)
                expect(out + (size_t)(world + peer) * step, ncclFloat32, i, value(peer, i));
        }
}

/* Down a pipeline and back, one message a call. */
static void pipeline(void)
{
    fill(ncclInt32, COUNT);
    if (rank > 0)
        OK(ncclRecv(in, COUNT, ncclInt32, rank - 1, comm, stream));
    if (rank + 1 < world)
        OK(ncclSend(in, COUNT, ncclInt32, rank + 1, comm, stream));
    sync_stream();
    for (size_t i = 0; i < COUNT; i++)
        expect(in, ncclInt32, i, value(0, i));
}

/* The halves of the world reverse their order by key; the last rank stays out. */
static void split(void)
{
    int color = rank == world - 1 && world > 2 ? NCCL_SPLIT_NOCOLOR : rank % 2, n, r;
    ncclComm_t child = comm;
    OK(ncclCommSplit(comm, color, -rank, &child, NULL));
    if (color == NCCL_SPLIT_NOCOLOR) {
        CHECK(child == NULL, 1);
        return;
    }
    OK(ncclCommCount(child, &n));
    OK(ncclCommUserRank(child, &r));
    for (int i = 0; i < n; i++)
        number_put(in, (size_t)i, NUMBER_I32, i == r ? rank + 1 : 0);
    OK(ncclAllReduce(in, out, (size_t)n, ncclInt32, ncclSum, child, stream));
    sync_stream();
    for (int i = 1; i < n; i++)
        CHECK(number_get(out, (size_t)i, NUMBER_I32) < number_get(out, (size_t)i - 1, NUMBER_I32),
              1);
    compared += (unsigned long)n;
    OK(ncclCommDestroy(child));
}

int main(void)
{
    rank = check_rank();
    world = check_world();
    comm = check_comm("coll");
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&in, COUNT * PARTS * 8));
    OK(cudaMalloc((void **)&out, 2 * COUNT * PARTS * 8));
    all_reduces();
    premultiplied();
    rooted(0);
    rooted(world - 1);
    gathered();
    one_to_all(0);
    one_to_all(world - 1);
    messages();
    pipeline();
    split();
    OK(ncclCommDestroy(comm));
    if (rank == 0)
        printf("%d ranks: %lu values right\n", world, compared);
    return 0;
}
