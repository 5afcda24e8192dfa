/* SPDX-License-Identifier: MIT
 *
 * From the entries of a Flight Recorder dump to the operations of its rank.
 */
#include "base/buf.h"
#include "base/idmap.h"
#include "trace/flight.h"
#include "trace/kernel_names.h"
#include "trace/kineto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one entry, and what its lists of sizes and types come to ---- */

static struct json_text raw_value(struct json *j)
{
    struct json_text raw = {NULL, 0, false};
    if (json_peek(j) != '[') {
        json_skip(j);
        return raw;
    }
    raw.p = j->p;
    json_skip(j);
    if (j->error == NULL)
        raw.len = (uint32_t)(j->p - raw.p);
    return raw;
}

/* Nanoseconds since 1970; 0 and null stand for never. */
static int64_t moment(struct json *j)
{
    int64_t t_ns = json_i64(j, -1);
    return t_ns > 0 && t_ns < RUN_TIME_MAX ? t_ns : -1;
}

static int64_t milliseconds(struct json *j)
{
    double ms = json_double(j, -1);
    return ms >= 0 && ms < (double)RUN_DUR_MAX / 1e6 ? (int64_t)llround(ms * 1e6) : -1;
}

static uint8_t state_of(struct json_text name)
{
    if (json_text_is(name, "completed"))
        return FRDUMP_COMPLETED;
    return json_text_is(name, "started") ? FRDUMP_STARTED : FRDUMP_SCHEDULED;
}

/* ["0","default_pg"] */
static void read_group(struct frdump_entry *e, struct json *j)
{
    int i = 0;
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        struct json_text text = {NULL, 0, false};
        if (i < 2)
            text = json_string(j);
        else
            json_skip(j);
        if (i == 0)
            e->pg_name = text;
        else if (i == 1)
            e->pg_desc = text;
        i++;
    }
}

/* "nccl:all_reduce": what stands after the library. */
static struct json_text bare_name(struct json_text name)
{
    const char *colon = name.len > 0 ? memchr(name.p, ':', name.len) : NULL;
    if (colon == NULL)
        return name;
    name.len -= (uint32_t)(colon + 1 - name.p);
    name.p = colon + 1;
    return name;
}

/* PyTorch writes a number, tools that rewrite dumps its text. */
static int64_t group_id(struct json *j)
{
    const int64_t id = event_number(j);
    return id != ARG_NONE ? id : -1;
}

static bool read_number(struct frdump_entry *e, struct json_text key, struct json *j)
{
    if (json_text_is(key, "record_id") || json_text_is(key, "id"))
        e->record_id = json_i64(j, -1);
    else if (json_text_is(key, "collective_seq_id"))
        e->seq = json_i64(j, -1);
    else if (json_text_is(key, "p2p_seq_id"))
        e->p2p_seq = json_i64(j, -1);
    else if (json_text_is(key, "time_created_ns"))
        e->created_ns = moment(j);
    else if (json_text_is(key, "time_discovered_started_ns"))
        e->started_ns = moment(j);
    else if (json_text_is(key, "time_discovered_completed_ns"))
        e->completed_ns = moment(j);
    else if (json_text_is(key, "duration_ms"))
        e->dur_ns = milliseconds(j);
    else if (json_text_is(key, "timeout_ms"))
        e->timeout_ns = milliseconds(j);
    else if (json_text_is(key, "pg_id"))
        e->pg_id = group_id(j);
    else
        return false;
    return true;
}

void frdump_entry_read(struct frdump_entry *e, struct json *j)
{
    struct json_text key;
    *e = (struct frdump_entry){.record_id = -1,
                               .seq = -1,
                               .p2p_seq = -1,
                               .created_ns = -1,
                               .started_ns = -1,
                               .completed_ns = -1,
                               .dur_ns = -1,
                               .timeout_ns = -1,
                               .pg_id = -1};
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (read_number(e, key, j))
            continue;
        if (json_text_is(key, "process_group"))
            read_group(e, j);
        else if (json_text_is(key, "profiling_name"))
            e->what = bare_name(json_string(j));
        else if (json_text_is(key, "state"))
            e->state = state_of(json_string(j));
        else if (json_text_is(key, "is_p2p"))
            e->p2p = json_bool(j, false);
        else if (json_text_is(key, "input_sizes"))
            e->in_sizes = raw_value(j);
        else if (json_text_is(key, "input_dtypes"))
            e->in_types = raw_value(j);
        else if (json_text_is(key, "output_sizes"))
            e->out_sizes = raw_value(j);
        else if (json_text_is(key, "output_dtypes"))
            e->out_types = raw_value(j);
        else
            json_skip(j);
    }
    e->coalesced = json_text_is(e->what, "coalesced");
}

