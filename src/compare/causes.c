/* SPDX-License-Identifier: MIT */
#include "compare/causes.h"

#include "base/order.h"
#include "base/pool.h"
#include "compare/cause_job.h"
#include "compare/work_times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HIDDEN 0.1        /* of its own change: less in the step is hidden */
#define FACTOR_MAX 1000.0 /* of one cost, either way */

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
    uint32_t *test_rank; /* [nranks] the same rank of the test; PROGRAM_NONE */
    uint32_t *test_kind; /* [base.kinds.count] the same work; IDMAP_NONE */
    bool *test_known;    /* [test.kinds.count] the base has such work */
    double *common;      /* [base.kinds.count] by how much all ranks changed */
    double *rank_factor; /* [nranks] by how much more its GEMMs and kernels did */
    double *cpu_factor;  /* [nranks] */
    struct cause_job job;
    struct altered *altered; /* its */
    double *factors;         /* [ncosts] of the next simulation; 1 between them */
};

static double bounded(double factor)
{
    return isfinite(factor) && factor > 0 ? fmin(fmax(factor, 1 / FACTOR_MAX), FACTOR_MAX) : 1;
}

/* ---- what changed ---- */

static void find_ranks(struct finder *f, const struct run *test)
{
    for (size_t r = 0; r < f->run->nranks; r++) {
        f->test_rank[r] = PROGRAM_NONE;
        for (size_t t = 0; t < test->nranks; t++) {
            if (test->ranks[t].rank == f->run->ranks[r].rank)
                f->test_rank[r] = (uint32_t)t;
        }
    }
}

/* Which of the test's kinds of work is that of the base: by key, in both directions. */
static void find_kinds(struct finder *f)
{
    int64_t *keys = idmap_ids(&f->base.kinds);
    for (uint32_t k = 0; k < f->base.kinds.count; k++) {
        f->test_kind[k] = work_times_find(&f->test, keys[k]);
        if (f->test_kind[k] != IDMAP_NONE)
            f->test_known[f->test_kind[k]] = true;
    }
    free(keys);
}

/* Returns the lower median; 1 of none. */
static double lower_median(double *list, size_t n)
{
    qsort(list, n, sizeof *list, order_doubles);
    return n > 0 ? list[(n - 1) / 2] : 1;
}

/* What a kind takes of a rank's time in a step, mean of ranks. */
static double mean_ns(const struct work_times *w, uint32_t kind)
{
    double ns = 0;
    for (size_t r = 0; kind != IDMAP_NONE && r < w->nranks; r++)
        ns += w->ns[kind][r] / (double)w->runs / (double)w->nranks;
    return ns;
}

static double base_ns(const struct finder *f, uint32_t kind, size_t r)
{
    return f->base.ns[kind][r] / (double)f->base.runs;
}

/* NAN: the test has no such rank. */
static double test_ns(const struct finder *f, uint32_t kind, size_t r)
{
    return f->test_rank[r] != PROGRAM_NONE && f->test_kind[kind] != IDMAP_NONE
               ? f->test.ns[f->test_kind[kind]][f->test_rank[r]] / (double)f->test.runs
               : NAN;
}

/* By class, test / base of all work that has no like on the other side. */
static void find_unmatched(const struct finder *f, double ratios[OP_GRAPH + 1])
{
    double base[OP_GRAPH + 1] = {0}, test[OP_GRAPH + 1] = {0};
    for (uint32_t k = 0; k < f->base.kinds.count; k++) {
        if (f->test_kind[k] == IDMAP_NONE)
            base[f->base.class[k]] += mean_ns(&f->base, k);
    }
    for (uint32_t k = 0; k < f->test.kinds.count; k++) {
        if (!f->test_known[k])
            test[f->test.class[k]] += mean_ns(&f->test, k);
    }
    for (int i = 0; i <= OP_GRAPH; i++)
        ratios[i] = bounded(test[i] / base[i]);
}

