/* SPDX-License-Identifier: MIT */
#include "analysis/hang.h"

#include "analysis/hang_calls.h"
#include "analysis/hang_heads.h"

#include <stdlib.h>
#include <string.h>

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))
#define NONE UINT32_MAX
#define EVENTS_FOLLOWED 16 /* from stream to stream of one rank */

/* A rank that is in an operation. Sorted, all that are in one operation lie side by side. */
struct waiter {
    int64_t seq;
    int32_t comm, sender, receiver; /* comm ranks; -1 for a collective */
    uint32_t rank, op;              /* index into run->ranks, its ops */
    uint32_t head;                  /* of the rank; HEAD_NONE: the trace does not show its end */
    uint32_t node;
    int64_t begin_ns;
};

/* Something that is wrong with one rank, in one operation. */
struct fault {
    enum hang_cause cause;
    int rank; /* global */
    int64_t seq, first;
    const struct op *instead;
};

/* An operation in which ranks wait. */
struct node {
    size_t first, count; /* of waiters */
    size_t first_fault, nfaults;
    size_t first_edge, nedges; /* in out */
    uint32_t root;             /* node to whose account it goes; NONE */
    bool opaque;               /* one process has several members: nothing can be said */
};

/* `from` does not go on because of `to`. */
struct edge {
    uint32_t from, to;
};

struct finder {
    const struct run *run;
    struct heads *heads;     /* [nranks] */
    int64_t *domain_end;     /* by clock domain: the last moment that any trace of it tells of */
    struct calls_made *made; /* [nranks] */
    struct waiter *waiters;  /* by operation, rank */
    size_t nwaiters, cap_waiters;
    uint32_t *by_rank;  /* [nwaiters] indices of waiters, by rank */
    size_t *rank_first; /* [nranks + 1] where a rank begins in by_rank */
    struct node *nodes;
    size_t nnodes, cap_nodes;
    struct fault *faults;
    size_t nfaults, cap_faults;
    struct edge *edges; /* once all are known: by target */
    size_t nedges, cap_edges;
    struct edge *out; /* [nedges] the same by source; nodes tell where theirs begin */
    struct arena arena;
};

const char *hang_cause_name(enum hang_cause cause)
{
    static const char *const names[] = {
#define X(id, name, what) [HANG_##id] = name,
        HANG_CAUSES(X)
#undef X
    };
    return (unsigned)cause < HANG_CAUSE_COUNT ? names[cause] : "?";
}

/* ---- who waits ---- */

static int32_t member_of(const struct rank *rank, int32_t comm)
{
    for (size_t i = 0; i < rank->nin; i++) {
        if (rank->in[i].comm == comm)
            return rank->in[i].rank;
    }
    return -1;
}

static void add_waiter(struct finder *f, uint32_t r, uint32_t op, uint32_t head, int64_t begin_ns)
{
    const struct rank *rank = &f->run->ranks[r];
    struct call call;
    struct waiter w = {.sender = -1, .receiver = -1, .rank = r, .op = op, .head = head};
    int32_t own;
    if (!call_of(&call, rank, op))
        return;
    own = member_of(rank, call.comm);
    if (call.way != CALL_COLLECTIVE) {
        if (own < 0 || call.peer >= f->run->comms[call.comm].size)
            return;
        w.sender = call.way == CALL_SEND ? own : call.peer;
        w.receiver = call.way == CALL_SEND ? call.peer : own;
    }
    w.seq = call.seq;
    w.comm = call.comm;
    w.begin_ns = begin_ns;
    ARRAY_GROW(f->waiters, f->cap_waiters, f->nwaiters + 1);
    f->waiters[f->nwaiters++] = w;
}

