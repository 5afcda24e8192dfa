/* SPDX-License-Identifier: MIT
 *
 * NCCL with a communicator of one rank: arguments, groups, configurations, lives.
 */
#include "facts.h"

#define COUNT ((size_t)1 << 26) /* floats: a quarter of the big memory */

static cudaStream_t stream;

static float *from_here(void)
{
    return (float *)(void *)big_memory();
}

static float *to_here(void)
{
    return from_here() + BIG / 8;
}

static int ready(void)
{
    stream = stream ? stream : new_stream();
    return stream && lone_comm() && big_memory() ? 0 : -1;
}

static ncclResult_t reduce_some(ncclComm_t comm, size_t count)
{
    return api.ncclAllReduce(from_here(), to_here(), count, ncclFloat32, ncclSum, comm, stream);
}

/* ---- arguments ---- */

#define OF_ONE(_name, _call)               \
    static void _name(void)                \
    {                                      \
        ncclResult_t result;               \
                                           \
        TRY(ready());                      \
        result = _call;                    \
        api.cudaStreamSynchronize(stream); \
        answer_nccl(result);               \
    }

OF_ONE(good, reduce_some(lone_comm(), 64))
OF_ONE(count_0, reduce_some(lone_comm(), 0))
OF_ONE(bad_root, api.ncclBroadcast(from_here(), to_here(), 64, ncclFloat32, 1, lone_comm(), stream))
OF_ONE(negative_root,
       api.ncclReduce(from_here(), to_here(), 64, ncclFloat32, ncclSum, -1, lone_comm(), stream))
OF_ONE(bad_type, api.ncclAllReduce(from_here(), to_here(), 64, (ncclDataType_t)99, ncclSum,
                                   lone_comm(), stream))
OF_ONE(bad_op, api.ncclAllReduce(from_here(), to_here(), 64, ncclFloat32, (ncclRedOp_t)99,
                                 lone_comm(), stream))
OF_ONE(bad_op_count_0, api.ncclAllReduce(from_here(), to_here(), 0, ncclFloat32, (ncclRedOp_t)99,
                                         lone_comm(), stream))
OF_ONE(null_buffers, api.ncclAllReduce(NULL, NULL, 64, ncclFloat32, ncclSum, lone_comm(), stream))
OF_ONE(bad_peer, api.ncclSend(from_here(), 64, ncclFloat32, 7, lone_comm(), stream))
OF_ONE(count_null, api.ncclCommCount(lone_comm(), NULL))
OF_ONE(async_null, api.ncclCommGetAsyncError(lone_comm(), NULL))
OF_ONE(destroy_builtin_op, api.ncclRedOpDestroy(ncclSum, lone_comm()))
OF_ONE(legacy_stream,
       api.ncclAllReduce(from_here(), to_here(), 64, ncclFloat32, ncclSum, lone_comm(), NULL))

static void send_to_self(void)
{
    ncclResult_t result, after;

    TRY(ready());
    result = api.ncclSend(from_here(), 64, ncclFloat32, 0, lone_comm(), stream);
    after = reduce_some(lone_comm(), 64);
    api.cudaStreamSynchronize(stream);
    answer("%s, next call %s", name_nccl(result), name_nccl(after));
}

static void send_and_recv_self(void)
{
    TRY(ready());
    TRY(api.ncclGroupStart());
    TRY(api.ncclSend(from_here(), 64, ncclFloat32, 0, lone_comm(), stream));
    TRY(api.ncclRecv(to_here(), 64, ncclFloat32, 0, lone_comm(), stream));
    answer_nccl(api.ncclGroupEnd());
    api.cudaStreamSynchronize(stream);
}

static void async_error(void)
{
    ncclResult_t error = ncclNumResults;

    TRY(ready());
    TRY(api.ncclCommGetAsyncError(lone_comm(), &error));
    answer_nccl(error);
}

static void async_error_after_bad_call(void)
{
    ncclResult_t error = ncclNumResults;

    TRY(ready());
    api.ncclBroadcast(from_here(), to_here(), 64, ncclFloat32, 5, lone_comm(), stream);
    TRY(api.ncclCommGetAsyncError(lone_comm(), &error));
    answer_nccl(error);
}