static void find_common(struct finder *f)
{
    double unmatched[OP_GRAPH + 1];
    double *ratios = array_new(f->run->nranks, sizeof *ratios);
    find_unmatched(f, unmatched);
    for (uint32_t k = 0; k < f->base.kinds.count; k++) {
        size_t n = 0;
        for (size_t r = 0; r < f->run->nranks; r++) {
            const double b = base_ns(f, k, r), t = test_ns(f, k, r);
            if (b > 0 && t > 0)
                ratios[n++] = t / b;
        }
        f->common[k] = f->test_kind[k] != IDMAP_NONE ? bounded(lower_median(ratios, n))
                                                     : unmatched[f->base.class[k]];
    }
    free(ratios);
}

static bool is_computation(int class)
{
    return class == OP_GEMM || class == OP_KERNEL || class == OP_GRAPH;
}

/* What the rank's own computation takes: in the base, after what all ranks share, and in the test.
 * Only work that both sides have. */
static void own_work(const struct finder *f, size_t r, double *shared_ns, double *own_ns)
{
    *shared_ns = *own_ns = 0;
    for (uint32_t k = 0; k < f->base.kinds.count; k++) {
        const double b = base_ns(f, k, r), t = test_ns(f, k, r);
        if (!is_computation(f->base.class[k]) || !(b > 0) || !(t > 0))
            continue;
        *shared_ns += b * f->common[k];
        *own_ns += t;
    }
}

static void find_rank_factors(struct finder *f)
{
    for (size_t r = 0; r < f->run->nranks; r++) {
        double shared_ns, own_ns;
        own_work(f, r, &shared_ns, &own_ns);
        f->rank_factor[r] = shared_ns > 0 ? bounded(own_ns / shared_ns) : 1;
    }
}

static void find_cpu(struct finder *f)
{
    for (size_t r = 0; r < f->run->nranks; r++) {
        double b = f->base.cpu_ns[r] / (double)f->base.runs, t = NAN;
        if (f->test_rank[r] != PROGRAM_NONE)
            t = f->test.cpu_ns[f->test_rank[r]] / (double)f->test.runs;
        f->cpu_factor[r] = b > 0 && t > 0 ? bounded(t / b) : 1;
        if (!(b > 0) || (f->test_rank[r] != PROGRAM_NONE && !(t > 0)))
            f->out->no_cpu_times = true;
    }
}

/* ---- simulations ---- */

static void add(struct finder *f, struct cause cause, double step_ns)
{
    struct causes *out = f->out;
    cause.change_ns = llround(step_ns - altered_base_ns(f->altered));
    ARRAY_GROW(out->list, out->cap, out->n + 1);
    out->list[out->n++] = cause;
}

/* One cause: f->factors hold what it changes, and are all 1 again afterwards. */
static int simulate(struct finder *f, struct cause cause, const double *cpu, struct err *e)
{
    double step_ns;
    if (altered_step(f->altered, f->factors, cpu, &step_ns, e) < 0)
        return -1;
    add(f, cause, step_ns);
    for (size_t i = 0; i < altered_program(f->altered)->ncosts; i++)
        f->factors[i] = 1;
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
        cause.base_ns += mean_ns(&f->base, k);
        cause.test_ns += mean_ns(&f->base, k) * f->common[k];
    }
    if (is_small(f, cause.base_ns, cause.test_ns))
        return 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        const int class = own_class(f, &p->costs[i]);
        uint32_t k = class >= 0 && classes >> class & 1
                         ? work_times_find(&f->base, work_key(p, &p->costs[i]))
                         : IDMAP_NONE;
        if (k != IDMAP_NONE)
            f->factors[i] = f->common[k];
    }
    return simulate(f, cause, NULL, e);
}

static int simulate_cpu(struct finder *f, struct err *e)
{
    struct cause cause = {.kind = CAUSE_HOST};
    for (size_t r = 0; r < f->run->nranks; r++) {
        const double b = f->base.cpu_ns[r] / (double)f->base.runs;
        if (!(b > 0))
            continue;
        cause.base_ns += b / (double)f->run->nranks;
        cause.test_ns += b * f->cpu_factor[r] / (double)f->run->nranks;
    }
    return is_small(f, cause.base_ns, cause.test_ns) ? 0 : simulate(f, cause, f->cpu_factor, e);
}

