/* SPDX-License-Identifier: MIT
 *
 * Reads the records of a process group's calls, and makes their element counts bytes of the full
 * buffer.
 */
#include "trace/kineto.h"

#include "base/buf.h"
#include "trace/comm_order.h"
#include "trace/kernel_names.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 4096 /* process groups whose names are searched; more is no program */

/* ---- what is known of a call ---- */

static const struct kineto_meta no_meta = {
    .op = SPECTER_COMM_OP_COUNT,
    .dtype = SPECTER_DTYPE_UNKNOWN,
    .in_count = -1,
    .out_count = -1,
    .group_rank = -1,
    .src = -1,
    .dst = -1,
    .seq = -1,
    .rank_start = -1,
    .rank_stride = -1,
};

static int64_t arg_or(int64_t value, int64_t none)
{
    return value == ARG_NONE || value < 0 ? none : value;
}

static const char *text_or(struct kineto *k, struct json_text text, const char *none)
{
    return text.p != NULL ? memo_find(&k->texts, k->run, text)->text : none;
}

/* Elements of the shape, or of all shapes of the list, that j stands at; 0 for none. -1: too many
 * to be true. */
static int64_t count_elements(struct json *j)
{
    int64_t product = 1, sum = 0;
    bool shape = false;
    if (json_peek(j) != '[' || !json_enter(j, '[')) {
        json_skip(j);
        return 0;
    }
    while (json_next_item(j)) {
        if (json_peek(j) == '[') {
            int64_t inner = count_elements(j);
            if (inner < 0 || __builtin_add_overflow(sum, inner, &sum))
                return -1;
        } else {
            int64_t extent = json_i64(j, -1);
            if (extent < 0 || __builtin_mul_overflow(product, extent, &product))
                return -1;
            shape = true;
        }
    }
    if (j->error != NULL)
        return -1;
    return shape ? product : sum;
}

struct kineto_meta kineto_args_meta(struct kineto *k, const struct event_args *args)
{
    struct kineto_meta meta = no_meta;
    struct json j;
    if (args->collective.p != NULL)
        meta.op = comm_op_named(args->collective.p, args->collective.len);
    if (args->dtype.p != NULL)
        meta.dtype = kineto_dtype(args->dtype);
    meta.in_count = arg_or(args->in_count, -1);
    meta.out_count = arg_or(args->out_count, -1);
    meta.group_size = arg_or(args->group_size, 0);
    meta.group_rank = arg_or(args->group_rank, -1);
    meta.src = arg_or(args->src, -1);
    meta.dst = arg_or(args->dst, -1);
    meta.seq = arg_or(args->seq, -1);
    meta.rank_start = arg_or(args->rank_start, -1);
    meta.rank_stride = arg_or(args->rank_stride, -1);
    meta.group = text_or(k, args->group, NULL);
    meta.group_text = text_or(k, args->group_text, "");
    meta.group_ranks = text_or(k, args->group_ranks, "");
    /* An old record has no counts, but its first input's shape when that is a tensor. */
    if (meta.in_count < 0 && meta.out_count < 0 && kineto_go_to_item(&j, args->dims, 0)) {
        int64_t count = count_elements(&j);
        int type = kineto_type_at(args->types, 0);
        if (count > 0 && type != SPECTER_DTYPE_UNKNOWN) {
            meta.in_count = count;
            meta.dtype = type;
        }
    }
    return meta;
}

/* Counts the elements of all inputs of an annotation, or of the input that an operator sends; -1.
 */
static int64_t sent_elements(const struct event_args *args, int input)
{
    struct json j;
    if (args->dims.p == NULL)
        return -1;
    if (input < 0)
        json_init(&j, args->dims.p, args->dims.len);
    else if (!kineto_go_to_item(&j, args->dims, input))
        return -1;
    return count_elements(&j);
}

struct kineto_meta kineto_annotation_meta(const char *name, const struct event_args *args)
{
    struct kineto_meta meta = no_meta;
    int input = comm_operator_input(name);
    if (input < 0)
        name += strlen("nccl:");
    meta.op = comm_op_named(name, strlen(name));
    meta.dtype = kineto_type_at(args->types, input < 0 ? 0 : input);
    meta.in_count = sent_elements(args, input);
    if (meta.in_count == 0 && meta.dtype == SPECTER_DTYPE_UNKNOWN)
        meta.in_count = -1; /* no tensors in the record, not an empty one */
    return meta;
}

/* ---- bytes ---- */

/* The call's own count argument from the elements of its whole input and output on one rank; -1
 * unknown. A gather-like annotation has only the input, which is the smaller side. */
