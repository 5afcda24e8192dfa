/* SPDX-License-Identifier: MIT
 *
 * The calls of each rank by communicator and number, and how those of a communicator's members
 * differ (hang_finder.h).
 */
#include "analysis/hang_finder.h"

#include "base/arena.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define AHEAD 64                    /* numbers after the last one compared: what was called next */
#define CELLS_MAX ((size_t)1 << 24) /* of a table: 128 MiB */

static int by_key(const void *pa, const void *pb)
{
    const struct numbered_call *a = pa, *b = pb;
    if (a->comm != b->comm)
        return ORDER(a->comm, b->comm);
    if (a->kind != b->kind)
        return ORDER(a->kind, b->kind);
    if (a->peer != b->peer)
        return ORDER(a->peer, b->peer);
    return ORDER(a->seq, b->seq);
}

/* False when the operation is no communication or has no number. A message has none yet, but its
 * place, where those that have not finished are numbered in order. */
static bool call_of(struct numbered_call *call, const struct rank *rank, uint32_t index,
                    bool in_order)
{
    const struct op *op = &rank->ops[index];
    bool message = op->class == OP_P2P;
    if ((op->class != OP_COLL && !message) || op->coll.comm < 0)
        return false;
    *call = (struct numbered_call){message ? op->coll.p2p_seq : op->coll.seq, op->coll.comm,
                                   message ? op->coll.peer : -1, index, CALL_COLLECTIVE};
    if (message)
        call->kind = op->coll.op == SPECTER_RECV ? CALL_RECV : CALL_SEND;
    if (message && in_order)
        call->seq = op->timing == SPECTER_TIMING_NONE && op->id <= INT64_MAX ? (int64_t)op->id : -1;
    return call->seq >= 0 && (!message || call->peer >= 0);
}

static bool same_kind(const struct numbered_call *a, const struct numbered_call *b)
{
    return a->comm == b->comm && a->kind == b->kind && a->peer == b->peer;
}

void calls_made(struct calls_made *c, const struct rank *rank, bool in_order)
{
    struct numbered_call call;
    *c = (struct calls_made){.in_order = in_order};
    for (uint32_t i = 0; i < rank->nops; i++) {
        if (!call_of(&call, rank, i, in_order))
            continue;
        ARRAY_GROW(c->list, c->cap, c->count + 1);
        c->list[c->count++] = call;
    }
    if (c->count > 0)
        qsort(c->list, c->count, sizeof *c->list, by_key);
    for (size_t i = 0; i < c->count && in_order; i++) {
        /* from positions among all operations to those among the messages of one pair and way */
        struct numbered_call *at = &c->list[i];
        if (at->kind != CALL_COLLECTIVE)
            at->seq = i > 0 && same_kind(at, &at[-1]) ? at[-1].seq + 1 : 0;
    }
}

const struct numbered_call *calls_find(const struct calls_made *c, const struct numbered_call *key)
{
    return c->count > 0 ? bsearch(key, c->list, c->count, sizeof *key, by_key) : NULL;
}

const struct op *finder_op(const struct hang_finder *f, uint32_t r, const struct numbered_call *key)
{
    const struct numbered_call *call = r != NONE ? calls_find(&f->made[r], key) : NULL;
    return call != NULL ? &f->run->ranks[r].ops[call->op] : NULL;
}

/* The first call that is not before the key. */
static size_t lower_bound(const struct calls_made *c, const struct numbered_call *key)
{
    struct bisect find = {.high = c->count};
    while (bisect_next(&find))
        bisect_take(&find, by_key(&c->list[find.mid], key) < 0);
    return find.low;
}

bool calls_of_op(const struct calls_made *c, const struct rank *rank, uint32_t op,
                 struct numbered_call *call)
{
    if (!call_of(call, rank, op, c->in_order))
        return false;
    if (!c->in_order || call->kind == CALL_COLLECTIVE)
        return true;
    call->seq = 0;
    for (size_t i = lower_bound(c, call); i < c->count && same_kind(&c->list[i], call); i++) {
        if (c->list[i].op == op) {
            *call = c->list[i];
            return true;
        }
    }
    return false;
}

