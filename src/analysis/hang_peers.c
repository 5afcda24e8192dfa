/* SPDX-License-Identifier: MIT
 *
 * Finds the one at fault among members that do not call the same, by the other communicators of
 * these ranks.
 *
 * Ranks that share a communicator mostly run the same program in the same order: between two of its
 * collectives they call as many others, in their own communicators of equal size. Where most
 * members of such a communicator agree and one is a call behind or ahead of them, or goes on with
 * what they called next, that one left a call out or made one too many. It needs three members, so
 * that there is a majority. Ranks of different pipeline stages call different things: they form no
 * majority.
 */
#include "analysis/hang_finder.h"

#include "base/arena.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define ANCHORS 256              /* calls of the shared communicator that are looked at, */
#define WIDTH_MAX ((size_t)2048) /* and calls of a rank from the first of these on */
#define CELLS_MAX ((size_t)1 << 22)

/* From the least sure to the surest: find_verdict() keeps the largest. */
enum order_fault {
    ORDER_UNKNOWN,
    ORDER_SAME,
    ORDER_OTHER, /* went on with something else, and no more is recorded */
    ORDER_MORE,  /* made one too many */
    ORDER_FEWER  /* left a call out */
};

/* The evidence of one communicator about a member's calls in another (or in itself). */
struct order_verdict {
    uint32_t rank;  /* index into run->ranks */
    int32_t shared; /* the communicator whose members were compared */
    int32_t comm;   /* the one in which a call is missing or too many; -1 for SAME */
    enum order_fault fault;
};

struct order_verdicts {
    struct order_verdict *list; /* owned */
    size_t count, cap;
};

/* ---- the order of calls in one communicator ---- */

/* Communication of a rank, in the order of its calls. */
struct comm_call {
    int64_t host_ns;
    uint64_t id;
    uint32_t op;
};

/* The members' calls from one that they have in common on, one row a member. */
struct rows {
    const struct run *run;
    const uint32_t *members;
    size_t n, width;
    int32_t shared;
    bool messages;         /* they are compared, too */
    const struct op **ops; /* [n * width] NULL: no more */
    size_t *majority;      /* [width] a member whose call there the majority made; SIZE_MAX: none */
};

static int by_call(const void *pa, const void *pb)
{
    const struct comm_call *a = pa, *b = pb;
    return a->host_ns != b->host_ns ? ORDER(a->host_ns, b->host_ns) : ORDER(a->id, b->id);
}

static bool is_numbered(const struct op *op)
{
    return op->class == OP_COLL && op->coll.comm >= 0 && op->coll.seq >= 0;
}

/* Returns the number in the shared communicator from which the rows begin: of the last ANCHORS
 * numbers that all members have there, the first. Members without calls there are not compared. */
static int64_t common_number(const struct rows *rows)
{
    int64_t from = 0, to = INT64_MAX;
    for (size_t m = 0; m < rows->n; m++) {
        const struct rank *rank = &rows->run->ranks[rows->members[m]];
        int64_t first = INT64_MAX, last = -1; /* of the rank's calls there */
        for (size_t i = 0; i < rank->nops; i++) {
            const struct op *op = &rank->ops[i];
            if (!is_numbered(op) || op->coll.comm != rows->shared)
                continue;
            first = op->coll.seq < first ? op->coll.seq : first;
            last = op->coll.seq > last ? op->coll.seq : last;
        }
        if (last < 0)
            continue;
        from = first > from ? first : from;
        to = last < to ? last : to;
    }
    return to != INT64_MAX && to - from >= ANCHORS ? to - ANCHORS + 1 : from;
}

/* Fills row m with the rank's calls from number `from` of the shared communicator on. A dump may
 * leave out calls that have finished: the row ends where one between two others is missing. */
