/* SPDX-License-Identifier: MIT
 *
 * The second step of the search for hangs: of each operation in which ranks wait, the members that
 * did not call it or called something else, and the operations that keep it waiting
 * (hang_finder.h).
 */
#include "analysis/hang_finder.h"

#include "base/arena.h"
#include "base/order.h"

#include <stdlib.h>

#define EVENTS_FOLLOWED 16 /* from stream to stream of one rank */

/* ---- faults and edges ---- */

static bool add_edge(struct hang_finder *f, uint32_t from, uint32_t to)
{
    if (from == to)
        return false;
    ARRAY_GROW(f->edges, f->cap_edges, f->nedges + 1);
    f->edges[f->nedges++] = (struct edge){from, to};
    f->nodes[from].nedges++;
    return true;
}

static struct fault fault_of(enum hang_cause cause, int rank, int64_t seq)
{
    return (struct fault){.cause = cause, .rank = rank, .seq = seq, .first = seq, .shared = -1};
}

static void add_fault(struct hang_finder *f, uint32_t n, struct fault fault)
{
    ARRAY_GROW(f->faults, f->cap_faults, f->nfaults + 1);
    f->faults[f->nfaults++] = fault;
    f->nodes[n].nfaults++;
}

/* Edges to whatever the rank's head stands for: communication, or work that waits for another
 * stream. False when there is none. */
static bool wait_for_head(struct hang_finder *f, uint32_t n, uint32_t r, uint32_t head)
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

