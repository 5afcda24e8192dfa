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

bool hang_expired(const struct hang *hang)
{
    return hang->timeout_ns != UNKNOWN_NS && hang->timeout_ns > 0 &&
           hang->waited_ns >= hang->timeout_ns;
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

static int by_number(const void *pa, const void *pb)
{
    return ORDER(*(const int *)pa, *(const int *)pb);
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
    qsort(both, 2, sizeof *both, by_number);
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

/* Returns how long a rank that began to wait then had waited when the first time-out was over. */
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
    bool any = false; /* in order of rank, so that the first is the lowest */
    hang->timeout_ns = UNKNOWN_NS;
    for (size_t i = node->first; i < node->first + node->count; i++) {
        const struct blocked_rank *w = &f->waiters[i];
        const struct rank *rank = &f->run->ranks[w->rank];
        int64_t end_ns = f->heads[w->rank].last_ns;
        if (w->head == HEAD_NONE || rank->undated)
            end_ns = finder_end(f, w->rank);
        const struct membership *in = finder_member(f, w->rank, w->comm);
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

/* Returns the call of a message's receiver; the other end's call is at fault (hang->instead). */
static const struct op *op_of_receiver(const struct hang_finder *f, const struct hang *hang,
                                       const struct blocked_rank *w)
{
    struct numbered_call key = {
        .comm = w->comm, .kind = CALL_RECV, .peer = w->sender, .seq = w->seq};
    const struct op *op = finder_op(f, finder_rank(f, hang->receiver), &key);
    return op != NULL ? op : hang->op;
}

/* Returns how long before the newest time the rank called anything; UNKNOWN_NS: it called
 * nothing. */
static int64_t last_call_ns(const struct hang_finder *f, uint32_t r)
{
    const struct rank *rank = &f->run->ranks[r];
    int64_t last_ns = UNKNOWN_NS;
    for (size_t i = 0; i < rank->nops; i++)
        last_ns = rank->ops[i].host_ns > last_ns ? rank->ops[i].host_ns : last_ns;
    return last_ns != UNKNOWN_NS ? finder_end(f, r) - last_ns : UNKNOWN_NS;
}

/* Returns whether all ranks without the call made another one within HANG_NS: then they may be
 * slow. */
static bool all_go_on(const struct hang_finder *f, const struct hang *hang)
{
    if (hang->cause != HANG_NOT_CALLED)
        return false;
    for (size_t i = 0; i < hang->nranks; i++) {
        int64_t ago_ns = last_call_ns(f, finder_rank(f, hang->ranks[i]));
        if (ago_ns == UNKNOWN_NS || ago_ns >= HANG_NS)
            return false;
    }
    return true;
}

/* Returns whether, in a trace without a time of writing, time alone may bring what is missing. */
static bool may_end(const struct hang_finder *f, const struct wait_node *node,
                    const struct hang *hang)
{
    bool circle = hang->cause == HANG_ALL_CALLED && node->nedges > 0 && !node->assumed;
    if (!hang->at_least || hang->cause < HANG_NOT_CALLED || hang->cause == HANG_CIRCLE || circle)
        return false;
    return hang->waited_ns < HANG_NS || (all_go_on(f, hang) && !hang_expired(hang));
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

static void add_hang(struct hangs *h, struct hang_finder *f, uint32_t n)
{
    const struct wait_node *node = &f->nodes[n];
    const struct blocked_rank *w = &f->waiters[node->first];
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
        hang.sender = finder_number(f, w->comm, w->sender);
        hang.receiver = finder_number(f, w->comm, w->receiver);
    }
    take_faults(&hang, h, f, node);
    take_waiters(&hang, f, node);
    take_rival(&hang, h, f, node);
    if (w->sender < 0)
        hang.op =
            hang.cause == HANG_DIFFER ? op_that_differs(f, node, &hang) : op_of_others(f, &hang);
    else if (hang.cause == HANG_DIFFER)
        hang.op = op_of_receiver(f, &hang, w);
    for (uint32_t i = 0; i < f->nnodes; i++)
        hang.followers += i != n && f->nodes[i].root == n;
    if (w->sender >= 0 && f->made[w->rank].in_order)
        hang.seq = hang.first = -1; /* a place among those that have not finished */
    hang.finished = node->ended;
    hang.timed_out_ns = timed_out_ns(f, &hang);
    if (hang.at_least && hang.cause == HANG_NOT_CALLED)
        hang.instead_ns = last_call_ns(f, finder_rank(f, hang.ranks[0]));
    hang.possible = may_end(f, node, &hang);
    keep(h, &hang);
}

static bool is_comm(const struct op *op)
{
    return op->class == OP_COLL || op->class == OP_P2P;
}

/* Work that has started does not wait for anything but itself; so does communication that is told
 * apart by nothing (WaitSignal, or a record without a number), which waits for others where it
 * stands. What waits in an operation that was looked at is not this. */
static bool does_not_end(const struct hang_finder *f, uint32_t r, uint32_t head)
{
    const struct stream_head *h = &f->heads[r].list[head];
    const struct op *op = &f->run->ranks[r].ops[h->op];
    if (is_comm(op))
        return h->behind == HEAD_NONE && !finder_waits(f, r, head);
    return op->start_ns != UNKNOWN_NS;
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
                        .instead_ns = UNKNOWN_NS};
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
    hang.timed_out_ns = timed_out_ns(f, &hang);
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

static void find_ends(struct hang_finder *f)
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

/* Finds when the first time-out of the unfinished operations of undated traces is over. */
static void find_deadline(struct hang_finder *f)
{
    f->deadline_ns = UNKNOWN_NS;
    for (uint32_t r = 0; r < f->run->nranks; r++) {
        const struct rank *rank = &f->run->ranks[r];
        for (size_t i = 0; i < f->heads[r].count && rank->undated; i++) {
            const struct op *op = &rank->ops[f->heads[r].list[i].op];
            const struct membership *in = is_comm(op) ? finder_member(f, r, op->coll.comm) : NULL;
            int64_t end_ns;
            if (in == NULL || in->timeout_ns == UNKNOWN_NS || op->host_ns == UNKNOWN_NS)
                continue;
            end_ns = ns_add(op->host_ns, in->timeout_ns);
            if (f->deadline_ns == UNKNOWN_NS || end_ns < f->deadline_ns)
                f->deadline_ns = end_ns;
        }
    }
}

/* Returns whether undated traces lost messages that came before the unfinished ones. */
static bool lacks_numbers(const struct run *run)
{
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops && run->ranks[r].undated; i++) {
            const struct op *op = &run->ranks[r].ops[i];
            if (op->class == OP_P2P && op->timing == SPECTER_TIMING_NONE && op->coll.comm >= 0 &&
                op->coll.peer >= 0 && op->coll.p2p_seq < 0)
                return true;
        }
    }
    return false;
}

static bool finder_open(struct hang_finder *f, const struct run *run)
{
    bool any = false;
    *f = (struct hang_finder){.run = run};
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
    find_deadline(f);
    f->in_order = lacks_numbers(run);
    return any;
}

static void finder_close(struct hang_finder *f)
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
        qsort(h->undumped, n, sizeof *h->undumped, by_number);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || h->undumped[i] != h->undumped[kept - 1])
            h->undumped[kept++] = h->undumped[i];
    }
    h->nundumped = kept;
}

