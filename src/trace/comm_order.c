/* SPDX-License-Identifier: MIT */
#include "trace/comm_order.h"

#include "base/idmap.h"
#include "base/order.h"
#include "trace/align.h"
#include "trace/kernel_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- communicators ---- */

/* One stream that carries collectives of libraries, or others. */
struct comm_lane {
    int32_t device, stream;
    bool library;
    int comm; /* of the ops that have one; -1 none, -2 more than one */
};

/* The streams of a rank that carry collectives. */
struct comm_lanes {
    struct comm_lane *list; /* owned */
    size_t count, cap;
    struct idmap ids; /* device and stream -> list */
};

static int64_t lane_key(const struct op *op)
{
    uint64_t stream = (uint64_t)(uint32_t)op->stream << 1 | kernel_is_nccl(op->name);
    return (int64_t)((uint64_t)(uint32_t)op->device << 33 ^ stream);
}

static int compare_lanes(const void *pa, const void *pb)
{
    const struct comm_lane *a = *(struct comm_lane *const *)pa, *b = *(struct comm_lane *const *)pb;
    if (a->device != b->device)
        return ORDER(a->device, b->device);
    if (a->library != b->library)
        return a->library ? -1 : 1;
    return ORDER(a->stream, b->stream);
}

/* A communicator for each lane that has none, by the lane's place among those. */
static void name_lanes(struct run *run, struct comm_lanes *lanes, int64_t size, const char *unnamed)
{
    struct comm_lane **order = array_new(lanes->count + 1, sizeof *order);
    int count[2] = {0, 0};
    size_t n = 0;
    char id[32];
    for (size_t i = 0; i < lanes->count; i++) {
        if (lanes->list[i].comm == -1)
            order[n++] = &lanes->list[i];
    }
    if (n > 0)
        qsort(order, n, sizeof *order, compare_lanes);
    for (size_t i = 0; i < n; i++) {
        bool library = order[i]->library;
        int len = snprintf(id, sizeof id, library ? ORDER_GUESSED "%d" : "custom kernels %d",
                           count[library]++);
        order[i]->comm = run_comm(run, id, (size_t)len, size > 0 ? size : 0);
    }
    free(order);
    if (count[true] > 0)
        run_note(run, false, "the traces name no %s: collectives are matched by stream order",
                 unnamed);
    if (count[false] > 0)
        run_note(run, false,
                 "communication by kernels of no library (custom all-reduce, for example) is "
                 "matched by stream order");
}

/* Returns whether the kernel spans the whole job, as far as its name gives a number of GPUs: which
 * ranks are in smaller groups is not known. */
static bool spans_job(const struct op *op, int64_t size)
{
    int64_t width = kernel_gpus(op->name);
    return width < 0 || size <= 0 || width == size;
}

bool order_is_guessed(const struct run *run, int comm)
{
    return comm < 0 || strncmp(run->comms[comm].id, ORDER_GUESSED, strlen(ORDER_GUESSED)) == 0;
}

void order_name_lanes(struct run *run, struct rank *rank, int64_t size, const char *unnamed)
{
    struct comm_lanes lanes = {0};
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        struct comm_lane *lane;
        size_t at;
        if (op->class != OP_COLL)
            continue;
        at = idmap_add(&lanes.ids, lane_key(op));
        ARRAY_GROW(lanes.list, lanes.cap, at + 1);
        lane = &lanes.list[at];
        if (at == lanes.count) {
            lanes.count++;
            *lane = (struct comm_lane){op->device, op->stream, kernel_is_nccl(op->name), -1};
        }
        if (op->coll.comm >= 0)
            lane->comm = lane->comm == -1 || lane->comm == op->coll.comm ? op->coll.comm : -2;
    }
    name_lanes(run, &lanes, size, unnamed);
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        const struct comm_lane *lane;
        if (op->class != OP_COLL || op->coll.comm >= 0 || !spans_job(op, size))
            continue;
        lane = &lanes.list[idmap_find(&lanes.ids, lane_key(op))];
        op->coll.comm = lane->comm >= 0 ? lane->comm : -1;
    }
    idmap_release(&lanes.ids);
    free(lanes.list);
}

