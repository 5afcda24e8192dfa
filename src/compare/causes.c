/* SPDX-License-Identifier: MIT */
#include "compare/causes.h"

#include "base/order.h"
#include "base/pool.h"
#include "compare/cause_sim.h"
#include "compare/simulated_run.h"
#include "compare/work_kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CAUSES_STEPS 8   /* of a long recording: times of steps are compared */
#define FILLED_MOST 0.02 /* of the step */
#define HIDDEN 0.1       /* of its own change: less in the step is hidden */

const char *cause_kind_name(enum cause_kind kind)
{
    static const char *const names[] = {
#define X(id, name) name,
        CAUSE_KINDS(X)
#undef X
    };
    return names[kind];
}

bool causes_are_rough(const struct causes *c)
{
    return c->unknown == NULL && c->n > 0 && fabs(c->off_ns) > fabs((double)c->change_ns) &&
           fabs(c->off_ns) > CAUSES_OFF * (c->simulated_ns - c->off_ns);
}

/* A collective's without what follows from late members. */
static double own_change(const struct cause *cause)
{
    return fabs(cause->test_ns + cause->early_ns - cause->base_ns);
}

bool cause_is_lateness(const struct cause *cause)
{
    return 2 * fabs(cause->early_ns) > fabs(cause->test_ns - cause->base_ns);
}

bool cause_is_hidden(const struct cause *cause, double base_step_ns)
{
    const double own = own_change(cause);
    return cause->kind != CAUSE_RANK && own >= CAUSE_LEAST * base_step_ns &&
           fabs((double)cause->change_ns) < HIDDEN * own;
}

/* A cause while it is found. */
struct candidate {
    struct cause cause;
    unsigned classes; /* GEMMs, kernels, copies: enum op_class, as bits */
    size_t rank;      /* RANK: index into run->ranks */
    double own_ns;    /* by how much its own time changed, on a rank that it concerns */
    double alone_ns;  /* what it does to the step, everything else as in the base */
};

/* While the causes are found. */
struct finder {
    struct causes *out;
    struct comparison *c;
    const struct run *run; /* the base's that is simulated: one of its runs, or steps of it */
    struct work_times base, test;
    struct work_change change;
    struct slot_range base_slots; /* of the run that is simulated */
    struct simulated_run simulated;
    struct cause_sim sim;
    struct candidate *list; /* owned */
    size_t n, cap;
    double base_ns; /* the step, simulated */
};

/* ---- what changed ---- */

static bool is_small(const struct finder *f, double base, double test)
{
    return !(fabs(test - base) >= CAUSE_LEAST * f->c->step->base_ns);
}

static void add(struct finder *f, struct candidate c)
{
    ARRAY_GROW(f->list, f->cap, f->n + 1);
    f->list[f->n++] = c;
}

static int64_t key_of_row(const struct compare_row *row)
{
    const struct compare_key *of = &row->of;
    return work_key_of_comm(of->op, of->dtype, of->bytes > 0 ? (uint64_t)of->bytes : 0, of->ranks);
}

/* Fills what the transfers of a row take: alone, where both sides show that. */
static void measure_transfers(const struct finder *f, struct cause *cause)
{
    const uint32_t b = work_times_find(&f->base, key_of_row(cause->row));
    const uint32_t t = work_times_find(&f->test, key_of_row(cause->row));
    cause->base_ns = work_times_mean(&f->base, b);
    cause->test_ns = work_times_mean(&f->test, t);
    if (b == IDMAP_NONE || t == IDMAP_NONE)
        return;
    if (!work_times_own_known(&f->base, b) || !work_times_own_known(&f->test, t)) {
        cause->base_ns += work_times_taken(&f->base, b);
        cause->test_ns += work_times_taken(&f->test, t);
    }
    cause->early_ns = cause->base_ns * cause_sim_early(&f->sim, b);
}

static int by_own_change(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    return a->own_ns != b->own_ns ? ORDER(b->own_ns, a->own_ns) : ORDER(a->cause.row, b->cause.row);
}