/* The heads of a rank, and what was launched in one group with them. */
static void add_heads(struct finder *f, uint32_t r)
{
    const struct rank *rank = &f->run->ranks[r];
    const struct heads *h = &f->heads[r];
    for (uint32_t i = 0; i < rank->nops && h->count > 0; i++) {
        const struct op *op = &rank->ops[i], *first;
        uint32_t head = heads_of(h, op);
        if (head == HEAD_NONE || (op->class != OP_COLL && op->class != OP_P2P))
            continue;
        first = &rank->ops[h->list[head].op];
        if (op == first || ((first->class == OP_COLL || first->class == OP_P2P) &&
                            op->coll.group >= 0 && op->coll.group == first->coll.group))
            add_waiter(f, r, i, head, h->list[head].begin_ns);
    }
}

/* ---- where no end is seen ---- */

static bool end_unseen(const struct op *op)
{
    return op->class == OP_COLL &&
           (op->timing == SPECTER_TIMING_HOST || op->timing == SPECTER_TIMING_UNKNOWN);
}

static bool may_be_uneven(const struct rank *rank)
{
    for (size_t i = 0; i < rank->nops && !rank->complete; i++) {
        if (end_unseen(&rank->ops[i]))
            return true;
    }
    return false;
}

static int by_number(const void *key, const void *elem)
{
    int number = *(const int *)key;
    const struct rank *rank = elem;
    return ORDER(number, rank->rank);
}

/* Index of a global rank; NONE when it has no trace, or none that tells its calls. */
static uint32_t rank_index(const struct finder *f, int number)
{
    const struct run *run = f->run;
    const struct rank *rank = NULL;
    if (number >= 0 && run->nranks > 0)
        rank = bsearch(&number, run->ranks, run->nranks, sizeof *rank, by_number);
    if (rank == NULL || rank->nops + rank->nacts == 0)
        return NONE;
    return (uint32_t)(rank - run->ranks);
}

/* Number of the last collective; -1 none. */
static int64_t last_seq(const struct finder *f, uint32_t r, int32_t comm)
{
    size_t first, end;
    calls_of_comm(&f->made[r], comm, &first, &end);
    return first < end ? f->made[r].list[end - 1].seq : -1;
}

static int64_t machine_end(const struct finder *f, uint32_t r)
{
    return f->domain_end[f->run->ranks[r].domain];
}

static void add_uneven_member(struct finder *f, uint32_t r, int32_t comm, int64_t seq)
{
    struct call key = {.comm = comm, .way = CALL_COLLECTIVE, .peer = -1, .seq = seq};
    const struct call *call = calls_find(&f->made[r], &key);
    const struct op *op;
    if (call == NULL || f->run->ranks[r].complete)
        return;
    op = &f->run->ranks[r].ops[call->op];
    if (!end_unseen(op) || op->host_end_ns == UNKNOWN_NS ||
        machine_end(f, r) - op->host_end_ns < HANG_NS)
        return;
    add_waiter(f, r, call->op, HEAD_NONE, op->host_end_ns);
}

/* In the first collective that some traced member did not call, those that did may wait. */
static void add_uneven(struct finder *f, int32_t c)
{
    const struct comm *comm = &f->run->comms[c];
    int64_t low = INT64_MAX, high = -1;
    for (int i = 0; i < comm->size; i++) {
        uint32_t r = rank_index(f, comm->ranks[i]);
        int64_t last = r != NONE ? last_seq(f, r, c) : -1;
        if (r == NONE)
            continue;
        low = last < low ? last : low;
        high = last > high ? last : high;
    }
    for (int i = 0; i < comm->size && high > low; i++) {
        uint32_t r = rank_index(f, comm->ranks[i]);
        if (r != NONE)
            add_uneven_member(f, r, c, low + 1);
    }
}

/* ---- operations in which ranks wait ---- */

static int by_operation(const struct waiter *a, const struct waiter *b)
{
    if (a->comm != b->comm)
        return ORDER(a->comm, b->comm);
    if (a->seq != b->seq)
        return ORDER(a->seq, b->seq);
    if (a->sender != b->sender)
        return ORDER(a->sender, b->sender);
    return ORDER(a->receiver, b->receiver);
}

static int by_waiter(const void *pa, const void *pb)
{
    const struct waiter *a = pa, *b = pb;
    int order = by_operation(a, b);
    if (order == 0)
        order = ORDER(a->rank, b->rank);
    return order != 0 ? order : ORDER(a->op, b->op);
}