static void fill_row(struct rows *rows, size_t m, int64_t from)
{
    const struct rank *rank = &rows->run->ranks[rows->members[m]];
    struct comm_call *placed = array_new(rank->nops, sizeof *placed);
    size_t count = 0, k = 0;
    bool begun = false;
    for (uint32_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        bool comm = is_numbered(op) || (op->class == OP_P2P && op->coll.comm >= 0);
        if (comm && op->host_ns != UNKNOWN_NS)
            placed[count++] = (struct comm_call){op->host_ns, op->id, i};
    }
    qsort(placed, count, sizeof *placed, by_call);
    for (size_t i = 0; i < count && k < rows->width; i++) {
        const struct op *op = &rank->ops[placed[i].op];
        if (begun && rank->undated && op->id != placed[i - 1].id + 1)
            break;
        begun = begun || (is_numbered(op) && op->coll.comm == rows->shared && op->coll.seq == from);
        if (begun && (rows->messages || op->class != OP_P2P))
            rows->ops[m * rows->width + k++] = op;
    }
    free(placed);
}

/* Returns whether two ranks made calls of one kind: with equal parameters, in communicators of
 * equal size, both in the shared one or neither. */
static bool same_kind(const struct rows *rows, const struct op *a, const struct op *b)
{
    return a->class == b->class && calls_equal(a, b) &&
           (a->coll.comm == rows->shared) == (b->coll.comm == rows->shared) &&
           rows->run->comms[a->coll.comm].size == rows->run->comms[b->coll.comm].size;
}

/* Returns whether two calls of one kind stand at the same place of their communicators. Messages
 * have no common numbers: those of ranks with other peers are numbered differently. */
static bool same_place(const struct rows *rows, const struct op *a, const struct op *b)
{
    return same_kind(rows, a, b) && (a->class == OP_P2P || a->coll.seq == b->coll.seq);
}

static const struct op *call_at(const struct rows *rows, size_t m, size_t k)
{
    return k < rows->width ? rows->ops[m * rows->width + k] : NULL;
}

/* Returns a member whose k-th call is that of the majority; SIZE_MAX: there is none. By Boyer and
 * Moore's vote, and a second pass that counts. */
static size_t majority_at(const struct rows *rows, size_t k)
{
    size_t most = SIZE_MAX, votes = 0, all = 0;
    for (size_t m = 0; m < rows->n; m++) {
        const struct op *op = call_at(rows, m, k);
        if (op == NULL)
            continue;
        if (votes == 0)
            most = m;
        votes = same_place(rows, op, call_at(rows, most, k)) ? votes + 1 : votes - 1;
    }
    votes = 0;
    for (size_t m = 0; m < rows->n; m++) {
        const struct op *op = call_at(rows, m, k);
        all += op != NULL;
        votes += op != NULL && same_place(rows, op, call_at(rows, most, k));
    }
    return votes >= 2 && 2 * votes > all ? most : SIZE_MAX;
}

static const struct op *majority_call(const struct rows *rows, size_t k)
{
    return k < rows->width && rows->majority[k] != SIZE_MAX ? call_at(rows, rows->majority[k], k)
                                                            : NULL;
}

/* Returns whether, from k on, the member's calls, moved by own_shift places, are those of the
 * majority, moved by `shift`. At least one must be. */
static bool fits_shift(const struct rows *rows, size_t m, size_t k, size_t own_shift, size_t shift)
{
    bool any = false;
    for (; k < rows->width; k++) {
        const struct op *own = call_at(rows, m, k + own_shift);
        const struct op *most = majority_call(rows, k + shift);
        if (own == NULL || most == NULL)
            break;
        if (!same_kind(rows, own, most))
            return false;
        any = true;
    }
    return any;
}

/* Returns the rank's own communicator in which it would have made the call that others made in
 * theirs; -1: it has none. */
static int32_t own_comm(const struct rows *rows, size_t m, const struct op *of_others)
{
    const struct rank *rank = &rows->run->ranks[rows->members[m]];
    int size = rows->run->comms[of_others->coll.comm].size;
    if (of_others->coll.comm == rows->shared)
        return rows->shared;
    for (size_t i = 0; i < rank->nin; i++) {
        const struct comm *comm = &rows->run->comms[rank->in[i].comm];
        const char *name = rows->run->comms[of_others->coll.comm].name;
        if (rank->in[i].comm != rows->shared && comm->size == size && strcmp(comm->name, name) == 0)
            return rank->in[i].comm;
    }
    return -1;
}

