/* SPDX-License-Identifier: MIT */
#include "analysis/traffic.h"

#include "analysis/time_breakdown.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An instance with the keys and sums that the rows of the tables are made of. */
struct traffic_instance {
    const struct comm_instance *in;
    const char *group;
    int nodes, bin;
    bool data; /* it moves bytes, or it is not known whether it does */
    struct traffic_sum sum;
};

struct items {
    struct traffic_instance *list; /* owned; sorted anew for each table */
    size_t count, cap;
};

/* ---- bytes ---- */

/* A ring over n members on k nodes has k links between nodes (with k > 1), of n in all; a chain,
 * which starts or ends at the root, one fewer of both. */
static struct wire ring_bytes(double per_link, int n, int nodes, int open)
{
    struct wire w = {per_link * (n - open), NAN};
    if (nodes > 0)
        w.inter = nodes > 1 ? per_link * (nodes - open) : 0;
    return w;
}

struct wire wire_of(unsigned op, double bytes, int n, const struct comm_nodes *comm_nodes)
{
    double part = bytes * (n - 1) / n;
    if (n < 1)
        return (struct wire){NAN, NAN};
    switch (op) {
    case SPECTER_ALLREDUCE:
        return ring_bytes(2 * part, n, comm_nodes->nodes, 0);
    case SPECTER_ALLGATHER:
    case SPECTER_REDUCESCATTER:
        return ring_bytes(part, n, comm_nodes->nodes, 0);
    case SPECTER_BROADCAST:
    case SPECTER_REDUCE:
        return ring_bytes(bytes, n, comm_nodes->nodes, 1);
    case SPECTER_ALLTOALL:
    case SPECTER_ALLTOALLV:
        return (struct wire){part * n, part * n * comm_nodes->across};
    case SPECTER_GATHER:
    case SPECTER_SCATTER:
        return (struct wire){part, part * comm_nodes->across};
    default:
        return (struct wire){NAN, NAN};
    }
}

/* S of an instance; NAN unknown. */
static double size_of(const struct comm_instance *in)
{
    if (!in->bytes_known)
        return NAN;
    return in->op == SPECTER_ALLTOALLV && in->sized > 0 ? in->sent / in->sized : (double)in->bytes;
}

void pair_of(const struct comm_instance *in, const struct run *run, int *src, int *dst)
{
    const struct rank *rank = &run->ranks[in->first.rank];
    const struct op *op = &rank->ops[in->first.op];
    int32_t peer = op->coll.peer;
    int other = -1;
    if (in->comm >= 0 && peer >= 0 && peer < run->comms[in->comm].size)
        other = run->comms[in->comm].ranks[peer];
    *src = op->coll.op == SPECTER_RECV ? other : rank->rank;
    *dst = op->coll.op == SPECTER_RECV ? rank->rank : other;
    if (op->coll.op == SPECTER_COMM_OP_COUNT)
        *src = *dst = -1; /* sends or receives: not known which */
}

static void set_bytes(struct traffic_instance *item, const struct run *run,
                      const struct node_map *node_map)
{
    static const struct comm_nodes nowhere = {.across = NAN};
    const struct comm_instance *in = item->in;
    struct wire w;
    double bytes = size_of(in), found;
    if (isnan(bytes)) {
        item->sum.unsized = 1;
        return;
    }
    item->sum.bytes = bytes;
    if (in->p2p) {
        /* It leaves one GPU, whichever end was recorded, and none where it goes to its sender. */
        int src, dst, across;
        pair_of(in, run, &src, &dst);
        across = node_map_across(node_map, run, src, dst, in->comm);
        w = (struct wire){bytes, across < 0 ? NAN : across * bytes};
        if (src >= 0 && src == dst)
            w = (struct wire){0, 0};
        found = 1;
    } else {
        w = wire_of(in->op, bytes, in->comm_size,
                    in->comm < 0 ? &nowhere : &node_map->comms[in->comm]);
        found = in->comm_size > 0 ? (double)in->members / in->comm_size : NAN;
    }
    item->sum.wire_bytes = w.all * found;
    item->sum.inter_bytes = w.inter * found;
}

