/* SPDX-License-Identifier: MIT */
#include "compare/causes.h"

#include "base/order.h"
#include "base/pool.h"
#include "compare/cause_job.h"
#include "compare/work_change.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BESIDE_LEAST 0.01 /* of what collectives change: less is not told apart */
#define HIDDEN 0.1        /* of its own change: less in the step is hidden */

const char *cause_kind_name(enum cause_kind kind)
{
    static const char *const names[] = {
#define X(id, name) name,
        CAUSE_KINDS(X)
#undef X
    };
    return names[kind];
}

bool cause_is_hidden(const struct cause *cause, double base_step_ns)
{
    const double own = fabs(cause->test_ns - cause->base_ns);
    return cause->kind != CAUSE_RANK && own >= CAUSE_LEAST * base_step_ns &&
           fabs((double)cause->change_ns) < HIDDEN * own;
}

/* While the causes are found. */
struct finder {
    struct causes *out;
    struct comparison *c;
    const struct run *run; /* the base's that is simulated: one of its runs, or steps of it */
    struct work_times base, test;
    struct work_change change;
    struct cause_job job;
    struct altered *altered; /* its */
    double *factors;         /* [ncosts] of the next simulation; 1 between them */
};

/* ---- simulations ---- */

static void add(struct finder *f, struct cause cause)
{
    struct causes *out = f->out;
    ARRAY_GROW(out->list, out->cap, out->n + 1);
    out->list[out->n++] = cause;
}

static void reset_factors(struct finder *f)
{
    for (size_t i = 0; i < altered_program(f->altered)->ncosts; i++)
        f->factors[i] = 1;
}

/* One cause: f->factors hold what it changes, and are all 1 again afterwards. */
static int simulate(struct finder *f, struct cause cause, const double *cpu, struct err *e)
{
    double step_ns;
    if (altered_step(f->altered, f->factors, cpu, &step_ns, e) < 0)
        return -1;
    reset_factors(f);
    cause.change_ns = llround(step_ns - altered_base_ns(f->altered));
    add(f, cause);
    return 0;
}

/* Returns the class of the operation whose own work a cost is; -1: a transfer, or kernels that were
 * counted. */
static int own_class(const struct finder *f, const struct program_cost *cost)
{
    return cost->match == PROGRAM_NONE && cost->op != PROGRAM_NONE
               ? f->run->ranks[cost->rank].ops[cost->op].class
               : -1;
}

static bool is_small(const struct finder *f, double base, double test)
{
    return !(fabs(test - base) >= CAUSE_LEAST * f->c->step->base_ns);
}

/* Computation or copies of all ranks. */
static int simulate_class(struct finder *f, enum cause_kind kind, unsigned classes, struct err *e)
{
    const struct program *p = altered_program(f->altered);
    struct cause cause = {.kind = kind};
    for (uint32_t k = 0; k < f->base.kinds.count; k++) {
        if (!(classes >> f->base.class[k] & 1))
            continue;
        cause.base_ns += work_times_mean(&f->base, k);
        cause.test_ns += work_times_mean(&f->base, k) * f->change.common[k];
    }
    if (is_small(f, cause.base_ns, cause.test_ns))
        return 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        const int class = own_class(f, &p->costs[i]);
        uint32_t k = class >= 0 && classes >> class & 1
                         ? work_times_find(&f->base, work_key(p, &p->costs[i]))
                         : IDMAP_NONE;
        if (k != IDMAP_NONE)
            f->factors[i] = f->change.common[k];
    }
    return simulate(f, cause, NULL, e);
}

/* CPU time of the ranks, and launches that times of work include. */
static int simulate_cpu(struct finder *f, struct err *e)
{
    const struct program *p = altered_program(f->altered);
    struct cause cause = {.kind = CAUSE_HOST};
    double launch_ns = 0;
    for (size_t r = 0; r < f->run->nranks; r++) {
        const double b = f->base.cpu_ns[r] / (double)f->base.runs;
        if (!(b > 0))
            continue;
        cause.base_ns += b / (double)f->run->nranks;
        cause.test_ns += b * f->change.cpu_factor[r] / (double)f->run->nranks;
    }
    for (uint32_t k = 0; k < f->base.kinds.count; k++)
        launch_ns += work_times_mean(&f->base, k) * f->change.common[k] * (f->change.launch[k] - 1);
    if (is_small(f, cause.base_ns, cause.test_ns) && is_small(f, 0, launch_ns))
        return 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        const uint32_t k = own_class(f, &p->costs[i]) >= 0
                               ? work_times_find(&f->base, work_key(p, &p->costs[i]))
                               : IDMAP_NONE;
        if (k != IDMAP_NONE)
            f->factors[i] = f->change.launch[k];
    }
    return simulate(f, cause, f->change.cpu_factor, e);
}

/* ---- collectives ---- */

