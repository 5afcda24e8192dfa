/* SPDX-License-Identifier: MIT
 *
 * Programs whose operations NCCL tells its profiler plugin of: `plugin_calls SCENARIO`. The
 * stand-in for NCCL does the telling (tests/emu/profiler.h). All in one process, on one or two
 * devices.
 */
#include "calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define SMALL 256
#define LARGE (1 << 17) /* so large that NCCL takes another way */

static struct world pair[2];

static void open_pair(void)
{
    ncclComm_t comms[2];
    OK(ncclCommInitAll(comms, 2, NULL));
    for (int i = 0; i < 2; i++) {
        world_open(&pair[i], i, comms[i]);
        OK(cudaMalloc((void **)&pair[i].a, LARGE * sizeof(float)));
        OK(cudaMalloc((void **)&pair[i].b, LARGE * sizeof(float)));
    }
}

static void await_pair(void)
{
    for (int i = 0; i < 2; i++)
        OK(cudaStreamSynchronize(pair[i].stream));
}

#define BOTH(_call)                     \
    do {                                \
        OK(ncclGroupStart());           \
        for (int i = 0; i < 2; i++) {   \
            struct world *w = &pair[i]; \
            OK(_call);                  \
        }                               \
        OK(ncclGroupEnd());             \
    } while (0)

/* Each kind of operation, on both members in one group. */
static void kinds(void)
{
    open_pair();
    BOTH(ncclAllReduce(w->a, w->b, SMALL, ncclFloat32, ncclSum, w->comm, w->stream));
    BOTH(ncclReduce(w->a, w->b, SMALL, ncclFloat16, ncclMax, 1, w->comm, w->stream));
    BOTH(ncclBroadcast(w->a, w->b, SMALL, ncclFloat64, 1, w->comm, w->stream));
    BOTH(ncclBcast(w->a, SMALL, ncclUint8, 0, w->comm, w->stream));
    BOTH(ncclAllGather(w->a, w->b, SMALL, ncclBfloat16, w->comm, w->stream));
    BOTH(ncclReduceScatter(w->a, w->b, SMALL, ncclInt64, ncclProd, w->comm, w->stream));
    BOTH(ncclAlltoAll(w->a, w->b, SMALL, ncclUint32, w->comm, w->stream));
    OK(ncclGroupStart());
    for (int i = 0; i < 2; i++) {
        OK(ncclSend(pair[i].a, SMALL, ncclInt32, 1 - i, pair[i].comm, pair[i].stream));
        OK(ncclRecv(pair[i].b, SMALL, ncclInt32, 1 - i, pair[i].comm, pair[i].stream));
    }
    OK(ncclGroupEnd());
    await_pair();
}

/* NCCL takes the operations of a group in an order of its own; the same call twice in one group
 * cannot be told apart; a group that fails has no events, and what comes next has. */
static void groups(void)
{
    open_pair();
    OK(ncclGroupStart());
    for (int i = 0; i < 2; i++) {
        struct world *w = &pair[i];
        OK(ncclAllReduce(w->a, w->b, LARGE, ncclFloat32, ncclSum, w->comm, w->stream));
        OK(ncclAllReduce(w->a, w->b, SMALL, ncclFloat32, ncclSum, w->comm, w->stream));
        OK(ncclAllReduce(w->a, w->c, 1, ncclFloat32, ncclSum, w->comm, w->stream));
        OK(ncclAllReduce(w->a, w->c, 1, ncclFloat32, ncclSum, w->comm, w->stream));
    }
    OK(ncclGroupEnd());
    OK(ncclGroupStart());
    OK(ncclAllReduce(pair[0].a, pair[0].b, SMALL, ncclFloat32, ncclSum, pair[0].comm,
                     pair[0].stream));
    CHECK(ncclAllReduce(pair[0].a, pair[0].b, 1, (ncclDataType_t)99, ncclSum, pair[0].comm,
                        pair[0].stream) != 0);
    CHECK(ncclGroupEnd() != ncclSuccess);
    for (int round = 0; round < 3; round++)
        BOTH(ncclAllReduce(w->a, w->b, LARGE, ncclFloat32, ncclSum, w->comm, w->stream));
    await_pair();
}

/* Splits have a hash that only NCCL knows; two of them have equal members, buffers and calls. */
static void splits(void)
{
    ncclComm_t one[2], two[2];
    open_pair();
    OK(ncclGroupStart());
    for (int i = 0; i < 2; i++) {
        OK(ncclCommSplit(pair[i].comm, 1, i, &one[i], NULL));
        OK(ncclCommSplit(pair[i].comm, 2, i, &two[i], NULL));
    }
    OK(ncclGroupEnd());
    for (int round = 0; round < 2; round++) {
        BOTH(ncclAllReduce(w->a, w->b, SMALL, ncclFloat32, ncclSum, one[i], w->stream));
        BOTH(ncclAllReduce(w->a, w->b, LARGE, ncclFloat32, ncclSum, two[i], w->stream));
    }
    BOTH(ncclAllReduce(w->a, w->b, SMALL, ncclFloat32, ncclSum, two[i], w->stream));
    await_pair();
}