static void own_op(void)
{
    ncclRedOp_t op;
    float two = 2;
    ncclResult_t used, destroyed, late;

    TRY(ready());
    TRY(api.ncclRedOpCreatePreMulSum(&op, &two, ncclFloat32, ncclScalarHostImmediate, lone_comm()));
    used = api.ncclAllReduce(from_here(), to_here(), 64, ncclFloat32, op, lone_comm(), stream);
    destroyed = api.ncclRedOpDestroy(op, lone_comm());
    late = api.ncclAllReduce(from_here(), to_here(), 64, ncclFloat32, op, lone_comm(), stream);
    api.cudaStreamSynchronize(stream);
    answer("%s, destroyed %s, used again %s", name_nccl(used), name_nccl(destroyed),
           name_nccl(late));
}

/* ---- groups ---- */

static void bad_call_in_group(void)
{
    ncclResult_t call, end, next;

    TRY(ready());
    TRY(api.ncclGroupStart());
    call = api.ncclBroadcast(from_here(), to_here(), 64, ncclFloat32, 5, lone_comm(), stream);
    end = api.ncclGroupEnd();
    next = reduce_some(lone_comm(), 64);
    api.cudaStreamSynchronize(stream);
    answer("%s, end %s, next call %s", name_nccl(call), name_nccl(end), name_nccl(next));
}

/* Work of one rank is a copy: is it on the stream before the group's end? */
static void issued_in_group(void)
{
    cudaError_t inside;

    TRY(ready());
    TRY(api.cudaStreamSynchronize(stream));
    TRY(api.ncclGroupStart());
    for (int i = 0; i < 100; i++)
        TRY(reduce_some(lone_comm(), COUNT));
    inside = api.cudaStreamQuery(stream);
    TRY(api.ncclGroupEnd());
    api.cudaStreamSynchronize(stream);
    answer_yes(inside == cudaErrorNotReady);
}

static void does_not_wait(void)
{
    cudaError_t asked;

    TRY(ready());
    TRY(keep_busy(stream));
    TRY(reduce_some(lone_comm(), 64));
    asked = api.cudaStreamQuery(stream);
    api.cudaStreamSynchronize(stream);
    answer_cuda(asked);
}

static void captured(void)
{
    cudaGraph_t graph;
    ncclResult_t result;

    TRY(ready());
    TRY(api.cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    result = reduce_some(lone_comm(), 64);
    answer("%s, %s", name_nccl(result), name_cuda(api.cudaStreamEndCapture(stream, &graph)));
}

/* ---- making ---- */

#define MAKES(_name, _declarations, _call) \
    static void _name(void)                \
    {                                      \
        _declarations;                     \
        ncclComm_t comm = NULL;            \
        ncclUniqueId id;                   \
                                           \
        TRY(api.cudaSetDevice(0));         \
        TRY(api.ncclGetUniqueId(&id));     \
        answer_nccl(_call);                \
    }

MAKES(no_ranks, , api.ncclCommInitRank(&comm, 0, id, 0))
MAKES(rank_beyond, , api.ncclCommInitRank(&comm, 1, id, 1))
MAKES(rank_negative, , api.ncclCommInitRank(&comm, 1, id, -1))
MAKES(to_null, , ((void)comm, api.ncclCommInitRank(NULL, 1, id, 0)))
MAKES(all_of_none, , api.ncclCommInitAll(&comm, -1, NULL))
MAKES(all_of_one, int devices[1] = {0}, api.ncclCommInitAll(&comm, 1, devices))
MAKES(all_twice, int devices[2] = {0};
      ncclComm_t comms[2], ((void)comm, api.ncclCommInitAll(comms, 2, devices)))
MAKES(scalable_no_id, , api.ncclCommInitRankScalable(&comm, 1, 0, 0, &id, NULL))
MAKES(scalable_ids, , api.ncclCommInitRankScalable(&comm, 1, 0, 2, &id, NULL))
MAKES(config_null, , api.ncclCommInitRankConfig(&comm, 1, id, 0, NULL))

#define CONFIGURED(_name, _set)                                 \
    MAKES(_name, ncclConfig_t config = NCCL_CONFIG_INITIALIZER, \
          ((void)(_set), api.ncclCommInitRankConfig(&comm, 1, id, 0, &config)))

CONFIGURED(config_default, config.size)
CONFIGURED(config_magic, config.magic = 1)
CONFIGURED(config_blocking, config.blocking = 5)
CONFIGURED(config_ctas, config.minCTAs = -3)
CONFIGURED(config_ctas_order, (config.minCTAs = 8, config.maxCTAs = 4))
CONFIGURED(config_split_share, config.splitShare = 5)

static void in_group(void)
{
    ncclComm_t comm = NULL;
    ncclUniqueId id;
    ncclResult_t called, ended;
    bool inside;

    TRY(api.cudaSetDevice(0));
    TRY(api.ncclGetUniqueId(&id));
    TRY(api.ncclGroupStart());
    called = api.ncclCommInitRank(&comm, 1, id, 0);
    inside = comm;
    ended = api.ncclGroupEnd();
    answer("%s, handle %s, end %s, handle %s", name_nccl(called), inside ? "set" : "NULL",
           name_nccl(ended), comm ? "set" : "NULL");
}

static void split_no_color(void)
{
    ncclComm_t made = (ncclComm_t)&made;
    ncclResult_t result;

    TRY(ready());
    result = api.ncclCommSplit(lone_comm(), NCCL_SPLIT_NOCOLOR, 0, &made, NULL);
    answer("%s, %s", name_nccl(result), made ? "a handle" : "NULL");
}

static void split_negative(void)
{
    ncclComm_t made;

    TRY(ready());
    answer_nccl(api.ncclCommSplit(lone_comm(), -5, 0, &made, NULL));
}

static void split_one(void)
{
    ncclComm_t made = NULL;
    int ranks = 0;

    TRY(ready());
    TRY(api.ncclCommSplit(lone_comm(), 3, 0, &made, NULL));
    TRY(api.ncclCommCount(made, &ranks));
    answer("%d ranks", ranks);
}

/* ---- non-blocking ---- */

static ncclComm_t nonblocking(ncclResult_t *result)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t comm = NULL;
    ncclUniqueId id;

    config.blocking = 0;
    if (api.cudaSetDevice(0) || !big_memory() || api.ncclGetUniqueId(&id))
        return NULL;
    stream = stream ? stream : new_stream();
    *result = api.ncclCommInitRankConfig(&comm, 1, id, 0, &config);
    return comm;
}

