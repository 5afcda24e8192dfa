/* SPDX-License-Identifier: MIT
 *
 * A recorded job: made once, simulated as often as there are targets.
 */
#include "sim/replay/job.h"

#include "base/pool.h"
#include "sim/target/retarget.h"

#include <math.h>
#include <stdlib.h>

/* ---- a job whose pipeline grows ----
 *
 * It is laid out anew for each number of stages, and simulated like the recorded one. */

/* The recorded stages, laid out anew, take the time that they take as recorded, or nearly so: else
 * the recording does not say enough. */
#define SAME_SPAN 0.05

/* Finds how the pipeline is laid out for more stages, where that is what grows;
 * else growth.refused says why not. */
static void job_find_pipeline(struct replay_job *job)
{
    struct weak_scaling *g = &job->growth;
    struct pipeline_input in = {&job->program, job->steps.ranks, g};
    const char *why;
    if (g->refused != NULL || g->grid->axes[g->axis].role != GRID_PP)
        return;
    job->pipeline = pipeline_new(&in, &job->rep->arena, &why);
    if (job->pipeline == NULL)
        g->refused = arena_printf(&g->arena,
                                  "the pipeline cannot be laid out for more stages: %s "
                                  "(--grow pp)",
                                  why);
}

/* Finds the steps and what of their bounds is recorded. */
static void find_job_steps(struct replay_job *job, struct arena *arena)
{
    const struct run *run = job->program.run;
    size_t nparts;
    job_steps_find(&job->steps, run);
    nparts = job->steps.nparts;
    job->windows = arena_alloc(arena, run->nranks * sizeof *job->windows);
    job->pauses = arena_alloc(arena, (run->nranks + 1) * nparts * sizeof *job->pauses);
    job->spans = arena_alloc(arena, run->nranks * sizeof *job->spans);
    job->recorded = arena_alloc(arena, run->nranks * nparts * sizeof *job->recorded);
    for (size_t r = 0; r < run->nranks; r++)
        steps_bounds(&job->recorded[r * nparts], &job->steps, run, r);
}

static int simulate_stages(struct replay_job *job, int stages, struct target target,
                           job_derive *derive, struct replay_scale *out, struct err *e)
{
    struct replay_job longer = {.rep = job->rep, .opts = job->opts};
    struct longer_run made;
    struct retarget t = {0};
    struct arena arena;
    int rc = pipeline_write(job->pipeline, stages, &made, e);
    arena_init(&arena);
    if (rc == 0) {
        /* Made without looking for latency or lags, which the recording told. */
        program_init(&longer.program, &made.run, llround(job->rep->latency_us * 1e3), false);
        find_job_steps(&longer, &arena);
        longer.growth = made.growth; /* borrowed */
        overlap_init(&longer.overlap, &longer.program);
        target.scale = 1;
        rc = job_simulate(&longer, target, &t, &out->time, e);
        if (rc == 0 && derive != NULL)
            rc = derive(&longer, &t, out, e);
        retarget_release(&t);
    }
    job_steps_release(&longer.steps);
    overlap_release(&longer.overlap);
    if (longer.program.run != NULL)
        program_release(&longer.program);
    longer_run_release(&made);
    arena_release(&arena);
    return rc;
}

/* Once: as many stages as were recorded, on their hardware. */
static int check_pipeline(struct replay_job *job, int stages, struct err *e)
{
    struct replay *rep = job->rep;
    struct replay_scale same = {0};
    const struct target own = {.to = rep->from, .calibrate = true, .placed_as_recorded = true};
    double off;
    if (simulate_stages(job, stages, own, NULL, &same, e) < 0)
        return -1;
    off = rep->own.span_ns > 0 ? same.time.span_ns / rep->own.span_ns - 1 : 0;
    if (fabs(off) > SAME_SPAN)
        return err_set(e, ERR_INPUT,
                       "--grow pp: the recorded %d stages, laid out anew, take %+.1f %% of their "
                       "time: the recording does not tell their schedule",
                       stages, 100 * off);
    fact_add(rep, FACT_PIPELINE,
             VALUES(fact_text(pipeline_text(job->pipeline, &rep->arena)), fact_number(off)));
    job->pipeline_checked = true;
    return 0;
}