static void make_nodes(struct finder *f)
{
    if (f->nwaiters > 0)
        qsort(f->waiters, f->nwaiters, sizeof *f->waiters, by_waiter);
    for (size_t i = 0; i < f->nwaiters; i++) {
        if (i == 0 || by_operation(&f->waiters[i - 1], &f->waiters[i]) != 0) {
            ARRAY_GROW(f->nodes, f->cap_nodes, f->nnodes + 1);
            f->nodes[f->nnodes++] = (struct node){.first = i, .root = NONE};
        }
        f->nodes[f->nnodes - 1].count++;
        f->waiters[i].node = (uint32_t)f->nnodes - 1;
    }
}

/* Where each rank waits. */
static void index_by_rank(struct finder *f)
{
    size_t *next = arena_alloc(&f->arena, (f->run->nranks + 1) * sizeof *next);
    f->by_rank = arena_alloc(&f->arena, (f->nwaiters + 1) * sizeof *f->by_rank);
    f->rank_first = arena_alloc(&f->arena, (f->run->nranks + 1) * sizeof *f->rank_first);
    for (size_t i = 0; i < f->nwaiters; i++)
        f->rank_first[f->waiters[i].rank + 1]++;
    for (size_t r = 0; r < f->run->nranks; r++)
        next[r + 1] = f->rank_first[r + 1] += f->rank_first[r];
    for (size_t i = 0; i < f->nwaiters; i++)
        f->by_rank[next[f->waiters[i].rank]++] = (uint32_t)i;
}

static const struct waiter *find_waiter(const struct finder *f, const struct node *node, uint32_t r)
{
    size_t low = node->first, high = node->first + node->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (f->waiters[mid].rank < r)
            low = mid + 1;
        else
            high = mid;
    }
    return low < node->first + node->count && f->waiters[low].rank == r ? &f->waiters[low] : NULL;
}

/* ---- what keeps an operation from its end ---- */

static bool add_edge(struct finder *f, uint32_t from, uint32_t to)
{
    if (from == to)
        return false;
    ARRAY_GROW(f->edges, f->cap_edges, f->nedges + 1);
    f->edges[f->nedges++] = (struct edge){from, to};
    f->nodes[from].nedges++;
    return true;
}

static void add_fault(struct finder *f, uint32_t n, struct fault fault)
{
    ARRAY_GROW(f->faults, f->cap_faults, f->nfaults + 1);
    f->faults[f->nfaults++] = fault;
    f->nodes[n].nfaults++;
}

/* Edges to whatever the rank's head stands for: communication, or work that waits for another
 * stream. False when there is none. */
static bool wait_for_head(struct finder *f, uint32_t n, uint32_t r, uint32_t head)
{
    bool any = false;
    for (int depth = 0; head != HEAD_NONE && !any && depth < EVENTS_FOLLOWED; depth++) {
        for (size_t i = f->rank_first[r]; i < f->rank_first[r + 1]; i++) {
            const struct waiter *w = &f->waiters[f->by_rank[i]];
            if (w->head == head)
                any |= add_edge(f, n, w->node);
        }
        head = f->heads[r].list[head].behind;
    }
    return any;
}

/* Edges to all in which the rank waits. */
static bool wait_for_rank(struct finder *f, uint32_t n, uint32_t r)
{
    bool any = false;
    for (size_t i = f->rank_first[r]; i < f->rank_first[r + 1]; i++)
        any |= add_edge(f, n, f->waiters[f->by_rank[i]].node);
    return any;
}

/* What the rank is in, the longest of it; else what it called last; NULL. */
static const struct op *occupation(const struct finder *f, uint32_t r)
{
    const struct rank *rank = &f->run->ranks[r];
    const struct heads *h = &f->heads[r];
    const struct op *last = NULL;
    const struct head *oldest = NULL;
    for (size_t i = 0; i < h->count; i++) {
        if (oldest == NULL || h->list[i].begin_ns < oldest->begin_ns)
            oldest = &h->list[i];
    }
    if (oldest != NULL)
        return &rank->ops[oldest->op];
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (op->host_ns != UNKNOWN_NS && (last == NULL || op->host_ns >= last->host_ns))
            last = op;
    }
    return last;
}