/* The work beside communication is slowed down as strongly as in the test, where that shows it. */
static void set_overlap(struct finder *f)
{
    const struct program *p = altered_program(f->altered);
    bool shown;
    for (size_t i = 0; i < p->ncosts; i++) {
        const uint32_t k = own_class(f, &p->costs[i]) >= 0
                               ? work_times_find(&f->base, work_key(p, &p->costs[i]))
                               : IDMAP_NONE;
        f->factors[i] = k != IDMAP_NONE && !isnan(f->change.beside[k])
                            ? f->change.beside[k]
                            : altered_overlap(f->altered, i, &shown);
    }
    altered_set_overlap(f->altered, f->factors);
    reset_factors(f);
}

static int64_t key_of_row(const struct compare_row *row)
{
    const struct compare_key *of = &row->of;
    return work_key_of_comm(of->op, of->dtype, of->bytes > 0 ? (uint64_t)of->bytes : 0, of->ranks);
}

static void set_transfers(struct finder *f, const struct cause *cause, double factor)
{
    const struct program *p = altered_program(f->altered);
    const int64_t key = key_of_row(cause->row);
    for (size_t i = 0; i < p->ncosts; i++) {
        if (p->costs[i].match != PROGRAM_NONE && work_key(p, &p->costs[i]) == key)
            f->factors[i] = factor;
    }
}

/* By how much the step changes with f->factors, which are all 1 again afterwards. */
static int change_of_step(struct finder *f, double *change_ns, struct err *e)
{
    const int rc = altered_step(f->altered, f->factors, NULL, change_ns, e);
    reset_factors(f);
    if (rc == 0)
        *change_ns -= altered_base_ns(f->altered);
    return rc;
}

/* Collectives and messages that are causes, and what each does to the step, in ns. */
struct together {
    struct cause list[CAUSES_OF_A_KIND];
    size_t n;
    double alone[CAUSES_OF_A_KIND];  /* its transfers as in the test, the others as in the base */
    double beside[CAUSES_OF_A_KIND]; /* what the work beside it is slowed down more than before */
    double all;                      /* all of that at the same time */
};

/* The rows, in the order of how much they changed, that are causes. */
static void find_collectives(const struct finder *f, struct together *t)
{
    size_t seen = 0;
    for (size_t i = 0; i < f->c->nrows && seen < CAUSES_OF_A_KIND; i++) {
        const struct compare_row *row = &f->c->rows[i];
        struct cause cause = {.kind = CAUSE_COLLECTIVE, .row = row};
        if ((row->of.table != COMPARE_COLLECTIVES && row->of.table != COMPARE_MESSAGES) ||
            row->verdict == COMPARE_IS_ADDED || row->verdict == COMPARE_IS_REMOVED)
            continue;
        seen++;
        cause.base_ns = work_times_mean(&f->base, work_times_find(&f->base, key_of_row(row)));
        cause.test_ns = work_times_mean(&f->test, work_times_find(&f->test, key_of_row(row)));
        if (cause.base_ns > 0 && !is_small(f, cause.base_ns, cause.test_ns))
            t->list[t->n++] = cause;
    }
}

static double factor_of(const struct cause *cause)
{
    return bounded_factor(cause->test_ns / cause->base_ns);
}

/* While a collective takes no time, it slows nothing down: what the change from the base's strength
 * to the test's then lacks, compared with `none`, is the collective's share. */
static int find_beside(struct finder *f, struct together *t, double none, struct err *e)
{
    for (size_t i = 0; i < t->n; i++) {
        double stronger, before;
        set_transfers(f, &t->list[i], 0);
        if (change_of_step(f, &stronger, e) < 0)
            return -1;
        altered_set_overlap(f->altered, NULL);
        set_transfers(f, &t->list[i], 0);
        if (change_of_step(f, &before, e) < 0)
            return -1;
        set_overlap(f);
        t->beside[i] = none - (stronger - before);
    }
    return 0;
}

/* With the test's strength of what communication takes of the work beside it. */
static int simulate_together(struct finder *f, struct together *t, struct err *e)
{
    double none;
    if (change_of_step(f, &none, e) < 0)
        return -1;
    for (size_t i = 0; i < t->n; i++) {
        set_transfers(f, &t->list[i], factor_of(&t->list[i]));
        if (change_of_step(f, &t->alone[i], e) < 0)
            return -1;
        t->alone[i] -= none;
    }
    for (size_t i = 0; i < t->n; i++)
        set_transfers(f, &t->list[i], factor_of(&t->list[i]));
    if (change_of_step(f, &t->all, e) < 0)
        return -1;
    return fabs(none) > BESIDE_LEAST * fabs(t->all) && t->n > 1 ? find_beside(f, t, none, e) : 0;
}

/* What several do together is shared in proportion to what each does. */
static void share(struct together *t)
{
    double sum = 0, sizes = 0;
    for (size_t i = 0; i < t->n; i++) {
        sum += t->alone[i] + t->beside[i];
        sizes += fabs(t->alone[i] + t->beside[i]);
    }
    for (size_t i = 0; i < t->n; i++) {
        const double own = t->alone[i] + t->beside[i];
        t->list[i].change_ns = llround(own + (sizes > 0 ? (t->all - sum) * fabs(own) / sizes : 0));
    }
}

