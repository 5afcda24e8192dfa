/* SPDX-License-Identifier: MIT */
#include "analysis/hang_finder.h"

#include <stdlib.h>

/* ---- who waits ---- */

const struct membership *finder_member(const struct hang_finder *f, uint32_t r, int32_t comm)
{
    const struct rank *rank = &f->run->ranks[r];
    for (size_t i = 0; i < rank->nin; i++) {
        if (rank->in[i].comm == comm)
            return &rank->in[i];
    }
    return NULL;
}

static void add_waiter(struct hang_finder *f, uint32_t r, uint32_t op, uint32_t head,
                       int64_t begin_ns)
{
    const struct rank *rank = &f->run->ranks[r];
    struct numbered_call call;
    struct blocked_rank w = {.sender = -1, .receiver = -1, .rank = r, .op = op, .head = head};
    const struct membership *in;
    int32_t own;
    if (!calls_of_op(&f->made[r], rank, op, &call))
        return;
    in = finder_member(f, r, call.comm);
    own = in != NULL ? in->rank : -1;
    if (call.kind != CALL_COLLECTIVE) {
        int size = f->run->comms[call.comm].size;
        if (own < 0 || own >= size || call.peer >= size)
            return;
        w.sender = call.kind == CALL_SEND ? own : call.peer;
        w.receiver = call.kind == CALL_SEND ? call.peer : own;
    }
    w.seq = call.seq;
    w.comm = call.comm;
    w.begin_ns = begin_ns;
    ARRAY_GROW(f->waiters, f->cap_waiters, f->nwaiters + 1);
    f->waiters[f->nwaiters++] = w;
}

/* The heads of a rank, and what was launched in one group with them. */
void finder_add_heads(struct hang_finder *f, uint32_t r)
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

bool finder_may_be_uneven(const struct rank *rank)
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

uint32_t finder_rank(const struct hang_finder *f, int number)
{
    const struct run *run = f->run;
    const struct rank *rank = NULL;
    if (number >= 0 && run->nranks > 0)
        rank = bsearch(&number, run->ranks, run->nranks, sizeof *rank, by_number);
    if (rank == NULL || (rank->nops + rank->nsync_calls == 0 && !rank->quiet))
        return NONE;
    return (uint32_t)(rank - run->ranks);
}

/* Number of the last collective; -1 none. */
static int64_t last_seq(const struct hang_finder *f, uint32_t r, int32_t comm)
{
    size_t first, end;
    calls_of_comm(&f->made[r], comm, &first, &end);
    return first < end ? f->made[r].list[end - 1].seq : -1;
}

int64_t finder_end(const struct hang_finder *f, uint32_t r)
{
    if (f->run->ranks[r].undated)
        return f->undated_end;
    return f->domain_end[f->run->ranks[r].domain];
}

static void add_uneven_member(struct hang_finder *f, uint32_t r, int32_t comm, int64_t seq)
{
    struct numbered_call key = {.comm = comm, .kind = CALL_COLLECTIVE, .peer = -1, .seq = seq};
    const struct numbered_call *call = calls_find(&f->made[r], &key);
    const struct op *op;
    if (call == NULL || f->run->ranks[r].complete)
        return;
    op = &f->run->ranks[r].ops[call->op];
    if (!end_unseen(op) || op->host_end_ns == UNKNOWN_NS ||
        finder_end(f, r) - op->host_end_ns < HANG_NS)
        return;
    add_waiter(f, r, call->op, HEAD_NONE, op->host_end_ns);
}

/* In the first collective that some traced member did not call, those that did may wait. */
void finder_add_uneven(struct hang_finder *f, int32_t c)
{
    const struct comm *comm = &f->run->comms[c];
    int64_t low = INT64_MAX, high = -1;
    for (int i = 0; i < comm->size; i++) {
        uint32_t r = finder_rank(f, comm->ranks[i]);
        int64_t last = r != NONE ? last_seq(f, r, c) : -1;
        if (r == NONE)
            continue;
        low = last < low ? last : low;
        high = last > high ? last : high;
    }
    for (int i = 0; i < comm->size && high > low; i++) {
        uint32_t r = finder_rank(f, comm->ranks[i]);
        if (r != NONE)
            add_uneven_member(f, r, c, low + 1);
    }
}

/* ---- operations in which ranks wait ---- */

static int by_operation(const struct blocked_rank *a, const struct blocked_rank *b)
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
    const struct blocked_rank *a = pa, *b = pb;
    int order = by_operation(a, b);
    if (order == 0)
        order = ORDER(a->rank, b->rank);
    return order != 0 ? order : ORDER(a->op, b->op);
}

void finder_make_nodes(struct hang_finder *f)
{
    if (f->nwaiters > 0)
        qsort(f->waiters, f->nwaiters, sizeof *f->waiters, by_waiter);
    for (size_t i = 0; i < f->nwaiters; i++) {
        if (i == 0 || by_operation(&f->waiters[i - 1], &f->waiters[i]) != 0) {
            ARRAY_GROW(f->nodes, f->cap_nodes, f->nnodes + 1);
            f->nodes[f->nnodes++] = (struct wait_node){.first = i, .root = NONE, .rival = NONE};
        }
        f->nodes[f->nnodes - 1].count++;
        f->waiters[i].node = (uint32_t)f->nnodes - 1;
    }
}

/* Lists where each rank waits. */
void finder_index(struct hang_finder *f)
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

bool finder_waits(const struct hang_finder *f, uint32_t r, uint32_t head)
{
    for (size_t i = f->rank_first[r]; i < f->rank_first[r + 1]; i++) {
        if (f->waiters[f->by_rank[i]].head == head)
            return true;
    }
    return false;
}

const struct blocked_rank *finder_waiter(const struct hang_finder *f, const struct wait_node *node,
                                         uint32_t r)
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
