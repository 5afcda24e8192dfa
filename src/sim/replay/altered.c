/* SPDX-License-Identifier: MIT */
#include "sim/replay/altered.h"

#include "sim/replay/job.h"

#include <stdlib.h>

struct altered {
    struct replay_opts opts;
    struct replay rep;
    struct replay_job job;
    struct retarget own;
    int64_t *costs_ns;    /* [ncosts] as measured; owned */
    double *kind_factors; /* of overlap.kinds, as recorded; owned */
};

static int prepare(struct altered *a, const struct run *run, struct err *e)
{
    struct target own = {.calibrate = true, .placed_as_recorded = true, .scale = 1};
    const struct program *p = &a->job.program;
    a->opts = (struct replay_opts){.calibrate = true, .brief = true, .own_times = true};
    if (replay_prepare(&a->rep, &a->job, run, &a->opts, e) < 0)
        return -1;
    own.to = a->rep.from;
    if (job_simulate(&a->job, own, &a->own, &a->rep.own, e) < 0)
        return -1;
    derive_own(&a->job);
    if (a->rep.own_error > REPLAY_ERROR_MAX)
        return err_set(e, ERR_INPUT, "its replay on its own hardware is %.0f %% off",
                       100 * a->rep.own_error);
    a->costs_ns = array_new(p->ncosts, sizeof *a->costs_ns);
    for (size_t i = 0; i < p->ncosts; i++)
        a->costs_ns[i] = p->costs[i].set_ns;
    a->kind_factors = array_new(a->job.overlap.kinds.count, sizeof *a->kind_factors);
    for (uint32_t k = 0; k < a->job.overlap.kinds.count; k++)
        a->kind_factors[k] = a->job.overlap.kind_factors[k];
    return 0;
}

struct altered *altered_new(const struct run *run, struct err *e)
{
    struct altered *a = array_new(1, sizeof *a);
    if (prepare(a, run, e) == 0)
        return a;
    altered_free(a);
    return NULL;
}

void altered_free(struct altered *a)
{
    if (a == NULL)
        return;
    free(a->costs_ns);
    free(a->kind_factors);
    retarget_release(&a->own);
    job_release(&a->job);
    replay_release(&a->rep);
    free(a);
}

const struct program *altered_program(const struct altered *a)
{
    return &a->job.program;
}

const struct job_steps *altered_steps(const struct altered *a)
{
    return &a->job.steps;
}

double altered_base_ns(const struct altered *a)
{
    return a->rep.own.span_ns;
}

double altered_overlap(const struct altered *a, size_t cost, bool *shown)
{
    const uint32_t kind = a->job.overlap.kinds.of[cost];
    *shown = a->job.overlap.kind_shown[kind];
    return a->kind_factors[kind];
}

void altered_set_overlap(struct altered *a, const double *factors)
{
    const struct cost_classes *kinds = &a->job.overlap.kinds;
    for (uint32_t k = 0; k < kinds->count; k++)
        a->job.overlap.kind_factors[k] =
            factors != NULL ? factors[kinds->first[k]] : a->kind_factors[k];
}

/* Threads that ranks of one process share take the factor of the last of them. */
static void set_cpu(struct altered *a, const double *cpu_factors)
{
    const struct program *p = &a->job.program;
    for (size_t r = 0; r < p->run->nranks; r++) {
        const struct program_rank *rank = &p->ranks[r];
        for (uint32_t h = 0; h < rank->nhosts; h++)
            sim_set_host_speed(p->sim, rank->first_host + h,
                               cpu_factors != NULL ? 1 / cpu_factors[r] : 1);
    }
}

int altered_step(struct altered *a, const double *factors, const double *cpu_factors,
                 double *step_ns, struct err *e)
{
    set_cpu(a, cpu_factors);
    if (job_run_scaled(&a->job, &a->own, a->costs_ns, factors, NULL, e) < 0)
        return -1;
    *step_ns = job_step_ns(&a->job, true);
    return 0;
}