/* ---- sizes ---- */

/* Elements of one tensor, [2,3]; a scalar, [], has one. */
static bool count_elements(struct json *j, uint64_t *count)
{
    *count = 1;
    if (json_peek(j) != '[' || !json_enter(j, '['))
        return false;
    while (json_next_item(j)) {
        int64_t n = json_peek(j) == '0' ? json_i64(j, -1) : -1;
        if (n < 0 || __builtin_mul_overflow(*count, (uint64_t)n, count))
            return false;
    }
    return j->error == NULL;
}

static bool add_product(uint64_t *sum, uint64_t a, uint64_t b)
{
    uint64_t product;
    return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*sum, product, sum);
}

/* Adds the tensors' elements and bytes, in sizes [[2,3],[4]] and types ["Float","Half"]. False when
 * they are not known. *dtype: that of all, or SPECTER_DTYPE_UNKNOWN. */
static bool tensor_size(struct json_text sizes, struct json_text types, uint64_t *elements,
                        uint64_t *bytes, uint8_t *dtype)
{
    struct json s, t;
    bool first = true;
    uint64_t count;
    json_init(&s, sizes.p, sizes.len);
    json_init(&t, types.p, types.len);
    if (sizes.p == NULL || types.p == NULL || !json_enter(&s, '[') || !json_enter(&t, '['))
        return false;
    while (json_next_item(&s)) {
        uint8_t type = json_next_item(&t) && json_peek(&t) == '"'
                           ? (uint8_t)kineto_dtype(json_string(&t))
                           : (uint8_t)SPECTER_DTYPE_UNKNOWN;
        unsigned bits = specter_dtype_bits((enum specter_dtype)type);
        if (!count_elements(&s, &count) || bits < 8 || !add_product(elements, count, 1) ||
            !add_product(bytes, count, bits / 8))
            return false;
        *dtype = first || *dtype == type ? type : (uint8_t)SPECTER_DTYPE_UNKNOWN;
        first = false;
    }
    return s.error == NULL && !first;
}

#define NO_ENTRY UINT32_MAX

/* While operations are made. */
struct making {
    struct frdump *f;
    struct idmap lanes;       /* what runs one after the other: stream of the run */
    struct idmap messages;    /* (group, peer, direction): index into message_counts */
    uint32_t *message_counts; /* owned; how many there were */
    size_t cap_message_counts;
    int32_t stuck; /* lane of the first that has begun and not ended; -1 */
};

/* ---- what was called together ---- */