static int64_t call_count(int op, int64_t in, int64_t out, int64_t n)
{
    switch (op) {
    case SPECTER_ALLGATHER:
        return in >= 0 ? in : n > 0 && out >= 0 ? out / n : -1;
    case SPECTER_REDUCESCATTER:
    case SPECTER_ALLTOALL:
        return in >= 0 && n > 0 ? in / n : -1;
    case SPECTER_SCATTER:
        return out >= 0 ? out : -1;
    default:
        return in >= 0 ? in : out;
    }
}

/* Full buffer in elements; differs from count times ranks where a split leaves a rest. */
static int64_t full_count(int op, int64_t in, int64_t out, int64_t n)
{
    int64_t full = call_count(op, in, out, n);
    if ((op == SPECTER_REDUCESCATTER || op == SPECTER_ALLTOALL) && in >= 0)
        return in;
    if (op == SPECTER_ALLGATHER && out > 0)
        return out;
    if (op == SPECTER_ALLGATHER || op == SPECTER_GATHER || op == SPECTER_SCATTER)
        return full >= 0 && n > 0 && !__builtin_mul_overflow(full, n, &full) ? full : -1;
    return full;
}

static void set_bytes(struct op *op, const struct kineto_meta *from, int64_t n)
{
    int64_t count = call_count(op->coll.op, from->in_count, from->out_count, n);
    int64_t full = full_count(op->coll.op, from->in_count, from->out_count, n);
    unsigned bits = specter_dtype_bits((enum specter_dtype)op->dtype);
    uint64_t total;
    if (op->coll.op >= SPECTER_COMM_OP_COUNT || count < 0 || full < 0 || bits == 0 ||
        __builtin_mul_overflow((uint64_t)full, (uint64_t)bits, &total)) {
        op->flags |= OP_BYTES_UNKNOWN;
        return;
    }
    op->coll.count = (uint64_t)count;
    op->bytes = total / 8;
}

/* ---- communicators ---- */

/* "[0, 1]" as a list, owned; NULL when it is cut short ("...") or no list. */
static int *parse_ranks(const char *text, int64_t size)
{
    struct json j;
    int *ranks;
    int64_t n = 0;
    json_init(&j, text, strlen(text));
    if (size < 1 || size > RUN_RANKS_MAX || json_peek(&j) != '[' || !json_enter(&j, '['))
        return NULL;
    ranks = array_new((size_t)size, sizeof *ranks);
    while (json_next_item(&j) && n < size && json_peek(&j) == '0') {
        int64_t rank = json_i64(&j, -1);
        ranks[n++] = rank < RUN_RANKS_MAX ? (int)rank : -1;
    }
    json_end(&j);
    if (j.error == NULL && n == size)
        return ranks;
    free(ranks);
    return NULL;
}

/* Makes the list of ranks from the first one and the stride; owned; NULL: not believable. */
static int *count_ranks(const struct kineto_meta *meta, int64_t size)
{
    int64_t first = meta->rank_start, stride = meta->rank_stride;
    int *ranks;
    if (first < 0 || first >= RUN_RANKS_MAX || stride < 1 || stride >= RUN_RANKS_MAX || size < 1 ||
        size > RUN_RANKS_MAX || first + (size - 1) * stride >= RUN_RANKS_MAX)
        return NULL;
    ranks = array_new((size_t)size, sizeof *ranks);
    for (int64_t i = 0; i < size; i++)
        ranks[i] = (int)(first + i * stride);
    return ranks;
}

/* The group's members from the best of: the list beside the call, the table of groups, first rank
 * and stride. Owned; NULL unknown. */
static int *group_members(const struct kineto *k, const struct kineto_meta *meta, int64_t size)
{
    int *ranks = parse_ranks(meta->group_ranks, size);
    for (size_t i = 0; ranks == NULL && i < k->groups.count && i < GROUPS_MAX; i++) {
        if (k->groups.list[i].name != meta->group || k->groups.list[i].size != size || size == 0)
            continue;
        ranks = array_new((size_t)size, sizeof *ranks);
        memcpy(ranks, k->groups.list[i].ranks, (size_t)size * sizeof *ranks);
    }
    return ranks != NULL ? ranks : count_ranks(meta, size);
}

/* A process has no two groups of one name; where a trace says otherwise, their sizes differ. NULL:
 * not met so far. */
static const struct kineto_known_group *find_known_group(const struct kineto *k,
                                                         const struct kineto_meta *meta)
{
    uint32_t at = idmap_find(&k->group_ids, (int64_t)(intptr_t)meta->group);
    if (at == IDMAP_NONE)
        return NULL;
    if (k->known.list[at].size == meta->group_size)
        return &k->known.list[at];
    for (size_t i = 0; i < k->known_more.count; i++) {
        if (k->known_more.list[i].group == meta->group &&
            k->known_more.list[i].size == meta->group_size)
            return &k->known_more.list[i];
    }
    return NULL;
}