/* ---- numbers ---- */

/* Counts from 0 for each key. */
struct key_counters {
    struct idmap keys;
    int64_t *next; /* owned */
    size_t cap;
};

static int64_t count_up(struct key_counters *c, int64_t key)
{
    uint32_t at = idmap_add(&c->keys, key);
    ARRAY_GROW(c->next, c->cap, (size_t)at + 1);
    return c->next[at]++;
}

void order_number_messages(struct rank *rank)
{
    struct key_counters messages = {0};
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        if (op->class == OP_P2P && op->coll.comm >= 0 && op->coll.peer >= 0)
            op->coll.p2p_seq =
                count_up(&messages, ((int64_t)op->coll.comm << 32 | (int64_t)op->coll.peer) * 2 +
                                        (op->coll.op == SPECTER_RECV));
    }
    idmap_release(&messages.keys);
    free(messages.next);
}

void order_number(struct rank *rank)
{
    struct key_counters collectives = {0};
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        if (op->class == OP_COLL && op->coll.comm >= 0)
            op->coll.seq = count_up(&collectives, op->coll.comm);
    }
    idmap_release(&collectives.keys);
    free(collectives.next);
    order_number_messages(rank);
}

/* ---- what is missing ---- */

/* Counts of what the traces of all ranks do not tell. */
struct gaps {
    size_t ops, unlaunched;          /* device work, without the call that launched it */
    size_t comm, sizeless, nameless; /* communication, without bytes, without operation */
};

void order_note_gaps(struct run *run)
{
    struct gaps g = {0};
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            const struct op *op = &run->ranks[r].ops[i];
            g.ops++;
            g.unlaunched += op->host_ns == UNKNOWN_NS;
            if (!op_is_comm(op))
                continue;
            g.comm++;
            g.sizeless += (op->flags & OP_BYTES_UNKNOWN) != 0;
            g.nameless += op->coll.op == SPECTER_COMM_OP_COUNT;
        }
    }
    run_drop_notes(run, NOTE_GAPS);
    if (g.sizeless > 0)
        run_note_of(run, NOTE_GAPS, false,
                    "%zu of %zu communication kernels carry no size, in the trace's kernels or on "
                    "the host's side; their measured times are kept",
                    g.sizeless, g.comm);
    if (g.nameless > 0)
        run_note_of(run, NOTE_GAPS, false,
                    "%zu of %zu communication kernels do not tell their operation", g.nameless,
                    g.comm);
    if (g.unlaunched > 0)
        run_note_of(run, NOTE_GAPS, false,
                    "%zu of %zu GPU operations have no launch call in the traces", g.unlaunched,
                    g.ops);
}

/* ---- a rank that left a collective out ----
 *
 * Of each communicator the rank whose collectives most others have alike (operation, size, type) is
 * the pattern. Every other rank is laid along it: where an operation does not fit its counterpart,
 * the nearest place is looked for from which both fit again, a few of the pattern left out, or a
 * few of the rank's own skipped. A pair fits when what both know agrees, and, on a common clock,
 * both run at the same time, as members of one collective do. Where the recorder paused
 * (run->pauses) each window is laid along the pattern by itself.
 *
 * Where every rank holds others of the collectives (each sampled its own), and all are timed on one
 * clock, time decides where it makes more pairs than order: of two ranks those are the same that
 * agree and ran beside each other longest. */

#define LOOK_AHEAD 32  /* collectives left out and added together, at one place */
#define ASKED_MAX 1024 /* ranks that the pattern is chosen among */
#define FIT_AGAIN 4    /* in a row, or up to the end, so that it is no chance */

