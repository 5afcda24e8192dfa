/* SPDX-License-Identifier: MIT */
#include "analysis/hang_order.h"

#include "analysis/hang_calls.h"
#include "base/arena.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define ANCHORS 256              /* calls of the shared communicator that are looked at, */
#define WIDTH_MAX ((size_t)2048) /* and calls of a rank from the first of these on */
#define CELLS_MAX ((size_t)1 << 22)

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
    size_t *most;          /* [width] a member whose call there most members made; SIZE_MAX */
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

static bool is_comm(const struct op *op)
{
    return (is_numbered(op) || (op->class == OP_P2P && op->coll.comm >= 0)) &&
           op->host_ns != UNKNOWN_NS;
}

/* A trace may hold only what has not finished. Then messages that wait beside what was called
 * later are in the traces of some members only. */
static bool has_finished_ones(const struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        if (rank->ops[i].timing != SPECTER_TIMING_NONE)
            return true;
    }
    return false;
}

/* The lowest and the highest number of the rank's calls in a communicator. */
static bool numbers_of(const struct rank *rank, int32_t comm, int64_t *first, int64_t *last)
{
    *first = INT64_MAX;
    *last = -1;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (!is_numbered(op) || op->coll.comm != comm)
            continue;
        *first = op->coll.seq < *first ? op->coll.seq : *first;
        *last = op->coll.seq > *last ? op->coll.seq : *last;
    }
    return *last >= 0;
}

/* The number from which the rows begin: all that called anything there have it, of the last ANCHORS
 * that all have. Members that called nothing there are not compared. */
static int64_t common_number(const struct rows *rows)
{
    int64_t first, last, from = 0, to = INT64_MAX;
    for (size_t m = 0; m < rows->n; m++) {
        if (!numbers_of(&rows->run->ranks[rows->members[m]], rows->shared, &first, &last))
            continue;
        from = first > from ? first : from;
        to = last < to ? last : to;
    }
    return to != INT64_MAX && to - from > ANCHORS ? to - ANCHORS : from;
}

/* The rank's calls from number `from` of the shared communicator on. A dump may leave out what has
 * finished: the row ends where a call between two others is missing. */