int job_simulate_pipeline(struct replay_job *job, struct target target, job_derive *derive,
                          struct replay_scale *out, struct err *e)
{
    int stages = job->growth.grid->axes[job->growth.axis].size;
    if (job->whatif.opts.nfaults > 0 || whatif_has_jitter(&job->whatif))
        return err_set(e, ERR_USAGE,
                       "--grow pp: what varies or fails is not known of stages that "
                       "were not recorded");
    if (!job->pipeline_checked && check_pipeline(job, stages, e) < 0)
        return -1;
    return simulate_stages(job, (int)(stages * target.scale), target, derive, out, e);
}

/* ---- the recorded job ---- */

static void find_steps(struct replay_job *job)
{
    struct replay *rep = job->rep;
    const struct run *run = job->program.run;
    const struct job_steps *steps = &job->steps;
    uint32_t lengths = 0;
    find_job_steps(job, &rep->arena);
    rep->iterations = steps->count;
    for (size_t p = 0; p < steps->nparts; p++)
        lengths += steps->parts[p].last - steps->parts[p].before;
    rep->lengths = lengths > 0 ? lengths : 1; /* a step that is alone has one: from its begin on */
    rep->warm_up = steps->warm_up;
    rep->source = steps->source;
    rep->steps = steps;
    for (size_t r = 0; r < run->nranks; r++)
        rep->ranks[r].rank = run->ranks[r].rank;
}

/* Launches that a stream takes ahead of the device. Other drivers' queues are taken as endless. */
static uint32_t depth_on(const struct gpu_profile *gpu)
{
    return gpu->cc > 0 ? BACKLOG_DEPTH : 0;
}

/* A run as a program, and once more with its operations isolated, which tells the latency. */
struct program_pair {
    struct program *program, isolated;
    const struct run *run;
    const struct match_standins *standins;
    int64_t latency_ns;
    bool keeps_all; /* program_init_filled(), of the program */
};

/* which: 0: the program, 1: isolated. */
static void make_one(void *arg, size_t which)
{
    struct program_pair *pair = arg;
    if (which == 0)
        program_init_filled(pair->program, pair->run, pair->latency_ns, false, pair->standins,
                            pair->keeps_all);
    else
        program_init_filled(&pair->isolated, pair->run, pair->latency_ns, true, pair->standins,
                            false);
}

static void make_program(struct replay_job *job, const struct run *run,
                         const struct match_standins *standins, bool keeps_all)
{
    struct replay *rep = job->rep;
    int64_t latency_ns = llround(rep->from.gpu->launch_us * 1e3);
    struct program_pair pair = {.program = &job->program,
                                .run = run,
                                .standins = standins,
                                .latency_ns = latency_ns,
                                .keeps_all = keeps_all};
    pool_run(pool_cpus(), 2, make_one, &pair, NULL);
    sim_set_queue_depth(pair.isolated.sim, depth_on(rep->from.gpu));
    rep->latency_us = (double)program_fit_latency(&pair.isolated, latency_ns) / 1e3;
    rep->excess_us = fmax(rep->latency_us - rep->from.gpu->launch_us, 0);
    program_learn(&job->program, &pair.isolated);
    program_release(&pair.isolated);
}

