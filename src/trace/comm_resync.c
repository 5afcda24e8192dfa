/* SPDX-License-Identifier: MIT */
#include "trace/comm_resync.h"

#include "trace/align.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_AHEAD 32  /* collectives left out and added together, at one place */
#define ASKED_MAX 1024 /* ranks that the pattern is chosen among */
#define FIT_AGAIN 4    /* in a row, or up to the end, so that it is no chance */

/* One collective, in the order of communicator, rank, op. */
struct entry {
    int32_t comm;
    uint32_t rank, op;
};

/* Those of one rank in one communicator. */
struct row {
    const struct entry *list;
    size_t n;
    uint64_t hash; /* of what they are */
};

struct resync {
    struct run *run;
    struct row pattern;
    int64_t next;                  /* number for a collective that the pattern does not have */
    bool clock;                    /* the row in hand and the pattern are on one clock */
    size_t left_out, added, ranks; /* ranks: that differ */
    size_t lost;                   /* of them, that did not fit again */
    struct entry first;            /* where the first of them begins to */
    size_t first_at;
};

static int compare(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    if (a->comm != b->comm)
        return a->comm < b->comm ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

static size_t collect(const struct run *run, const bool *by_order, struct entry **list)
{
    size_t n = 0, cap = 0;
    for (uint32_t r = 0; r < run->nranks; r++) {
        for (uint32_t i = 0; i < run->ranks[r].nops; i++) {
            const struct op *op = &run->ranks[r].ops[i];
            if (op->class != OP_COLL || op->coll.comm < 0 || !by_order[op->coll.comm])
                continue;
            ARRAY_GROW(*list, cap, n + 1);
            (*list)[n++] = (struct entry){op->coll.comm, r, i};
        }
    }
    if (n > 0)
        qsort(*list, n, sizeof **list, compare);
    return n;
}

static struct op *op_of(const struct resync *s, const struct entry *e)
{
    return &s->run->ranks[e->rank].ops[e->op];
}

static uint64_t hash_of(const struct resync *s, const struct row *row)
{
    uint64_t h = row->n;
    for (size_t i = 0; i < row->n; i++) {
        const struct op *op = op_of(s, &row->list[i]);
        bool sized = !(op->flags & OP_BYTES_UNKNOWN) && op->coll.op != SPECTER_ALLTOALLV;
        uint64_t word = (uint64_t)op->coll.op << 8 | op->dtype;
        h = (h ^ word) * 1099511628211u;
        h = (h ^ (sized ? op->bytes : 0)) * 1099511628211u;
    }
    return h;
}

/* ---- does a pair fit ---- */

static bool alike(const struct op *a, const struct op *b)
{
    bool sized = !((a->flags | b->flags) & OP_BYTES_UNKNOWN) && a->coll.op != SPECTER_ALLTOALLV;
    if (a->coll.op != b->coll.op && a->coll.op != SPECTER_COMM_OP_COUNT &&
        b->coll.op != SPECTER_COMM_OP_COUNT)
        return false;
    if (a->dtype != b->dtype && a->dtype != SPECTER_DTYPE_UNKNOWN &&
        b->dtype != SPECTER_DTYPE_UNKNOWN)
        return false;
    return !sized || a->bytes == b->bytes;
}

static bool together(const struct op *a, const struct op *b)
{
    int64_t a_end = ns_add(a->start_ns, a->dur_ns), b_end = ns_add(b->start_ns, b->dur_ns);
    if (!op_timed(a) || !op_timed(b) || a_end == UNKNOWN_NS || b_end == UNKNOWN_NS)
        return true;
    return a->start_ns <= b_end && b->start_ns <= a_end;
}

/* The i-th of the pattern and the j-th of the row. */
static bool fits(const struct resync *s, const struct row *row, size_t i, size_t j)
{
    const struct op *a = op_of(s, &s->pattern.list[i]), *b = op_of(s, &row->list[j]);
    return alike(a, b) && (!s->clock || together(a, b));
}

static bool fits_on(const struct resync *s, const struct row *row, size_t i, size_t j)
{
    size_t count = 0;
    while (count < FIT_AGAIN && i < s->pattern.n && j < row->n && fits(s, row, i, j)) {
        count++;
        i++;
        j++;
    }
    return count == FIT_AGAIN || (count > 0 && (i == s->pattern.n || j == row->n));
}

/* The nearest place from which both fit again. */
static bool find_again(const struct resync *s, const struct row *row, size_t *i, size_t *j)
{
    for (size_t away = 1; away <= LOOK_AHEAD; away++) {
        for (size_t skip = 0; skip <= away; skip++) {
            size_t at = *i + away - skip, in = *j + skip;
            if (at >= s->pattern.n || in >= row->n || !fits_on(s, row, at, in))
                continue;
            *i = at;
            *j = in;
            return true;
        }
    }
    return false;
}

/* ---- one rank along the pattern ---- */

static void differ(struct resync *s, const struct row *row, size_t at, bool *differs)
{
    if (*differs)
        return;
    *differs = true;
    if (s->ranks++ == 0) {
        s->first = row->list[at < row->n ? at : row->n - 1];
        s->first_at = at;
    }
}

static void number_row(struct resync *s, const struct row *row)
{
    size_t i = 0, j = 0;
    bool differs = false, lost = false;
    while (j < row->n && i < s->pattern.n) {
        size_t at = i, in = j;
        if (!lost && !fits(s, row, i, j)) {
            differ(s, row, j, &differs);
            lost = !find_again(s, row, &i, &j);
            s->left_out += i - at;
            s->added += j - in;
        }
        for (; in < j; in++)
            op_of(s, &row->list[in])->coll.seq = s->next++;
        op_of(s, &row->list[j++])->coll.seq = (int64_t)i++;
    }
    if (i < s->pattern.n || j < row->n)
        differ(s, row, j, &differs);
    s->left_out += s->pattern.n - i;
    s->added += row->n - j;
    s->lost += lost;
    for (; j < row->n; j++)
        op_of(s, &row->list[j])->coll.seq = s->next++;
}

/* The row that most others equal, the longest of those, the first of those. */
static struct row choose(const struct row *rows, size_t n)
{
    size_t best = 0, most = 0;
    n = n < ASKED_MAX ? n : ASKED_MAX;
    for (size_t r = 0; r < n; r++) {
        size_t count = 0;
        for (size_t k = 0; k < n; k++)
            count += rows[k].hash == rows[r].hash;
        if (count > most || (count == most && rows[r].n > rows[best].n)) {
            best = r;
            most = count;
        }
    }
    return rows[best];
}

static void number_comm(struct resync *s, struct row *rows, size_t n)
{
    s->next = 0;
    for (size_t r = 0; r < n; r++) {
        rows[r].hash = hash_of(s, &rows[r]);
        s->next = (int64_t)rows[r].n > s->next ? (int64_t)rows[r].n : s->next;
    }
    s->pattern = choose(rows, n);
    for (size_t r = 0; r < n; r++) {
        const struct rank *a = &s->run->ranks[s->pattern.list[0].rank];
        const struct rank *b = &s->run->ranks[rows[r].list[0].rank];
        s->clock = a != b && ranks_share_clock(a, b);
        number_row(s, &rows[r]);
    }
}

static void note(const struct resync *s)
{
    const struct rank *rank = &s->run->ranks[s->first.rank];
    char who[32];
    if (rank->rank >= 0)
        snprintf(who, sizeof who, "rank %d", rank->rank);
    run_note(s->run, false,
             "collectives are matched by order, and %zu rank%s differ%s from the others: %zu left "
             "out, %zu more, from collective %zu on of '%s' of %s%s",
             s->ranks, s->ranks > 1 ? "s" : "", s->ranks > 1 ? "" : "s", s->left_out, s->added,
             s->first_at + 1, s->run->comms[s->first.comm].id, rank->rank >= 0 ? who : rank->file,
             s->lost > 0 ? "; what follows does not fit, so that the match may be wrong"
                         : "; what follows is matched where it fits again");
}

void order_resync(struct run *run, const bool *by_order)
{
    struct resync s = {.run = run};
    struct entry *list = NULL;
    struct row *rows = NULL;
    size_t n = collect(run, by_order, &list), cap = 0, count = 0;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1;
             to < n && list[to].comm == list[from].comm && list[to].rank == list[from].rank; to++)
            ;
        if (count > 0 && rows[0].list[0].comm != list[from].comm) {
            number_comm(&s, rows, count);
            count = 0;
        }
        ARRAY_GROW(rows, cap, count + 1);
        rows[count++] = (struct row){.list = &list[from], .n = to - from};
    }
    if (count > 0)
        number_comm(&s, rows, count);
    if (s.ranks > 0)
        note(&s);
    free(rows);
    free(list);
}
