/* SPDX-License-Identifier: MIT
 *
 * From the entries of a Flight Recorder dump to the operations of its rank.
 */
#include "base/buf.h"
#include "trace/flight.h"
#include "base/idmap.h"
#include "trace/kernel_names.h"

#include <stdlib.h>
#include <string.h>

#define NO_ENTRY UINT32_MAX

/* While operations are made. */
struct making {
    struct frdump *f;
    struct idmap lanes;    /* what runs one behind the other: stream of the run */
    struct idmap messages; /* (group, peer, direction): index into sent */
    uint32_t *sent;        /* owned; how many there were */
    size_t cap_sent;
    int32_t stuck; /* lane of the first that has begun and not ended; -1 */
};

/* ---- what was called together ---- */

static int64_t number_of(const struct frdump_entry *e)
{
    return e->p2p ? e->p2p_seq : e->seq;
}

/* Between _start_coalescing and its end every call has an entry without events, which stays
 * "scheduled" for ever, and all have one number; the entry "coalesced" behind them has the state.
 */
static void join_entries(struct frdump *f)
{
    for (uint32_t i = 0; i < f->nentries; i++) {
        struct frdump_entry *e = &f->entries[i];
        uint32_t at;
        e->whole = i;
        e->before = NO_ENTRY;
        if (e->group == UINT32_MAX)
            continue;
        e->before = at = f->groups[e->group].last;
        f->groups[e->group].last = i;
        for (; e->joint && at != NO_ENTRY; at = f->entries[at].before) {
            struct frdump_entry *part = &f->entries[at];
            if (part->joint || part->whole != at || number_of(part) != number_of(e))
                break;
            part->whole = i;
        }
    }
}

/* ---- names and sizes ---- */

/* "send 0->1", "recv 1<-0": the other end, a member of the group; -1. */
static int32_t peer_of(struct json_text what)
{
    const char *end = what.p + what.len, *p = what.p;
    int64_t peer = 0;
    while (p < end && *p != '>' && *p != '-' && *p != '<')
        p++;
    while (p < end && (*p == '>' || *p == '-' || *p == '<'))
        p++;
    if (p == end)
        return -1;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9' || peer > RUN_RANKS_MAX)
            return -1;
        peer = peer * 10 + (*p - '0');
    }
    return peer < RUN_RANKS_MAX ? (int32_t)peer : -1;
}

/* A barrier is an all-reduce of one element. All-to-alls of equal and of unequal parts have one
 * name: what this rank sends is true of both. */
static uint8_t operation_of(struct json_text what)
{
    int op = comm_op_named(what.p, what.len);
    if (json_text_is(what, "barrier"))
        return SPECTER_ALLREDUCE;
    return op == SPECTER_ALLTOALL ? (uint8_t)SPECTER_ALLTOALLV : (uint8_t)op;
}

/* Which tensors make the full buffer, or one rank's part of it: the list that every member has. A
 * gather has its output on the root alone, a scatter its input. */
enum side { INPUT, OUTPUT, EACH_INPUT, EACH_OUTPUT };

static enum side side_of(uint8_t op)
{
    switch (op) {
    case SPECTER_ALLGATHER:
    case SPECTER_RECV:
        return OUTPUT;
    case SPECTER_GATHER:
        return EACH_INPUT;
    case SPECTER_SCATTER:
        return EACH_OUTPUT;
    default:
        return INPUT;
    }
}

/* Adds the full buffer S (specter/trace.h) of one call. */
static bool add_size(const struct frdump *f, const struct frdump_entry *e, struct op *op)
{
    enum side side = side_of(op->coll.op);
    bool input = side == INPUT || side == EACH_INPUT;
    uint64_t elements = 0, bytes = 0, size = 1;
    int comm = f->groups[e->group].comm;
    if (op->coll.op >= SPECTER_COMM_OP_COUNT || comm < 0 ||
        !frdump_size(input ? e->in_sizes : e->out_sizes, input ? e->in_types : e->out_types,
                     &elements, &bytes, &op->dtype))
        return false;
    if (side == EACH_INPUT || side == EACH_OUTPUT) {
        size = (uint64_t)f->run->comms[comm].size;
        if (size == 0 || __builtin_mul_overflow(bytes, size, &bytes))
            return false;
    }
    return !__builtin_add_overflow(op->bytes, bytes, &op->bytes) &&
           !__builtin_add_overflow(op->coll.count, elements, &op->coll.count);
}