static int simulate_collective(struct finder *f, const struct compare_row *row, struct err *e)
{
    const struct program *p = altered_program(f->altered);
    const struct compare_key *of = &row->of;
    const int64_t key =
        work_key_of_comm(of->op, of->dtype, of->bytes > 0 ? (uint64_t)of->bytes : 0, of->ranks);
    const uint32_t base = work_times_find(&f->base, key), test = work_times_find(&f->test, key);
    struct cause cause = {.kind = CAUSE_COLLECTIVE, .row = row};
    cause.base_ns = mean_ns(&f->base, base);
    cause.test_ns = mean_ns(&f->test, test);
    if (!(cause.base_ns > 0) || is_small(f, cause.base_ns, cause.test_ns))
        return 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        if (p->costs[i].match != PROGRAM_NONE && work_key(p, &p->costs[i]) == key)
            f->factors[i] = bounded(cause.test_ns / cause.base_ns);
    }
    return simulate(f, cause, NULL, e);
}

/* Rows are in the order of how much they changed. */
static int simulate_collectives(struct finder *f, struct err *e)
{
    int n = 0;
    for (size_t i = 0; i < f->c->nrows && n < CAUSES_OF_A_KIND; i++) {
        const struct compare_row *row = &f->c->rows[i];
        if ((row->of.table != COMPARE_COLLECTIVES && row->of.table != COMPARE_MESSAGES) ||
            row->verdict == COMPARE_IS_ADDED || row->verdict == COMPARE_IS_REMOVED)
            continue;
        n++;
        if (simulate_collective(f, row, e) < 0)
            return -1;
    }
    return 0;
}

static int simulate_rank(struct finder *f, size_t r, struct err *e)
{
    const struct program *p = altered_program(f->altered);
    struct cause cause = {.kind = CAUSE_RANK, .rank = f->run->ranks[r].rank};
    own_work(f, r, &cause.base_ns, &cause.test_ns);
    for (size_t i = 0; i < p->ncosts; i++) {
        const int class = own_class(f, &p->costs[i]);
        if (p->costs[i].rank == r && is_computation(class))
            f->factors[i] = f->rank_factor[r];
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
            if (done[r] || !(fabs(f->rank_factor[r] - 1) >= most))
                continue;
            most = fabs(f->rank_factor[r] - 1);
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
        if (cause_job_init(job, side->runs.list[i], SIZE_MAX, &side->e) < 0)
            return;
        work_times_add(side->w, altered_program(job->altered), altered_steps(job->altered));
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

static void find_factors(struct finder *f, const struct run *test)
{
    struct arena *arena = &f->c->arena;
    const size_t nranks = f->run->nranks;
    f->test_rank = arena_alloc(arena, nranks * sizeof *f->test_rank);
    f->rank_factor = arena_alloc(arena, nranks * sizeof *f->rank_factor);
    f->cpu_factor = arena_alloc(arena, nranks * sizeof *f->cpu_factor);
    f->test_kind = arena_alloc(arena, f->base.kinds.count * sizeof *f->test_kind);
    f->test_known = arena_alloc(arena, f->test.kinds.count * sizeof *f->test_known);
    f->common = arena_alloc(arena, f->base.kinds.count * sizeof *f->common);
    find_ranks(f, test);
    find_kinds(f);
    find_common(f);
    find_rank_factors(f);
    find_cpu(f);
}

static int simulate_all(struct finder *f, struct err *e)
{
    static const unsigned kernels = 1u << OP_KERNEL | 1u << OP_GRAPH;
    f->out->simulated_ns = altered_base_ns(f->altered);
    f->factors = array_new(altered_program(f->altered)->ncosts, sizeof *f->factors);
    for (size_t i = 0; i < altered_program(f->altered)->ncosts; i++)
        f->factors[i] = 1;
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
        find_factors(&f, test.list[0]->run);
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