struct traffic_sum traffic_of(const struct comm_study *study, const struct comm_instance *in,
                              const struct node_map *node_map)
{
    struct traffic_instance item = {.in = in, .sum = {.instances = 1, .calls = in->members}};
    set_bytes(&item, study->run, node_map);
    return item.sum;
}

static int bin_of(double bytes)
{
    int exponent;
    if (!(bytes >= 1))
        return isnan(bytes) ? -1 : 0;
    frexp(bytes, &exponent);
    return exponent - 1;
}

static void collect(struct items *items, const struct comm_study *study,
                    const struct node_map *node_map)
{
    for (size_t i = 0; i < study->count; i++) {
        const struct comm_instance *in = &study->list[i];
        struct traffic_instance *item;
        double bytes = size_of(in);
        ARRAY_GROW(items->list, items->cap, items->count + 1);
        item = &items->list[items->count++];
        *item =
            (struct traffic_instance){.in = in,
                                      .group = comm_group_name(study->run, in->comm),
                                      .nodes = in->comm >= 0 ? node_map->comms[in->comm].nodes : 0,
                                      .bin = bin_of(bytes),
                                      .data = !(bytes <= 0),
                                      .sum = {.instances = 1, .calls = in->members}};
        set_bytes(item, study->run, node_map);
        if (in->timed > 0) {
            item->sum.timed = 1;
            item->sum.time_ns = (double)in->transfer_ns / in->group_ops;
        }
    }
}

/* ---- rows ---- */

/* Each order below tells rows apart; what is equal in it keeps the order of the study, so that sums
 * are always added in the same one. */
static int kind_order(const struct traffic_instance *a, const struct traffic_instance *b)
{
    if (a->in->op != b->in->op)
        return ORDER(a->in->op, b->in->op);
    if (a->in->dtype != b->in->dtype)
        return ORDER(a->in->dtype, b->in->dtype);
    if (a->in->comm_size != b->in->comm_size)
        return ORDER(a->in->comm_size, b->in->comm_size);
    return strcmp(a->group, b->group);
}

static int size_order(const struct traffic_instance *a, const struct traffic_instance *b)
{
    return a->in->op != b->in->op ? ORDER(a->in->op, b->in->op) : ORDER(a->bin, b->bin);
}

static int group_order(const struct traffic_instance *a, const struct traffic_instance *b)
{
    if (a->in->comm_size != b->in->comm_size)
        return ORDER(a->in->comm_size, b->in->comm_size);
    return strcmp(a->group, b->group);
}

#define BY(what)                                         \
    static int by_##what(const void *x, const void *y)   \
    {                                                    \
        const struct traffic_instance *a = x, *b = y;    \
        int order = what##_order(a, b);                  \
        return order != 0 ? order : ORDER(a->in, b->in); \
    }
BY(kind)
BY(size)
BY(group)

/* The end of the row that begins at `from`. */
static size_t row_end(const struct items *items, size_t from,
                      int (*order)(const struct traffic_instance *,
                                   const struct traffic_instance *))
{
    size_t to = from + 1;
    while (to < items->count && order(&items->list[from], &items->list[to]) == 0)
        to++;
    return to;
}

static void sort_items(struct items *items, int (*by)(const void *, const void *))
{
    if (items->count > 0)
        qsort(items->list, items->count, sizeof *items->list, by);
}

/* Sum over the items [from, to), and the number of nodes that all of them have. */
static struct traffic_sum sum_of(const struct items *items, size_t from, size_t to, int *nodes)
{
    struct traffic_sum sum = {0};
    *nodes = items->list[from].nodes;
    for (size_t i = from; i < to; i++) {
        const struct traffic_sum *more = &items->list[i].sum;
        sum.instances += more->instances;
        sum.calls += more->calls;
        sum.unsized += more->unsized;
        sum.timed += more->timed;
        sum.bytes += more->bytes;
        sum.wire_bytes += more->wire_bytes;
        sum.inter_bytes += more->inter_bytes;
        sum.time_ns += more->time_ns;
        if (items->list[i].nodes != *nodes)
            *nodes = 0;
    }
    return sum;
}

