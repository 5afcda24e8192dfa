/* SPDX-License-Identifier: MIT
 *
 * The first step of the search for hangs: the operations in which ranks wait, from where their
 * streams have stopped (hang_finder.h).
 */
#include "analysis/hang_finder.h"

#include "analysis/comm.h"
#include "base/arena.h"
#include "base/idmap.h"
#include "base/order.h"
#include "trace/align.h"

#include <stdlib.h>
#include <string.h>

/* ---- where streams have stopped ---- */

/* The state of a stream while the rank's operations are walked through. */
struct stream_progress {
    int32_t device, stream;
    uint32_t oldest;  /* unfinished operation; HEAD_NONE */
    int64_t ended_ns; /* when the last of the finished ones ended; UNKNOWN_NS */
};

struct stream_table {
    struct stream_progress *list; /* owned */
    size_t count, cap, last;
};

static bool is_pending(const struct op *op)
{
    return op->timing == SPECTER_TIMING_NONE;
}

static int64_t issued_ns(const struct op *op)
{
    return op->host_end_ns != UNKNOWN_NS ? op->host_end_ns : op->host_ns;
}

static struct stream_progress *progress_of(struct stream_table *l, const struct op *op)
{
    for (size_t n = 0; n < l->count; n++) {
        struct stream_progress *progress = &l->list[l->last];
        if (progress->device == op->device && progress->stream == op->stream)
            return progress;
        l->last = (l->last + 1) % l->count;
    }
    ARRAY_GROW(l->list, l->cap, l->count + 1);
    l->last = l->count++;
    l->list[l->last] = (struct stream_progress){op->device, op->stream, HEAD_NONE, UNKNOWN_NS};
    return &l->list[l->last];
}

/* Returns the last moment that the rank's trace tells of: its own statement (end_ns), the end of an
 * operation, or called_ns after the call of an unfinished one, which is only written after so long,
 * unless the program's exit came before its end, or a dump was requested. */
static int64_t last_moment(const struct rank *rank, int64_t called_ns)
{
    int64_t last_ns = rank->end_ns;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        int64_t t_ns = UNKNOWN_NS;
        if (op_timed(op))
            t_ns = ns_add(op->start_ns, op->dur_ns);
        else if (is_pending(op) && !rank->complete && issued_ns(op) > rank->dump_ns)
            t_ns = ns_add(issued_ns(op), called_ns);
        if (t_ns > last_ns)
            last_ns = t_ns;
    }
    return last_ns;
}

/* Adds the oldest unfinished operation of a stream, where it was called called_ns before the last
 * moment of the trace, and the stream has not moved for still_ns. */
static void add_head(struct heads *h, const struct rank *rank,
                     const struct stream_progress *progress, int64_t called_ns, int64_t still_ns)
{
    const struct op *op = &rank->ops[progress->oldest];
    int64_t call_ns = issued_ns(op), begin_ns = op->start_ns;
    if (begin_ns == UNKNOWN_NS)
        begin_ns = call_ns > progress->ended_ns ? call_ns : progress->ended_ns;
    if (call_ns == UNKNOWN_NS)
        call_ns = begin_ns;
    if (begin_ns == UNKNOWN_NS || h->last_ns == UNKNOWN_NS || h->last_ns - call_ns < called_ns ||
        h->last_ns - begin_ns < still_ns)
        return;
    ARRAY_GROW(h->list, h->cap, h->count + 1);
    h->list[h->count++] = (struct stream_head){progress->oldest, progress->device, progress->stream,
                                               begin_ns, HEAD_NONE};
}

static uint32_t head_on(const struct heads *h, int32_t device, int32_t stream)
{
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->list[i].device == device && h->list[i].stream == stream)
            return i;
    }
    return HEAD_NONE;
}

/* Sets what the head of the waiting stream waits for: the head `before`, of the stream that
 * recorded the event. Does so only where the waiting head was called after the wait and has not
 * started. */
static void set_behind(struct heads *h, const struct rank *rank, const struct sync_call *wait,
                       uint32_t before)
{
    uint32_t at = head_on(h, wait->device, wait->stream);
    const struct op *op;
    if (at == HEAD_NONE || at == before || h->list[at].behind != HEAD_NONE)
        return;
    op = &rank->ops[h->list[at].op];
    if (op->start_ns == UNKNOWN_NS && op->host_ns >= wait->host_ns)
        h->list[at].behind = before;
}

/* Finds the heads that wait for an event behind another head. */
static void find_waits(struct heads *h, const struct rank *rank)
{
    struct idmap events = {0};
    uint32_t *recorded = NULL; /* by event: 1 + the head before its last record; 0 none */
    size_t cap = 0;
    for (size_t i = 0; i < rank->nsync_calls && h->count > 1; i++) {
        const struct sync_call *sync = &rank->sync_calls[i];
        uint32_t event, at;
        if ((sync->kind != SYNC_CALL_RECORD && sync->kind != SYNC_CALL_WAIT) || sync->event < 0)
            continue;
        event = idmap_add(&events, sync->event);
        ARRAY_GROW(recorded, cap, events.count);
        if (sync->kind == SYNC_CALL_WAIT) {
            if (recorded[event] > 0)
                set_behind(h, rank, sync, recorded[event] - 1);
            continue;
        }
        at = head_on(h, sync->device, sync->stream);
        recorded[event] = 0;
        if (at != HEAD_NONE && rank->ops[h->list[at].op].host_ns <= sync->host_ns)
            recorded[event] = at + 1;
    }
    free(recorded);
    idmap_release(&events);
}