/* One collective, in the order of communicator, window, rank, op. */
struct coll_entry {
    int32_t comm;
    uint32_t window; /* pauses of the recorder before it */
    uint32_t rank, op;
};

/* The collectives of one rank in one communicator and window. */
struct coll_row {
    const struct coll_entry *list;
    size_t n;
    uint64_t hash; /* of what they are */
};

/* A place in the order that all rows together have, on one clock. */
struct order_place {
    struct coll_entry of; /* the first row's that has it */
    int64_t seq;          /* in the order in which places were found */
};

struct resync {
    struct run *run;
    struct coll_row pattern;
    int64_t base;                  /* number of the pattern's first collective */
    int64_t next;                  /* number for a collective that the pattern does not have */
    bool clock;                    /* the row in hand and the pattern are on one clock */
    size_t left_out, added, ranks; /* ranks: that differ */
    size_t lost;                   /* of them, that did not fit again */
    size_t pairs;                  /* places that two rows share */
    size_t timed;                  /* sets of rows that were matched by time */
    struct coll_entry first;       /* where the first of them begins to */
    size_t first_at;
};

static int compare(const void *pa, const void *pb)
{
    const struct coll_entry *a = pa, *b = pb;
    if (a->comm != b->comm)
        return ORDER(a->comm, b->comm);
    if (a->window != b->window)
        return ORDER(a->window, b->window);
    if (a->rank != b->rank)
        return ORDER(a->rank, b->rank);
    return ORDER(a->op, b->op);
}

static bool one_row(const struct coll_entry *a, const struct coll_entry *b)
{
    return a->comm == b->comm && a->window == b->window && a->rank == b->rank;
}

static size_t collect(const struct run *run, const bool *by_order, struct coll_entry **list)
{
    size_t n = 0, cap = 0;
    for (uint32_t r = 0; r < run->nranks; r++) {
        uint32_t window = 0;
        for (uint32_t i = 0; i < run->ranks[r].nops; i++) {
            const struct op *op = &run->ranks[r].ops[i];
            if (op->class != OP_COLL || op->coll.comm < 0 || !by_order[op->coll.comm])
                continue;
            while (window < run->npauses && op->start_ns >= run->pauses[window].at_ns)
                window++;
            ARRAY_GROW(*list, cap, n + 1);
            (*list)[n++] = (struct coll_entry){op->coll.comm, window, r, i};
        }
    }
    if (n > 0)
        qsort(*list, n, sizeof **list, compare);
    return n;
}