static void make_rows(struct traffic *t, struct items *items)
{
    sort_items(items, by_kind);
    for (size_t from = 0, to; from < items->count; from = to) {
        const struct traffic_instance *first = &items->list[from];
        struct traffic_row *row;
        to = row_end(items, from, kind_order);
        ARRAY_GROW(t->rows, t->cap_rows, t->nrows + 1);
        row = &t->rows[t->nrows++];
        row->op = first->in->op;
        row->dtype = first->in->dtype;
        row->group = first->group;
        row->comm_size = first->in->comm_size;
        row->sum = sum_of(items, from, to, &row->nodes);
    }
}

static void make_sizes(struct traffic *t, struct items *items)
{
    sort_items(items, by_size);
    for (size_t from = 0, to; from < items->count; from = to) {
        struct size_row *row;
        int nodes;
        to = row_end(items, from, size_order);
        ARRAY_GROW(t->sizes, t->cap_sizes, t->nsizes + 1);
        row = &t->sizes[t->nsizes++];
        row->op = items->list[from].in->op;
        row->bin = items->list[from].bin;
        row->sum = sum_of(items, from, to, &nodes);
    }
}

/* Most bytes first, then by the keys, so that the order is always the same. */
static int rows_by_bytes(const void *x, const void *y)
{
    const struct traffic_row *a = x, *b = y;
    double wa = isnan(a->sum.wire_bytes) ? -1 : a->sum.wire_bytes;
    double wb = isnan(b->sum.wire_bytes) ? -1 : b->sum.wire_bytes;
    if (wa != wb)
        return wa > wb ? -1 : 1;
    if (a->sum.bytes != b->sum.bytes)
        return a->sum.bytes > b->sum.bytes ? -1 : 1;
    if (a->op != b->op)
        return ORDER(a->op, b->op);
    if (a->dtype != b->dtype)
        return ORDER(a->dtype, b->dtype);
    if (a->comm_size != b->comm_size)
        return ORDER(a->comm_size, b->comm_size);
    return strcmp(a->group, b->group);
}

/* ---- groups ---- */

/* `group_of`: of each communicator; UINT32_MAX where none of its operations was recorded. */
static void make_groups(struct traffic *t, struct items *items, uint32_t *group_of)
{
    sort_items(items, by_group);
    for (size_t from = 0, to; from < items->count; from = to) {
        const struct traffic_instance *first = &items->list[from];
        struct group_row *row;
        to = row_end(items, from, group_order);
        ARRAY_GROW(t->groups, t->cap_groups, t->ngroups + 1);
        row = &t->groups[t->ngroups++];
        *row = (struct group_row){.group = first->group,
                                  .comm_size = first->in->comm_size,
                                  .max_rank = -1,
                                  .per_step = NAN};
        row->sum = sum_of(items, from, to, &row->nodes);
        for (size_t i = from; i < to; i++) {
            const struct comm_instance *in = items->list[i].in;
            row->messages += in->p2p;
            row->collectives += !in->p2p;
            if (in->comm < 0 || group_of[in->comm] != UINT32_MAX)
                continue;
            group_of[in->comm] = (uint32_t)t->ngroups - 1;
            row->comms++;
        }
    }
}

/* The traffic of one rank in one group. */
struct rank_traffic {
    int64_t busy_ns, until_ns; /* length of the union so far, and its end */
    uint64_t timed, placed, calls, in_steps;
};

static void add_op(struct rank_traffic *part, const struct op *op, bool in_step)
{
    int64_t start, end, dur;
    part->calls++;
    part->in_steps += op->class == OP_COLL && in_step;
    if (!op_device_duration(op, &dur))
        return;
    if (!op_device_time(op, &start, &end)) { /* its overlap is not known */
        part->timed++;
        part->busy_ns += dur;
        return;
    }
    if (part->placed++ > 0 && start < part->until_ns)
        start = part->until_ns;
    part->timed++;
    if (end <= start)
        return;
    part->busy_ns += end - start;
    part->until_ns = end;
}