/* The rows of communication that changed most, collectives and messages. */
static void find_collectives(struct finder *f)
{
    const size_t before = f->n;
    for (size_t i = 0; i < f->c->nrows; i++) {
        const struct compare_row *row = &f->c->rows[i];
        struct candidate c = {.cause = {.kind = CAUSE_COLLECTIVE, .row = row}};
        if ((row->of.table != COMPARE_COLLECTIVES && row->of.table != COMPARE_MESSAGES) ||
            row->verdict == COMPARE_IS_ADDED || row->verdict == COMPARE_IS_REMOVED)
            continue;
        measure_transfers(f, &c.cause);
        c.own_ns = own_change(&c.cause);
        if (c.cause.base_ns > 0 && !is_small(f, 0, c.own_ns))
            add(f, c);
    }
    if (f->n > before)
        qsort(f->list + before, f->n - before, sizeof *f->list, by_own_change);
    f->n = f->n < before + CAUSES_OF_A_KIND ? f->n : before + CAUSES_OF_A_KIND;
}

/* Computation or copies of all ranks. */
static void find_class(struct finder *f, enum cause_kind kind, unsigned classes)
{
    struct candidate c = {.cause = {.kind = kind}, .classes = classes};
    for (uint32_t k = 0; k < f->base.kinds.count; k++) {
        if (!(classes >> f->base.list[k].class & 1))
            continue;
        c.cause.base_ns += work_times_mean(&f->base, k);
        c.cause.test_ns += work_times_mean(&f->base, k) * f->change.common[k];
    }
    if (kind == CAUSE_KERNELS)
        work_change_add_untimed(&f->change, &c.cause.base_ns, &c.cause.test_ns);
    c.own_ns = fabs(c.cause.test_ns - c.cause.base_ns);
    if (!is_small(f, c.cause.base_ns, c.cause.test_ns))
        add(f, c);
}

/* CPU time of the ranks, and launches that times of work include: where CPU times are known and are
 * the same, these follow from what else changed. */
static void find_host(struct finder *f)
{
    struct candidate c = {.cause = {.kind = CAUSE_HOST}};
    double launch_ns = 0;
    for (size_t r = 0; r < f->run->nranks; r++) {
        const double b = f->base.cpu_ns[r] / (double)f->base.runs;
        if (!(b > 0))
            continue;
        c.cause.base_ns += b / (double)f->base.recorded;
        c.cause.test_ns += b * f->change.cpu_factor[r] / (double)f->base.recorded;
    }
    for (uint32_t k = 0; k < f->base.kinds.count; k++)
        launch_ns += work_times_mean(&f->base, k) * f->change.common[k] * (f->change.launch[k] - 1);
    c.own_ns = fabs(c.cause.test_ns - c.cause.base_ns) + fabs(launch_ns);
    if (!is_small(f, c.cause.base_ns, c.cause.test_ns) ||
        (f->change.no_cpu_times && !is_small(f, 0, launch_ns)))
        add(f, c);
}

static void find_ranks(struct finder *f)
{
    bool *done = array_new(f->run->nranks, sizeof *done);
    for (int n = 0; n < CAUSES_OF_A_KIND; n++) {
        struct candidate c = {.cause = {.kind = CAUSE_RANK}, .rank = f->run->nranks};
        double most = CAUSE_RANK_LEAST;
        for (size_t r = 0; r < f->run->nranks; r++) {
            const double off =
                fabs(f->change.rank_own_ns[r] / f->change.rank_shared_ns[r] - 1); /* or NAN */
            if (done[r] || !(off >= most))
                continue;
            most = off;
            c.rank = r;
        }
        if (c.rank == f->run->nranks)
            break;
        done[c.rank] = true;
        c.cause.rank = f->run->ranks[c.rank].rank;
        c.cause.base_ns = f->change.rank_shared_ns[c.rank];
        c.cause.test_ns = f->change.rank_own_ns[c.rank];
        c.own_ns = fabs(c.cause.test_ns - c.cause.base_ns);
        add(f, c);
    }
    free(done);
}

/* ---- what that does to the step ---- */

static void apply(struct finder *f, const struct candidate *c)
{
    const struct cause *cause = &c->cause;
    switch (cause->kind) {
    case CAUSE_COLLECTIVE:
        cause_sim_set_transfers(&f->sim, key_of_row(cause->row),
                                bounded_factor(cause->test_ns / cause->base_ns));
        break;
    case CAUSE_HOST:
        cause_sim_set_host(&f->sim);
        break;
    case CAUSE_RANK:
        cause_sim_set_rank(&f->sim, c->rank);
        break;
    case CAUSE_GEMMS:
    case CAUSE_KERNELS:
    case CAUSE_COPIES:
    case CAUSE_KIND_COUNT:
        cause_sim_set_class(&f->sim, c->classes);
        break;
    }
}

