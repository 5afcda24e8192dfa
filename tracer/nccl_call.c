/* SPDX-License-Identifier: MIT
 *
 * NCCL operations, alone and in groups. What is called between ncclGroupStart and ncclGroupEnd is
 * launched by the outermost end: the operations of a communicator on a stream then share one span,
 * whose events are recorded around that end.
 */
#include "call.h"

#include "device.h"
#include "plugin.h"
#include "threads.h"
#include "tracer.h"

static _Atomic uint32_t groups; /* in this process so far */

/* ---- operations in groups ---- */

static enum op_place place_of(const struct call *c)
{
    if (thread_group_depth == 0)
        return OP_ALONE;
    return c->thread->group.depth > 0 ? OP_IN_GROUP : OP_IN_UNSEEN_GROUP;
}

static struct group_stream *find_group_stream(struct call *c)
{
    struct nccl_group *g = &c->thread->group;
    struct group_stream *s;
    for (uint32_t i = 0; i < g->nstreams; i++) {
        if (g->streams[i].comm == c->comm && g->streams[i].stream == c->stream)
            return &g->streams[i];
    }
    if (g->nstreams == GROUP_STREAMS_MAX)
        return NULL;
    s = &g->streams[g->nstreams++];
    *s = (struct group_stream){.comm = c->comm, .stream = c->stream, .span = NO_SPAN};
    return s;
}

/* For the first operation: a span with events where there can be a time, else a bare one. */
static void prepare_group_stream(struct call *c, struct group_stream *s, int owner)
{
    if (tracer.config.sync)
        work_sync_timing(c, owner);
    else
        s->span = span_take(c->stream, owner, &c->r);
    if (s->span == NO_SPAN)
        s->span = span_take_bare();
    if (s->span == NO_SPAN && c->r.timing != SPECTER_TIMING_CAPTURED)
        c->r.timing = SPECTER_TIMING_HOST;
    s->timing = c->r.timing;
    s->device = c->r.device;
    s->graph = c->r.graph;
    s->prepared = true;
}

/* One of which only the host's times can be had. */
static void untimed_op_begin(struct call *c)
{
    c->r.timing = SPECTER_TIMING_HOST;
    device_note_capture(c->stream, &c->r);
}

/* The operation waits with the others of its communicator and stream for the end of the group. */
static void group_op_begin(struct call *c, int owner)
{
    struct group_stream *s = find_group_stream(c);
    c->group_stream = GROUP_STREAMS_MAX;
    if (s == NULL) {
        untimed_op_begin(c);
        return;
    }
    c->r.timing = SPECTER_TIMING_HOST;
    c->group_stream = (uint32_t)(s - c->thread->group.streams);
    if (!s->prepared)
        prepare_group_stream(c, s, owner);
    c->r.timing = s->timing;
    c->r.device = s->device;
    c->r.graph = s->graph;
    c->r.span = s->span;
}

uint32_t nccl_group(struct call *c)
{
    struct nccl_group *g = &c->thread->group;
    if (place_of(c) != OP_IN_GROUP)
        return NO_ID;
    if (g->id == NO_ID)
        g->id = atomic_fetch_add(&groups, 1);
    return g->id;
}

static void group_op_end(struct call *c, bool in_progress)
{
    struct nccl_group *g = &c->thread->group;
    struct record *slot = ring_slot(&c->thread->ring);
    g->in_progress |= in_progress;
    c->r.stream = call_stream_number(c->stream, c->r.device, c->r.tid);
    c->r.nccl.group = nccl_group(c);
    c->r.group_index = (uint16_t)++g->count;
    if (slot != NULL && c->group_stream < GROUP_STREAMS_MAX)
        g->streams[c->group_stream].count++;
    call_publish(c->thread, slot, &c->r);
}

/* The library's own rule for "in place": one buffer, at this rank's part where they differ in size
 * (NCCL user guide, "In-place operations"). */
static bool is_in_place(const struct call *c)
{
    size_t part = specter_dtype_bits(c->r.dtype) / 8 * (size_t)c->r.nccl.count;
    const char *send = c->send, *recv = c->recv;
    size_t rank = c->r.nccl.comm_rank > 0 ? (size_t)c->r.nccl.comm_rank : 0;
    if (send == NULL || recv == NULL)
        return false;
    switch (c->r.op) {
    case SPECTER_ALLGATHER:
        return send == recv + rank * part;
    case SPECTER_REDUCESCATTER:
        return recv == send + rank * part;
    case SPECTER_GATHER: /* only the root has both buffers */
        return c->r.nccl.comm_rank == c->r.nccl.peer && send == recv + rank * part;
    case SPECTER_SCATTER:
        return c->r.nccl.comm_rank == c->r.nccl.peer && recv == send + rank * part;
    default:
        return send == recv;
    }
}