bool calls_later(const struct calls_made *c, const struct numbered_call *key)
{
    struct numbered_call next = *key;
    size_t at;
    if (key->seq == INT64_MAX || (c->in_order && key->kind != CALL_COLLECTIVE))
        return false;
    next.seq++;
    at = lower_bound(c, &next);
    return at < c->count && same_kind(&c->list[at], key);
}

void calls_of_comm(const struct calls_made *c, int32_t comm, size_t *first, size_t *end)
{
    struct numbered_call from = {.comm = comm, .kind = CALL_COLLECTIVE, .peer = -1, .seq = 0};
    struct numbered_call to = {.comm = comm, .kind = CALL_SEND, .peer = INT32_MIN};
    *first = lower_bound(c, &from);
    *end = lower_bound(c, &to);
}

/* ---- comparing ---- */

/* Returns a number for all that must be equal on all members; 0: the trace does not tell. */
static uint64_t signature(const struct op *op)
{
    uint64_t bytes = op->coll.op == SPECTER_ALLTOALLV ? 0 : op->bytes;
    uint64_t rest = (uint64_t)op->coll.op | (uint64_t)op->dtype << 8 |
                    (uint64_t)op->coll.redop << 16 | (uint64_t)(uint32_t)op->coll.peer << 24;
    uint64_t hash = (bytes + 1) * 0x9E3779B97F4A7C15u;
    if (op->coll.op >= SPECTER_COMM_OP_COUNT || op->flags & OP_BYTES_UNKNOWN)
        return 0;
    hash = ((hash ^ hash >> 29) + rest + 1) * 0xBF58476D1CE4E5B9u;
    return (hash ^ hash >> 32) | 1;
}

bool calls_equal(const struct op *a, const struct op *b)
{
    uint64_t one = signature(a), other = signature(b);
    return one == other || one == 0 || other == 0;
}

/* The members' calls with numbers from lo on, one row a member; and what most called. */
struct call_table {
    uint64_t *rows;        /* [n * width] signatures; 0 unknown or not called */
    uint64_t *most;        /* [width] of the majority, or of the larger part of a tie */
    uint32_t *votes, *all; /* [width] for it, and of all that are known */
    size_t n, width;
    int64_t lo;
};

/* The table begins at the first number that all members' records hold. Calls before it may be
 * missing from a trace only. */
static int64_t first_common(const struct members *of, int64_t seq)
{
    int64_t most = of->n * (CALLS_COMPARED + AHEAD) <= CELLS_MAX ? CALLS_COMPARED : 2 * AHEAD;
    int64_t lo = seq >= most ? seq - most + 1 : 0;
    for (size_t m = 0; m < of->n; m++) {
        const struct numbered_call *list = of->made[m]->list;
        size_t first, end;
        calls_of_comm(of->made[m], of->comm, &first, &end);
        if (first < end && list[first].seq > lo && list[first].seq <= seq)
            lo = list[first].seq;
    }
    return lo;
}

/* Boyer and Moore's vote finds the majority if there is one; a second pass counts. */
static void count_votes(struct call_table *t)
{
    for (size_t m = 0; m < t->n; m++) {
        for (size_t k = 0; k < t->width; k++) {
            uint64_t sig = t->rows[m * t->width + k];
            if (sig == 0)
                continue;
            if (t->votes[k] == 0)
                t->most[k] = sig;
            if (t->most[k] == sig)
                t->votes[k]++;
            else
                t->votes[k]--;
        }
    }
    memset(t->votes, 0, t->width * sizeof *t->votes);
    for (size_t m = 0; m < t->n; m++) {
        for (size_t k = 0; k < t->width; k++) {
            uint64_t sig = t->rows[m * t->width + k];
            t->all[k] += sig != 0;
            t->votes[k] += sig != 0 && sig == t->most[k];
        }
    }
}

static bool has_majority(const struct call_table *t, size_t k)
{
    return 2 * t->votes[k] > t->all[k];
}

/* Returns the call that others than m made; 0 when none of them made one. */
static uint64_t of_others(const struct call_table *t, size_t m, size_t k)
{
    uint64_t own, sig = 0;
    if (k >= t->width)
        return 0;
    own = t->rows[m * t->width + k];
    if (t->votes[k] > (own != 0 && own == t->most[k]))
        return t->most[k];
    for (size_t i = 0; i < t->n && sig == 0; i++)
        sig = i != m ? t->rows[i * t->width + k] : 0;
    return sig;
}

