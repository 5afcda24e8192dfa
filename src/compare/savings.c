/* SPDX-License-Identifier: MIT */
#include "compare/savings.h"

#include "base/order.h"
#include "compare/simulated_run.h"
#include "compare/work_alone.h"
#include "compare/work_kinds.h"
#include "compare/work_times.h"

#include <math.h>
#include <stdlib.h>

#define SAVINGS_STEPS 2 /* one simulated step is compared with another */
#define NO_TIME 1e-6    /* of a host's: it must stay above 0 */

struct savings {
    const struct analysis *a;
    struct simulated_run simulated;
    /* [nranks] of all steps that count; owned */
    double *computing_ns;
    /* [nranks] in a step; owned */
    double *cpu_ns;
    /* [ncosts] computations as recorded, others without what communication took of them; owned */
    int64_t *recorded_ns;
    /* [ncosts] the former; owned */
    bool *computes;
    /* of the next simulation, [ncosts] and [nranks]; owned */
    double *factors, *cpu_factors;
};

/* Fills recorded_ns and computes. The recorded times of computations include what communication
 * took of them. */
static void find_recorded(struct savings *s)
{
    const struct program *p = altered_program(s->simulated.altered);
    struct sim_span *spans = work_untimed_spans(s->simulated.altered);
    s->recorded_ns = array_new(p->ncosts, sizeof *s->recorded_ns);
    s->computes = array_new(p->ncosts, sizeof *s->computes);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        const struct op *op = c->op != PROGRAM_NONE ? &p->run->ranks[c->rank].ops[c->op] : NULL;
        s->recorded_ns[i] = altered_cost(s->simulated.altered, i);
        s->computes[i] = c->match == PROGRAM_NONE && (op == NULL || work_is_timed_computation(op));
        if (s->computes[i])
            s->recorded_ns[i] = op != NULL ? op->dur_ns : spans[i].end_ns - spans[i].start_ns;
    }
    free(spans);
}

/* Without what communication took of them. */
static void find_computing(struct savings *s)
{
    const struct program *p = altered_program(s->simulated.altered);
    const struct job_steps *steps = altered_steps(s->simulated.altered);
    struct work_alone alone;
    work_alone_init(&alone, s->simulated.altered);
    s->computing_ns = array_new(p->run->nranks, sizeof *s->computing_ns);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        if (c->op != PROGRAM_NONE && c->match == PROGRAM_NONE && c->measured_ns != UNKNOWN_NS &&
            work_is_computation(p->run->ranks[c->rank].ops[c->op].class) &&
            work_step_counts(steps, steps->ranks[c->rank].of[c->op]))
            s->computing_ns[c->rank] += work_alone_ns(&alone, p, i);
    }
    work_alone_release(&alone);
}

static void measure(struct savings *s)
{
    const size_t nranks = s->a->run->nranks;
    find_computing(s);
    s->cpu_ns = array_new(nranks, sizeof *s->cpu_ns);
    for (size_t r = 0; r < nranks; r++)
        s->cpu_ns[r] = work_cpu_ns(s->simulated.altered, r);
    s->cpu_factors = array_new(nranks, sizeof *s->cpu_factors);
    find_recorded(s);
    s->factors = array_new(altered_program(s->simulated.altered)->ncosts, sizeof *s->factors);
}

struct savings *savings_new(const struct analysis *a, struct err *e)
{
    struct savings *s;
    if (!analysis_timed(a)) {
        err_set(e, ERR_INPUT, "it has no device times");
        return NULL;
    }
    s = array_new(1, sizeof *s);
    s->a = a;
    if (simulated_run_init(&s->simulated, a, SAVINGS_STEPS, SAVINGS_OPS_MAX, e) == 0) {
        measure(s);
        return s;
    }
    savings_free(s);
    return NULL;
}

void savings_free(struct savings *s)
{
    if (s == NULL)
        return;
    simulated_run_release(&s->simulated);
    free(s->computing_ns);
    free(s->cpu_ns);
    free(s->recorded_ns);
    free(s->computes);
    free(s->factors);
    free(s->cpu_factors);
    free(s);
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

static bool is_remedied(const struct remedy *remedy, const struct match *match,
                        const struct run *run)
{
    if (remedy->kind == REMEDY_COMM)
        return true;
    if (match->op != remedy->op || match->bytes != remedy->bytes)
        return false;
    return remedy->kind == REMEDY_GROUP
               ? match->comm == remedy->comm
               : match->comm >= 0 && run->comms[match->comm].size == remedy->comm_size;
}

static double factor_of(const struct savings *s, const struct remedy *remedy, size_t cost,
                        double rank_factor)
{
    const struct program *p = altered_program(s->simulated.altered);
    const struct program_cost *c = &p->costs[cost];
    const bool transfers = remedy->kind == REMEDY_COMM || remedy->kind == REMEDY_COLLECTIVE ||
                           remedy->kind == REMEDY_GROUP;
    int class;
    if (c->match != PROGRAM_NONE)
        return transfers && is_remedied(remedy, &p->matches.list[c->match], p->run)
                   ? remedy->kind == REMEDY_COMM ? 0 : remedy->factor
                   : 1;
    class = c->op != PROGRAM_NONE ? p->run->ranks[c->rank].ops[c->op].class : OP_KERNEL;
    if (remedy->kind == REMEDY_COPIES && class == OP_MEMORY)
        return 0;
    return remedy->kind == REMEDY_RANK && c->rank == remedy->rank && work_is_computation(class)
               ? rank_factor
               : 1;
}

int savings_of(struct savings *s, const struct remedy *remedy, double *saves_ns, struct err *e)
{
    const size_t nranks = s->a->run->nranks;
    const double recorded_ns = step_window_mean(&s->a->step_time.window);
    const double base_ns = altered_base_ns(s->simulated.altered);
    struct alteration altered = {.factors = s->factors, .cpu_factors = s->cpu_factors};
    double step_ns, rank_factor = 1;
    if (remedy->kind == REMEDY_COMM || remedy->kind == REMEDY_COPIES) {
        altered.costs_ns = s->recorded_ns;
        altered.fixed = s->computes;
    }
    for (size_t r = 0; r < nranks; r++)
        s->cpu_factors[r] = remedy->kind == REMEDY_HOST ? NO_TIME : 1;
    if (remedy->kind == REMEDY_RANK) {
        rank_factor = to_median(s->computing_ns, nranks, remedy->rank);
        s->cpu_factors[remedy->rank] = to_median(s->cpu_ns, nranks, remedy->rank);
    }
    for (size_t i = 0; i < altered_program(s->simulated.altered)->ncosts; i++)
        s->factors[i] = factor_of(s, remedy, i, rank_factor);
    if (altered_step(s->simulated.altered, &altered, &step_ns, e) < 0)
        return -1;
    *saves_ns = fmax((base_ns - step_ns) / base_ns * recorded_ns, 0);
    return 0;
}
