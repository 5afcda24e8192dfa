/* SPDX-License-Identifier: MIT */
#include "analysis/closing_sums.h"

#include "base/hash.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONG_SUM_UNIT UINT64_C(1000000000)

static void add_long(struct long_sum *sum, uint64_t value)
{
    sum->high += value / LONG_SUM_UNIT;
    sum->low += value % LONG_SUM_UNIT;
}

double long_sum_value(struct long_sum sum)
{
    return (double)sum.high * (double)LONG_SUM_UNIT + (double)sum.low;
}

void closing_sums_init(struct closing_sums *s)
{
    memset(s, 0, sizeof *s);
    arena_init(&s->arena);
    intern_init(&s->hosts, &s->arena);
    s->straggler = SIZE_MAX;
}

void closing_sums_release(struct closing_sums *s)
{
    free(s->ranks);
    free(s->comms);
    free(s->slots);
    intern_release(&s->hosts);
    arena_release(&s->arena);
}

/* ---- communicators ---- */

static uint64_t comm_hash(uint64_t id, int32_t size, int op)
{
    return hash_mix(hash_mix(hash_mix(1, id), (uint64_t)size), (uint64_t)op);
}

static void enter_slot(struct closing_sums *s, size_t comm)
{
    const struct closing_comm *c = &s->comms[comm];
    size_t at = comm_hash(c->id, c->size, c->op) % s->nslots;
    while (s->slots[at] != 0)
        at = at + 1 < s->nslots ? at + 1 : 0;
    s->slots[at] = (uint32_t)comm + 1;
}

static void grow_slots(struct closing_sums *s)
{
    free(s->slots);
    s->nslots = s->nslots > 0 ? 2 * s->nslots : 1024;
    s->slots = array_new(s->nslots, sizeof *s->slots);
    for (size_t i = 0; i < s->ncomms; i++)
        enter_slot(s, i);
}

/* Returns the communicator and operation of a row, added where they are new; NULL: there are too
 * many. */
static struct closing_comm *find_comm(struct closing_sums *s, const struct closing_row *row)
{
    struct closing_comm *c;
    if (2 * (s->ncomms + 1) > s->nslots)
        grow_slots(s);
    for (size_t at = comm_hash(row->comm, row->size, (int)row->op) % s->nslots; s->slots[at] != 0;
         at = at + 1 < s->nslots ? at + 1 : 0) {
        c = &s->comms[s->slots[at] - 1];
        if (c->id == row->comm && c->size == row->size && c->op == row->op)
            return c;
    }
    if (s->ncomms == CLOSING_COMMS_MAX)
        return NULL;
    ARRAY_ROOM(s->comms, s->cap_comms, s->ncomms + 1);
    c = &s->comms[s->ncomms++];
    memset(c, 0, sizeof *c);
    c->id = row->comm;
    c->size = row->size;
    c->op = (uint8_t)row->op;
    enter_slot(s, s->ncomms - 1);
    return c;
}

/* Keeps the extremes: of equal times that of the lower rank, so that the order of the processes
 * does not matter. */
static void note_extremes(struct closing_extremes *x, int64_t ns, int64_t rank)
{
    bool first = x->timed++ == 0;
    if (first || ns < x->least_ns || (ns == x->least_ns && rank < x->least)) {
        x->least_ns = ns;
        x->least = rank;
    }
    if (first || ns > x->most_ns || (ns == x->most_ns && rank < x->most)) {
        x->most_ns = ns;
        x->most = rank;
    }
}

static void add_comm(struct closing_sums *s, const struct closing_row *row, int64_t rank)
{
    struct closing_comm *c = find_comm(s, row);
    if (c == NULL) {
        s->rows_left_out++;
        return;
    }
    if (row->spans > 0)
        note_extremes(&c->of_ranks, row->ns, rank);
    c->spans_min = c->members == 0 || row->spans < c->spans_min ? row->spans : c->spans_min;
    c->spans_max = row->spans > c->spans_max ? row->spans : c->spans_max;
    c->count += row->count;
    add_long(&c->bytes, row->bytes);
    add_long(&c->ns, (uint64_t)row->ns);
    c->members++;
}

/* ---- classes ---- */

static int size_class(int32_t size)
{
    int number = 1;
    if (size <= 0)
        return 0;
    for (int64_t most = 1; most < size; most *= 2)
        number++;
    return number < CLOSING_SIZES ? number : CLOSING_SIZES - 1;
}

static uint64_t bus_bytes(const struct closing_row *row)
{
    double bytes = (double)row->timed_bytes * specter_comm_op_bus_factor(row->op, row->size);
    return bytes < 1.8e19 ? (uint64_t)bytes : UINT64_MAX;
}