static int64_t number_of(const struct frdump_entry *e)
{
    return e->p2p ? e->p2p_seq : e->seq;
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

/* The tensors that make the full buffer, or one rank's part of it: the list that every member has.
 * A gather has its output on the root alone, a scatter its input. */
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
        !tensor_size(input ? e->in_sizes : e->out_sizes, input ? e->in_types : e->out_types,
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
 * not begun while something called before it runs on stands after that. */
static int32_t lane_of(struct making *m, const struct frdump_entry *e, const struct op *op)
{
    const struct frdump_entry *whole = &m->f->entries[e->joined_into];
    int64_t id = (int64_t)e->group << 32;
    int32_t lane;
    if (op->class == OP_P2P && e->joined_into == (uint32_t)(e - m->f->entries))
        id |= (int64_t)op->coll.peer + 2;
    lane = (int32_t)idmap_add(&m->lanes, id);
    if (whole->state == FRDUMP_SCHEDULED && m->stuck >= 0)
        return m->stuck;
    if (whole->state == FRDUMP_STARTED && m->stuck < 0)
        m->stuck = lane;
    return lane;
}

/* A completed call has a duration only with TORCH_NCCL_ENABLE_TIMING=1, and never an exact start:
 * the watchdog notices it late. */
static void set_times(struct making *m, const struct frdump_entry *e, struct op *op)
{
    const struct frdump_entry *whole = &m->f->entries[e->joined_into];
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
    op->coll.op = e->coalesced ? (uint8_t)SPECTER_COMM_OP_COUNT : operation_of(e->what);
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
    if (!m->f->none_lost || op->coll.peer < 0)
        return;
    id = (int64_t)e->group << 32 | (int64_t)op->coll.peer << 1 | (op->coll.op == SPECTER_RECV);
    at = idmap_add(&m->messages, id);
    ARRAY_GROW(m->message_counts, m->cap_message_counts, (size_t)at + 1);
    op->coll.p2p_seq = m->message_counts[at]++;
}

/* The collective before `part` of those that were called together and end in `whole`; NULL. */
static const struct frdump_entry *part_before(const struct frdump *f,
                                              const struct frdump_entry *part,
                                              const struct frdump_entry *whole)
{
    const struct frdump_entry *before;
    if (part->before == NO_ENTRY || !whole->coalesced)
        return NULL;
    before = &f->entries[part->before];
    return &f->entries[before->joined_into] == whole && !before->p2p ? before : NULL;
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

/* A message, or the last entry of what was called together. */
static void take_entry(struct making *m, uint32_t i)
{
    const struct frdump_entry *e = &m->f->entries[i];
    bool messages = e->coalesced && e->before != NO_ENTRY &&
                    m->f->entries[e->before].joined_into == i && m->f->entries[e->before].p2p;
    if (e->group == UINT32_MAX || messages)
        return;
    if (e->p2p) {
        struct op *op = add_op(m, e);
        if (op->coll.op != SPECTER_SEND && op->coll.op != SPECTER_RECV)
            op->coll.op = SPECTER_COMM_OP_COUNT;
        else
            number_message(m, e, op);
        if (!add_size(m->f, e, op))
            forget_size(op);
        if (&m->f->entries[e->joined_into] != e)
            op->coll.group = (int32_t)e->joined_into;
        set_times(m, e, op);
    } else if (e->joined_into == i) {
        /* One collective, or all that were called together: they have one number and end at one
         * time. */
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
        /* The call's count argument is of one rank's part where the buffer has one of each. */
        int size = op->coll.comm >= 0 ? m->f->run->comms[op->coll.comm].size : 0;
        if ((op->coll.op == SPECTER_ALLGATHER || op->coll.op == SPECTER_REDUCESCATTER) && size > 0)
            op->coll.count /= (uint64_t)size;
        set_times(m, first, op);
    }
}

void frdump_ops(struct frdump *f)
{
    struct making m = {.f = f, .stuck = -1};
    /* Between _start_coalescing and its end every call has an entry without events, which stays
     * "scheduled" for ever, and all have one number; the entry "coalesced" after them has their
     * state. */
    for (uint32_t i = 0; i < f->nentries; i++) {
        struct frdump_entry *e = &f->entries[i];
        uint32_t at;
        e->joined_into = i;
        e->before = NO_ENTRY;
        if (e->group == UINT32_MAX)
            continue;
        e->before = at = f->groups[e->group].last;
        f->groups[e->group].last = i;
        for (; e->coalesced && at != NO_ENTRY; at = f->entries[at].before) {
            struct frdump_entry *part = &f->entries[at];
            if (part->coalesced || part->joined_into != at || number_of(part) != number_of(e))
                break;
            part->joined_into = i;
        }
    }
    f->none_lost = true;
    for (uint32_t i = 0; i < f->nentries; i++)
        f->none_lost = f->none_lost && f->entries[i].record_id == (int64_t)i;
    f->ascending = true;
    for (uint32_t i = 0; i < f->nentries; i++) {
        int64_t before = i > 0 ? f->entries[i - 1].record_id : -1;
        f->ascending = f->ascending && f->entries[i].record_id > before;
    }
    for (uint32_t i = 0; i < f->nentries; i++)
        take_entry(&m, i);
    /* The latest time in the dump; it was written then or later. */
    int64_t last_ns = UNKNOWN_NS;
    for (size_t i = 0; i < f->nentries; i++) {
        const struct frdump_entry *e = &f->entries[i];
        newest(&last_ns, or_unknown(e->created_ns));
        newest(&last_ns, or_unknown(e->started_ns));
        newest(&last_ns, or_unknown(e->completed_ns));
    }
    f->rank->end_ns = last_ns;
    f->rank->undated = true;
    idmap_release(&m.lanes);
    idmap_release(&m.messages);
    free(m.message_counts);
}