/* Returns whether, from k on (which is not 0 with a shift of -1), m's calls are those that the
 * others made `shift` numbers later. At least one must be. */
static bool fits_shift(const struct call_table *t, size_t m, size_t k, int shift)
{
    bool any = false;
    for (; k < t->width; k++) {
        uint64_t own = t->rows[m * t->width + k];
        uint64_t others = of_others(t, m, shift < 0 ? k - 1 : k + (size_t)shift);
        if (own == 0 || others == 0)
            continue;
        if (own != others)
            return false;
        any = true;
    }
    return any;
}

static void judge_member(struct call_verdict *v, const struct call_table *t, size_t m,
                         size_t compared)
{
    for (size_t k = 0; k < compared; k++) {
        uint64_t own = t->rows[m * t->width + k];
        bool tied = !has_majority(t, k) && t->all[k] > 1;
        size_t first = k;
        if (own == 0 || (own == t->most[k] && !tied))
            continue;
        /* Another call in place of the right one is likelier than one call too many. */
        if (fits_shift(t, m, k, 1))
            v->fault = CALL_SKIPPED;
        else if (!fits_shift(t, m, k + 1, 0) && fits_shift(t, m, k + 1, -1))
            v->fault = CALL_EXTRA;
        else
            v->fault = has_majority(t, k) ? CALL_OTHER : CALL_TIED;
        v->tied = tied;
        v->seq = t->lo + (int64_t)k;
        while (first > 0 && t->most[first - 1] == of_others(t, m, k))
            first--;
        v->first = v->fault == CALL_SKIPPED ? t->lo + (int64_t)first : v->seq;
        return;
    }
}

/* Decides ties: a side that left a call out is at fault, and the other one is not. When both sides
 * fit the other's next calls, or neither does, they stay tied. */
static void settle_ties(struct call_verdict *verdicts, size_t n)
{
    size_t skipped = 0, others = 0;
    for (size_t m = 0; m < n; m++) {
        if (!verdicts[m].tied)
            continue;
        skipped += verdicts[m].fault == CALL_SKIPPED;
        others += verdicts[m].fault != CALL_SKIPPED;
    }
    for (size_t m = 0; m < n; m++) {
        struct call_verdict *v = &verdicts[m];
        if (!v->tied)
            continue;
        if (skipped == 0 || others == 0)
            v->fault = CALL_TIED;
        else if (v->fault != CALL_SKIPPED)
            v->fault = CALL_SAME;
    }
}

void calls_compare(const struct members *of, int64_t seq)
{
    struct call_table t = {.n = of->n, .lo = first_common(of, seq)};
    size_t compared = (size_t)(seq - t.lo) + 1;
    t.width = compared + AHEAD;
    t.rows = array_new(t.n * t.width, sizeof *t.rows);
    t.most = array_new(t.width, sizeof *t.most);
    t.votes = array_new(t.width, sizeof *t.votes);
    t.all = array_new(t.width, sizeof *t.all);
    for (size_t m = 0; m < of->n; m++) {
        size_t first, end;
        calls_of_comm(of->made[m], of->comm, &first, &end);
        for (size_t i = first; i < end; i++) {
            const struct numbered_call *call = &of->made[m]->list[i];
            int64_t at = call->seq - t.lo;
            if (at >= 0 && at < (int64_t)t.width)
                t.rows[m * t.width + (size_t)at] = signature(&of->ranks[m]->ops[call->op]);
        }
    }
    count_votes(&t);
    for (size_t m = 0; m < of->n; m++) {
        of->verdicts[m] = (struct call_verdict){.fault = CALL_SAME};
        judge_member(&of->verdicts[m], &t, m, compared);
    }
    settle_ties(of->verdicts, of->n);
    for (size_t m = 0; m < of->n; m++) {
        struct call_verdict *v = &of->verdicts[m];
        struct numbered_call key = {
            .comm = of->comm, .kind = CALL_COLLECTIVE, .peer = -1, .seq = v->seq};
        const struct numbered_call *found;
        if (v->fault == CALL_SAME)
            continue;
        found = calls_find(of->made[m], &key);
        v->op = found != NULL ? found->op : 0;
    }
    free(t.rows);
    free(t.most);
    free(t.votes);
    free(t.all);
}
