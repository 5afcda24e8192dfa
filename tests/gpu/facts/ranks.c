/* SPDX-License-Identifier: MIT
 *
 * Two ranks on one GPU: when a group's kernel comes, and what events and streams see of it.
 */
#include <stdlib.h>
#include <string.h>

#include "facts.h"

#define COUNT ((size_t)1 << 20) /* floats */

static cudaStream_t stream, other;
static float *buffer;

static ncclResult_t make(ncclComm_t *comm)
{
    ncclUniqueId *id = pair.area;

    if (pair.rank == 0 && api.ncclGetUniqueId(id))
        return ncclSystemError;
    pair_meet();
    return api.ncclCommInitRank(comm, 2, *id, pair.rank);
}

static ncclComm_t both(void)
{
    static ncclComm_t comm;

    if (!comm) {
        stream = new_stream();
        other = new_stream();
        buffer = (float *)(void *)big_memory();
        if (make(&comm))
            comm = NULL;
    }
    return comm;
}

static ncclResult_t reduce_on(ncclComm_t comm, cudaStream_t s)
{
    return api.ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, comm, s);
}

static void wait_all(void)
{
    api.cudaDeviceSynchronize();
    pair_meet();
}

static void size(void)
{
    int ranks = 0, rank = -1;

    TRY(!both());
    TRY(api.ncclCommCount(both(), &ranks));
    TRY(api.ncclCommUserRank(both(), &rank));
    answer("rank %d of %d", rank, ranks);
}

static void sum(void)
{
    float mine = (float)pair.rank + 1, found = 0;

    TRY(!both());
    TRY(api.cudaMemcpy(buffer, &mine, sizeof(mine), cudaMemcpyHostToDevice));
    TRY(reduce_on(both(), stream));
    TRY(api.cudaStreamSynchronize(stream));
    TRY(api.cudaMemcpy(&found, buffer, sizeof(found), cudaMemcpyDeviceToHost));
    answer("%g", (double)found);
    pair_meet();
}

static void launched_at_end(void)
{
    cudaError_t inside, inner;

    TRY(!both());
    wait_all();
    TRY(api.ncclGroupStart());
    TRY(api.ncclGroupStart());
    TRY(reduce_on(both(), stream));
    inside = api.cudaStreamQuery(stream);
    TRY(api.ncclGroupEnd());
    inner = api.cudaStreamQuery(stream);
    TRY(api.ncclGroupEnd());
    answer("inside %s, after the inner end %s", name_cuda(inside), name_cuda(inner));
    wait_all();
}

/* In which half the kernel falls: before or after an event recorded inside the group. */
static void event_inside(void)
{
    cudaEvent_t before = new_event(), inside = new_event(), after = new_event();
    float first = 0, second = 0;

    TRY(!both());
    wait_all();
    TRY(api.cudaEventRecord(before, stream));
    TRY(api.ncclGroupStart());
    for (int i = 0; i < 4; i++)
        TRY(reduce_on(both(), stream));
    TRY(api.cudaEventRecord(inside, stream));
    TRY(api.ncclGroupEnd());
    TRY(api.cudaEventRecord(after, stream));
    TRY(api.cudaStreamSynchronize(stream));
    TRY(api.cudaEventElapsedTime(&first, before, inside));
    TRY(api.cudaEventElapsedTime(&second, inside, after));
    answer("the kernel is %s it", second > first ? "after" : "before");
    pair_meet();
}

/* Without a group: the call launches. */
static void event_after_call(void)
{
    cudaEvent_t before = new_event(), after = new_event(), later = new_event();
    float first = 0, second = 0;

    TRY(!both());
    wait_all();
    TRY(api.cudaEventRecord(before, stream));
    TRY(reduce_on(both(), stream));
    TRY(api.cudaEventRecord(after, stream));
    TRY(api.cudaEventRecord(later, stream));
    TRY(api.cudaStreamSynchronize(stream));
    TRY(api.cudaEventElapsedTime(&first, before, after));
    TRY(api.cudaEventElapsedTime(&second, after, later));
    answer("the kernel is %s it", second > first ? "after" : "before");
    pair_meet();
}

/* One communicator, two streams in a group: events of both after the group. */
static void two_streams(void)
{
    cudaEvent_t before = new_event(), a = new_event(), b = new_event();
    float on_first = 0, on_other = 0;

    TRY(!both());
    wait_all();
    TRY(api.cudaEventRecord(before, stream));
    TRY(api.ncclGroupStart());
    for (int i = 0; i < 4; i++)
        TRY(reduce_on(both(), stream));
    TRY(api.ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, both(), other));
    TRY(api.ncclGroupEnd());
    TRY(api.cudaEventRecord(a, stream));
    TRY(api.cudaEventRecord(b, other));
    TRY(api.cudaDeviceSynchronize());
    TRY(api.cudaEventElapsedTime(&on_first, before, a));
    TRY(api.cudaEventElapsedTime(&on_other, before, b));
    answer("the small call's stream waits for the whole: %s",
           on_other > on_first / 2 ? "yes" : "no");
    pair_meet();
}