/* All but the number, which only an accepted operation takes. */
static void name_comm(struct call *c)
{
    const struct comm_init *b = &c->member->init;
    c->r.nccl.comm = b->id;
    c->r.nccl.comm_rank = b->rank != COMM_UNKNOWN ? b->rank : -1;
    c->r.nccl.comm_size = b->size != COMM_UNKNOWN ? b->size : -1;
    if (b->device != COMM_UNKNOWN)
        c->r.device = (int16_t)b->device;
    if (is_in_place(c))
        c->r.flags |= RECORD_INPLACE;
}

/* After the real call another thread may have aborted the communicator: it is asked nothing.
 * One-sided operations have no number: nothing that the peer calls belongs to them. */
static void nccl_number(struct call *c)
{
    if (c->member == NULL || !comm_is(c->member, c->comm))
        return;
    if (c->r.op == SPECTER_SEND || c->r.op == SPECTER_RECV)
        c->r.nccl.seq =
            comm_next_p2p(c->member, c->r.nccl.peer, c->r.op == SPECTER_RECV, nccl_group(c));
    else if (!specter_comm_op_is_p2p(c->r.op))
        c->r.nccl.seq = comm_next_collective(c->member, nccl_group(c));
}

/* The count of a call that has one for each rank; UINT64_MAX is not known. */
static void add_counts(struct call *c)
{
    uint64_t sum = 0;
    if (c->r.nccl.comm_size < 0)
        return;
    for (int32_t i = 0; i < c->r.nccl.comm_size; i++) {
        if (__builtin_add_overflow(sum, c->counts[i], &sum))
            return;
    }
    c->r.nccl.count = sum;
}

static void nccl_begin(struct call *c)
{
    c->member = comm_find(c->comm, c->real);
    if (c->member != NULL)
        name_comm(c);
    if (c->counts != NULL)
        add_counts(c);
    c->op_place = place_of(c);
    if (c->op_place == OP_IN_GROUP)
        group_op_begin(c, c->r.device);
    else if (c->op_place == OP_ALONE)
        work_begin(c, c->r.device);
    else
        untimed_op_begin(c);
    plugin_note(c);
    c->r.host_ns = tracer_now();
}

static void nccl_end(struct call *c)
{
    bool in_progress = c->result == ncclInProgress, in_group = c->op_place == OP_IN_GROUP;
    c->r.host_end_ns = tracer_now();
    if (!in_group)
        plugin_launched(false);
    if (c->result != ncclSuccess && !in_progress) {
        plugin_drop(c);
        if (!in_group)
            work_drop_span(c);
        return;
    }
    if (in_progress && !in_group) {
        work_drop_span(c);
        c->r.timing = SPECTER_TIMING_UNKNOWN;
        c->r.start_ns = NO_TIME;
    } else if (!in_group) {
        work_end_timing(c);
    }
    nccl_number(c);
    plugin_number(c, c->r.nccl.seq);
    if (in_group)
        group_op_end(c, in_progress);
    else
        work_end(c);
}

static const struct call_handlers nccl_op = {true, nccl_begin, nccl_end, nccl_end};

static void number_begin(struct call *c)
{
    c->member = comm_find(c->comm, c->real);
    plugin_unseen(c);
}

/* One that is not recorded, but takes its number. */
static const struct call_handlers unrecorded_op = {false, number_begin, nccl_number, NULL};

static void describe_op(struct call *c, enum specter_comm_op op, size_t count, int type, int peer,
                        ncclComm_t comm, CUstream stream)
{
    call_start_record(c, &nccl_op, RECORD_NCCL, (uint16_t)op);
    if (c->handlers == &call_unrecorded)
        c->handlers = &unrecorded_op;
    c->comm = comm;
    c->stream = stream;
    c->send = c->recv = NULL;
    c->counts = NULL;
    c->r.dtype = (uint8_t)specter_dtype_from_nccl(type);
    c->r.nccl.count = count;
    c->r.nccl.seq = c->r.nccl.comm_rank = c->r.nccl.comm_size = -1;
    c->r.nccl.peer = peer;
    c->r.nccl.redop = SPECTER_REDOP_NONE;
    c->r.nccl.group = NO_ID;
}