/* The elements of the call's count argument: of one rank's part where the buffer has one of each.
 */
static void set_count(const struct frdump *f, struct op *op)
{
    int size = op->coll.comm >= 0 ? f->run->comms[op->coll.comm].size : 0;
    if ((op->coll.op == SPECTER_ALLGATHER || op->coll.op == SPECTER_REDUCESCATTER) && size > 0)
        op->coll.count /= (uint64_t)size;
}

static void forget_size(struct op *op)
{
    op->bytes = op->coll.count = 0;
    op->dtype = SPECTER_DTYPE_UNKNOWN;
    op->flags |= OP_BYTES_UNKNOWN;
}

/* ---- time ---- */

static int64_t or_unknown(int64_t t_ns)
{
    return t_ns >= 0 ? t_ns : UNKNOWN_NS;
}

/* Each group has a stream of its own, and so has each pair of ranks outside of a batch. What has
 * not begun while something called before it runs on stands behind that. */
static int32_t lane_of(struct making *m, const struct frdump_entry *e, const struct op *op)
{
    const struct frdump_entry *whole = &m->f->entries[e->whole];
    int64_t id = (int64_t)e->group << 32;
    int32_t lane;
    if (op->class == OP_P2P && e->whole == (uint32_t)(e - m->f->entries))
        id |= (int64_t)op->coll.peer + 2;
    lane = (int32_t)idmap_add(&m->lanes, id);
    if (whole->state == FRDUMP_SCHEDULED && m->stuck >= 0)
        return m->stuck;
    if (whole->state == FRDUMP_STARTED && m->stuck < 0)
        m->stuck = lane;
    return lane;
}

/* What is complete has a time of its own only with TORCH_NCCL_ENABLE_TIMING=1, and no start: the
 * watchdog saw it some time after it was. */
static void set_times(struct making *m, const struct frdump_entry *e, struct op *op)
{
    const struct frdump_entry *whole = &m->f->entries[e->whole];
    op->host_ns = or_unknown(e->created_ns);
    op->stream = lane_of(m, e, op);
    op->timing = SPECTER_TIMING_NONE;
    if (whole->state == FRDUMP_COMPLETED) {
        op->timing = whole->dur_ns >= 0 ? SPECTER_TIMING_DEVICE : SPECTER_TIMING_UNKNOWN;
        op->dur_ns = or_unknown(whole->dur_ns);
    } else if (whole->state == FRDUMP_STARTED) {
        op->start_ns = or_unknown(whole->started_ns); /* had begun by then */
    }
}

static void newest(int64_t *last_ns, int64_t t_ns)
{
    *last_ns = t_ns > *last_ns ? t_ns : *last_ns;
}

/* The last moment that the dump tells of, and that it cannot have been written before. */
static void set_end(struct frdump *f)
{
    int64_t last_ns = UNKNOWN_NS;
    for (size_t i = 0; i < f->nentries; i++) {
        const struct frdump_entry *e = &f->entries[i];
        newest(&last_ns, or_unknown(e->created_ns));
        newest(&last_ns, or_unknown(e->started_ns));
        newest(&last_ns, or_unknown(e->completed_ns));
    }
    f->rank->end_ns = last_ns;
    f->rank->undated = true;
}

/* ---- operations ---- */

static struct op *add_op(struct making *m, const struct frdump_entry *e)
{
    struct frdump *f = m->f;
    struct buf name = BUF_INIT;
    struct op *op = rank_add_op(f->rank);
    json_decode(e->what, &name);
    op->name = intern_add(&f->run->names, name.data, strcspn(name.data, " ")); /* send 0->1 */
    buf_release(&name);
    op->id = f->ascending ? (uint64_t)e->record_id : f->rank->nops - 1;
    op->device = -1;
    op->class = e->p2p ? OP_P2P : OP_COLL;
    op->coll.op = e->joint ? (uint8_t)SPECTER_COMM_OP_COUNT : operation_of(e->what);
    op->coll.redop = SPECTER_REDOP_NONE;
    op->coll.comm = f->groups[e->group].comm;
    op->coll.seq = op->coll.p2p_seq = -1;
    op->coll.group = op->coll.peer = -1;
    return op;
}

