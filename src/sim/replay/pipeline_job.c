/* SPDX-License-Identifier: MIT
 *
 * A job whose pipeline grows: laid out anew for each number of stages, and simulated like the
 * recorded one.
 */
#include "sim/replay/job.h"
#include "sim/replay/notes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The recorded stages, laid out anew, take the time that they take as recorded, or nearly so: else
 * the recording does not say enough. */
#define SAME_SPAN 0.05

void job_find_pipeline(struct replay_job *job)
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

static void release_longer(struct replay_job *longer)
{
    const struct run *run = longer->program.run;
    job_steps_release(&longer->steps);
    overlap_release(&longer->overlap);
    if (run != NULL)
        program_release(&longer->program);
}

/* Made without looking for latency or lags, which the recording told. */
static void make_longer(struct replay_job *longer, const struct run *run, struct arena *arena)
{
    program_init(&longer->program, run, llround(longer->rep->latency_us * 1e3), false);
    job_find_steps(longer, arena);
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
        make_longer(&longer, &made.run, &arena);
        longer.growth = made.growth; /* borrowed */
        overlap_init(&longer.overlap, &longer.program);
        target.scale = 1;
        rc = job_simulate(&longer, target, &t, &out->time, e);
        if (rc == 0 && derive != NULL)
            rc = derive(&longer, &t, out, e);
        retarget_release(&t);
    }
    release_longer(&longer);
    longer_run_release(&made);
    arena_release(&arena);
    return rc;
}

static const char *than_recorded(struct arena *a, double off)
{
    if (fabs(off) < 0.0005)
        return "as long as recorded";
    return arena_printf(a, "%.1f %% %s than recorded", 100 * fabs(off), off < 0 ? "less" : "more");
}

/* Once: as many stages as were recorded, on their hardware. */
static int check_pipeline(struct replay_job *job, int stages, struct err *e)
{
    struct replay *rep = job->rep;
    struct replay_scale same = {0};
    struct placement wanted = job->growth.target;
    double off;
    int rc;
    job->growth.target = job->growth.source;
    rc = simulate_stages(job, stages, (struct target){.to = rep->from, .calibrate = true}, NULL,
                         &same, e);
    job->growth.target = wanted;
    if (rc < 0)
        return -1;
    off = rep->own.span_ns > 0 ? same.time.span_ns / rep->own.span_ns - 1 : 0;
    if (fabs(off) > SAME_SPAN)
        return err_set(e, ERR_INPUT,
                       "--grow pp: the recorded %d stages, laid out anew, take %+.1f %% of their "
                       "time: the recording does not tell their schedule",
                       stages, 100 * off);
    rep->topic = TOPIC_SCALE;
    replay_assume(rep,
                  "the pipeline is laid out anew for more stages (%s): each between the ends does "
                  "what a recorded one does; the recorded stages so laid out take %s",
                  pipeline_text(job->pipeline, &rep->arena), than_recorded(&rep->arena, off));
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