/* Simulates the step with the causes that were applied: by how much it changes. */
static int simulate(struct finder *f, double *change_ns, struct err *e)
{
    if (cause_sim_run(&f->sim, change_ns, e) < 0)
        return -1;
    *change_ns -= f->base_ns;
    return 0;
}

/* Shares the change that all collectives make together among them, in proportion to what each does.
 * They come first in the list. */
static int share_collectives(struct finder *f, struct err *e)
{
    double all, sum = 0, sizes = 0;
    size_t n = 0;
    while (n < f->n && f->list[n].cause.kind == CAUSE_COLLECTIVE)
        n++;
    if (n < 2)
        return 0;
    for (size_t i = 0; i < n; i++) {
        apply(f, &f->list[i]);
        sum += f->list[i].alone_ns;
        sizes += fabs(f->list[i].alone_ns);
    }
    if (simulate(f, &all, e) < 0)
        return -1;
    for (size_t i = 0; i < n && sizes > 0; i++)
        f->list[i].alone_ns += (all - sum) * fabs(f->list[i].alone_ns) / sizes;
    return 0;
}

/* Shares what communication takes of the work that it overlaps, which follows from all causes
 * together: each has part in it as its own time changed, also where that changes nothing else. */
static int share_overlap(struct finder *f, struct err *e)
{
    double without, with, sum = 0;
    for (size_t i = 0; i < f->n; i++) {
        apply(f, &f->list[i]);
        sum += f->list[i].own_ns;
    }
    if (simulate(f, &without, e) < 0)
        return -1;
    for (size_t i = 0; i < f->n; i++)
        apply(f, &f->list[i]);
    cause_sim_set_overlap(&f->sim);
    if (simulate(f, &with, e) < 0)
        return -1;
    for (size_t i = 0; i < f->n && sum > 0; i++)
        f->list[i].alone_ns += (with - without) * f->list[i].own_ns / sum;
    return 0;
}

static int simulate_all(struct finder *f, struct err *e)
{
    struct causes *out = f->out;
    if (cause_sim_run(&f->sim, &f->base_ns, e) < 0)
        return -1;
    /* Kernels without times ran while the device waited: the step must be as long with them. */
    if (fabs(f->base_ns - altered_base_ns(f->simulated.altered)) >
        FILLED_MOST * altered_base_ns(f->simulated.altered)) {
        cause_sim_drop_untimed(&f->sim);
        if (cause_sim_run(&f->sim, &f->base_ns, e) < 0)
            return -1;
    }
    out->simulated_ns = f->base_ns;
    out->off_ns = f->base_ns - f->c->step->base_ns;
    for (size_t i = 0; i < f->n; i++) {
        apply(f, &f->list[i]);
        if (simulate(f, &f->list[i].alone_ns, e) < 0)
            return -1;
    }
    if (share_collectives(f, e) < 0 || (f->n > 0 && share_overlap(f, e) < 0))
        return -1;
    ARRAY_GROW(out->list, out->cap, f->n);
    for (size_t i = 0; i < f->n; i++) {
        out->list[i] = f->list[i].cause;
        out->list[i].change_ns = llround(f->list[i].alone_ns);
    }
    out->n = f->n;
    return 0;
}

/* ---- all of them ---- */

/* The times of a side's runs, filled in by add_runs(); the sides are prepared at the same time. */
struct side_work {
    struct work_times *w;
    struct compare_runs runs;
    const struct analysis *keep; /* the run whose job is kept, to be simulated; NULL */
    struct slot_range slots;     /* of it */
    struct simulated_run *kept;  /* where: what is simulated points into it */
    struct err e;
};