/* Finds the heads of the rank's streams (add_head()), and those that wait for each other. */
static void find_heads(struct heads *h, const struct rank *rank, int64_t called_ns,
                       int64_t still_ns)
{
    struct stream_table streams = {0};
    bool any = false;
    memset(h, 0, sizeof *h);
    h->last_ns = last_moment(rank, called_ns);
    for (size_t i = 0; i < rank->nops && !any; i++)
        any = is_pending(&rank->ops[i]);
    if (!any)
        return;
    for (uint32_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i], *oldest;
        struct stream_progress *progress = progress_of(&streams, op);
        if (is_pending(op)) {
            oldest = progress->oldest != HEAD_NONE ? &rank->ops[progress->oldest] : NULL;
            if (oldest == NULL || op->host_ns < oldest->host_ns ||
                (op->host_ns == oldest->host_ns && op->id < oldest->id))
                progress->oldest = i;
        } else if (op_timed(op) && ns_add(op->start_ns, op->dur_ns) > progress->ended_ns) {
            progress->ended_ns = ns_add(op->start_ns, op->dur_ns);
        }
    }
    for (size_t i = 0; i < streams.count; i++) {
        if (streams.list[i].oldest != HEAD_NONE)
            add_head(h, rank, &streams.list[i], called_ns, still_ns);
    }
    free(streams.list);
    find_waits(h, rank);
}

uint32_t heads_of_op(const struct heads *h, const struct op *op)
{
    return is_pending(op) ? head_on(h, op->device, op->stream) : HEAD_NONE;
}

/* ---- ranks ---- */

uint32_t finder_rank(const struct hang_finder *f, int number)
{
    int at = number >= 0 ? rank_index(f->run, number) : -1;
    const struct rank *rank = at >= 0 ? &f->run->ranks[at] : NULL;
    if (rank == NULL || (rank->nops + rank->nsync_calls == 0 && !rank->quiet))
        return NONE;
    return (uint32_t)at;
}

int64_t finder_end_ns(const struct hang_finder *f, uint32_t r)
{
    if (f->run->ranks[r].undated)
        return f->undated_end;
    return f->domain_end[f->run->ranks[r].domain];
}

/* ---- where a head is ---- */