void describe_coll(struct call *c, enum specter_comm_op op, size_t count, int type, int redop,
                   int root, const void *send, const void *recv, ncclComm_t comm, CUstream stream)
{
    describe_op(c, op, count, type, root, comm, stream);
    c->r.nccl.redop = (uint8_t)specter_redop_from_nccl(redop);
    c->send = send;
    c->recv = recv;
}

void describe_alltoallv(struct call *c, const size_t *counts, int type, const void *send,
                        const void *recv, ncclComm_t comm, CUstream stream)
{
    describe_op(c, SPECTER_ALLTOALLV, UINT64_MAX, type, -1, comm, stream);
    c->counts = counts;
    c->send = send;
    c->recv = recv;
}

void describe_p2p(struct call *c, enum specter_comm_op op, size_t count, int type, int peer,
                  const void *buffer, ncclComm_t comm, CUstream stream)
{
    describe_op(c, op, count, type, peer, comm, stream);
    c->send = buffer;
}

/* ---- groups ---- */

/* A group whose start was not seen is not the thread's to follow. */
static void group_opened(struct call *c)
{
    if (c->thread->group.depth + 1 == thread_group_depth)
        c->thread->group.depth++;
}

static void group_refused(struct call *c)
{
    (void)c;
    thread_group_depth--;
}

static bool is_outermost(const struct call *c)
{
    return c->thread->group.depth == 1;
}

/* Nothing of the group has been launched yet, so a start here, after everything that the program
 * has put on the stream, is as late as it can be. */
static void group_begin_close(struct call *c)
{
    struct nccl_group *g = &c->thread->group;
    if (!is_outermost(c))
        return;
    for (uint32_t i = 0; i < g->nstreams; i++) {
        struct group_stream *s = &g->streams[i];
        launch_flush(c->thread, s->stream); /* since the operation was called */
        if (s->timing == SPECTER_TIMING_SYNC)
            work_sync(s->stream);
        else if (s->span != NO_SPAN)
            s->started = span_start(s->span, s->stream);
    }
    g->synced_ns = tracer_now();
}

static void close_group_stream(const struct nccl_group *g, struct group_stream *s, int result)
{
    if (s->timing == SPECTER_TIMING_SYNC && result == ncclSuccess)
        work_sync(s->stream);
    if (s->span == NO_SPAN)
        return;
    if (result == ncclInProgress || (result == ncclSuccess && g->in_progress))
        span_close(s->span, s->count, SPECTER_TIMING_UNKNOWN, NO_TIME, NO_TIME);
    else if (result != ncclSuccess)
        span_close_void(s->span, s->count);
    else if (s->timing == SPECTER_TIMING_SYNC)
        span_close(s->span, s->count, SPECTER_TIMING_SYNC, g->synced_ns,
                   tracer_now() - g->synced_ns);
    else if (s->started && span_stop(s->span, s->stream))
        span_close_timed(s->span, s->count);
    else
        span_close(s->span, s->count, s->timing, NO_TIME, NO_TIME);
}

/* NCCL leaves the group even when ending it fails. Then nothing of it has been launched, and the
 * numbers of its operations are free for those that the program calls in their place: as the other
 * members number theirs, whether their group failed or not. */
static void group_end_close(struct call *c)
{
    struct nccl_group *g = &c->thread->group;
    int64_t end_ns = tracer_now();
    int result = c->result;
    bool failed = result != ncclSuccess && result != ncclInProgress;
    if (g->depth == 0 || --g->depth > 0)
        return;
    if (failed)
        comm_give_back(g->id);
    plugin_launched(failed);
    for (uint32_t i = 0; i < g->nstreams; i++) {
        if (g->streams[i].span != NO_SPAN)
            span_set_end(g->streams[i].span, g->count, end_ns);
        close_group_stream(g, &g->streams[i], result);
    }
    comm_inits_of_group(g, result);
    g->id = NO_ID;
    g->count = g->nstreams = 0;
    g->in_progress = false;
}

/* To all that is in the group, as good as a failure. */
static void group_end_simulate(struct call *c)
{
    c->result = ncclInvalidUsage;
    group_end_close(c);
}

void describe_group_open(struct call *c)
{
    static const struct call_handlers open = {false, NULL, group_opened, group_refused};
    c->handlers = &open;
}

void describe_group_close(struct call *c)
{
    static const struct call_handlers close = {false, group_begin_close, group_end_close,
                                               group_end_close};
    c->handlers = &close;
}

void describe_group_simulate(struct call *c)
{
    static const struct call_handlers simulate = {false, NULL, group_end_simulate,
                                                  group_end_simulate};
    c->handlers = &simulate;
}

void nccl_reset(void)
{
    atomic_store(&groups, 0);
}