/* ---- with itself ---- */

static void send_to_self(struct world *w, ncclComm_t comm, size_t count)
{
    ncclResult_t result;
    OK(ncclGroupStart());
    OK(ncclSend(w->a, count, ncclInt32, 0, comm, w->stream));
    OK(ncclRecv(w->b, count, ncclInt32, 0, comm, w->stream));
    result = ncclGroupEnd();
    CHECK(result == ncclSuccess || result == ncclInProgress);
}

static void await_comm(ncclComm_t comm)
{
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress)
        OK(ncclCommGetAsyncError(comm, &state));
    OK(state);
}

/* NCCL launches, and tells, on a thread of its own. */
static void nonblocking(void)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    struct world w;
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    world_open(&w, 0, NULL);
    config.blocking = 0;
    OK(ncclGetUniqueId(&id));
    CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) <= ncclInProgress);
    await_comm(comm);
    for (int i = 0; i < 3; i++) {
        send_to_self(&w, comm, SMALL);
        await_comm(comm);
    }
    OK(cudaStreamSynchronize(w.stream));
}

/* Launches of a graph bring events of their own, which are of no call; the calls in between have
 * theirs. */
static void graphs(void)
{
    struct world w;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    world_open(&w, 0, NULL);
    send_to_self(&w, w.comm, SMALL);
    OK(cudaStreamBeginCapture(w.stream, cudaStreamCaptureModeThreadLocal));
    send_to_self(&w, w.comm, SMALL);
    OK(cudaStreamEndCapture(w.stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++) {
        OK(cudaGraphLaunch(exec, w.stream));
        OK(cudaStreamSynchronize(w.stream));
        send_to_self(&w, w.comm, SMALL);
    }
    OK(cudaStreamSynchronize(w.stream));
}

/* All threads together make fewer calls than the tracer can keep in mind (NOTES_MAX), so that none
 * is lost to a thread that does not get to run. */
static void *use_thread(void *world)
{
    struct world *w = world;
    OK(cudaSetDevice(0));
    for (int i = 0; i < 100; i++)
        send_to_self(w, w->comm, SMALL);
    OK(cudaStreamSynchronize(w->stream));
    return NULL;
}

static void threads(void)
{
    struct world each[4];
    pthread_t ids[4];
    for (int i = 0; i < 4; i++)
        world_open(&each[i], 0, NULL);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&ids[i], NULL, use_thread, &each[i]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
}

/* A communicator that ends while its line is due, and one that takes its place. */
static void ends(void)
{
    struct world w;
    ncclUniqueId id;
    world_open(&w, 0, NULL);
    for (int i = 0; i < 5; i++) {
        ncclComm_t comm;
        OK(ncclGetUniqueId(&id));
        OK(ncclCommInitRank(&comm, 1, id, 0));
        send_to_self(&w, comm, SMALL);
        OK(ncclCommDestroy(comm));
    }
}

/* One member calls, the other never does. */
static void stuck(void)
{
    struct world *w = &pair[0];
    open_pair();
    OK(ncclAllReduce(w->a, w->b, SMALL, ncclFloat32, ncclSum, w->comm, w->stream));
    exit(5);
}

/* Prints which events the tracer asks NCCL for. */
static void asks(void)
{
    typedef int initializer(void **context, uint64_t hash, int *mask, const char *name, int nodes,
                            int ranks, int rank, void (*log)(void));
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    const struct {
        const char *name;
        initializer *init;
    } *table = dlsym(dlopen(path != NULL ? path : "", RTLD_NOW), "ncclProfiler_v5");
    struct world w;
    void *context;
    int mask = -1;
    world_open(&w, 0, NULL);
    CHECK(table != NULL && table->init(&context, 0, &mask, NULL, 1, 1, 0, NULL) == 0);
    printf("%d\n", mask);
}

/* ---- which ---- */

static const struct scenario {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"kinds", kinds},   {"groups", groups},   {"splits", splits}, {"nonblocking", nonblocking},
    {"graphs", graphs}, {"threads", threads}, {"ends", ends},     {"stuck", stuck},
    {"asks", asks},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (argc != 2 || strcmp(argv[1], scenarios[i].name) != 0)
            continue;
        scenarios[i].run();
        return failures != 0;
    }
    fprintf(stderr, "plugin_calls: no scenario '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
}