/* A traced member that called the operation, or did not. */
static void look_at_member(struct finder *f, uint32_t n, uint32_t r, const struct call *key)
{
    const struct rank *rank = &f->run->ranks[r];
    const struct waiter *w = find_waiter(f, &f->nodes[n], r);
    const struct call *call = calls_find(&f->made[r], key);
    struct fault fault = {HANG_NOT_CALLED, rank->rank, key->seq, key->seq, NULL};
    uint32_t head;
    if (w != NULL || call != NULL) {
        head = w == NULL              ? heads_of(&f->heads[r], &rank->ops[call->op])
               : w->head != HEAD_NONE ? f->heads[r].list[w->head].behind
                                      : HEAD_NONE;
        if (head == HEAD_NONE || wait_for_head(f, n, r, head))
            return;
        fault.cause = HANG_BEHIND;
        fault.instead = &rank->ops[f->heads[r].list[head].op];
    } else {
        fault.instead = occupation(f, r);
        if (wait_for_rank(f, n, r))
            fault.cause = HANG_CIRCLE; /* where it turns out to be one */
    }
    add_fault(f, n, fault);
}

/* Where a communicator is the whole job, members that no trace names have their own numbers, as
 * long as those that are named do; -1 not known. */
static int number_of(const struct run *run, const struct comm *comm, int member)
{
    if (comm->ranks[member] >= 0 || comm->size != run->world_size)
        return comm->ranks[member];
    for (int i = 0; i < comm->size; i++) {
        if (comm->ranks[i] >= 0 && comm->ranks[i] != i)
            return -1;
    }
    return member;
}

static void add_untraced(struct finder *f, uint32_t n, const struct comm *comm, int member)
{
    const struct waiter *w = &f->waiters[f->nodes[n].first];
    int number = number_of(f->run, comm, member);
    add_fault(f, n, (struct fault){HANG_NO_TRACE, number, w->seq, w->seq, NULL});
}

/* Several members in one process call one number several times. */
static bool called_twice(const struct calls_made *made, const struct call *key)
{
    const struct call *call = calls_find(made, key);
    const struct call *end = made->list + made->count;
    if (call == NULL)
        return false;
    return (call > made->list && call[-1].comm == key->comm && call[-1].way == key->way &&
            call[-1].seq == key->seq) ||
           (call + 1 < end && call[1].comm == key->comm && call[1].way == key->way &&
            call[1].seq == key->seq);
}

/* ---- collectives ---- */

static const enum hang_cause cause_of[] = {
    [CALL_SKIPPED] = HANG_SKIPPED,
    [CALL_EXTRA] = HANG_EXTRA,
    [CALL_OTHER] = HANG_OTHER,
    [CALL_TIED] = HANG_DIFFER,
};

/* The traced members of a communicator, for calls_compare(). */
struct members {
    const struct rank **ranks;
    const struct calls_made **made;
    uint32_t *index;
    struct call_verdict *verdicts;
    size_t n;
};

static struct members traced_members(struct finder *f, const struct comm *comm)
{
    size_t size = (size_t)comm->size;
    struct members m = {arena_alloc(&f->arena, size * sizeof *m.ranks),
                        arena_alloc(&f->arena, size * sizeof *m.made),
                        arena_alloc(&f->arena, size * sizeof *m.index),
                        arena_alloc(&f->arena, size * sizeof *m.verdicts), 0};
    for (size_t i = 0; i < size; i++) {
        uint32_t r = rank_index(f, comm->ranks[i]);
        if (r == NONE)
            continue;
        m.ranks[m.n] = &f->run->ranks[r];
        m.made[m.n] = &f->made[r];
        m.index[m.n++] = r;
    }
    return m;
}