static ncclResult_t settle(ncclComm_t comm)
{
    ncclResult_t error = ncclInProgress;

    for (int i = 0; i < 10000000 && error == ncclInProgress; i++)
        if (api.ncclCommGetAsyncError(comm, &error))
            return ncclNumResults;
    return error;
}

static void nonblocking_init(void)
{
    ncclResult_t result = ncclNumResults;
    ncclComm_t comm = nonblocking(&result);

    answer("%s, handle %s, settles as %s", name_nccl(result), comm ? "set" : "NULL",
           name_nccl(settle(comm)));
}

static void nonblocking_early(void)
{
    ncclResult_t made = ncclNumResults, result;
    ncclComm_t comm = nonblocking(&made);
    int ranks = 0;

    result = api.ncclCommCount(comm, &ranks);
    answer("%s, then %s", name_nccl(result), name_nccl(settle(comm)));
}

static void nonblocking_call(void)
{
    ncclResult_t made = ncclNumResults, result;
    ncclComm_t comm = nonblocking(&made);

    TRY(settle(comm));
    result = reduce_some(comm, 64);
    answer("%s, settles as %s",
           result == ncclSuccess || result == ncclInProgress ? "goes on" : name_nccl(result),
           name_nccl(settle(comm)));
}

/* ---- ends ---- */

static ncclComm_t another(void)
{
    ncclComm_t comm = NULL;
    ncclUniqueId id;

    stream = stream ? stream : new_stream();
    if (!big_memory() || api.ncclGetUniqueId(&id) || api.ncclCommInitRank(&comm, 1, id, 0))
        return NULL;
    return comm;
}

static void finalized(void)
{
    ncclComm_t comm = another();
    ncclResult_t finalized = api.ncclCommFinalize(comm), error = ncclNumResults;

    TRY(api.ncclCommGetAsyncError(comm, &error));
    answer("%s, async error %s, destroyed %s", name_nccl(finalized), name_nccl(error),
           name_nccl(api.ncclCommDestroy(comm)));
}

static void finalized_twice(void)
{
    ncclComm_t comm = another();

    TRY(api.ncclCommFinalize(comm));
    answer_nccl(api.ncclCommFinalize(comm));
}

static void destroyed_busy(void)
{
    ncclComm_t comm = another();
    ncclResult_t result;

    TRY(keep_busy(stream));
    TRY(reduce_some(comm, 64));
    result = api.ncclCommDestroy(comm);
    api.cudaStreamSynchronize(stream);
    answer_nccl(result);
}

static void aborted(void)
{
    answer_nccl(api.ncclCommAbort(another()));
}

static void device_kept(void)
{
    int device = -1;

    TRY(ready());
    TRY(api.ncclCommCuDevice(lone_comm(), &device));
    answer("%d", device);
}

#define GIVEN(_name, _ask, _question) FACT("argument." _name, DEVICE, _ask, _question)
#define MAKING(_name, _ask, _question) FACT("make." _name, DEVICE, _ask, _question)