static struct op *op_of(const struct resync *s, const struct coll_entry *e)
{
    return &s->run->ranks[e->rank].ops[e->op];
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
static bool fits(const struct resync *s, const struct coll_row *row, size_t i, size_t j)
{
    const struct op *a = op_of(s, &s->pattern.list[i]), *b = op_of(s, &row->list[j]);
    return alike(a, b) && (!s->clock || together(a, b));
}

static bool fits_on(const struct resync *s, const struct coll_row *row, size_t i, size_t j)
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
static bool find_again(const struct resync *s, const struct coll_row *row, size_t *i, size_t *j)
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

static void differ(struct resync *s, const struct coll_row *row, size_t at, bool *differs)
{
    if (*differs)
        return;
    *differs = true;
    if (s->ranks++ == 0) {
        s->first = row->list[at < row->n ? at : row->n - 1];
        s->first_at = at;
    }
}

/* ---- rows that hold different parts of the order ---- */

static int64_t overlap_ns(const struct op *a, const struct op *b)
{
    int64_t a_end = ns_add(a->start_ns, a->dur_ns), b_end = ns_add(b->start_ns, b->dur_ns);
    int64_t from = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
    return alike(a, b) ? (a_end < b_end ? a_end : b_end) - from : -1;
}

/* Returns whether place i and collective j of the row are the same one, by the time that they
 * share: neither shares more with the next of the other. Two of one rank share none, so that a
 * collective's other end is the one that ran beside it longest. */
static bool is_pair(const struct resync *s, const struct order_place *places, size_t n, size_t i,
                    const struct coll_row *row, size_t j)
{
    const struct op *a = op_of(s, &places[i].of), *b = op_of(s, &row->list[j]);
    int64_t shared = overlap_ns(a, b);
    if (shared < 0)
        return false;
    return (i + 1 == n || overlap_ns(op_of(s, &places[i + 1].of), b) <= shared) &&
           (j + 1 == row->n || overlap_ns(a, op_of(s, &row->list[j + 1])) <= shared);
}

static bool ends_first(const struct op *a, const struct op *b)
{
    return ns_add(a->start_ns, a->dur_ns) <= ns_add(b->start_ns, b->dur_ns);
}

/* Lays one row beside the places: what has no place there gets one of its own. Returns the places
 * of both, by time; owned. */
static struct order_place *lay_by_time(struct resync *s, struct order_place *places, size_t *n,
                                       const struct coll_row *row)
{
    struct order_place *both = array_new(*n + row->n + 1, sizeof *both);
    size_t i = 0, j = 0, count = 0;
    while (i < *n || j < row->n) {
        bool pair = i < *n && j < row->n && is_pair(s, places, *n, i, row, j);
        if (pair || j == row->n ||
            (i < *n && ends_first(op_of(s, &places[i].of), op_of(s, &row->list[j])))) {
            s->pairs += pair;
            if (pair)
                op_of(s, &row->list[j++])->coll.seq = places[i].seq;
            both[count++] = places[i++];
            continue;
        }
        op_of(s, &row->list[j])->coll.seq = s->next;
        both[count++] = (struct order_place){row->list[j++], s->next++};
    }
    free(places);
    *n = count;
    return both;
}

/* Returns whether all rows are on one clock and every operation of theirs is timed. */
static bool have_times(const struct resync *s, const struct coll_row *rows, size_t n)
{
    const struct rank *first = &s->run->ranks[rows[0].list[0].rank];
    for (size_t r = 0; r < n; r++) {
        if (r > 0 && !ranks_share_clock(first, &s->run->ranks[rows[r].list[0].rank]))
            return false;
        for (size_t i = 0; i < rows[r].n; i++) {
            const struct op *op = op_of(s, &rows[r].list[i]);
            if (!op_timed(op) || ns_add(op->start_ns, op->dur_ns) == UNKNOWN_NS)
                return false;
        }
    }
    return n > 1;
}

static void number_by_time(struct resync *s, const struct coll_row *rows, size_t n)
{
    struct order_place *places = NULL;
    int64_t *at;
    size_t count = 0;
    s->next = 0;
    s->pairs = 0;
    for (size_t r = 0; r < n; r++)
        places = lay_by_time(s, places, &count, &rows[r]);
    at = array_new(count + 1, sizeof *at);
    for (size_t i = 0; i < count; i++)
        at[places[i].seq] = (int64_t)i;
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < rows[r].n; i++) {
            struct op *op = op_of(s, &rows[r].list[i]);
            op->coll.seq = s->base + at[op->coll.seq];
        }
    }
    s->next = s->base + (int64_t)count;
    free(at);
    free(places);
}

/* Numbers the collectives that fit the pattern after it, row for row, and all others anew. */
static void number_by_order(struct resync *s, const struct coll_row *rows, size_t n)
{
    size_t longest = 0;
    for (size_t r = 0; r < n; r++)
        longest = rows[r].n > longest ? rows[r].n : longest;
    s->next = s->base + (int64_t)longest;
    s->pairs = 0;
    for (size_t r = 0; r < n; r++) {
        const struct rank *a = &s->run->ranks[s->pattern.list[0].rank];
        const struct rank *b = &s->run->ranks[rows[r].list[0].rank];
        s->clock = a != b && ranks_share_clock(a, b);
        const struct coll_row *row = &rows[r];
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
            s->pairs += fits(s, row, i, j);
            op_of(s, &row->list[j++])->coll.seq = s->base + (int64_t)i++;
        }
        if (i < s->pattern.n || j < row->n)
            differ(s, row, j, &differs);
        s->left_out += s->pattern.n - i;
        s->added += row->n - j;
        s->lost += lost;
        for (; j < row->n; j++)
            op_of(s, &row->list[j])->coll.seq = s->next++;
    }
    s->pairs -= s->pattern.n; /* with itself */
}