/* A kernel starts without its peer and waits for it. */
static void late_peer(void)
{
    cudaEvent_t start = new_event(), end = new_event(), peer_busy = new_event();
    float ms = 0;

    TRY(!both());
    wait_all();
    if (pair.rank == 1)
        TRY(keep_busy(stream));
    TRY(api.cudaEventRecord(start, stream));
    TRY(reduce_on(both(), stream));
    TRY(api.cudaEventRecord(end, stream));
    TRY(api.cudaEventRecord(peer_busy, stream));
    TRY(api.cudaStreamSynchronize(stream));
    TRY(api.cudaEventElapsedTime(&ms, start, end));
    answer("%s", ms > 2 ? "its duration holds the wait" : "it does not");
    pair_meet();
}

static void exchange(void)
{
    float mine = (float)pair.rank + 1, found = 0;

    TRY(!both());
    TRY(api.cudaMemcpy(buffer, &mine, sizeof(mine), cudaMemcpyHostToDevice));
    TRY(api.ncclGroupStart());
    TRY(api.ncclSend(buffer, 1, ncclFloat32, 1 - pair.rank, both(), stream));
    TRY(api.ncclRecv(buffer + 1, 1, ncclFloat32, 1 - pair.rank, both(), stream));
    TRY(api.ncclGroupEnd());
    TRY(api.cudaStreamSynchronize(stream));
    TRY(api.cudaMemcpy(&found, buffer + 1, sizeof(found), cudaMemcpyDeviceToHost));
    answer("%g", (double)found);
    pair_meet();
}

static void split_by_key(void)
{
    ncclComm_t made = NULL;
    int rank = -1;

    TRY(!both());
    TRY(api.ncclCommSplit(both(), 0, 1 - pair.rank, &made, NULL));
    TRY(api.ncclCommUserRank(made, &rank));
    answer("rank %d becomes %d", pair.rank, rank);
    api.ncclCommDestroy(made);
    pair_meet();
}

static void split_apart(void)
{
    ncclComm_t made = NULL;
    int ranks = -1;

    TRY(!both());
    TRY(api.ncclCommSplit(both(), pair.rank, 0, &made, NULL));
    TRY(api.ncclCommCount(made, &ranks));
    answer("%d", ranks);
    api.ncclCommDestroy(made);
    pair_meet();
}

/* Two communicators in one group. */
static void two_comms(void)
{
    ncclComm_t made = NULL;
    ncclResult_t end;

    TRY(!both());
    TRY(api.ncclCommSplit(both(), 0, pair.rank, &made, NULL));
    TRY(api.ncclGroupStart());
    TRY(reduce_on(both(), stream));
    TRY(reduce_on(made, other));
    end = api.ncclGroupEnd();
    answer("%s, %s", name_nccl(end), name_cuda(api.cudaDeviceSynchronize()));
    api.ncclCommDestroy(made);
    pair_meet();
}

static void graph(void)
{
    cudaGraph_t captured = NULL;
    cudaGraphExec_t exec = NULL;
    float one = 1, found = 0;

    TRY(!both());
    TRY(api.cudaMemcpy(buffer, &one, sizeof(one), cudaMemcpyHostToDevice));
    TRY(api.cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    TRY(reduce_on(both(), stream));
    TRY(api.cudaStreamEndCapture(stream, &captured));
    TRY(api.cudaGraphInstantiateWithFlags(&exec, captured, 0));
    for (int i = 0; i < 3; i++)
        TRY(api.cudaGraphLaunch(exec, stream));
    TRY(api.cudaStreamSynchronize(stream));
    TRY(api.cudaMemcpy(&found, buffer, sizeof(found), cudaMemcpyDeviceToHost));
    answer("%g", (double)found);
    api.cudaGraphExecDestroy(exec);
    pair_meet();
}

/* Both of one node: NCCL refuses two ranks on one GPU. */
static void duplicate(void)
{
    ncclComm_t comm = NULL;
    ncclResult_t result;

    setenv("NCCL_HOSTID", "one", 1);
    TRY(api.cudaSetDevice(0));
    result = make(&comm);
    answer_nccl(result);
    pair_meet();
}

static const struct fact table[] = {
    FACT("size", RANKS, size, "ncclCommUserRank and ncclCommCount"),
    FACT("sum", RANKS, sum, "1 + 2"),
    FACT("group.launch", RANKS, launched_at_end,
         "the stream after a call in a nested group, and after the inner end"),
    FACT("group.event_inside", RANKS, event_inside, "an event recorded before the group's end"),
    FACT("event_after_call", RANKS, event_after_call, "an event recorded after a call"),
    FACT("group.two_streams", RANKS, two_streams, "streams of one communicator in one group"),
    FACT("late_peer", RANKS, late_peer, "the kernel of a rank whose peer comes late"),
    FACT("exchange", RANKS, exchange, "what ncclSend and ncclRecv in one group bring"),
    FACT("split.key", RANKS, split_by_key, "ncclCommSplit with keys in reverse"),
    FACT("split.apart", RANKS, split_apart, "ranks in a communicator of a color of its own"),
    FACT("group.two_comms", RANKS, two_comms, "two communicators on two streams in one group"),
    FACT("graph", RANKS, graph, "1 on each rank, doubled by three launches of a captured sum"),
    FACT("duplicate", RANKS | ALONE, duplicate, "two ranks of one node on one GPU"),
};
const struct subject pairs = SUBJECT("ranks", table);