static void look_at_collective(struct finder *f, uint32_t n)
{
    const struct waiter *w = &f->waiters[f->nodes[n].first];
    const struct comm *comm = &f->run->comms[w->comm];
    struct call key = {.comm = w->comm, .way = CALL_COLLECTIVE, .peer = -1, .seq = w->seq};
    struct members m = traced_members(f, comm);
    f->nodes[n].opaque = comm->size == 0;
    for (size_t i = 0; i < m.n; i++)
        f->nodes[n].opaque |= called_twice(m.made[i], &key);
    if (f->nodes[n].opaque)
        return;
    for (int i = 0; i < comm->size; i++) {
        if (rank_index(f, comm->ranks[i]) == NONE)
            add_untraced(f, n, comm, i);
    }
    calls_compare(m.verdicts, m.ranks, m.made, m.n, key.comm, key.seq);
    for (size_t i = 0; i < m.n; i++) {
        const struct call_verdict *v = &m.verdicts[i];
        if (v->fault == CALL_SAME)
            look_at_member(f, n, m.index[i], &key);
        else
            add_fault(f, n,
                      (struct fault){cause_of[v->fault], m.ranks[i]->rank, v->seq, v->first,
                                     &m.ranks[i]->ops[v->op]});
    }
}

/* ---- messages ---- */

static const struct op *op_at_end(const struct finder *f, uint32_t r, const struct call *key)
{
    const struct call *call = r != NONE ? calls_find(&f->made[r], key) : NULL;
    return call != NULL ? &f->run->ranks[r].ops[call->op] : NULL;
}

static void look_at_message(struct finder *f, uint32_t n)
{
    const struct waiter *w = &f->waiters[f->nodes[n].first];
    const struct comm *comm = &f->run->comms[w->comm];
    int32_t ends[2] = {w->sender, w->receiver};
    const struct op *ops[2];
    struct call keys[2] = {{w->seq, w->comm, w->receiver, 0, CALL_SEND},
                           {w->seq, w->comm, w->sender, 0, CALL_RECV}};
    for (int k = 0; k < 2; k++)
        ops[k] = op_at_end(f, rank_index(f, comm->ranks[ends[k]]), &keys[k]);
    bool differ = ops[0] != NULL && ops[1] != NULL && ops[0]->bytes != ops[1]->bytes &&
                  !((ops[0]->flags | ops[1]->flags) & OP_BYTES_UNKNOWN);
    for (int k = 0; k < 2; k++) {
        uint32_t r = rank_index(f, comm->ranks[ends[k]]);
        if (differ)
            add_fault(f, n,
                      (struct fault){HANG_DIFFER, f->run->ranks[r].rank, w->seq, w->seq, ops[k]});
        else if (r == NONE)
            add_untraced(f, n, comm, ends[k]);
        else
            look_at_member(f, n, r, &keys[k]);
    }
}

/* Where all is well with an operation itself, it waits for what was launched in one group with it.
 */
static void wait_for_group(struct finder *f, uint32_t n)
{
    struct node *node = &f->nodes[n];
    if (node->nfaults > 0 || node->nedges > 0)
        return;
    for (size_t i = node->first; i < node->first + node->count; i++) {
        const struct waiter *w = &f->waiters[i];
        if (w->head != HEAD_NONE)
            wait_for_head(f, n, w->rank, w->head);
    }
}

static void look_at_all(struct finder *f)
{
    for (uint32_t n = 0; n < f->nnodes; n++) {
        f->nodes[n].first_fault = f->nfaults;
        if (f->waiters[f->nodes[n].first].sender < 0)
            look_at_collective(f, n);
        else
            look_at_message(f, n);
    }
    for (uint32_t n = 0; n < f->nnodes; n++)
        wait_for_group(f, n);
}

/* ---- from what follows to where it begins ---- */