/* The parallel grid, and whether the ranks that are missing can be filled in. */
static int make_grid(struct replay_job *job, const struct replay_opts *opts, struct err *e)
{
    struct replay *rep = job->rep;
    const struct run *run = job->program.run;
    rep->grown = opts->grow_given ? opts->grow : GRID_DP;
    grid_input_fill(&rep->groups, run, job->program.ranks, job->steps.ranks, &rep->arena);
    if (opts->parallel == NULL)
        grid_find(&rep->grid, &rep->groups);
    else if (grid_from_text(&rep->grid, &rep->groups, opts->parallel, e) < 0)
        return -1;
    weak_scaling_init(&job->growth, run, &rep->grid, rep->grown);
    weak_scaling_place(&job->growth, opts->placement, rep->from.network, rep->to.network);
    rep->placement = placement_text(&job->growth.target, &rep->arena);
    grid_find_absent(&rep->absent, &rep->grid, run, job->steps.ranks, &rep->arena);
    if (rep->absent.refused != NULL)
        return err_set(e, ERR_INPUT,
                       "%d of %d ranks (%s) have no operations and cannot be filled in: %s",
                       rep->absent.count, rep->grid.world, rep->absent.words, rep->absent.refused);
    return 0;
}

/* Sets the launch latency, as the recording shows it on its own GPU, else the profile's figure and
 * the recording's excess; and the depth of launch queues. */
static void set_launches(struct replay_job *job, const struct gpu_profile *gpu)
{
    const struct replay *rep = job->rep;
    double us = gpu == rep->from.gpu ? rep->latency_us : gpu->launch_us + rep->excess_us;
    sim_set_launch_latency(job->program.sim, llround(us * 1e3));
    sim_set_queue_depth(job->program.sim, depth_on(gpu));
}

/* Measured costs are what operations take alone, from here on. */
static int learn_overlap(struct replay_job *job, const struct replay_opts *opts, struct err *e)
{
    struct replay *rep = job->rep;
    const struct retarget_sides sides = {.from = rep->from,
                                         .to = rep->from,
                                         .calibrate = true,
                                         .placed_as_recorded = true,
                                         .scale = 1};
    struct retarget own;
    int rc = retarget_init(&own, &job->program, &job->growth, &sides, e);
    overlap_init(&job->overlap, &job->program);
    /* Factors of single kinds of kernels are right for this recording alone, which is all that its
     * own times and a fault on its own hardware ask about. */
    job->overlap.by_kind = opts->own_times || (rep->same_hardware && opts->whatif.nfaults > 0);
    set_launches(job, rep->from.gpu);
    if (rc == 0) {
        absent_wait_find(&job->program, &job->overlap.kinds, &own);
        absent_wait_apply(&job->program, &own);
        retarget_set_fills(&own, &job->program);
    }
    if (rc == 0)
        rc = overlap_learn(&job->overlap, &own, e);
    retarget_release(&own);
    return rc;
}

static double step_ns(void *job, bool simulated)
{
    return job_step_ns(job, simulated);
}

static int learn_jitter(struct replay_job *job, const struct whatif_opts *opts, struct err *e)
{
    struct replay *rep = job->rep;
    job->whatif = (struct whatif){.program = &job->program,
                                  .growth = &job->growth,
                                  .steps = &job->steps,
                                  .net = rep->to.network,
                                  .world = rep->world,
                                  .step_ns = step_ns,
                                  .context = job};
    if (whatif_init(&job->whatif, opts, e) < 0)
        return -1;
    if (opts->jitter == JITTER_OFF)
        return 0;
    rep->seed = opts->seed;
    rep->variation = job->whatif.variation;
    note_variation(rep, opts);
    jitter_recorded(&job->whatif, &rep->recorded_spread);
    return 0;
}