static void add_waiter(struct hang_finder *f, uint32_t r, uint32_t op, uint32_t head,
                       int64_t begin_ns)
{
    const struct rank *rank = &f->run->ranks[r];
    struct numbered_call call;
    struct waiter w = {.sender = -1, .receiver = -1, .rank = r, .op = op, .head = head};
    const struct membership *in;
    int32_t own;
    if (!calls_of_op(&f->made[r], rank, op, &call))
        return;
    in = rank_member(&f->run->ranks[r], call.comm);
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

/* Adds the rank as a waiter of each communication at the head of a stream, and of those that were
 * launched in one group with it. */
static void add_waiters_at_heads(struct hang_finder *f, uint32_t r)
{
    const struct rank *rank = &f->run->ranks[r];
    const struct heads *h = &f->heads[r];
    for (uint32_t i = 0; i < rank->nops && h->count > 0; i++) {
        const struct op *op = &rank->ops[i], *first;
        uint32_t head = heads_of_op(h, op);
        if (head == HEAD_NONE || !op_is_comm(op))
            continue;
        first = &rank->ops[h->list[head].op];
        if (op == first ||
            (op_is_comm(first) && op->coll.group >= 0 && op->coll.group == first->coll.group))
            add_waiter(f, r, i, head, h->list[head].begin_ns);
    }
}

/* ---- where no end is seen ---- */

static bool end_unseen(const struct op *op)
{
    return op->class == OP_COLL &&
           (op->timing == SPECTER_TIMING_HOST || op->timing == SPECTER_TIMING_UNKNOWN);
}

/* Adds the members that called the first collective which another traced member did not call: they
 * may wait in it. */
static void add_waiters_of_uneven(struct hang_finder *f, int32_t c)
{
    const struct comm *comm = &f->run->comms[c];
    int64_t low = INT64_MAX, high = -1;
    for (int i = 0; i < comm->size; i++) {
        uint32_t r = finder_rank(f, comm->ranks[i]);
        size_t first, end;
        int64_t last;
        if (r == NONE)
            continue;
        calls_of_comm(&f->made[r], c, &first, &end);
        last = first < end ? f->made[r].list[end - 1].seq : -1; /* of its collectives there */
        low = last < low ? last : low;
        high = last > high ? last : high;
    }
    for (int i = 0; i < comm->size && high > low; i++) {
        uint32_t r = finder_rank(f, comm->ranks[i]);
        struct numbered_call key = {.comm = c, .kind = CALL_COLLECTIVE, .peer = -1, .seq = low + 1};
        const struct op *op = finder_op(f, r, &key);
        if (op == NULL || f->run->ranks[r].complete || !end_unseen(op) ||
            op->host_end_ns == UNKNOWN_NS || finder_end_ns(f, r) - op->host_end_ns < HANG_NS)
            continue;
        add_waiter(f, r, (uint32_t)(op - f->run->ranks[r].ops), HEAD_NONE, op->host_end_ns);
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

/* Groups the waiters, all of whom are known, by operation, and lists where each rank waits. */
static void make_nodes(struct hang_finder *f)
{
    size_t *next = arena_alloc(&f->arena, (f->run->nranks + 1) * sizeof *next);
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
    f->by_rank = arena_alloc(&f->arena, (f->nwaiters + 1) * sizeof *f->by_rank);
    f->rank_first = arena_alloc(&f->arena, (f->run->nranks + 1) * sizeof *f->rank_first);
    for (size_t i = 0; i < f->nwaiters; i++)
        f->rank_first[f->waiters[i].rank + 1]++;
    for (size_t r = 0; r < f->run->nranks; r++)
        next[r + 1] = f->rank_first[r + 1] += f->rank_first[r];
    for (size_t i = 0; i < f->nwaiters; i++)
        f->by_rank[next[f->waiters[i].rank]++] = (uint32_t)i;
}

const struct waiter *finder_waiter(const struct hang_finder *f, const struct wait_node *node,
                                   uint32_t r)
{
    struct bisect find = {.low = node->first, .high = node->first + node->count};
    while (bisect_next(&find))
        bisect_take(&find, f->waiters[find.mid].rank < r);
    return find.low < node->first + node->count && f->waiters[find.low].rank == r
               ? &f->waiters[find.low]
               : NULL;
}

/* ---- the search ---- */

/* Returns whether a rank's times are on the clock of its domain: one without operations may be in a
 * domain for want of one of its own (align.c). */
static bool on_clock_of_domain(const struct run *run, size_t rank)
{
    size_t first = 0;
    if (run->ranks[rank].nops > 0)
        return true;
    while (first < run->nranks &&
           (run->ranks[first].domain != run->ranks[rank].domain || run->ranks[first].nops == 0))
        first++;
    return first == run->nranks || ranks_share_clock(&run->ranks[first], &run->ranks[rank]);
}

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
        if (!on_clock_of_domain(run, r))
            continue;
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
            const struct membership *in =
                op_is_comm(op) ? rank_member(&f->run->ranks[r], op->coll.comm) : NULL;
            int64_t end_ns;
            if (in == NULL || in->timeout_ns == UNKNOWN_NS || op->host_ns == UNKNOWN_NS)
                continue;
            end_ns = ns_add(op->host_ns, in->timeout_ns);
            if (f->deadline_ns == UNKNOWN_NS || end_ns < f->deadline_ns)
                f->deadline_ns = end_ns;
        }
    }
}

/* Returns whether an unfinished message of an undated trace has no number: the trace lost messages
 * before it. */
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

bool finder_init(struct hang_finder *f, const struct run *run)
{
    bool any = false;
    *f = (struct hang_finder){.run = run};
    arena_init(&f->arena);
    f->heads = arena_alloc(&f->arena, run->nranks * sizeof *f->heads);
    f->made = arena_alloc(&f->arena, run->nranks * sizeof *f->made);
    f->ranks_global = arena_alloc(&f->arena, run->ncomms * sizeof *f->ranks_global);
    f->members.comm = -1;
    for (size_t r = 0; r < run->nranks; r++) {
        bool undated = run->ranks[r].undated;
        find_heads(&f->heads[r], &run->ranks[r], undated ? 0 : HANG_NS,
                   undated ? 0 : HANG_STILL_NS);
        any = any || f->heads[r].count > 0;
        for (size_t i = 0; i < run->ranks[r].nops && !run->ranks[r].complete && !any; i++)
            any = end_unseen(&run->ranks[r].ops[i]);
    }
    find_ends(f);
    find_deadline(f);
    f->in_order = lacks_numbers(run);
    if (!any)
        return false;
    for (size_t r = 0; r < run->nranks; r++)
        calls_made(&f->made[r], &run->ranks[r], f->in_order && run->ranks[r].undated);
    for (uint32_t r = 0; r < run->nranks; r++)
        add_waiters_at_heads(f, r);
    for (size_t c = 0; c < run->ncomms && f->nwaiters == 0; c++)
        add_waiters_of_uneven(f, (int32_t)c);
    make_nodes(f);
    return true;
}

void finder_release(struct hang_finder *f)
{
    for (size_t r = 0; r < f->run->nranks; r++) {
        free(f->heads[r].list);
        free(f->made[r].list);
    }
    free(f->waiters);
    free(f->nodes);
    free(f->faults);
    free(f->edges);
    arena_release(&f->arena);
}