static void find_all(struct hangs *h, struct hang_finder *f)
{
    for (size_t r = 0; r < f->run->nranks; r++)
        calls_made(&f->made[r], &f->run->ranks[r], f->in_order && f->run->ranks[r].undated);
    for (uint32_t r = 0; r < f->run->nranks; r++)
        finder_add_heads(f, r);
    for (size_t c = 0; c < f->run->ncomms && f->nwaiters == 0; c++)
        finder_add_uneven(f, (int32_t)c);
    finder_make_nodes(f);
    finder_index(f);
    finder_look(f);
    finder_roots(f);
    finder_merge(f);
    for (uint32_t n = 0; n < f->nnodes; n++) {
        if (f->nodes[n].root == n && !f->nodes[n].opaque)
            add_hang(h, f, n);
    }
    if (h->count == 0)
        add_work(h, f);
    if (h->count > 0)
        qsort(h->list, h->count, sizeof *h->list, by_weight);
    find_undumped(h, f);
}

void hangs_find(struct hangs *h, const struct run *run)
{
    struct hang_finder f;
    memset(h, 0, sizeof *h);
    arena_init(&h->arena);
    if (finder_open(&f, run))
        find_all(h, &f);
    finder_close(&f);
}

void hangs_release(struct hangs *h)
{
    free(h->list);
    free(h->undumped);
    arena_release(&h->arena);
    memset(h, 0, sizeof *h);
}