int job_init(struct replay_job *job, const struct run *run, const struct replay_opts *opts,
             struct err *e)
{
    struct replay *rep = job->rep;
    make_program(job, run, NULL, opts->own_times);
    find_steps(job);
    if (make_grid(job, opts, e) < 0)
        return -1;
    if (rep->absent.filled) { /* only the grid of the recorded ranks tells who stands for whom */
        program_release(&job->program);
        make_program(job, run, &rep->absent.standins, opts->own_times);
    }
    rep->world = rep->grid.world;
    if (learn_overlap(job, opts, e) < 0)
        return -1;
    job_find_pipeline(job);
    if (rep->strong)
        strong_scaling_find(&job->strong, &job->growth, job->steps.ranks, &rep->arena);
    if (learn_jitter(job, &opts->whatif, e) < 0)
        return -1;
    note_latency(rep);
    note_program(rep, &job->program);
    note_absent_waits(rep, &job->program);
    note_iterations(rep);
    note_grid(rep);
    if (opts->parallel != NULL)
        note_given_grid(rep);
    note_growth(rep, &job->growth);
    note_strong(rep, &job->strong);
    note_exchanges(rep, &job->growth);
    note_placement(rep, &job->growth);
    note_overlap(rep, &job->overlap);
    return 0;
}

void job_release(struct replay_job *job)
{
    pipeline_free(job->pipeline);
    job_steps_release(&job->steps);
    if (job->growth.run != NULL)
        weak_scaling_release(&job->growth);
    whatif_release(&job->whatif);
    overlap_release(&job->overlap);
    program_release(&job->program);
}

/* ---- one simulation ---- */

int job_simulate(struct replay_job *job, struct target target, struct retarget *t,
                 struct iteration_time *out, struct err *e)
{
    const struct retarget_sides sides = {.from = job->rep->from,
                                         .to = target.to,
                                         .calibrate = target.calibrate,
                                         .placed_as_recorded = target.placed_as_recorded,
                                         .scale = target.scale};
    set_launches(job, target.to.gpu);
    for (uint32_t h = 0; h < job->program.nhosts; h++)
        sim_set_host_speed(job->program.sim, h, target.host_speed > 0 ? target.host_speed : 1);
    if (retarget_init(t, &job->program, &job->growth, &sides, e) < 0)
        return -1;
    if (job->rep->strong && retarget_divide(t, &job->strong, e) < 0)
        return -1;
    faults_place(&job->whatif, target.faulty, target.host_speed, t);
    for (size_t i = 0; i < job->program.ncosts; i++) {
        int64_t ns;
        if (retarget_cost(t, &job->program.costs[i], &ns, e) < 0)
            return -1;
        program_set_cost(&job->program, i, faults_note_cost(&job->whatif, i, ns));
    }
    absent_wait_apply(&job->program, t);
    retarget_set_fills(t, &job->program);
    overlap_apply(&job->overlap, t);
    sim_keep_causes(job->program.sim, true);
    if (program_run(&job->program, e) < 0)
        return -1;
    *out = job_measure(job, true);
    return 0;
}

int job_run_scaled(struct replay_job *job, const struct retarget *t, const int64_t *costs_ns,
                   const double *factors, const double *wait_factors, struct err *e)
{
    struct program *p = &job->program;
    for (size_t i = 0; i < p->ncosts; i++) {
        const uint32_t match = p->costs[i].match;
        const double factor = factors != NULL ? factors[i] : 1;
        program_set_cost(p, i, llround((double)costs_ns[i] * factor));
        /* The fill of a one-way transfer is part of its cost and has the same factor. */
        if (match != PROGRAM_NONE && p->one_ways[match].span > 0)
            sim_set_fill(p->sim, match, llround((double)p->one_ways[match].set_ns * factor));
    }
    absent_wait_apply(p, t);
    for (uint32_t i = 0; i < p->matches.count && wait_factors != NULL; i++)
        program_set_wait(p, i, llround((double)p->wait_ns[i] * wait_factors[i]));
    overlap_apply(&job->overlap, t);
    return program_run(p, e);
}

int job_simulate_scaled(struct replay_job *job, const struct retarget *t, const int64_t *costs_ns,
                        const double *factors, const double *wait_factors,
                        struct iteration_time *out, struct err *e)
{
    if (job_run_scaled(job, t, costs_ns, factors, wait_factors, e) < 0)
        return -1;
    *out = job_measure(job, true);
    return 0;
}
