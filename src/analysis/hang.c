/* SPDX-License-Identifier: MIT */
#include "analysis/hang.h"

#include "analysis/hang_finder.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

const char *hang_cause_name(enum hang_cause cause)
{
    static const char *const names[] = {
#define X(id, name, what) [HANG_##id] = name,
        HANG_CAUSES(X)
#undef X
    };
    return (unsigned)cause < HANG_CAUSE_COUNT ? names[cause] : "?";
}

bool hang_expired(const struct hang *hang)
{
    return hang->timeout_ns != UNKNOWN_NS && hang->timeout_ns > 0 &&
           hang->waited_ns >= hang->timeout_ns;
}

/* Asked of ranks that have a trace. */
static bool is_at_fault(const struct hang *hang, int rank)
{
    if (hang->cause == HANG_NO_TRACE)
        return false; /* those that have none; they may be a million */
    for (size_t i = 0; i < hang->nranks; i++) {
        if (hang->ranks[i] == rank)
            return true;
    }
    return false;
}

/* Everything of the node's faults that has this cause. */
static void take_faults(struct hang *hang, struct hangs *h, const struct hang_finder *f,
                        const struct wait_node *node)
{
    int *ranks = arena_alloc(&h->arena, (node->nfaults + 1) * sizeof *ranks);
    for (size_t i = 0; i < node->nfaults; i++) {
        const struct fault *fault = &f->faults[node->first_fault + i];
        if (fault->cause != hang->cause || fault->elsewhere)
            continue;
        if (hang->nranks == 0) {
            hang->seq = fault->seq;
            hang->first = fault->first;
            hang->instead = fault->instead;
            hang->shared = fault->shared;
        }
        ranks[hang->nranks++] = fault->rank;
    }
    hang->ranks = ranks;
    hang->undecided = hang->cause == HANG_DIFFER;
}

/* Names the rank that is missing in the other operation of a circle that may have begun in
 * either. */
static void take_rival(struct hang *hang, struct hangs *h, const struct hang_finder *f,
                       const struct wait_node *node)
{
    const struct wait_node *rival = node->rival != NONE ? &f->nodes[node->rival] : NULL;
    const struct fault *fault;
    int *both;
    if (rival == NULL || hang->cause != HANG_CIRCLE || hang->nranks != 1)
        return;
    fault = &f->faults[rival->first_fault];
    both = arena_alloc(&h->arena, 2 * sizeof *both);
    both[0] = hang->ranks[0];
    both[1] = fault->rank;
    qsort(both, 2, sizeof *both, order_ints);
    hang->missing = hang->ranks[0];
    hang->ranks = both;
    hang->nranks = 2;
    hang->undecided = true;
}

/* The operation as the majority called it at the number where the fault is. */
static const struct op *op_of_others(const struct hang_finder *f, const struct hang *hang)
{
    const struct comm *comm = &f->run->comms[hang->comm];
    struct numbered_call key = {
        .comm = hang->comm, .kind = CALL_COLLECTIVE, .peer = -1, .seq = hang->seq};
    for (int i = 0; i < comm->size; i++) {
        uint32_t r = finder_rank(f, comm->ranks[i]);
        const struct op *op = finder_op(f, r, &key);
        if (op != NULL && !is_at_fault(hang, f->run->ranks[r].rank))
            return op;
    }
    return hang->op;
}

/* Returns the longest wait, counted up to the first time-out instead of the end of the undated
 * traces. */
static int64_t timed_out_ns(const struct hang_finder *f, const struct hang *hang)
{
    if (!hang->at_least || f->deadline_ns == UNKNOWN_NS || f->deadline_ns <= f->undated_end)
        return UNKNOWN_NS;
    return ns_add(hang->waited_ns, f->deadline_ns - f->undated_end);
}

/* Returns the call that another member made where the first of those that differ called
 * hang->instead. */
static const struct op *op_that_differs(const struct hang_finder *f, const struct wait_node *node,
                                        const struct hang *hang)
{
    const struct op *a = hang->instead;
    for (size_t i = 0; i < node->nfaults && a != NULL; i++) {
        const struct op *b = f->faults[node->first_fault + i].instead;
        if (b != NULL && (a->name != b->name || a->bytes != b->bytes || a->dtype != b->dtype))
            return b;
    }
    return hang->op;
}