/* The surest thing that is wrong; CIRCLE and ALL_CALLED say that nothing is by itself. */
static enum hang_cause cause_at(const struct finder *f, const struct node *node)
{
    enum hang_cause cause = HANG_ALL_CALLED;
    for (size_t i = 0; i < node->nfaults; i++) {
        const struct fault *fault = &f->faults[node->first_fault + i];
        if (fault->cause < cause)
            cause = fault->cause;
    }
    return cause;
}

static bool is_root(const struct finder *f, const struct node *node)
{
    return cause_at(f, node) < HANG_NO_TRACE || node->nedges == 0;
}

static int by_target(const void *pa, const void *pb)
{
    const struct edge *a = pa, *b = pb;
    return a->to != b->to ? ORDER(a->to, b->to) : ORDER(a->from, b->from);
}

/* The edges that lead to a node, of those sorted by target. */
static size_t first_edge_to(const struct finder *f, uint32_t to)
{
    size_t low = 0, high = f->nedges;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (f->edges[mid].to < to)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Gives what leads to queue[0..count), which are roots, to their account. */
static void spread(struct finder *f, uint32_t *queue, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        uint32_t n = queue[at];
        for (size_t i = first_edge_to(f, n); i < f->nedges && f->edges[i].to == n; i++) {
            struct node *from = &f->nodes[f->edges[i].from];
            if (from->root != NONE)
                continue;
            from->root = f->nodes[n].root;
            queue[count++] = f->edges[i].from;
        }
    }
}

/* An operation for which `n` waits and that has no account yet. */
static uint32_t next_open(const struct finder *f, uint32_t n)
{
    const struct node *node = &f->nodes[n];
    for (size_t i = node->first_edge; i < node->first_edge + node->nedges; i++) {
        if (f->nodes[f->out[i].to].root == NONE)
            return f->out[i].to;
    }
    return NONE;
}

/* From a node that leads to no root one comes into a circle: in it, where most ranks wait. */
static uint32_t worst_in_circle(const struct finder *f, uint32_t n)
{
    uint32_t worst;
    for (size_t i = 0; i < f->nnodes; i++) /* far enough to be in it */
        n = next_open(f, n);
    worst = n;
    for (uint32_t k = next_open(f, n); k != n; k = next_open(f, k)) {
        if (f->nodes[k].count > f->nodes[worst].count ||
            (f->nodes[k].count == f->nodes[worst].count && k < worst))
            worst = k;
    }
    return worst;
}

static int by_source(const void *pa, const void *pb)
{
    const struct edge *a = pa, *b = pb;
    return a->from != b->from ? ORDER(a->from, b->from) : ORDER(a->to, b->to);
}

static void sort_edges(struct finder *f)
{
    size_t at = 0;
    f->out = arena_alloc(&f->arena, (f->nedges + 1) * sizeof *f->out);
    if (f->nedges == 0)
        return;
    memcpy(f->out, f->edges, f->nedges * sizeof *f->out);
    qsort(f->out, f->nedges, sizeof *f->out, by_source);
    qsort(f->edges, f->nedges, sizeof *f->edges, by_target);
    for (uint32_t n = 0; n < f->nnodes; n++) {
        f->nodes[n].first_edge = at;
        at += f->nodes[n].nedges;
    }
}

static void find_roots(struct finder *f)
{
    uint32_t *queue = arena_alloc(&f->arena, (f->nnodes + 1) * sizeof *queue);
    size_t count = 0;
    sort_edges(f);
    for (uint32_t n = 0; n < f->nnodes; n++) {
        if (!is_root(f, &f->nodes[n]))
            continue;
        f->nodes[n].root = n;
        queue[count++] = n;
    }
    spread(f, queue, count);
    for (uint32_t n = 0; n < f->nnodes; n++) {
        while (f->nodes[n].root == NONE) {
            queue[0] = worst_in_circle(f, n);
            f->nodes[queue[0]].root = queue[0];
            spread(f, queue, 1);
        }
    }
}

/* ---- the result ---- */

static bool is_at_fault(const struct hang *hang, int rank)
{
    for (size_t i = 0; i < hang->nranks; i++) {
        if (hang->ranks[i] == rank)
            return true;
    }
    return false;
}