static const struct fact table[] = {
    GIVEN("good", good, "ncclAllReduce of 64 floats"),
    GIVEN("count_0", count_0, "of none"),
    GIVEN("root_1", bad_root, "ncclBroadcast from rank 1 of 1"),
    GIVEN("root_negative", negative_root, "ncclReduce to rank -1"),
    GIVEN("type", bad_type, "data type 99"),
    GIVEN("op", bad_op, "operator 99"),
    GIVEN("op_count_0", bad_op_count_0, "operator 99 on no elements"),
    GIVEN("null_buffers", null_buffers, "both buffers NULL, in place"),
    GIVEN("peer", bad_peer, "ncclSend to rank 7 of 1"),
    GIVEN("count_null", count_null, "ncclCommCount to a NULL place"),
    GIVEN("async_null", async_null, "ncclCommGetAsyncError to a NULL place"),
    GIVEN("op_builtin", destroy_builtin_op, "ncclRedOpDestroy of ncclSum"),
    GIVEN("legacy_stream", legacy_stream, "on the legacy stream"),
    FACT("self.send", DEVICE | ALONE, send_to_self, "ncclSend to itself without a receive"),
    FACT("self.send_recv", DEVICE, send_and_recv_self, "both in one group"),
    FACT("async.good", DEVICE, async_error, "its asynchronous error"),
    FACT("async.bad_call", DEVICE, async_error_after_bad_call, "the same after a refused call"),
    FACT("op.own", DEVICE, own_op, "an operator of the program's own, destroyed, used again"),
    FACT("bad_call", DEVICE, bad_call_in_group,
         "a refused call in a group, its end, the next call"),
    FACT("issued_inside", DEVICE, issued_in_group,
         "whether a copy of a communicator of one rank is on the stream before the group's end"),
    FACT("does_not_wait", DEVICE, does_not_wait, "the busy stream after a call"),
    FACT("captured", DEVICE, captured, "a call into a capture in global mode, its end"),
    MAKING("no_ranks", no_ranks, "a communicator of 0 ranks"),
    MAKING("rank_beyond", rank_beyond, "rank 1 of 1"),
    MAKING("rank_negative", rank_negative, "rank -1"),
    MAKING("null", to_null, "to a NULL place"),
    MAKING("all_negative", all_of_none, "ncclCommInitAll of -1 devices"),
    MAKING("all_one", all_of_one, "ncclCommInitAll of device 0"),
    MAKING("all_duplicate", all_twice, "ncclCommInitAll of device 0 twice"),
    MAKING("scalable_no_id", scalable_no_id, "ncclCommInitRankScalable with no id"),
    MAKING("scalable_ids", scalable_ids, "the same with more ids than ranks"),
    MAKING("config_null", config_null, "ncclCommInitRankConfig without a configuration"),
    MAKING("config_default", config_default, "with the default one"),
    MAKING("config_magic", config_magic, "with one never initialised"),
    MAKING("config_blocking", config_blocking, "blocking = 5"),
    MAKING("config_ctas", config_ctas, "minCTAs = -3"),
    MAKING("config_ctas_order", config_ctas_order, "minCTAs = 8, maxCTAs = 4"),
    MAKING("config_split_share", config_split_share, "splitShare = 5"),
    MAKING("in_group", in_group, "ncclCommInitRank in a group: handle inside, and after its end"),
    FACT("split.no_color", DEVICE, split_no_color, "NCCL_SPLIT_NOCOLOR"),
    FACT("split.negative", DEVICE, split_negative, "color -5"),
    FACT("split.one", DEVICE, split_one, "color 3"),
    FACT("nonblocking.init", DEVICE, nonblocking_init, "initialisation, its handle, its end"),
    FACT("nonblocking.early", DEVICE, nonblocking_early, "ncclCommCount before it is over"),
    FACT("nonblocking.call", DEVICE, nonblocking_call, "ncclAllReduce, and its end"),
    FACT("end.finalize", DEVICE, finalized, "ncclCommFinalize, then ncclCommDestroy"),
    FACT("end.finalize_twice", DEVICE | ALONE, finalized_twice, "a second ncclCommFinalize"),
    FACT("end.destroy_busy", DEVICE, destroyed_busy, "ncclCommDestroy with work on the stream"),
    FACT("end.abort", DEVICE, aborted, "ncclCommAbort"),
    FACT("device", DEVICE, device_kept, "ncclCommCuDevice"),
};
const struct subject groups = SUBJECT("nccl", table);
