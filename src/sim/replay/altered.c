/* SPDX-License-Identifier: MIT */
#include "sim/replay/altered.h"

#include "sim/replay/job.h"

#include <math.h>
#include <stdlib.h>

struct altered {
    struct replay_opts opts;
    struct replay rep;
    struct replay_job job;
    struct retarget own;
    int64_t *costs_ns; /* [ncosts] as measured; owned */
    int64_t *set_ns;   /* [ncosts] of the last simulation, before their factors; owned */
    double *factors;   /* [ncosts] of the last simulation, 1 of all but transfers; owned */
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
    a->set_ns = array_new(p->ncosts, sizeof *a->set_ns);
    a->factors = array_new(p->ncosts, sizeof *a->factors);
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
    free(a->set_ns);
    free(a->factors);
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

int64_t altered_cost(const struct altered *a, size_t cost)
{
    return a->costs_ns[cost];
}

double altered_done_early(const struct altered *a, size_t cost)
{
    return retarget_done_early(&a->own, &a->job.program.costs[cost]);
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

/* Of transfers the factor is kept apart, as the fill of one-way ones takes it, too. */
static void set_costs(struct altered *a, const struct alteration *what)
{
    for (size_t i = 0; i < a->job.program.ncosts; i++) {
        const int64_t ns = what->costs_ns != NULL ? what->costs_ns[i] : a->costs_ns[i];
        const double set_ns = (double)ns * (what->factors != NULL ? what->factors[i] : 1);
        const bool apart = a->job.program.costs[i].match != PROGRAM_NONE && a->costs_ns[i] > 0;
        a->set_ns[i] = apart ? a->costs_ns[i] : llround(set_ns);
        a->factors[i] = apart ? set_ns / (double)a->costs_ns[i] : 1;
    }
    a->job.overlap.fixed = what->fixed;
}

int altered_step(struct altered *a, const struct alteration *what, double *step_ns, struct err *e)
{
    set_costs(a, what);
    set_cpu(a, what->cpu_factors);
    program_set_cpu(&a->job.program, what->cpu_ns);
    a->job.program.set_lag_ns = what->lag_ns;
    const int rc = job_run_scaled(&a->job, &a->own, a->set_ns, a->factors, NULL, e);
    if (rc == 0)
        *step_ns = job_step_ns(&a->job, true);
    a->job.overlap.fixed = NULL; /* what was borrowed */
    a->job.program.set_lag_ns = NULL;
    return rc;
}