static int simulate_collectives(struct finder *f, struct err *e)
{
    struct together t = {.n = 0};
    int rc;
    find_collectives(f, &t);
    if (t.n == 0)
        return 0;
    set_overlap(f);
    rc = simulate_together(f, &t, e);
    altered_set_overlap(f->altered, NULL);
    if (rc < 0)
        return -1;
    share(&t);
    for (size_t i = 0; i < t.n; i++)
        add(f, t.list[i]);
    return 0;
}

/* ---- ranks ---- */

static int simulate_rank(struct finder *f, size_t r, struct err *e)
{
    const struct program *p = altered_program(f->altered);
    struct cause cause = {.kind = CAUSE_RANK, .rank = f->run->ranks[r].rank};
    work_change_of_rank(&f->change, r, &cause.base_ns, &cause.test_ns);
    for (size_t i = 0; i < p->ncosts; i++) {
        const int class = own_class(f, &p->costs[i]);
        if (p->costs[i].rank == r && work_is_computation(class))
            f->factors[i] = f->change.rank_factor[r];
    }
    return simulate(f, cause, NULL, e);
}

static int simulate_ranks(struct finder *f, struct err *e)
{
    bool *done = array_new(f->run->nranks, sizeof *done);
    int rc = 0;
    for (int n = 0; n < CAUSES_OF_A_KIND && rc == 0; n++) {
        size_t top = f->run->nranks;
        double most = CAUSE_RANK_LEAST;
        for (size_t r = 0; r < f->run->nranks; r++) {
            if (done[r] || !(fabs(f->change.rank_factor[r] - 1) >= most))
                continue;
            most = fabs(f->change.rank_factor[r] - 1);
            top = r;
        }
        if (top == f->run->nranks)
            break;
        done[top] = true;
        rc = simulate_rank(f, top, e);
    }
    free(done);
    return rc;
}

/* ---- all of them ---- */

/* What the runs of a side take; the sides are prepared at the same time. */
struct side_work {
    struct work_times *w;
    struct compare_runs runs;
    const struct analysis *keep; /* the run whose job is kept, to be simulated; NULL */
    struct cause_job *kept;      /* where: what is simulated points into it */
    struct err e;
};

static void add_runs(void *arg, size_t which)
{
    struct side_work *side = (struct side_work *)arg + which;
    for (size_t i = 0; i < side->runs.n; i++) {
        const bool keep = side->runs.list[i] == side->keep;
        struct cause_job own, *job = keep ? side->kept : &own;
        if (cause_job_init(job, side->runs.list[i], CAUSES_STEPS, SIZE_MAX, &side->e) < 0)
            return;
        work_times_add(side->w, job->altered);
        if (!keep)
            cause_job_release(job);
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

/* Where a side cannot be replayed, why; the base's reason first. */
static void prepare_sides(struct finder *f, struct compare_runs base, struct compare_runs test)
{
    struct side_work sides[] = {
        {.w = &f->base, .runs = base, .keep = typical(f->c, base), .kept = &f->job},
        {.w = &f->test, .runs = test}};
    pool_run(pool_cpus() > 1 ? 2 : 1, 2, add_runs, sides, NULL);
    for (int i = 0; i < 2 && f->out->unknown == NULL; i++) {
        if (sides[i].e.code != ERR_NONE)
            f->out->unknown = arena_printf(&f->c->arena, "%s", sides[i].e.msg);
    }
    if (f->job.altered == NULL)
        return;
    f->altered = f->job.altered;
    f->run = altered_program(f->altered)->run;
}

static void find_change(struct finder *f, const struct run *test)
{
    work_change_init(&f->change, &f->base, f->run, &f->test, test, &f->c->arena);
    f->out->no_cpu_times = f->change.no_cpu_times;
    f->factors = array_new(altered_program(f->altered)->ncosts, sizeof *f->factors);
    reset_factors(f);
}

static int simulate_all(struct finder *f, struct err *e)
{
    static const unsigned kernels = 1u << OP_KERNEL | 1u << OP_GRAPH;
    f->out->simulated_ns = altered_base_ns(f->altered);
    return simulate_collectives(f, e) < 0 || simulate_class(f, CAUSE_GEMMS, 1u << OP_GEMM, e) < 0 ||
                   simulate_class(f, CAUSE_KERNELS, kernels, e) < 0 ||
                   simulate_class(f, CAUSE_COPIES, 1u << OP_MEMORY, e) < 0 ||
                   simulate_cpu(f, e) < 0 || simulate_ranks(f, e) < 0
               ? -1
               : 0;
}

static int by_change(const void *pa, const void *pb)
{
    const struct cause *a = pa, *b = pb;
    const int64_t x = llabs(a->change_ns), y = llabs(b->change_ns);
    if (x != y)
        return ORDER(y, x);
    return a->kind != b->kind ? ORDER(a->kind, b->kind) : ORDER(a->rank, b->rank);
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
    free(f.factors);
    cause_job_release(&f.job);
    work_times_release(&f.base);
    work_times_release(&f.test);
}

void causes_release(struct causes *c)
{
    free(c->list);
    memset(c, 0, sizeof *c);
}