/* Returns the operation that the rank has been in longest; else its last call; NULL. */
static const struct op *occupation(const struct hang_finder *f, uint32_t r)
{
    const struct rank *rank = &f->run->ranks[r];
    const struct heads *h = &f->heads[r];
    const struct op *last = NULL;
    const struct stream_head *oldest = NULL;
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

/* Returns whether a member without a record of the call made it all the same: a later one of its
 * calls is recorded, or it says so. It has then finished it, since unfinished calls are recorded. A
 * number above those of all others is one of messages (pg_status has one number for both). */
static bool has_passed(const struct hang_finder *f, uint32_t r, const struct numbered_call *key)
{
    const struct comm *comm = &f->run->comms[key->comm];
    const struct membership *in;
    int64_t highest = -1; /* that some record of the members holds */
    if (calls_later(&f->made[r], key))
        return true;
    in = key->kind == CALL_COLLECTIVE ? rank_member(&f->run->ranks[r], key->comm) : NULL;
    if (in == NULL || in->called < key->seq)
        return false;
    for (int i = 0; i < comm->size; i++) {
        uint32_t other = finder_rank(f, comm->ranks[i]);
        size_t first, end;
        if (other == NONE)
            continue;
        calls_of_comm(&f->made[other], key->comm, &first, &end);
        if (first < end && f->made[other].list[end - 1].seq > highest)
            highest = f->made[other].list[end - 1].seq;
    }
    return in->called <= highest;
}

/* A traced member that called the operation, or did not. */
static void check_member(struct hang_finder *f, uint32_t n, uint32_t r,
                         const struct numbered_call *key)
{
    const struct rank *rank = &f->run->ranks[r];
    const struct waiter *w = finder_waiter(f, &f->nodes[n], r);
    const struct numbered_call *call = calls_find(&f->made[r], key);
    struct fault fault = fault_of(HANG_NOT_CALLED, rank->rank, key->seq);
    const struct op *op = call != NULL ? &rank->ops[call->op] : NULL;
    uint32_t head;
    bool ended = op == NULL
                     ? has_passed(f, r, key)
                     : op_timed(op) || (rank->undated && op->timing == SPECTER_TIMING_UNKNOWN);
    if (ended) {
        f->nodes[n].ended++;
        return;
    }
    if (w != NULL || op != NULL) {
        head = w == NULL              ? heads_of_op(&f->heads[r], op)
               : w->head != HEAD_NONE ? f->heads[r].list[w->head].behind
                                      : HEAD_NONE;
        if (head == HEAD_NONE || wait_for_head(f, n, r, head))
            return;
        fault.cause = HANG_BEHIND;
        fault.instead = &rank->ops[f->heads[r].list[head].op];
    } else {
        fault.instead = occupation(f, r);
        f->nodes[n].unsure = f->made[r].in_order && key->kind != CALL_COLLECTIVE;
        for (size_t i = f->rank_first[r]; i < f->rank_first[r + 1]; i++) {
            if (add_edge(f, n, f->waiters[f->by_rank[i]].node))
                fault.cause = HANG_CIRCLE; /* where it turns out to be one */
        }
    }
    add_fault(f, n, fault);
}

/* Asked for each of up to a million members, so what is found of the communicator is kept. */
int finder_rank_of_member(struct hang_finder *f, int32_t c, int member)
{
    const struct comm *comm = &f->run->comms[c];
    if (comm->ranks[member] >= 0)
        return comm->ranks[member];
    if (f->ranks_global[c] == RANKS_NOT_CHECKED) {
        f->ranks_global[c] = comm->size == f->run->world_size ? RANKS_GLOBAL : RANKS_RENUMBERED;
        for (int i = 0; i < comm->size && f->ranks_global[c] == RANKS_GLOBAL; i++) {
            if (comm->ranks[i] >= 0 && comm->ranks[i] != i)
                f->ranks_global[c] = RANKS_RENUMBERED;
        }
    }
    return f->ranks_global[c] == RANKS_GLOBAL ? member : -1;
}

static void add_untraced(struct hang_finder *f, uint32_t n, int member)
{
    const struct waiter *w = &f->waiters[f->nodes[n].first];
    int number = finder_rank_of_member(f, w->comm, member);
    add_fault(f, n, fault_of(HANG_NO_TRACE, number, w->seq));
}

/* Returns whether the rank called one number several times, as one that is several members does (on
 * one device, or where the trace does not tell devices). */
static bool called_twice(const struct calls_made *made, const struct numbered_call *key)
{
    const struct numbered_call *call = calls_find(made, key), *end;
    if (call == NULL)
        return false;
    end = made->list + made->count;
    return (call > made->list && call[-1].comm == key->comm && call[-1].kind == key->kind &&
            call[-1].seq == key->seq) ||
           (call + 1 < end && call[1].comm == key->comm && call[1].kind == key->kind &&
            call[1].seq == key->seq);
}

/* ---- collectives ---- */

static const enum hang_cause cause_of[] = {
    [CALL_SKIPPED] = HANG_SKIPPED,
    [CALL_EXTRA] = HANG_EXTRA,
    [CALL_OTHER] = HANG_OTHER,
    [CALL_TIED] = HANG_DIFFER,
};

/* Nodes come by communicator, so that each one's members are collected once. */
static const struct members *traced_members(struct hang_finder *f, int32_t c)
{
    const struct comm *comm = &f->run->comms[c];
    struct members *m = &f->members;
    if (m->comm == c)
        return m;
    size_t n = 1;
    for (int i = 0; i < comm->size; i++)
        n += finder_rank(f, comm->ranks[i]) != NONE;
    *m = (struct members){c,
                          0,
                          arena_alloc(&f->arena, n * sizeof *m->ranks),
                          arena_alloc(&f->arena, n * sizeof *m->made),
                          arena_alloc(&f->arena, n * sizeof *m->index),
                          arena_alloc(&f->arena, n * sizeof *m->verdicts)};
    for (int i = 0; i < comm->size; i++) {
        uint32_t r = finder_rank(f, comm->ranks[i]);
        if (r == NONE)
            continue;
        m->ranks[m->n] = &f->run->ranks[r];
        m->made[m->n] = &f->made[r];
        m->index[m->n++] = r;
    }
    return m;
}

/* An operation that some have finished does not wait for calls any more: the members in which it
 * goes on are at fault, unless they are the most. Of a received message that is the sender; a small
 * one is sent before its receiver has come to it. */
static void add_unfinished(struct hang_finder *f, uint32_t n)
{
    const struct wait_node *node = &f->nodes[n];
    const struct waiter *first = &f->waiters[node->first];
    const struct comm *comm = &f->run->comms[first->comm];
    bool sends =
        first->sender >= 0 && comm->ranks[first->sender] == f->run->ranks[first->rank].rank;
    size_t members = first->sender >= 0 ? 2 : (size_t)comm->size;
    bool all_called = true; /* as far as calls are recorded */
    for (size_t i = 0; i < node->nfaults; i++)
        all_called = all_called && f->faults[node->first_fault + i].cause == HANG_NO_TRACE;
    if (node->ended == 0 || 2 * node->count > members || !all_called ||
        !(sends ||
          specter_comm_op_waits_for_all(f->run->ranks[first->rank].ops[first->op].coll.op)))
        return;
    for (size_t i = node->first; i < node->first + node->count; i++) {
        const struct waiter *w = &f->waiters[i];
        add_fault(f, n, fault_of(HANG_UNFINISHED, f->run->ranks[w->rank].rank, w->seq));
    }
}

/* Compares the members' calls up to number `seq`: notes what differs. */
static void add_different(struct hang_finder *f, uint32_t n, const struct members *m, int64_t seq)
{
    calls_compare(m, seq);
    for (size_t i = 0; i < m->n; i++) {
        const struct call_verdict *v = &m->verdicts[i];
        struct fault fault;
        if (v->fault == CALL_SAME)
            continue;
        fault = fault_of(cause_of[v->fault], m->ranks[i]->rank, v->seq);
        fault.first = v->first;
        fault.instead = &m->ranks[i]->ops[v->op];
        add_fault(f, n, fault);
    }
}

static void check_collective(struct hang_finder *f, uint32_t n)
{
    const struct waiter *w = &f->waiters[f->nodes[n].first];
    const struct comm *comm = &f->run->comms[w->comm];
    struct numbered_call key = {
        .comm = w->comm, .kind = CALL_COLLECTIVE, .peer = -1, .seq = w->seq};
    const struct members *m = traced_members(f, w->comm);
    f->nodes[n].opaque = comm->size == 0;
    for (size_t i = 0; i < m->n; i++)
        f->nodes[n].opaque |= called_twice(m->made[i], &key);
    if (f->nodes[n].opaque)
        return;
    for (int i = 0; i < comm->size; i++) {
        if (finder_rank(f, comm->ranks[i]) == NONE)
            add_untraced(f, n, i);
    }
    add_different(f, n, m, key.seq);
    for (size_t i = 0; i < m->n; i++) {
        if (m->verdicts[i].fault == CALL_SAME)
            check_member(f, n, m->index[i], &key);
    }
    add_unfinished(f, n);
}

/* Faults that are surer take the place of those that the operation has. */
bool finder_differs_later(struct hang_finder *f, uint32_t n)
{
    struct wait_node *node = &f->nodes[n];
    const struct waiter *w = &f->waiters[node->first];
    const struct members *m;
    struct wait_node before = *node;
    int64_t last = INT64_MAX; /* number that all of them have recorded */
    if (node->opaque || w->sender >= 0)
        return false;
    m = traced_members(f, w->comm);
    for (size_t i = 0; i < m->n; i++) {
        size_t first, end;
        calls_of_comm(m->made[i], m->comm, &first, &end);
        if (first == end)
            return false;
        if (m->made[i]->list[end - 1].seq < last)
            last = m->made[i]->list[end - 1].seq;
    }
    if (last <= w->seq)
        return false;
    node->first_fault = f->nfaults;
    node->nfaults = 0;
    add_different(f, n, m, last);
    if (node->nfaults == 0)
        *node = before;
    return finder_cause(f, node) < HANG_DIFFER;
}

/* ---- messages ---- */

static void check_message(struct hang_finder *f, uint32_t n)
{
    const struct waiter *w = &f->waiters[f->nodes[n].first];
    const struct comm *comm = &f->run->comms[w->comm];
    int32_t ends[2] = {w->sender, w->receiver};
    const struct op *ops[2];
    struct numbered_call keys[2] = {{w->seq, w->comm, w->receiver, 0, CALL_SEND},
                                    {w->seq, w->comm, w->sender, 0, CALL_RECV}};
    for (int k = 0; k < 2; k++)
        ops[k] = finder_op(f, finder_rank(f, comm->ranks[ends[k]]), &keys[k]);
    bool differ = ops[0] != NULL && ops[1] != NULL && ops[0]->bytes != ops[1]->bytes &&
                  !((ops[0]->flags | ops[1]->flags) & OP_BYTES_UNKNOWN);
    for (int k = 0; k < 2; k++) {
        uint32_t r = finder_rank(f, comm->ranks[ends[k]]);
        if (differ) {
            struct fault fault = fault_of(HANG_DIFFER, f->run->ranks[r].rank, w->seq);
            fault.instead = ops[k];
            add_fault(f, n, fault);
        } else if (r == NONE) {
            add_untraced(f, n, ends[k]);
        } else {
            check_member(f, n, r, &keys[k]);
        }
    }
    add_unfinished(f, n);
}

/* The operation in which a rank waits, and when it called it. */
struct wait_place {
    int64_t host_ns;
    uint64_t id;
    uint32_t node;
    bool begun;
};

static int by_call(const void *pa, const void *pb)
{
    const struct wait_place *a = pa, *b = pb;
    return a->host_ns != b->host_ns ? ORDER(a->host_ns, b->host_ns) : ORDER(a->id, b->id);
}

/* Edges from each operation in which the rank waits, and that nothing certain keeps from its end,
 * to the one that it called before: traces of calls alone do not tell which stream waits for which,
 * and on the device, what is called later mostly stands after what was called before. `open`
 * tells, by node, of which that is so. */
static void assume_order(struct hang_finder *f, uint32_t r, const bool *open)
{
    size_t first = f->rank_first[r], n = f->rank_first[r + 1] - first;
    struct wait_place *places = array_new(n, sizeof *places);
    for (size_t i = 0; i < n; i++) {
        const struct waiter *w = &f->waiters[f->by_rank[first + i]];
        const struct op *op = &f->run->ranks[r].ops[w->op];
        places[i] = (struct wait_place){op->host_ns, op->id, w->node, op->start_ns != UNKNOWN_NS};
    }
    qsort(places, n, sizeof *places, by_call);
    for (size_t i = 1; i < n; i++) {
        if (open[places[i].node] && !places[i].begun &&
            add_edge(f, places[i].node, places[i - 1].node))
            f->nodes[places[i].node].assumed = true;
    }
    free(places);
}

void finder_find_faults(struct hang_finder *f)
{
    bool *open = array_new(f->nnodes, sizeof *open);
    for (uint32_t n = 0; n < f->nnodes; n++) {
        f->nodes[n].first_fault = f->nfaults;
        if (f->waiters[f->nodes[n].first].sender < 0)
            check_collective(f, n);
        else
            check_message(f, n);
    }
    for (uint32_t n = 0; n < f->nnodes; n++) {
        /* An operation without a fault waits for the others of its group. */
        const struct wait_node *node = &f->nodes[n];
        if (node->nfaults > 0 || node->nedges > 0)
            continue;
        for (size_t i = node->first; i < node->first + node->count; i++) {
            const struct waiter *w = &f->waiters[i];
            if (w->head != HEAD_NONE)
                wait_for_head(f, n, w->rank, w->head);
        }
    }
    for (uint32_t n = 0; n < f->nnodes; n++) {
        const struct wait_node *node = &f->nodes[n];
        open[n] = node->nedges == 0 && (finder_cause(f, node) >= HANG_NO_TRACE || node->unsure);
    }
    for (uint32_t r = 0; r < f->run->nranks; r++) {
        if (f->run->ranks[r].undated)
            assume_order(f, r, open);
    }
    free(open);
}