/* Everything of the node's faults that has this cause. */
static void take_faults(struct hang *hang, struct hangs *h, const struct finder *f,
                        const struct node *node)
{
    int *ranks = arena_alloc(&h->arena, (node->nfaults + 1) * sizeof *ranks);
    for (size_t i = 0; i < node->nfaults; i++) {
        const struct fault *fault = &f->faults[node->first_fault + i];
        if (fault->cause != hang->cause)
            continue;
        if (hang->nranks == 0) {
            hang->seq = fault->seq;
            hang->first = fault->first;
            hang->instead = fault->instead;
        }
        ranks[hang->nranks++] = fault->rank;
    }
    hang->ranks = ranks;
}

/* The operation as the majority called it at the number where the fault is. */
static const struct op *op_of_others(const struct finder *f, const struct hang *hang)
{
    const struct comm *comm = &f->run->comms[hang->comm];
    struct call key = {.comm = hang->comm, .way = CALL_COLLECTIVE, .peer = -1, .seq = hang->seq};
    for (int i = 0; i < comm->size; i++) {
        uint32_t r = rank_index(f, comm->ranks[i]);
        const struct op *op = op_at_end(f, r, &key);
        if (op != NULL && !is_at_fault(hang, f->run->ranks[r].rank))
            return op;
    }
    return hang->op;
}

static void take_waiters(struct hang *hang, const struct finder *f, const struct node *node)
{
    bool any = false; /* in order of rank, so that the first is the lowest */
    for (size_t i = node->first; i < node->first + node->count; i++) {
        const struct waiter *w = &f->waiters[i];
        const struct rank *rank = &f->run->ranks[w->rank];
        int64_t end_ns = f->heads[w->rank].last_ns;
        if (w->head == HEAD_NONE)
            end_ns = machine_end(f, w->rank);
        if (end_ns - w->begin_ns > hang->waited_ns)
            hang->waited_ns = end_ns - w->begin_ns;
        if (is_at_fault(hang, rank->rank))
            continue;
        if (!any) {
            hang->one_waiting = rank->rank;
            hang->op = &rank->ops[w->op];
        }
        any = true;
        hang->waiting++;
    }
}

static void add_hang(struct hangs *h, const struct finder *f, uint32_t n)
{
    const struct node *node = &f->nodes[n];
    const struct waiter *w = &f->waiters[node->first];
    const struct comm *comm = &f->run->comms[w->comm];
    struct hang hang = {.cause = cause_at(f, node),
                        .comm = w->comm,
                        .seq = w->seq,
                        .first = w->seq,
                        .op = &f->run->ranks[w->rank].ops[w->op],
                        .sender = -1,
                        .receiver = -1};
    if (w->sender >= 0) {
        hang.sender = number_of(f->run, comm, w->sender);
        hang.receiver = number_of(f->run, comm, w->receiver);
    }
    take_faults(&hang, h, f, node);
    take_waiters(&hang, f, node);
    if (w->sender < 0)
        hang.op = op_of_others(f, &hang);
    for (uint32_t i = 0; i < f->nnodes; i++)
        hang.followers += i != n && f->nodes[i].root == n;
    ARRAY_GROW(h->list, h->cap, h->count + 1);
    h->list[h->count++] = hang;
}

/* Device work that has started and does not end, where no communication hangs. */
static void add_work(struct hangs *h, const struct finder *f)
{
    int *ranks = arena_alloc(&h->arena, f->run->nranks * sizeof *ranks);
    struct hang hang = {.cause = HANG_WORK,
                        .comm = -1,
                        .seq = -1,
                        .first = -1,
                        .ranks = ranks,
                        .sender = -1,
                        .receiver = -1};
    for (size_t r = 0; r < f->run->nranks; r++) {
        const struct heads *heads = &f->heads[r];
        for (size_t i = 0; i < heads->count; i++) {
            const struct op *op = &f->run->ranks[r].ops[heads->list[i].op];
            if (op->start_ns == UNKNOWN_NS || op->class == OP_COLL || op->class == OP_P2P)
                continue;
            hang.op = hang.op == NULL ? op : hang.op;
            if (heads->last_ns - heads->list[i].begin_ns > hang.waited_ns)
                hang.waited_ns = heads->last_ns - heads->list[i].begin_ns;
            ranks[hang.nranks++] = f->run->ranks[r].rank;
            break;
        }
    }
    if (hang.nranks == 0)
        return;
    ARRAY_GROW(h->list, h->cap, h->count + 1);
    h->list[h->count++] = hang;
}