/* Sums of a group while ranks are added one after the other. */
struct group_times {
    struct rank_traffic rank; /* of the rank that is being added */
    uint64_t steps, calls;    /* steps, and collectives in them, over the ranks that take part */
};

/* Operations are in order of their starts. Adds to `times` of each group, and to the last, which is
 * of all. */
static void add_rank(struct traffic *t, const struct run *run, size_t r,
                     const struct job_steps *job, const uint32_t *group_of,
                     struct group_times *times)
{
    const struct rank *rank = &run->ranks[r];
    struct group_times *all = &times[t->ngroups];
    all->steps += counted_steps(job);
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (op_is_comm(op) && op->coll.comm >= 0)
            add_op(&times[group_of[op->coll.comm]].rank, op, op_step(job, r, i) != STEP_NONE);
    }
    for (size_t g = 0; g < t->ngroups; g++) {
        struct rank_traffic *part = &times[g].rank;
        struct group_row *row = &t->groups[g];
        if (part->calls > 0) {
            times[g].steps += counted_steps(job);
            times[g].calls += part->in_steps;
            all->calls += part->in_steps;
        }
        if (part->timed > 0) {
            double busy = (double)part->busy_ns;
            row->ranks++;
            row->time_ns += busy;
            if (row->max_rank < 0 || busy > row->time_max_ns) {
                row->time_max_ns = busy;
                row->max_rank = rank->rank;
            }
        }
        *part = (struct rank_traffic){0};
    }
}

static int groups_by_time(const void *x, const void *y)
{
    const struct group_row *a = x, *b = y;
    double ta = a->ranks > 0 ? a->time_ns : -1, tb = b->ranks > 0 ? b->time_ns : -1;
    if (ta != tb)
        return ta > tb ? -1 : 1;
    if (a->comm_size != b->comm_size)
        return ORDER(a->comm_size, b->comm_size);
    return strcmp(a->group, b->group);
}

static double per_step(const struct group_times *s)
{
    return s->steps > 0 ? (double)s->calls / (double)s->steps : NAN;
}

static void time_groups(struct traffic *t, const struct run *run, const struct job_steps *job,
                        const uint32_t *group_of)
{
    struct group_times *times = array_new(t->ngroups + 1, sizeof *times);
    for (size_t r = 0; r < run->nranks; r++) {
        if (!steps_blank(run, r))
            add_rank(t, run, r, job, group_of, times);
    }
    for (size_t g = 0; g < t->ngroups; g++) {
        struct group_row *row = &t->groups[g];
        row->time_ns = row->ranks > 0 ? row->time_ns / (double)row->ranks : NAN;
        if (row->ranks == 0)
            row->time_max_ns = NAN;
        row->per_step = per_step(&times[g]);
    }
    t->per_step = per_step(&times[t->ngroups]);
    free(times);
}

/* ---- pairs of ranks ---- */

struct pair_message {
    const struct comm_instance *in;
    int src, dst;
};

static int pair_order(const struct pair_message *a, const struct pair_message *b)
{
    return a->src != b->src ? ORDER(a->src, b->src) : ORDER(a->dst, b->dst);
}

/* By pair, those of a pair in order of time. */
static int by_pair(const void *x, const void *y)
{
    const struct pair_message *a = x, *b = y;
    int order = pair_order(a, b);
    if (order == 0)
        order = ORDER(a->in->timing.from_ns, b->in->timing.from_ns);
    return order != 0 ? order : ORDER(a->in, b->in);
}

static int pairs_by_bytes(const void *x, const void *y)
{
    const struct pair_row *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->src != b->src ? ORDER(a->src, b->src) : ORDER(a->dst, b->dst);
}

/* Adds the messages of a pair in order of time. *until_ns: where the union of their times ends so
 * far. */
static void add_message(struct pair_row *row, const struct comm_instance *in, int64_t *until_ns)
{
    int64_t from = in->timing.from_ns, to = in->timing.to_ns;
    row->count++;
    row->unsized += !in->bytes_known;
    row->bytes += (double)in->bytes;
    if (!in->bytes_known || in->timing.moved_ns == UNKNOWN_NS)
        return;
    row->timed++;
    row->two_sided += in->timing.two_sided;
    row->timed_bytes += (double)in->bytes;
    if (from == UNKNOWN_NS) { /* its overlap is not known */
        row->time_ns += (double)in->timing.moved_ns;
        return;
    }
    if (from < *until_ns)
        from = *until_ns;
    if (to <= from)
        return;
    row->time_ns += (double)(to - from);
    *until_ns = to;
}