/* Once the sizes of all groups together are too much, no larger one is looked at. */
static int make_comm(struct kineto *k, const struct kineto_meta *meta, const int *ranks,
                     int64_t size)
{
    struct buf id = BUF_INIT;
    int at;
    /* Groups of one name can differ from rank to rank, so that the members are part of the id:
     * "1[0-7]", "1[0,2,4]". */
    buf_printf(&id, "%s[", meta->group);
    if (ranks == NULL)
        buf_printf(&id, "%lld ranks", (long long)size);
    for (int64_t i = 0; ranks != NULL && i < size; i++) {
        int64_t first = i;
        while (i + 1 < size && ranks[i + 1] == ranks[i] + 1)
            i++;
        buf_printf(&id, i > first ? "%s%d-%d" : "%s%d", first > 0 ? "," : "", ranks[first],
                   ranks[i]);
    }
    buf_putc(&id, ']');
    at = run_comm(k->run, id.data, id.len, size);
    buf_release(&id);
    if (at < 0)
        k->too_large = size;
    return at;
}

static int add_group(struct kineto *k, const struct kineto_meta *meta)
{
    int64_t size = meta->group_size > 0 ? meta->group_size : k->world_size;
    bool refused = (k->too_large > 0 && size >= k->too_large) || k->known_more.count > GROUPS_MAX;
    int *ranks = refused ? NULL : group_members(k, meta, size);
    int at = refused ? -1 : make_comm(k, meta, ranks, size);
    struct comm *comm = at >= 0 ? &k->run->comms[at] : NULL;
    if (!refused) {
        uint32_t place = idmap_add(&k->group_ids, (int64_t)(intptr_t)meta->group);
        struct kineto_known_group known = {meta->group, meta->group_size, at};
        if (place == k->known.count) {
            ARRAY_GROW(k->known.list, k->known.cap, k->known.count + 1);
            k->known.list[k->known.count++] = known;
        } else {
            ARRAY_GROW(k->known_more.list, k->known_more.cap, k->known_more.count + 1);
            k->known_more.list[k->known_more.count++] = known;
        }
    }
    if (comm != NULL && meta->group_text[0] != '\0')
        comm->name = meta->group_text;
    if (comm != NULL && k->world_size <= 0 && strcmp(comm->name, "default_pg") == 0)
        k->world_size = comm->size;
    for (int i = 0; comm != NULL && ranks != NULL && i < comm->size; i++)
        comm->ranks[i] = ranks[i];
    free(ranks);
    return at;
}

static int group_comm(struct kineto *k, const struct kineto_meta *meta)
{
    const struct kineto_known_group *known = find_known_group(k, meta);
    return known != NULL ? known->comm : add_group(k, meta);
}

/* Only where the members are told: a whole list, or first rank and stride. */
static void learn_group(struct kineto *k, const struct kineto_meta *meta)
{
    bool has_members = meta->rank_stride > 0 ||
                       (meta->group_ranks[0] == '[' && strstr(meta->group_ranks, "...") == NULL);
    if (meta->group != NULL && meta->group_size > 0 && has_members &&
        find_known_group(k, meta) == NULL)
        add_group(k, meta);
}

void kineto_learn_groups(struct kineto *k)
{
    struct kineto_meta meta;
    for (size_t i = 0; i < k->comm.count; i++) {
        meta = kineto_meta_of(k, &k->comm.list[i].meta);
        learn_group(k, &meta);
    }
    for (size_t i = 0; i < k->host.count; i++) {
        if (k->host.list[i].kind != HOST_PARAMS)
            continue;
        meta = kineto_meta_of(k, &k->host.list[i].meta);
        learn_group(k, &meta);
    }
}

/* -1: no member has that global rank, or it is not known (-1, as members that no trace names have
 * it). */
static int comm_rank(const struct comm *comm, int64_t global)
{
    for (int i = 0; global >= 0 && i < comm->size; i++) {
        if (comm->ranks[i] == global)
            return i;
    }
    return -1;
}

/* ---- together ---- */

/* A fact from the best source that has it. */
#define BEST(field, none)                                                    \
    (own != NULL && own->field != (none)                 ? own->field        \
     : params != NULL && params->field != (none)         ? params->field     \
     : annotation != NULL && annotation->field != (none) ? annotation->field \
                                                         : (none))

static const struct kineto_meta *with_counts(const struct kineto_meta *own,
                                             const struct kineto_meta *params,
                                             const struct kineto_meta *annotation)
{
    const struct kineto_meta *list[] = {own, params, annotation};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (list[i] != NULL && (list[i]->in_count >= 0 || list[i]->out_count >= 0))
            return list[i];
    }
    return &no_meta;
}

/* "Rank" is the root of a rooted operation, the other end of a message; of the others it is the
 * member that recorded it. */
