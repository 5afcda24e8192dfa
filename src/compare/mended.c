/* SPDX-License-Identifier: MIT */
#include "compare/mended.h"

#include "base/order.h"
#include "compare/cause_sim.h"
#include "compare/work_kinds.h"
#include "compare/work_times.h"

#include <math.h>
#include <stdlib.h>

#define NO_TIME 1e-6 /* of a host's: it must stay above 0 */

struct mended {
    const struct analysis *a;
    struct cause_job job;
    double *computing_ns; /* [nranks] of all steps that count; owned */
    double *cpu_ns;       /* [nranks] in a step; owned */
    int64_t *recorded_ns; /* [ncosts] computations as recorded, others without what was beside them;
                             owned */
    bool *computes;       /* [ncosts] the former; owned */
    double *factors;      /* [ncosts] of the next simulation; owned */
    double *cpu_factors;  /* [nranks] likewise; owned */
};

/* What communication took of computations is in their recorded times. */
static void find_recorded(struct mended *m)
{
    const struct program *p = altered_program(m->job.altered);
    struct sim_span *spans = work_untimed_spans(m->job.altered);
    m->recorded_ns = array_new(p->ncosts, sizeof *m->recorded_ns);
    m->computes = array_new(p->ncosts, sizeof *m->computes);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        const struct op *op = c->op != PROGRAM_NONE ? &p->run->ranks[c->rank].ops[c->op] : NULL;
        m->recorded_ns[i] = altered_cost(m->job.altered, i);
        m->computes[i] = c->match == PROGRAM_NONE && (op == NULL || work_is_timed_computation(op));
        if (m->computes[i])
            m->recorded_ns[i] = op != NULL ? op->dur_ns : spans[i].end_ns - spans[i].start_ns;
    }
    free(spans);
}

/* Without what communication took of them. */
static void find_computing(struct mended *m)
{
    const struct program *p = altered_program(m->job.altered);
    const struct job_steps *steps = altered_steps(m->job.altered);
    struct work_alone alone;
    work_alone_init(&alone, m->job.altered);
    m->computing_ns = array_new(p->run->nranks, sizeof *m->computing_ns);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        if (c->op != PROGRAM_NONE && c->match == PROGRAM_NONE && c->measured_ns != UNKNOWN_NS &&
            work_is_computation(p->run->ranks[c->rank].ops[c->op].class) &&
            work_step_counts(steps, steps->ranks[c->rank].of[c->op]))
            m->computing_ns[c->rank] += work_alone_ns(&alone, p, i);
    }
    work_alone_release(&alone);
}

static void measure(struct mended *m)
{
    const size_t nranks = m->a->run->nranks;
    find_computing(m);
    m->cpu_ns = array_new(nranks, sizeof *m->cpu_ns);
    for (size_t r = 0; r < nranks; r++)
        m->cpu_ns[r] = work_cpu_ns(m->job.altered, r);
    m->cpu_factors = array_new(nranks, sizeof *m->cpu_factors);
    find_recorded(m);
    m->factors = array_new(altered_program(m->job.altered)->ncosts, sizeof *m->factors);
}

struct mended *mended_new(const struct analysis *a, struct err *e)
{
    struct mended *m;
    if (!analysis_timed(a)) {
        err_set(e, ERR_INPUT, "it has no device times");
        return NULL;
    }
    m = array_new(1, sizeof *m);
    m->a = a;
    if (cause_job_init(&m->job, a, MENDED_STEPS, MENDED_OPS_MAX, e) == 0) {
        measure(m);
        return m;
    }
    mended_free(m);
    return NULL;
}

void mended_free(struct mended *m)
{
    if (m == NULL)
        return;
    cause_job_release(&m->job);
    free(m->computing_ns);
    free(m->cpu_ns);
    free(m->recorded_ns);
    free(m->computes);
    free(m->factors);
    free(m->cpu_factors);
    free(m);
}

/* By what factor the rank would be shorter at the lower median of all: at most 1. */
static double to_median(const double *of_ranks, size_t n, size_t rank)
{
    double *sorted = array_new(n, sizeof *sorted), median;
    size_t known = 0;
    for (size_t r = 0; r < n; r++) {
        if (of_ranks[r] > 0)
            sorted[known++] = of_ranks[r];
    }
    qsort(sorted, known, sizeof *sorted, order_doubles);
    median = known > 0 ? sorted[(known - 1) / 2] : NAN;
    free(sorted);
    return of_ranks[rank] > 0 ? fmin(median / of_ranks[rank], 1) : 1;
}

/* Returns whether a transfer is one of those that are mended. */
static bool is_meant(const struct mend *what, const struct match *match, const struct run *run)
{
    if (what->kind == MEND_COMM)
        return true;
    if (match->op != what->op || match->bytes != what->bytes)
        return false;
    return what->kind == MEND_GROUP
               ? match->comm == what->comm
               : match->comm >= 0 && run->comms[match->comm].size == what->comm_size;
}

static double factor_of(const struct mended *m, const struct mend *what, size_t cost,
                        double rank_factor)
{
    const struct program *p = altered_program(m->job.altered);
    const struct program_cost *c = &p->costs[cost];
    const bool transfers =
        what->kind == MEND_COMM || what->kind == MEND_COLLECTIVE || what->kind == MEND_GROUP;
    int class;
    if (c->match != PROGRAM_NONE)
        return transfers && is_meant(what, &p->matches.list[c->match], p->run)
                   ? what->kind == MEND_COMM ? 0 : what->factor
                   : 1;
    class = c->op != PROGRAM_NONE ? p->run->ranks[c->rank].ops[c->op].class : OP_KERNEL;
    if (what->kind == MEND_COPIES && class == OP_MEMORY)
        return 0;
    return what->kind == MEND_RANK && c->rank == what->rank && work_is_computation(class)
               ? rank_factor
               : 1;
}

int mended_saves(struct mended *m, const struct mend *what, double *saves_ns, struct err *e)
{
    const size_t nranks = m->a->run->nranks;
    const double recorded_ns = step_window_mean(&m->a->step_time.window);
    const double base_ns = altered_base_ns(m->job.altered);
    struct alteration altered = {.factors = m->factors, .cpu_factors = m->cpu_factors};
    double step_ns, rank_factor = 1;
    if (what->kind == MEND_COMM || what->kind == MEND_COPIES) {
        altered.costs_ns = m->recorded_ns;
        altered.fixed = m->computes;
    }
    for (size_t r = 0; r < nranks; r++)
        m->cpu_factors[r] = what->kind == MEND_HOST ? NO_TIME : 1;
    if (what->kind == MEND_RANK) {
        rank_factor = to_median(m->computing_ns, nranks, what->rank);
        m->cpu_factors[what->rank] = to_median(m->cpu_ns, nranks, what->rank);
    }
    for (size_t i = 0; i < altered_program(m->job.altered)->ncosts; i++)
        m->factors[i] = factor_of(m, what, i, rank_factor);
    if (altered_step(m->job.altered, &altered, &step_ns, e) < 0)
        return -1;
    *saves_ns = fmax((base_ns - step_ns) / base_ns * recorded_ns, 0);
    return 0;
}