/* The n-th message to that peer, or from it: the dump's own number counts all messages of the
 * group. Only where none is missing. */
static void number_message(struct making *m, const struct frdump_entry *e, struct op *op)
{
    int64_t id;
    uint32_t at;
    const struct comm *comm = op->coll.comm >= 0 ? &m->f->run->comms[op->coll.comm] : NULL;
    op->coll.peer = peer_of(e->what);
    if (comm == NULL || op->coll.peer >= comm->size)
        op->coll.peer = -1;
    if (!m->f->whole || op->coll.peer < 0)
        return;
    id = (int64_t)e->group << 32 | (int64_t)op->coll.peer << 1 | (op->coll.op == SPECTER_RECV);
    at = idmap_add(&m->messages, id);
    ARRAY_GROW(m->sent, m->cap_sent, (size_t)at + 1);
    op->coll.p2p_seq = m->sent[at]++;
}

static void add_message(struct making *m, const struct frdump_entry *e)
{
    struct op *op = add_op(m, e);
    if (op->coll.op != SPECTER_SEND && op->coll.op != SPECTER_RECV)
        op->coll.op = SPECTER_COMM_OP_COUNT;
    else
        number_message(m, e, op);
    if (!add_size(m->f, e, op))
        forget_size(op);
    if (&m->f->entries[e->whole] != e)
        op->coll.group = (int32_t)e->whole;
    set_times(m, e, op);
}

/* The collective before `part` of those that were called together and end in `whole`; NULL. */
static const struct frdump_entry *part_before(const struct frdump *f,
                                              const struct frdump_entry *part,
                                              const struct frdump_entry *whole)
{
    const struct frdump_entry *before;
    if (part->before == NO_ENTRY || !whole->joint)
        return NULL;
    before = &f->entries[part->before];
    return &f->entries[before->whole] == whole && !before->p2p ? before : NULL;
}

/* Sums what was called together, from the last of it. False when it is not all of one kind, or a
 * size is not known. */
static bool add_parts(const struct frdump *f, const struct frdump_entry *last,
                      const struct frdump_entry *whole, struct op *op)
{
    uint8_t dtype = SPECTER_DTYPE_UNKNOWN;
    for (const struct frdump_entry *part = last; part != NULL; part = part_before(f, part, whole)) {
        if (!add_size(f, part, op) || operation_of(part->what) != op->coll.op ||
            (part != last && op->dtype != dtype))
            return false;
        dtype = op->dtype;
    }
    return true;
}

/* One collective, or all that were called together: they have one number and end at one time. */
static void add_collective(struct making *m, const struct frdump_entry *e)
{
    const struct frdump_entry *last = part_before(m->f, e, e), *first, *part;
    struct op *op;
    if (last == NULL)
        last = e;
    for (first = part = last; part != NULL; part = part_before(m->f, part, e))
        first = part;
    op = add_op(m, first);
    op->coll.seq = e->seq;
    if (!add_parts(m->f, last, e, op))
        forget_size(op);
    set_count(m->f, op);
    set_times(m, first, op);
}

/* A message, or the last entry of what was called together. */
static void take_entry(struct making *m, uint32_t i)
{
    const struct frdump_entry *e = &m->f->entries[i];
    bool messages = e->joint && e->before != NO_ENTRY && m->f->entries[e->before].whole == i &&
                    m->f->entries[e->before].p2p;
    if (e->group == UINT32_MAX || messages)
        return;
    if (e->p2p)
        add_message(m, e);
    else if (e->whole == i)
        add_collective(m, e);
}

void frdump_ops(struct frdump *f)
{
    struct making m = {.f = f, .stuck = -1};
    join_entries(f);
    f->whole = true;
    for (uint32_t i = 0; i < f->nentries; i++)
        f->whole = f->whole && f->entries[i].record_id == (int64_t)i;
    f->ascending = true;
    for (uint32_t i = 0; i < f->nentries; i++) {
        int64_t before = i > 0 ? f->entries[i - 1].record_id : -1;
        f->ascending = f->ascending && f->entries[i].record_id > before;
    }
    for (uint32_t i = 0; i < f->nentries; i++)
        take_entry(&m, i);
    set_end(f);
    idmap_release(&m.lanes);
    idmap_release(&m.messages);
    free(m.sent);
}