static void add_runs(void *arg, size_t which)
{
    struct side_work *side = (struct side_work *)arg + which;
    for (size_t i = 0; i < side->runs.n; i++) {
        const bool keep = side->runs.list[i] == side->keep;
        const uint32_t first = side->w->places.slots;
        struct simulated_run own, *simulated = keep ? side->kept : &own;
        if (simulated_run_init(simulated, side->runs.list[i], CAUSES_STEPS, SIZE_MAX, &side->e) < 0)
            return;
        work_times_add(side->w, simulated->altered);
        if (!keep) {
            simulated_run_release(simulated);
            continue;
        }
        side->slots = (struct slot_range){first, side->w->places.slots - first};
    }
}

/* The run whose step is nearest to the mean of its side's, with as many ranks as the first. */
static const struct analysis *typical(const struct comparison *c, struct compare_runs side)
{
    size_t best = 0;
    double least = INFINITY;
    for (size_t i = 0; i < side.n; i++) {
        const struct analysis *a = side.list[i];
        double off = fabs(step_window_mean(&a->step_time.window) - c->step->base_ns);
        if (a->run->nranks == side.list[0]->run->nranks && off < least) {
            least = off;
            best = i;
        }
    }
    return side.list[best];
}

/* Prepares both sides. Sets `unknown` to the reason why a side cannot be replayed, the base's
 * first. */
static void prepare_sides(struct finder *f, struct compare_runs base, struct compare_runs test)
{
    struct side_work sides[] = {
        {.w = &f->base, .runs = base, .keep = typical(f->c, base), .kept = &f->simulated},
        {.w = &f->test, .runs = test}};
    pool_run(pool_cpus() > 1 ? 2 : 1, 2, add_runs, sides, NULL);
    for (int i = 0; i < 2 && f->out->unknown == NULL; i++) {
        if (sides[i].e.code != ERR_NONE)
            f->out->unknown = arena_printf(&f->c->arena, "%s", sides[i].e.msg);
    }
    if (f->simulated.altered == NULL)
        return;
    f->base_slots = sides[0].slots;
    f->run = altered_program(f->simulated.altered)->run;
}

static void find_change(struct finder *f, const struct run *test)
{
    static const unsigned kernels = 1u << OP_KERNEL | 1u << OP_GRAPH;
    work_change_init(&f->change, &f->base, f->run, f->base_slots, &f->test, test, &f->c->arena);
    f->out->no_cpu_times = f->change.no_cpu_times;
    cause_sim_init(&f->sim, f->simulated.altered, &f->change);
    find_collectives(f);
    find_class(f, CAUSE_GEMMS, 1u << OP_GEMM);
    find_class(f, CAUSE_KERNELS, kernels);
    find_class(f, CAUSE_COPIES, 1u << OP_MEMORY);
    find_host(f);
    find_ranks(f);
}

static int by_change(const void *pa, const void *pb)
{
    const struct cause *a = pa, *b = pb;
    const int64_t x = llabs(a->change_ns), y = llabs(b->change_ns);
    if (x != y)
        return ORDER(y, x);
    if (a->kind != b->kind)
        return ORDER(a->kind, b->kind);
    return a->rank != b->rank ? ORDER(a->rank, b->rank) : ORDER(a->row, b->row);
}

void causes_find(struct causes *out, struct comparison *c, struct compare_runs base,
                 struct compare_runs test)
{
    struct finder f = {.out = out, .c = c};
    struct err e = {0};
    *out = (struct causes){.change_ns = llround(c->step->test_ns - c->step->base_ns)};
    if (base.predicted != NULL || test.predicted != NULL) {
        out->unknown = "a prediction holds no operations";
        out->rest_ns = out->change_ns;
        return;
    }
    prepare_sides(&f, base, test);
    if (out->unknown == NULL)
        find_change(&f, test.list[0]->run);
    if (out->unknown == NULL && simulate_all(&f, &e) < 0) {
        out->unknown = arena_printf(&c->arena, "%s", e.msg);
        out->n = 0;
    }
    if (out->n > 1)
        qsort(out->list, out->n, sizeof *out->list, by_change);
    out->rest_ns = out->change_ns;
    for (size_t i = 0; i < out->n; i++)
        out->rest_ns -= out->list[i].change_ns;
    free(f.list);
    cause_sim_release(&f.sim);
    work_change_release(&f.change);
    simulated_run_release(&f.simulated);
    work_times_release(&f.base);
    work_times_release(&f.test);
}

void causes_release(struct causes *c)
{
    free(c->list);
    memset(c, 0, sizeof *c);
}
