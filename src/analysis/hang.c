/* SPDX-License-Identifier: MIT */
#include "analysis/hang.h"

#include "analysis/hang_finder.h"

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

/* ---- the result ---- */

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
        uint32_t r = finder_rank(f, comm->ranks[i]);
        const struct op *op = finder_op(f, r, &key);
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
        if (w->head == HEAD_NONE || rank->undated)
            end_ns = finder_end(f, w->rank);
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

/* What the receiver of a message called; the other one's call is at fault (hang->instead). */
static const struct op *op_of_receiver(const struct finder *f, const struct hang *hang,
                                       const struct waiter *w)
{
    struct call key = {.comm = w->comm, .way = CALL_RECV, .peer = w->sender, .seq = w->seq};
    const struct op *op = finder_op(f, finder_rank(f, hang->receiver), &key);
    return op != NULL ? op : hang->op;
}

/* Of a trace that does not say when it was written, and does not show HANG_NS: may time alone
 * bring what is missing? */
static bool is_young(const struct node *node, const struct hang *hang)
{
    bool circle = hang->cause == HANG_ALL_CALLED && node->nedges > 0;
    return hang->at_least && hang->waited_ns < HANG_NS && hang->cause >= HANG_NOT_CALLED &&
           hang->cause != HANG_CIRCLE && !circle;
}

static void keep(struct hangs *h, const struct hang *hang)
{
    if (hang->possible && (hang->cause == HANG_ALL_CALLED || hang->cause == HANG_WORK)) {
        if (h->under_way++ == 0 || hang->waited_ns > h->oldest.waited_ns)
            h->oldest = *hang;
        return;
    }
    ARRAY_GROW(h->list, h->cap, h->count + 1);
    h->list[h->count++] = *hang;
}

static void add_hang(struct hangs *h, struct finder *f, uint32_t n)
{
    const struct node *node = &f->nodes[n];
    const struct waiter *w = &f->waiters[node->first];
    struct hang hang = {.cause = finder_cause(f, node),
                        .comm = w->comm,
                        .seq = w->seq,
                        .first = w->seq,
                        .op = &f->run->ranks[w->rank].ops[w->op],
                        .sender = -1,
                        .receiver = -1,
                        .at_least = f->run->ranks[w->rank].undated};
    if (w->sender >= 0) {
        hang.sender = finder_number(f, w->comm, w->sender);
        hang.receiver = finder_number(f, w->comm, w->receiver);
    }
    take_faults(&hang, h, f, node);
    take_waiters(&hang, f, node);
    if (w->sender < 0)
        hang.op = op_of_others(f, &hang);
    else if (hang.cause == HANG_DIFFER)
        hang.op = op_of_receiver(f, &hang, w);
    for (uint32_t i = 0; i < f->nnodes; i++)
        hang.followers += i != n && f->nodes[i].root == n;
    hang.possible = is_young(node, &hang);
    keep(h, &hang);
}

static bool is_comm(const struct op *op)
{
    return op->class == OP_COLL || op->class == OP_P2P;
}

/* Work that has started does not wait for anything but itself; so does communication that is told
 * apart by nothing (WaitSignal, or a record without a number), which waits for others where it
 * stands. What waits in an operation that was looked at is not this. */
static bool does_not_end(const struct finder *f, uint32_t r, uint32_t head)
{
    const struct head *h = &f->heads[r].list[head];
    const struct op *op = &f->run->ranks[r].ops[h->op];
    if (is_comm(op))
        return h->behind == HEAD_NONE && !finder_waits(f, r, head);
    return op->start_ns != UNKNOWN_NS;
}

/* Device work that does not end, where no communication that can be followed hangs. */
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
    for (uint32_t r = 0; r < f->run->nranks; r++) {
        const struct heads *heads = &f->heads[r];
        for (uint32_t i = 0; i < heads->count; i++) {
            const struct op *op = &f->run->ranks[r].ops[heads->list[i].op];
            int64_t end_ns;
            if (!does_not_end(f, r, i))
                continue;
            hang.op = hang.op == NULL ? op : hang.op;
            hang.at_least |= f->run->ranks[r].undated;
            end_ns = f->run->ranks[r].undated ? finder_end(f, r) : heads->last_ns;
            if (end_ns - heads->list[i].begin_ns > hang.waited_ns)
                hang.waited_ns = end_ns - heads->list[i].begin_ns;
            ranks[hang.nranks++] = f->run->ranks[r].rank;
            break;
        }
    }
    if (hang.nranks == 0)
        return;
    hang.possible = hang.at_least && hang.waited_ns < HANG_NS;
    keep(h, &hang);
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
    f->undated_end = UNKNOWN_NS;
    for (size_t r = 0; r < run->nranks; r++) {
        int64_t *end_ns = &f->domain_end[run->ranks[r].domain];
        *end_ns = f->heads[r].last_ns > *end_ns ? f->heads[r].last_ns : *end_ns;
        if (run->ranks[r].undated && f->heads[r].last_ns > f->undated_end)
            f->undated_end = f->heads[r].last_ns;
    }
}

static bool finder_open(struct finder *f, const struct run *run)
{
    bool any = false;
    *f = (struct finder){.run = run};
    arena_init(&f->arena);
    f->heads = arena_alloc(&f->arena, run->nranks * sizeof *f->heads);
    f->made = arena_alloc(&f->arena, run->nranks * sizeof *f->made);
    f->numbered = arena_alloc(&f->arena, run->ncomms * sizeof *f->numbered);
    f->members.comm = -1;
    for (size_t r = 0; r < run->nranks; r++) {
        bool undated = run->ranks[r].undated;
        heads_find(&f->heads[r], &run->ranks[r], undated ? 0 : HANG_NS,
                   undated ? 0 : HANG_STILL_NS);
        any = any || f->heads[r].count > 0 || finder_may_be_uneven(&run->ranks[r]);
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
        finder_add_heads(f, r);
    for (size_t c = 0; c < f->run->ncomms && f->nwaiters == 0; c++)
        finder_add_uneven(f, (int32_t)c);
    finder_make_nodes(f);
    finder_index(f);
    finder_look(f);
    finder_roots(f);
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