static void fill_row(struct rows *rows, size_t m, int64_t from)
{
    const struct rank *rank = &rows->run->ranks[rows->members[m]];
    struct comm_call *placed = array_new(rank->nops, sizeof *placed);
    size_t count = 0, k = 0;
    bool begun = false;
    for (uint32_t i = 0; i < rank->nops; i++) {
        if (is_comm(&rank->ops[i]))
            placed[count++] = (struct comm_call){rank->ops[i].host_ns, rank->ops[i].id, i};
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

/* True where two ranks made a call of one kind: equal parameters, in communicators of equal size,
 * both in the shared one or none. */
static bool same_kind(const struct rows *rows, const struct op *a, const struct op *b)
{
    return a->class == b->class && calls_equal(a, b) &&
           (a->coll.comm == rows->shared) == (b->coll.comm == rows->shared) &&
           rows->run->comms[a->coll.comm].size == rows->run->comms[b->coll.comm].size;
}

/* Messages of ranks with other peers are numbered differently. */
static bool same_place(const struct rows *rows, const struct op *a, const struct op *b)
{
    return same_kind(rows, a, b) && (a->class == OP_P2P || a->coll.seq == b->coll.seq);
}

static const struct op *cell(const struct rows *rows, size_t m, size_t k)
{
    return k < rows->width ? rows->ops[m * rows->width + k] : NULL;
}

/* Boyer and Moore's vote, and a second pass that counts. */
static size_t most_at(const struct rows *rows, size_t k)
{
    size_t most = SIZE_MAX, votes = 0, all = 0;
    for (size_t m = 0; m < rows->n; m++) {
        const struct op *op = cell(rows, m, k);
        if (op == NULL)
            continue;
        if (votes == 0)
            most = m;
        votes = same_place(rows, op, cell(rows, most, k)) ? votes + 1 : votes - 1;
    }
    votes = 0;
    for (size_t m = 0; m < rows->n; m++) {
        const struct op *op = cell(rows, m, k);
        all += op != NULL;
        votes += op != NULL && same_place(rows, op, cell(rows, most, k));
    }
    return votes >= 2 && 2 * votes > all ? most : SIZE_MAX;
}

static const struct op *of_most(const struct rows *rows, size_t k)
{
    return k < rows->width && rows->most[k] != SIZE_MAX ? cell(rows, rows->most[k], k) : NULL;
}

/* Returns whether, from k on, the member's calls are those that most made `shift` places later. At
 * least one must be. */
static bool fits(const struct rows *rows, size_t m, size_t k, size_t own_shift, size_t shift)
{
    bool any = false;
    for (; k < rows->width; k++) {
        const struct op *own = cell(rows, m, k + own_shift), *most = of_most(rows, k + shift);
        if (own == NULL || most == NULL)
            break;
        if (!same_kind(rows, own, most))
            return false;
        any = true;
    }
    return any;
}

/* The rank's own communicator in which it would have made the call that others made. */
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

/* At k the member is not where most are. */
static struct order_verdict judge_at(const struct rows *rows, size_t m, size_t k)
{
    const struct op *own = cell(rows, m, k), *most = of_most(rows, k);
    struct order_verdict v = {rows->members[m], rows->shared, -1, ORDER_UNKNOWN};
    if (same_kind(rows, own, most)) {
        v.comm = own->coll.comm;
        v.fault = own->coll.seq < most->coll.seq ? ORDER_FEWER : ORDER_MORE;
    } else if (!fits(rows, m, k, 0, 1) && fits(rows, m, k, 1, 0)) {
        v.comm = own->coll.comm;
        v.fault = ORDER_MORE;
    } else if (fits(rows, m, k, 0, 1) || of_most(rows, k + 1) == NULL) {
        v.comm = own_comm(rows, m, most);
        if (v.comm >= 0)
            v.fault = of_most(rows, k + 1) != NULL ? ORDER_FEWER : ORDER_OTHER;
    }
    return v;
}

static struct order_verdict judge(const struct rows *rows, size_t m)
{
    struct order_verdict v = {rows->members[m], rows->shared, -1, ORDER_UNKNOWN};
    for (size_t k = 0; k < rows->width; k++) {
        const struct op *own = cell(rows, m, k), *most = of_most(rows, k);
        if (own == NULL || most == NULL)
            break;
        if (!same_place(rows, own, most))
            return judge_at(rows, m, k);
        v.fault = ORDER_SAME;
    }
    return v;
}

void order_compare(struct order_verdicts *v, const struct run *run, const uint32_t *members,
                   size_t n, int32_t shared)
{
    struct rows rows = {.run = run, .members = members, .n = n, .shared = shared};
    int64_t from;
    if (n < 3)
        return;
    rows.width = n > CELLS_MAX / WIDTH_MAX ? CELLS_MAX / n : WIDTH_MAX;
    rows.ops = array_new(n * rows.width, sizeof *rows.ops);
    rows.most = array_new(rows.width, sizeof *rows.most);
    from = common_number(&rows);
    rows.messages = true;
    for (size_t m = 0; m < n; m++)
        rows.messages = rows.messages && has_finished_ones(&run->ranks[members[m]]);
    for (size_t m = 0; m < n; m++)
        fill_row(&rows, m, from);
    for (size_t k = 0; k < rows.width; k++)
        rows.most[k] = most_at(&rows, k);
    for (size_t m = 0; m < n; m++) {
        struct order_verdict one = judge(&rows, m);
        if (one.fault == ORDER_UNKNOWN)
            continue;
        ARRAY_GROW(v->list, v->cap, v->count + 1);
        v->list[v->count++] = one;
    }
    free(rows.ops);
    free(rows.most);
}

enum order_fault order_find(const struct order_verdicts *v, uint32_t rank, int32_t comm,
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