static struct order_verdict judge_member(const struct rows *rows, size_t m)
{
    struct order_verdict v = {.rank = rows->members[m], .shared = rows->shared, .comm = -1};
    const struct op *own = call_at(rows, m, 0), *most = majority_call(rows, 0);
    size_t k = 0;
    while (own != NULL && most != NULL && same_place(rows, own, most)) {
        v.fault = ORDER_SAME;
        k++;
        own = call_at(rows, m, k);
        most = majority_call(rows, k);
    }
    if (own == NULL || most == NULL)
        return v;
    v.fault = ORDER_UNKNOWN; /* at k the member leaves the majority */
    if (same_kind(rows, own, most)) {
        v.comm = own->coll.comm;
        v.fault = own->coll.seq < most->coll.seq ? ORDER_FEWER : ORDER_MORE;
    } else if (!fits_shift(rows, m, k, 0, 1) && fits_shift(rows, m, k, 1, 0)) {
        v.comm = own->coll.comm;
        v.fault = ORDER_MORE;
    } else if (fits_shift(rows, m, k, 0, 1) || majority_call(rows, k + 1) == NULL) {
        v.comm = own_comm(rows, m, most);
        if (v.comm >= 0)
            v.fault = majority_call(rows, k + 1) != NULL ? ORDER_FEWER : ORDER_OTHER;
    }
    return v;
}

/* Compares the n members of a communicator, given as indices into run->ranks, and adds a verdict
 * for each member of which enough calls are recorded. */
static void compare_orders(struct order_verdicts *v, const struct run *run, const uint32_t *members,
                           size_t n, int32_t shared)
{
    struct rows rows = {.run = run, .members = members, .n = n, .shared = shared};
    int64_t from;
    if (n < 3)
        return;
    rows.width = n > CELLS_MAX / WIDTH_MAX ? CELLS_MAX / n : WIDTH_MAX;
    rows.ops = array_new(n * rows.width, sizeof *rows.ops);
    rows.majority = array_new(rows.width, sizeof *rows.majority);
    from = common_number(&rows);
    /* A trace may hold unfinished operations alone. Then a message that still waits beside later
     * calls is in the traces of some members only, so messages are not compared. */
    rows.messages = true;
    for (size_t m = 0; m < n && rows.messages; m++) {
        const struct rank *rank = &run->ranks[members[m]];
        rows.messages = false;
        for (size_t i = 0; i < rank->nops && !rows.messages; i++)
            rows.messages = rank->ops[i].timing != SPECTER_TIMING_NONE;
    }
    for (size_t m = 0; m < n; m++)
        fill_row(&rows, m, from);
    for (size_t k = 0; k < rows.width; k++)
        rows.majority[k] = majority_at(&rows, k);
    for (size_t m = 0; m < n; m++) {
        struct order_verdict one = judge_member(&rows, m);
        if (one.fault == ORDER_UNKNOWN)
            continue;
        ARRAY_GROW(v->list, v->cap, v->count + 1);
        v->list[v->count++] = one;
    }
    free(rows.ops);
    free(rows.majority);
}

/* Returns the verdict on the rank's calls in this communicator; *shared: the communicator that it
 * is from. Of several the surest fault; SAME only where there is no fault. */
static enum order_fault find_verdict(const struct order_verdicts *v, uint32_t rank, int32_t comm,
                                     int32_t *shared)
{
    enum order_fault found = ORDER_UNKNOWN;
    for (size_t i = 0; i < v->count; i++) {
        const struct order_verdict *one = &v->list[i];
        if (one->rank != rank || (one->fault != ORDER_SAME && one->comm != comm))
            continue;
        if (one->fault < found)
            continue;
        found = one->fault;
        *shared = one->shared;
    }
    return found;
}

/* ---- operations of which it is not known who is at fault ---- */

/* Returns whether the calls of the operation's members do not tell which of them is at fault. */
static bool is_doubtful(const struct hang_finder *f, uint32_t n)
{
    const struct wait_node *node = &f->nodes[n];
    enum hang_cause cause = finder_cause(f, node);
    if (node->opaque || (node->root != NONE && node->root != n))
        return false;
    if (cause == HANG_DIFFER)
        return true;
    return node->root == NONE &&
           (cause == HANG_CIRCLE || cause == HANG_BEHIND || cause == HANG_ALL_CALLED);
}