static void add_to_class(struct closing_class *c, const struct closing_row *row)
{
    if (row->size > 0) {
        c->size_min = c->size_min == 0 || row->size < c->size_min ? row->size : c->size_min;
        c->size_max = row->size > c->size_max ? row->size : c->size_max;
    }
    if (row->spans > 0) {
        bool first = c->spans == 0;
        c->min_ns = first || row->min_ns < c->min_ns ? row->min_ns : c->min_ns;
        c->max_ns = first || row->max_ns > c->max_ns ? row->max_ns : c->max_ns;
    }
    c->count += row->count;
    c->timed += row->timed;
    c->spans += row->spans;
    add_long(&c->bytes, row->bytes);
    add_long(&c->timed_bytes, row->timed_bytes);
    add_long(&c->bus_bytes, bus_bytes(row));
    add_long(&c->ns, (uint64_t)row->ns);
    for (int i = 0; i < SPECTER_HIST_BINS; i++)
        c->hist[i] += row->hist[i];
}

/* Both are at most RUN_TIME_MAX, and so is the sum. */
static int64_t add_time(int64_t a, int64_t b)
{
    return a < RUN_TIME_MAX - b ? a + b : RUN_TIME_MAX;
}

static void add_rows(struct closing_sums *s, const struct closing *c)
{
    /* of this process, by class */
    struct {
        int64_t ns;
        bool has_row, timed;
    } own[SPECTER_COMM_OP_COUNT][CLOSING_SIZES] = {0};
    for (size_t i = 0; i < c->nrows; i++) {
        const struct closing_row *row = &c->rows[i];
        int size = size_class(row->size);
        add_to_class(&s->classes[row->op][size], row);
        own[row->op][size].ns = add_time(own[row->op][size].ns, row->ns);
        own[row->op][size].has_row = true;
        own[row->op][size].timed |= row->spans > 0;
        if (row->known_comm)
            add_comm(s, row, c->rank);
    }
    for (int op = 0; op < SPECTER_COMM_OP_COUNT; op++) {
        for (int size = 0; size < CLOSING_SIZES; size++) {
            struct closing_class *class = &s->classes[op][size];
            class->ranks += own[op][size].has_row;
            if (own[op][size].timed)
                note_extremes(&class->of_ranks, own[op][size].ns, c->rank);
        }
    }
}

void closing_sums_add(struct closing_sums *s, const struct closing *c)
{
    struct closing_rank *r;
    ARRAY_ROOM(s->ranks, s->cap_ranks, s->nranks + 1);
    r = &s->ranks[s->nranks++];
    memset(r, 0, sizeof *r);
    r->rank = c->rank;
    r->host = intern_add(&s->hosts, c->host, strlen(c->host));
    r->file = arena_strdup(&s->arena, c->label);
    r->devices = c->devices;
    r->recorded_ns = c->from_ns != UNKNOWN_NS ? c->to_ns - c->from_ns : 0;
    r->launches = c->launches;
    r->dropped = c->dropped;
    memcpy(r->kinds, c->kinds, sizeof r->kinds);
    add_rows(s, c);
}

/* ---- the result ---- */

/* The part of a process's recorded time that a kind of work took; NAN. */
static double kind_share(const struct closing_rank *rank, enum specter_sum_kind kind)
{
    double ns = (double)rank->recorded_ns * (double)rank->devices;
    return ns > 0 ? (double)rank->kinds[kind].ns / ns : NAN;
}

double closing_comm_share(const struct closing_rank *rank)
{
    return kind_share(rank, SPECTER_SUM_COLLECTIVES) + kind_share(rank, SPECTER_SUM_MESSAGES);
}

/* The spread over the ranks of values[nranks], NAN where a rank has none; reorders them. */
static struct closing_spread spread_of(const struct closing_sums *s, double *values)
{
    struct closing_spread x = {NAN, NAN, NAN, -1, -1};
    size_t n = 0;
    for (size_t i = 0; i < s->nranks; i++) {
        double value = values[i];
        if (isnan(value))
            continue;
        if (n == 0 || value < x.least) {
            x.least = value;
            x.least_rank = s->ranks[i].rank;
        }
        if (n == 0 || value > x.most) {
            x.most = value;
            x.most_rank = s->ranks[i].rank;
        }
        values[n++] = value;
    }
    qsort(values, n, sizeof *values, order_doubles);
    if (n > 0)
        x.median = values[(n - 1) / 2];
    return x;
}