static void take_waiters(struct hang *hang, const struct hang_finder *f,
                         const struct wait_node *node)
{
    bool any = false; /* waiters are in order of rank: the first is the lowest */
    hang->timeout_ns = UNKNOWN_NS;
    for (size_t i = node->first; i < node->first + node->count; i++) {
        const struct waiter *w = &f->waiters[i];
        const struct rank *rank = &f->run->ranks[w->rank];
        int64_t end_ns = f->heads[w->rank].last_ns;
        if (w->head == HEAD_NONE || rank->undated)
            end_ns = finder_end_ns(f, w->rank);
        const struct membership *in = rank_member(&f->run->ranks[w->rank], w->comm);
        if (end_ns - w->begin_ns > hang->waited_ns)
            hang->waited_ns = end_ns - w->begin_ns;
        if (in != NULL && in->timeout_ns != UNKNOWN_NS &&
            (hang->timeout_ns == UNKNOWN_NS || in->timeout_ns < hang->timeout_ns))
            hang->timeout_ns = in->timeout_ns;
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

/* Returns how long before the newest time the rank called anything; UNKNOWN_NS: it called
 * nothing. */
static int64_t last_call_ns(const struct hang_finder *f, uint32_t r)
{
    const struct rank *rank = &f->run->ranks[r];
    int64_t last_ns = UNKNOWN_NS;
    for (size_t i = 0; i < rank->nops; i++)
        last_ns = rank->ops[i].host_ns > last_ns ? rank->ops[i].host_ns : last_ns;
    return last_ns != UNKNOWN_NS ? finder_end_ns(f, r) - last_ns : UNKNOWN_NS;
}

/* Returns whether, in a trace without a time of writing, time alone may bring what is missing. */
static bool may_end(const struct hang_finder *f, const struct wait_node *node,
                    const struct hang *hang)
{
    bool circle = hang->cause == HANG_ALL_CALLED && node->nedges > 0 && !node->assumed;
    if (!hang->at_least || hang->cause < HANG_NOT_CALLED || hang->cause == HANG_CIRCLE || circle)
        return false;
    if (hang->waited_ns < HANG_NS)
        return true;
    if (hang->cause != HANG_NOT_CALLED || hang_expired(hang))
        return false;
    for (size_t i = 0; i < hang->nranks; i++) { /* all that made another call may be slow */
        int64_t ago_ns = last_call_ns(f, finder_rank(f, hang->ranks[i]));
        if (ago_ns == UNKNOWN_NS || ago_ns >= HANG_NS)
            return false;
    }
    return true;
}

static void store_hang(struct hangs *h, const struct hang *hang)
{
    if (hang->possible && (hang->cause == HANG_ALL_CALLED || hang->cause == HANG_WORK)) {
        if (h->under_way++ == 0 || hang->waited_ns > h->oldest.waited_ns)
            h->oldest = *hang;
        return;
    }
    ARRAY_GROW(h->list, h->cap, h->count + 1);
    h->list[h->count++] = *hang;
}

static void add_hang(struct hangs *h, struct hang_finder *f, uint32_t n)
{
    const struct wait_node *node = &f->nodes[n];
    const struct waiter *w = &f->waiters[node->first];
    struct hang hang = {.cause = finder_cause(f, node),
                        .comm = w->comm,
                        .seq = w->seq,
                        .first = w->seq,
                        .op = &f->run->ranks[w->rank].ops[w->op],
                        .sender = -1,
                        .receiver = -1,
                        .missing = -1,
                        .shared = -1,
                        .instead_ns = UNKNOWN_NS,
                        .timeout_ns = UNKNOWN_NS,
                        .at_least = f->run->ranks[w->rank].undated};
    if (w->sender >= 0) {
        hang.sender = finder_rank_of_member(f, w->comm, w->sender);
        hang.receiver = finder_rank_of_member(f, w->comm, w->receiver);
    }
    take_faults(&hang, h, f, node);
    take_waiters(&hang, f, node);
    take_rival(&hang, h, f, node);
    if (w->sender < 0)
        hang.op =
            hang.cause == HANG_DIFFER ? op_that_differs(f, node, &hang) : op_of_others(f, &hang);
    else if (hang.cause == HANG_DIFFER) { /* the other end's call is at fault: hang.instead */
        struct numbered_call key = {
            .comm = w->comm, .kind = CALL_RECV, .peer = w->sender, .seq = w->seq};
        const struct op *op = finder_op(f, finder_rank(f, hang.receiver), &key);
        hang.op = op != NULL ? op : hang.op;
    }
    for (uint32_t i = 0; i < f->nnodes; i++)
        hang.followers += i != n && f->nodes[i].root == n;
    if (w->sender >= 0 && f->made[w->rank].in_order)
        hang.seq = hang.first = -1; /* a place among those that have not finished */
    hang.finished = node->ended;
    hang.timed_out_ns = timed_out_ns(f, &hang);
    if (hang.at_least && hang.cause == HANG_NOT_CALLED)
        hang.instead_ns = last_call_ns(f, finder_rank(f, hang.ranks[0]));
    hang.possible = may_end(f, node, &hang);
    store_hang(h, &hang);
}

/* Returns whether the head is device work that may run for ever: a kernel that has started, or
 * communication without a number (WaitSignal). Communication that the search has as a node is none.
 */
static bool does_not_end(const struct hang_finder *f, uint32_t r, uint32_t head)
{
    const struct stream_head *h = &f->heads[r].list[head];
    const struct op *op = &f->run->ranks[r].ops[h->op];
    if (!op_is_comm(op))
        return op->start_ns != UNKNOWN_NS;
    for (size_t i = f->rank_first[r]; i < f->rank_first[r + 1]; i++) {
        if (f->waiters[f->by_rank[i]].head == head)
            return false;
    }
    return h->behind == HEAD_NONE;
}

/* Device work that does not end, where no communication that can be followed hangs. */
static void add_work(struct hangs *h, const struct hang_finder *f)
{
    int *ranks = arena_alloc(&h->arena, f->run->nranks * sizeof *ranks);
    struct hang hang = {.cause = HANG_WORK,
                        .comm = -1,
                        .seq = -1,
                        .first = -1,
                        .ranks = ranks,
                        .sender = -1,
                        .receiver = -1,
                        .missing = -1,
                        .shared = -1,
                        .instead_ns = UNKNOWN_NS,
                        .timeout_ns = UNKNOWN_NS};
    for (uint32_t r = 0; r < f->run->nranks; r++) {
        const struct heads *heads = &f->heads[r];
        for (uint32_t i = 0; i < heads->count; i++) {
            const struct op *op = &f->run->ranks[r].ops[heads->list[i].op];
            int64_t end_ns;
            if (!does_not_end(f, r, i))
                continue;
            hang.op = hang.op == NULL ? op : hang.op;
            hang.at_least |= f->run->ranks[r].undated;
            end_ns = f->run->ranks[r].undated ? finder_end_ns(f, r) : heads->last_ns;
            if (end_ns - heads->list[i].begin_ns > hang.waited_ns)
                hang.waited_ns = end_ns - heads->list[i].begin_ns;
            ranks[hang.nranks++] = f->run->ranks[r].rank;
            break;
        }
    }
    if (hang.nranks == 0)
        return;
    hang.timed_out_ns = timed_out_ns(f, &hang);
    hang.possible = hang.at_least && hang.waited_ns < HANG_NS;
    store_hang(h, &hang);
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

/* The ranks of which there is no dump, where others wait in an operation of theirs. */
static void find_undumped(struct hangs *h, const struct hang_finder *f)
{
    size_t cap = 0, n = 0, kept = 0;
    for (size_t i = 0; i < f->nfaults; i++) {
        const struct fault *fault = &f->faults[i];
        if (fault->cause != HANG_NO_TRACE || fault->rank < 0 || !f->run->ranks[0].undated)
            continue;
        ARRAY_GROW(h->undumped, cap, n + 1);
        h->undumped[n++] = fault->rank;
    }
    if (n > 0)
        qsort(h->undumped, n, sizeof *h->undumped, order_ints);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || h->undumped[i] != h->undumped[kept - 1])
            h->undumped[kept++] = h->undumped[i];
    }
    h->nundumped = kept;
}

void hangs_find(struct hangs *h, const struct run *run)
{
    struct hang_finder f;
    memset(h, 0, sizeof *h);
    arena_init(&h->arena);
    if (finder_init(&f, run)) {
        finder_find_faults(&f);
        finder_find_roots(&f);
        for (uint32_t n = 0; n < f.nnodes; n++) {
            if (f.nodes[n].root == n && !f.nodes[n].opaque)
                add_hang(h, &f, n);
        }
        if (h->count == 0)
            add_work(h, &f);
        if (h->count > 0)
            qsort(h->list, h->count, sizeof *h->list, by_weight);
        find_undumped(h, &f);
    }
    finder_release(&f);
}

void hangs_release(struct hangs *h)
{
    free(h->list);
    free(h->undumped);
    arena_release(&h->arena);
    memset(h, 0, sizeof *h);
}