/* The rows of one communicator and window, by order, or by time where that shows more of them the
 * same. Numbers of a window are behind those of the one before. */
static void number_rows(struct resync *s, struct coll_row *rows, size_t n)
{
    struct resync before;
    size_t pairs;
    s->base = rows[0].list[0].window > 0 ? s->next : 0;
    for (size_t r = 0; r < n; r++) {
        const struct coll_row *row = &rows[r];
        uint64_t h = row->n;
        for (size_t i = 0; i < row->n; i++) {
            const struct op *op = op_of(s, &row->list[i]);
            bool sized = !(op->flags & OP_BYTES_UNKNOWN) && op->coll.op != SPECTER_ALLTOALLV;
            uint64_t word = (uint64_t)op->coll.op << 8 | op->dtype;
            h = (h ^ word) * 1099511628211u;
            h = (h ^ (sized ? op->bytes : 0)) * 1099511628211u;
        }
        rows[r].hash = h;
    }
    /* The row that most others equal, the longest of those, the first of those. */
    size_t asked = n < ASKED_MAX ? n : ASKED_MAX, best = 0, most = 0;
    for (size_t r = 0; r < asked; r++) {
        size_t count = 0;
        for (size_t k = 0; k < asked; k++)
            count += rows[k].hash == rows[r].hash;
        if (count > most || (count == most && rows[r].n > rows[best].n)) {
            best = r;
            most = count;
        }
    }
    s->pattern = rows[best];
    before = *s;
    number_by_order(s, rows, n);
    if (s->ranks == before.ranks || !have_times(s, rows, n))
        return;
    pairs = s->pairs;
    *s = before;
    number_by_time(s, rows, n);
    if (s->pairs > pairs)
        s->timed++;
    else
        number_by_order(s, rows, n);
}

void order_resync(struct run *run, const bool *by_order)
{
    struct resync s = {.run = run};
    struct coll_entry *list = NULL;
    struct coll_row *rows = NULL;
    size_t n = collect(run, by_order, &list), cap = 0, count = 0;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && one_row(&list[to], &list[from]);)
            to++;
        if (count > 0 && (rows[0].list[0].comm != list[from].comm ||
                          rows[0].list[0].window != list[from].window)) {
            number_rows(&s, rows, count);
            count = 0;
        }
        ARRAY_GROW(rows, cap, count + 1);
        rows[count++] = (struct coll_row){.list = &list[from], .n = to - from};
    }
    if (count > 0)
        number_rows(&s, rows, count);
    if (s.ranks > 0) {
        const struct rank *rank = &s.run->ranks[s.first.rank];
        char who[32];
        if (rank->rank >= 0)
            snprintf(who, sizeof who, "rank %d", rank->rank);
        run_note(
            s.run, false,
            "collectives are matched by order, and %zu rank%s differ%s from the others: %zu left "
            "out, %zu more, from collective %zu on of '%s' of %s%s",
            s.ranks, s.ranks > 1 ? "s" : "", s.ranks > 1 ? "" : "s", s.left_out, s.added,
            s.first_at + 1, s.run->comms[s.first.comm].id, rank->rank >= 0 ? who : rank->file,
            s.lost > 0 ? "; what follows does not fit, so that the match may be wrong"
                       : "; what follows is matched where it fits again");
    }
    if (s.timed > 0)
        run_note(
            run, false,
            "ranks hold different collectives (sampled, say), so that their order does not fit: "
            "those of one operation and size that run at the same time are taken to be the same");
    free(rows);
    free(list);
}