static void take_group_rank(struct kineto *k, struct op *op, const struct comm *comm, int64_t rank)
{
    if (rank < 0 || rank >= comm->size)
        return;
    switch (op->coll.op) {
    case SPECTER_BROADCAST:
    case SPECTER_REDUCE:
    case SPECTER_GATHER:
    case SPECTER_SCATTER:
        op->coll.peer = (int32_t)rank;
        break;
    case SPECTER_SEND:
    case SPECTER_RECV:
        op->coll.peer = op->coll.peer < 0 ? (int32_t)rank : op->coll.peer;
        break;
    case SPECTER_ALLREDUCE:
    case SPECTER_ALLGATHER:
    case SPECTER_REDUCESCATTER:
    case SPECTER_ALLTOALL:
    case SPECTER_ALLTOALLV:
        if (k->reported_rank < 0)
            k->reported_rank = comm->ranks[rank];
        break;
    default:
        break;
    }
}

void kineto_set_comm(struct kineto *k, struct op *op, const struct kineto_meta *own,
                     const struct kineto_meta *params, const struct kineto_meta *annotation)
{
    const struct kineto_meta *grouped = own != NULL && own->group != NULL ? own : params;
    int code = BEST(op, SPECTER_COMM_OP_COUNT);
    int64_t n = k->world_size;
    if (code == SPECTER_COMM_OP_COUNT)
        code = kernel_comm_op(op->name);
    op->coll.op = (uint8_t)code;
    op->coll.redop =
        specter_comm_op_reduces(code) ? kernel_redop(op->name) : (uint8_t)SPECTER_REDOP_NONE;
    op->dtype = (uint8_t)BEST(dtype, SPECTER_DTYPE_UNKNOWN);
    if (op->dtype == SPECTER_DTYPE_UNKNOWN && specter_comm_op_reduces(code))
        op->dtype = (uint8_t)kernel_dtype(op->name);
    /* A SendRecv kernel without further fields: messages between some ranks, in some direction. */
    op->class = specter_comm_op_is_p2p(code) ||
                        (code == SPECTER_COMM_OP_COUNT && kernel_is_sendrecv(op->name))
                    ? OP_P2P
                    : OP_COLL;
    if (grouped != NULL && grouped->group != NULL)
        op->coll.comm = group_comm(k, grouped);
    if (op->coll.comm >= 0) {
        const struct comm *comm = &k->run->comms[op->coll.comm];
        n = comm->size;
        if (op->class == OP_P2P)
            op->coll.peer = comm_rank(comm, code == SPECTER_SEND ? BEST(dst, -1) : BEST(src, -1));
        take_group_rank(k, op, comm, BEST(group_rank, -1));
    }
    if (op->class == OP_COLL)
        op->coll.p2p_seq = BEST(seq, -1); /* held there until kineto_finish() */
    set_bytes(op, with_counts(own, params, annotation), n);
}

bool kineto_complete_comm(struct kineto *k, struct op *op, const struct kineto_meta *meta)
{
    /* Returns whether the known operation is only what an annotation calls it: annotations know one
     * all-to-all. */
    bool refined = meta->op < SPECTER_COMM_OP_COUNT &&
                   (op->coll.op == SPECTER_COMM_OP_COUNT ||
                    (op->coll.op == SPECTER_ALLTOALL && meta->op == SPECTER_ALLTOALLV));
    bool message = specter_comm_op_is_p2p(meta->op);
    bool named = meta->group != NULL &&
                 ((message && op->coll.comm < 0) || order_is_guessed(k->run, op->coll.comm));
    bool peerless = message && op->coll.peer < 0 && meta->group_rank >= 0;
    int64_t n;
    if (meta->op >= SPECTER_COMM_OP_COUNT || (!refined && op->coll.op != meta->op))
        return false;
    if (!refined && !named && !peerless && !(op->flags & OP_BYTES_UNKNOWN))
        return false;
    op->coll.op = (uint8_t)meta->op;
    op->class = message ? OP_P2P : OP_COLL;
    if (op->dtype == SPECTER_DTYPE_UNKNOWN)
        op->dtype = (uint8_t)meta->dtype;
    if (specter_comm_op_reduces(meta->op) && op->coll.redop == SPECTER_REDOP_NONE)
        op->coll.redop = kernel_redop(op->name);
    if (named)
        op->coll.comm = group_comm(k, meta);
    n = op->coll.comm >= 0 ? k->run->comms[op->coll.comm].size : k->world_size;
    if (peerless && op->coll.comm >= 0 && meta->group_rank < n)
        op->coll.peer = (int32_t)meta->group_rank;
    if (refined || (op->flags & OP_BYTES_UNKNOWN)) {
        op->flags &= (uint8_t)~OP_BYTES_UNKNOWN;
        set_bytes(op, meta, n);
    }
    return true;
}