static void add_pair(struct pairs *p, const struct pair_message *list, size_t n,
                     const struct run *run, const struct node_map *node_map)
{
    struct pair_row *row;
    int64_t until_ns[2] = {INT64_MIN, INT64_MIN}; /* on the sender's clock, and on another one */
    int sender = rank_index(run, list[0].src);
    ARRAY_GROW(p->list, p->cap, p->count + 1);
    row = &p->list[p->count++];
    *row = (struct pair_row){.src = list[0].src, .dst = list[0].dst};
    row->across = node_map_across(node_map, run, row->src, row->dst, list[0].in->comm);
    for (size_t i = 0; i < n; i++) {
        const uint32_t clock = list[i].in->timing.clock_rank;
        bool other = sender >= 0 && !ranks_comparable(run, (size_t)sender, clock);
        add_message(row, list[i].in, &until_ns[other]);
    }
    row->bw_GBps = row->time_ns > 0 ? row->timed_bytes / row->time_ns : NAN;
    if (row->timed == 0)
        row->time_ns = NAN;
}

static void find_pairs(struct pairs *p, const struct comm_study *study,
                       const struct node_map *node_map)
{
    struct pair_message *list = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < study->count; i++) {
        const struct comm_instance *in = &study->list[i];
        struct pair_message m = {.in = in};
        const struct op *op;
        int sender;
        if (!in->p2p || (in->bytes_known && in->bytes == 0))
            continue;
        pair_of(in, study->run, &m.src, &m.dst);
        if (m.src < 0 || m.dst < 0) {
            p->endless++;
            continue;
        }
        /* A receive that has no number to find its send by, though the sender has a trace: the send
         * that is recorded there is the same message, and is counted. */
        op = &study->run->ranks[in->first.rank].ops[in->first.op];
        sender = rank_index(study->run, m.src);
        if (!in->matched && op->coll.op == SPECTER_RECV && sender >= 0 &&
            study->run->ranks[sender].nops > 0)
            continue;
        ARRAY_GROW(list, cap, n + 1);
        list[n++] = m;
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_pair);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && pair_order(&list[from], &list[to]) == 0; to++)
            ;
        add_pair(p, list + from, to - from, study->run, node_map);
    }
    if (p->count > 0)
        qsort(p->list, p->count, sizeof *p->list, pairs_by_bytes);
    free(list);
}

/* ---- all of it ---- */

void traffic_init(struct traffic *t, const struct comm_study *study,
                  const struct node_map *node_map, const struct job_steps *job)
{
    struct items items = {0};
    uint32_t *group_of = array_new(study->run->ncomms + 1, sizeof *group_of);
    size_t kept = 0;
    memset(t, 0, sizeof *t);
    memset(group_of, 0xff, (study->run->ncomms + 1) * sizeof *group_of);
    collect(&items, study, node_map);
    make_groups(t, &items, group_of);
    time_groups(t, study->run, job, group_of);
    for (size_t i = 0; i < items.count; i++) {
        if (items.list[i].data)
            items.list[kept++] = items.list[i];
    }
    t->without_data = items.count - kept;
    items.count = kept;
    make_rows(t, &items);
    make_sizes(t, &items);
    if (t->nrows > 0)
        qsort(t->rows, t->nrows, sizeof *t->rows, rows_by_bytes);
    if (t->ngroups > 0)
        qsort(t->groups, t->ngroups, sizeof *t->groups, groups_by_time);
    free(group_of);
    free(items.list);
    find_pairs(&t->pairs, study, node_map);
}

void traffic_release(struct traffic *t)
{
    free(t->rows);
    free(t->sizes);
    free(t->groups);
    free(t->pairs.list);
    memset(t, 0, sizeof *t);
}