/* Marks all communicators of the members of doubtful operations. Returns whether there are any. */
static bool mark_shared(const struct hang_finder *f, bool *shared)
{
    bool any = false;
    for (uint32_t n = 0; n < f->nnodes; n++) {
        const struct comm *comm = &f->run->comms[f->waiters[f->nodes[n].first].comm];
        bool doubtful = is_doubtful(f, n);
        for (int i = 0; i < comm->size && doubtful; i++) {
            uint32_t r = finder_rank(f, comm->ranks[i]);
            for (size_t k = 0; r != NONE && k < f->run->ranks[r].nin; k++)
                shared[f->run->ranks[r].in[k].comm] = any = true;
        }
    }
    return any;
}

/* Fills the fault of a member whose calls are not in the order of the others'. False: it has none
 * in this operation. */
static bool make_fault(struct fault *fault, const struct hang_finder *f,
                       const struct wait_node *node, uint32_t r, enum order_fault found)
{
    const struct waiter *w = &f->waiters[node->first];
    int rank = f->run->ranks[r].rank;
    const struct fault *before = NULL; /* that the operation has of this rank already */
    bool differs;
    struct numbered_call key = {
        .comm = w->comm, .kind = CALL_COLLECTIVE, .peer = -1, .seq = w->seq};
    const struct op *called = w->sender < 0 ? finder_op(f, r, &key) : NULL;
    for (size_t i = 0; i < node->nfaults && before == NULL; i++) {
        const struct fault *one = &f->faults[node->first_fault + i];
        before = one->rank == rank ? one : NULL;
    }
    differs = before != NULL && before->cause == HANG_DIFFER;
    *fault = (struct fault){
        .rank = rank, .seq = w->seq, .first = w->seq, .instead = called, .shared = -1};
    if (before != NULL)
        *fault = *before;
    fault->cause = found == ORDER_FEWER  ? HANG_SKIPPED
                   : found == ORDER_MORE ? HANG_EXTRA
                   : differs             ? HANG_OTHER
                                         : HANG_CIRCLE;
    if (found == ORDER_FEWER)
        return true;
    return found == ORDER_MORE ? fault->instead != NULL : before != NULL;
}

/* Replaces the operation's faults by those of members whose order of calls differs from the
 * others', where the verdicts tell some such members, and others that are in order. */
static void replace_faults(struct hang_finder *f, uint32_t n, const struct order_verdicts *v)
{
    struct wait_node *node = &f->nodes[n];
    const struct waiter *w = &f->waiters[node->first];
    const struct comm *comm = &f->run->comms[w->comm];
    size_t first = f->nfaults, same = 0;
    for (int i = 0; i < comm->size; i++) {
        uint32_t r = finder_rank(f, comm->ranks[i]);
        int32_t shared = -1;
        enum order_fault found = r != NONE ? find_verdict(v, r, w->comm, &shared) : ORDER_UNKNOWN;
        struct fault fault;
        same += found == ORDER_SAME;
        if (found <= ORDER_SAME || (w->sender >= 0 && i != w->sender && i != w->receiver) ||
            !make_fault(&fault, f, node, r, found))
            continue;
        fault.shared = shared;
        ARRAY_GROW(f->faults, f->cap_faults, f->nfaults + 1);
        f->faults[f->nfaults++] = fault;
    }
    if (f->nfaults == first || same == 0) {
        f->nfaults = first;
        return;
    }
    node->first_fault = first;
    node->nfaults = f->nfaults - first;
}

void finder_ask_peers(struct hang_finder *f)
{
    struct order_verdicts v = {.list = NULL};
    bool *shared = array_new(f->run->ncomms, sizeof *shared);
    bool any = mark_shared(f, shared);
    for (size_t c = 0; c < f->run->ncomms && any; c++) {
        const struct comm *comm = &f->run->comms[c];
        uint32_t *members;
        size_t n = 0;
        if (!shared[c] || comm->size < 3)
            continue;
        members = array_new((size_t)comm->size, sizeof *members);
        for (int i = 0; i < comm->size; i++) {
            uint32_t r = finder_rank(f, comm->ranks[i]);
            if (r != NONE)
                members[n++] = r;
        }
        compare_orders(&v, f->run, members, n, (int32_t)c);
        free(members);
    }
    for (uint32_t n = 0; n < f->nnodes && v.count > 0; n++) {
        if (is_doubtful(f, n))
            replace_faults(f, n, &v);
    }
    free(v.list);
    free(shared);
}