static int by_weight(const void *pa, const void *pb)
{
    const struct hang *a = pa, *b = pb;
    size_t wa = a->waiting + a->followers, wb = b->waiting + b->followers;
    if (wa != wb)
        return ORDER(wb, wa);
    if (a->waited_ns != b->waited_ns)
        return ORDER(b->waited_ns, a->waited_ns);
    return a->comm != b->comm ? ORDER(a->comm, b->comm) : ORDER(a->seq, b->seq);
}

/* ---- all of it ---- */

static void find_ends(struct finder *f)
{
    const struct run *run = f->run;
    size_t n = 1;
    for (size_t r = 0; r < run->nranks; r++)
        n = (size_t)run->ranks[r].domain >= n ? (size_t)run->ranks[r].domain + 1 : n;
    f->domain_end = arena_alloc(&f->arena, n * sizeof *f->domain_end);
    for (size_t d = 0; d < n; d++)
        f->domain_end[d] = UNKNOWN_NS;
    for (size_t r = 0; r < run->nranks; r++) {
        int64_t *end_ns = &f->domain_end[run->ranks[r].domain];
        *end_ns = f->heads[r].last_ns > *end_ns ? f->heads[r].last_ns : *end_ns;
    }
}

static bool finder_open(struct finder *f, const struct run *run)
{
    bool any = false;
    *f = (struct finder){.run = run};
    arena_init(&f->arena);
    f->heads = arena_alloc(&f->arena, run->nranks * sizeof *f->heads);
    f->made = arena_alloc(&f->arena, run->nranks * sizeof *f->made);
    for (size_t r = 0; r < run->nranks; r++) {
        heads_find(&f->heads[r], &run->ranks[r], HANG_NS, HANG_STILL_NS);
        any = any || f->heads[r].count > 0 || may_be_uneven(&run->ranks[r]);
    }
    find_ends(f);
    return any;
}

static void finder_close(struct finder *f)
{
    for (size_t r = 0; r < f->run->nranks; r++) {
        heads_release(&f->heads[r]);
        calls_made_release(&f->made[r]);
    }
    free(f->waiters);
    free(f->nodes);
    free(f->faults);
    free(f->edges);
    arena_release(&f->arena);
}

static void find_all(struct hangs *h, struct finder *f)
{
    for (size_t r = 0; r < f->run->nranks; r++)
        calls_made(&f->made[r], &f->run->ranks[r]);
    for (uint32_t r = 0; r < f->run->nranks; r++)
        add_heads(f, r);
    for (size_t c = 0; c < f->run->ncomms && f->nwaiters == 0; c++)
        add_uneven(f, (int32_t)c);
    make_nodes(f);
    index_by_rank(f);
    look_at_all(f);
    find_roots(f);
    for (uint32_t n = 0; n < f->nnodes; n++) {
        if (f->nodes[n].root == n && !f->nodes[n].opaque)
            add_hang(h, f, n);
    }
    if (h->count == 0)
        add_work(h, f);
    if (h->count > 0)
        qsort(h->list, h->count, sizeof *h->list, by_weight);
}

void hangs_find(struct hangs *h, const struct run *run)
{
    struct finder f;
    memset(h, 0, sizeof *h);
    arena_init(&h->arena);
    if (finder_open(&f, run))
        find_all(h, &f);
    finder_close(&f);
}

void hangs_release(struct hangs *h)
{
    free(h->list);
    arena_release(&h->arena);
    memset(h, 0, sizeof *h);
}
