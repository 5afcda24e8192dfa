/* SPDX-License-Identifier: MIT
 *
 * A recorded job: made once, simulated as often as there are targets.
 */
#include "sim/replay/job.h"

#include "sim/target/absent_wait.h"
#include "sim/program/backlog.h"
#include "sim/replay/notes.h"

#include <math.h>
#include <string.h>

/* A step that is alone has one: from its begin on. */
static uint32_t count_lengths(const struct job_steps *steps)
{
    uint32_t n = 0;
    for (size_t p = 0; p < steps->nparts; p++)
        n += steps->parts[p].last - steps->parts[p].before;
    return n > 0 ? n : 1;
}

static void find_steps(struct replay_job *job)
{
    struct replay *rep = job->rep;
    const struct run *run = job->program.run;
    job_find_steps(job, &rep->arena);
    rep->iterations = job->steps.count;
    rep->lengths = count_lengths(&job->steps);
    rep->warm_up = job->steps.warm_up;
    rep->source = job->steps.source;
    rep->steps = &job->steps;
    for (size_t r = 0; r < run->nranks; r++)
        rep->ranks[r].rank = run->ranks[r].rank;
}

/* Launches that a stream takes ahead of the device. Other drivers' queues are taken as endless. */
static uint32_t depth_on(const struct gpu_profile *gpu)
{
    return gpu->cc > 0 ? BACKLOG_DEPTH : 0;
}

static void make_program(struct replay_job *job, const struct run *run,
                         const struct match_standins *standins)
{
    struct replay *rep = job->rep;
    int64_t latency_ns = llround(rep->from.gpu->launch_us * 1e3);
    struct program isolated;
    program_init_filled(&isolated, run, latency_ns, true, standins);
    program_init_filled(&job->program, run, latency_ns, false, standins);
    sim_set_queue_depth(isolated.sim, depth_on(rep->from.gpu));
    rep->latency_us = (double)program_fit_latency(&isolated, latency_ns) / 1e3;
    rep->excess_us = fmax(rep->latency_us - rep->from.gpu->launch_us, 0);
    program_learn(&job->program, &isolated);
    program_release(&isolated);
}

/* The parallel grid, and whether the ranks that are missing can be filled in. */
static int make_grid(struct replay_job *job, const struct replay_opts *opts, struct err *e)
{
    struct replay *rep = job->rep;
    const struct run *run = job->program.run;
    const char *grow = opts->grow != NULL ? opts->grow : "dp";
    rep->grown = grid_role_parse(grow, strlen(grow));
    if (rep->grown == GRID_ROLES)
        return err_set(e, ERR_USAGE, "no axis '%s' to grow", grow);
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

/* What the recording shows, on its own GPU; else the profile's figure and the recording's excess.
 */
static int64_t latency_on(const struct replay *rep, const struct gpu_profile *gpu)
{
    bool own = gpu == rep->from.gpu;
    return llround((own ? rep->latency_us : gpu->launch_us + rep->excess_us) * 1e3);
}

/* How launches get to the device. */
static void set_launches(struct replay_job *job, const struct gpu_profile *gpu)
{
    sim_set_launch_latency(job->program.sim, latency_on(job->rep, gpu));
    sim_set_queue_depth(job->program.sim, depth_on(gpu));
}

/* Measured costs are what operations take alone, from here on. */
static int learn_overlap(struct replay_job *job, struct err *e)
{
    struct replay *rep = job->rep;
    struct placement wanted = job->growth.target;
    struct retarget own;
    int rc;
    job->growth.target = job->growth.source;
    rc = retarget_init(&own, &job->program, &job->growth, rep->from, rep->from, true, 1, e);
    overlap_init(&job->overlap, &job->program);
    set_launches(job, rep->from.gpu);
    if (rc == 0) {
        absent_wait_find(&job->program, &job->overlap.kinds, &own);
        absent_wait_apply(&job->program, &own);
        retarget_set_fills(&own, &job->program);
    }
    if (rc == 0)
        rc = overlap_learn(&job->overlap, &own, e);
    job->growth.target = wanted;
    retarget_release(&own);
    return rc;
}

static double step_ns(void *job, bool simulated)
{
    return job_measure(job, simulated).span_ns;
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
    make_program(job, run, NULL);
    find_steps(job);
    if (make_grid(job, opts, e) < 0)
        return -1;
    if (rep->absent.filled) { /* only the grid of the recorded ranks tells who stands for whom */
        program_release(&job->program);
        make_program(job, run, &rep->absent.standins);
    }
    rep->world = rep->grid.world;
    if (learn_overlap(job, e) < 0)
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

static int set_costs(struct replay_job *job, struct retarget *t, struct err *e)
{
    for (size_t i = 0; i < job->program.ncosts; i++) {
        int64_t ns;
        if (retarget_cost(t, &job->program.costs[i], &ns, e) < 0)
            return -1;
        program_set_cost(&job->program, i, faults_note_cost(&job->whatif, i, ns));
    }
    return 0;
}

int job_simulate(struct replay_job *job, struct target target, struct retarget *t,
                 struct iteration_time *out, struct err *e)
{
    set_launches(job, target.to.gpu);
    for (uint32_t h = 0; h < job->program.nhosts; h++)
        sim_set_host_speed(job->program.sim, h, target.host_speed > 0 ? target.host_speed : 1);
    if (retarget_init(t, &job->program, &job->growth, job->rep->from, target.to, target.calibrate,
                      target.scale, e) < 0)
        return -1;
    if (job->rep->strong && retarget_divide(t, &job->strong, e) < 0)
        return -1;
    faults_place(&job->whatif, target.faulty, target.host_speed, t);
    if (set_costs(job, t, e) < 0)
        return -1;
    absent_wait_apply(&job->program, t);
    retarget_set_fills(t, &job->program);
    overlap_apply(&job->overlap, t);
    sim_keep_causes(job->program.sim, true);
    if (program_run(&job->program, e) < 0)
        return -1;
    *out = job_measure(job, true);
    return 0;
}