double closing_wait_ns(const struct closing_comm *comm)
{
    if (!specter_comm_op_waits_for_all(comm->op) || comm->members < 2 ||
        (int64_t)comm->members != comm->size || comm->spans_min != comm->spans_max ||
        comm->spans_max == 0)
        return NAN;
    return long_sum_value(comm->ns) - (double)comm->of_ranks.least_ns * (double)comm->members;
}

/* Orders communicators by the waits of their members, longest first, then by time. */
static int by_wait(const void *pa, const void *pb)
{
    const struct closing_comm *a = pa, *b = pb;
    double wait_a = closing_wait_ns(a), wait_b = closing_wait_ns(b);
    double ns_a = long_sum_value(a->ns), ns_b = long_sum_value(b->ns);
    wait_a = isnan(wait_a) ? -1 : wait_a;
    wait_b = isnan(wait_b) ? -1 : wait_b;
    if (wait_a != wait_b)
        return ORDER(wait_b, wait_a);
    if (ns_a != ns_b)
        return ORDER(ns_b, ns_a);
    if (a->id != b->id)
        return ORDER(a->id, b->id);
    return a->size != b->size ? ORDER(a->size, b->size) : ORDER(a->op, b->op);
}

static int by_rank(const void *pa, const void *pb)
{
    const struct closing_rank *a = pa, *b = pb;
    return a->rank != b->rank ? ORDER(a->rank, b->rank) : strcmp(a->file, b->file);
}

static struct closing_rank *rank_of(const struct closing_sums *s, int64_t rank)
{
    struct bisect find = {.high = s->nranks};
    while (bisect_next(&find))
        bisect_take(&find, s->ranks[find.mid].rank < rank);
    bool found = find.low < s->nranks && s->ranks[find.low].rank == rank;
    return found ? &s->ranks[find.low] : NULL;
}

/* Adds up the waits that each rank caused, and finds the rank that caused most. */
static void find_straggler(struct closing_sums *s)
{
    for (size_t i = 0; i < s->ncomms; i++) {
        const struct closing_comm *c = &s->comms[i];
        double wait = closing_wait_ns(c);
        struct closing_rank *r = c->of_ranks.least >= 0 ? rank_of(s, c->of_ranks.least) : NULL;
        if (r != NULL && wait > 0)
            r->caused_ns += wait;
    }
    for (size_t i = 0; i < s->nranks; i++) {
        double most = s->straggler != SIZE_MAX ? s->ranks[s->straggler].caused_ns : 0;
        if (s->ranks[i].caused_ns > most)
            s->straggler = i;
    }
}

void closing_sums_finish(struct closing_sums *s)
{
    double *values = array_new(s->nranks + 1, sizeof *values);
    if (s->nranks > 0)
        qsort(s->ranks, s->nranks, sizeof *s->ranks, by_rank);
    if (s->ncomms > 0)
        qsort(s->comms, s->ncomms, sizeof *s->comms, by_wait);
    for (size_t i = 0; i < s->ncomms; i++)
        s->classes[s->comms[i].op][size_class(s->comms[i].size)].comms++;
    for (int kind = 0; kind < SPECTER_SUM_KIND_COUNT; kind++) {
        for (size_t i = 0; i < s->nranks; i++)
            values[i] = kind_share(&s->ranks[i], (enum specter_sum_kind)kind);
        s->kinds[kind] = spread_of(s, values);
    }
    for (size_t i = 0; i < s->nranks; i++)
        values[i] = closing_comm_share(&s->ranks[i]);
    s->communication = spread_of(s, values);
    for (size_t i = 0; i < s->nranks; i++)
        values[i] = s->ranks[i].recorded_ns > 0 ? (double)s->ranks[i].recorded_ns : NAN;
    s->recorded = spread_of(s, values);
    find_straggler(s);
    free(values);
}

bool closing_quantile(const struct closing_class *c, double q, double *from_ns, double *to_ns)
{
    uint64_t all = 0, below = 0;
    for (int i = 0; i < SPECTER_HIST_BINS; i++)
        all += c->hist[i];
    if (all == 0 || c->spans == 0)
        return false;
    double place = ceil(q * (double)all);
    int bin = 0;
    while (bin + 1 < SPECTER_HIST_BINS && (double)(below += c->hist[bin]) < place)
        bin++;
    *from_ns = bin == 0 ? 0 : ldexp(1, bin + SPECTER_HIST_MIN);
    *to_ns = bin + 1 == SPECTER_HIST_BINS ? INFINITY : ldexp(1, bin + 1 + SPECTER_HIST_MIN);
    *from_ns = *from_ns > (double)c->min_ns ? *from_ns : (double)c->min_ns;
    *to_ns = *to_ns < (double)c->max_ns ? *to_ns : (double)c->max_ns;
    return true;
}
