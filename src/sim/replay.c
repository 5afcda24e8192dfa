/* SPDX-License-Identifier: MIT
 *
 * A replay from above: the job, its own iteration, and one simulation a scale.
 */
#include "sim/replay.h"

#include "sim/job.h"
#include "sim/look.h"
#include "sim/say.h"

#include <stdlib.h>
#include <string.h>

const int64_t replay_scales[] = {1, 2, 4, 8, 16, 32};
const size_t replay_nscales = sizeof replay_scales / sizeof *replay_scales;

static void compare_waits(struct job *job)
{
    struct replay *rep = job->rep;
    struct rank_waits *waits = arena_alloc(&rep->arena, rep->nranks * sizeof *waits);
    waits_compare(&rep->waits, waits, &job->program);
    for (size_t r = 0; r < rep->nranks; r++)
        rep->ranks[r].waits = waits[r];
}

/* The recording on its own hardware: how far the replay is to be trusted. */
static int simulate_own(struct job *job, struct err *e)
{
    struct replay *rep = job->rep;
    struct placement wanted = job->growth.target;
    struct retarget t;
    int rc;
    job->growth.target = job->growth.source;
    rc = job_simulate(job, (struct target){.to = rep->from, .calibrate = true, .scale = 1}, &t,
                      &rep->own, e);
    job->growth.target = wanted;
    for (size_t r = 0; rc == 0 && r < rep->nranks; r++)
        rep->ranks[r].replayed_ns = job->spans[r];
    if (rc == 0)
        compare_waits(job);
    retarget_release(&t);
    return rc;
}

/* The same without what is wrong: what that costs, or why it costs nothing. */
static int simulate_sound(struct job *job, int64_t scale, const struct retarget *faulty,
                          struct replay_scale *out, struct err *e)
{
    struct replay *rep = job->rep;
    struct iteration_time sound;
    struct retarget t;
    int rc;
    out->absent = vary_say_absent(job, scale * rep->world);
    if (!vary_faulty(job))
        return 0;
    rc = job_simulate(job,
                      (struct target){.to = rep->to,
                                      .calibrate = rep->calibrate,
                                      .scale = scale,
                                      .host_speed = rep->host_speed},
                      &t, &sound, e);
    if (rc == 0)
        out->sound_ns = sound.span_ns;
    retarget_release(&t);
    if (rc == 0)
        vary_say_faults(job, faulty, out->sound_ns, out->time.span_ns);
    return rc;
}

static struct target target_of(const struct replay *rep, int64_t scale)
{
    return (struct target){.to = rep->to,
                           .calibrate = rep->calibrate,
                           .scale = scale,
                           .faulty = true,
                           .host_speed = rep->host_speed};
}

static int look(struct job *job, const struct retarget *t, struct replay_scale *out, struct err *e)
{
    if (!job->opts->brief && look_at_scale(job, t, out, e) < 0)
        return -1;
    if (job->opts->watch.look != NULL)
        job->opts->watch.look(job->opts->watch.context, job, out);
    return 0;
}

static int simulate_scale(struct job *job, int64_t scale, struct replay_scale *out, struct err *e)
{
    struct replay *rep = job->rep;
    struct retarget t;
    int rc;
    *out = (struct replay_scale){.scale = scale, .gpus = scale * rep->world};
    if (job->pipeline != NULL && scale > 1)
        return job_simulate_pipeline(job, target_of(rep, scale), look, out, e);
    rc = job_simulate(job, target_of(rep, scale), &t, &out->time, e);
    if (rc == 0)
        rc = look(job, &t, out, e);
    if (rc == 0 && scale == 1) {
        rep->unmodelled = retarget_unmodelled(&t);
        memcpy(rep->device_time, t.sums, sizeof rep->device_time);
        say_costs(rep, &t);
        rep->untold = retarget_untold(&t);
        say_host_speed(rep, &out->time);
    }
    if (rc == 0)
        rc = vary_draw(job, &t, &out->vary, e);
    if (rc == 0)
        rc = simulate_sound(job, scale, &t, out, e);
    retarget_release(&t);
    return rc;
}

static void add_scale(struct replay *rep, const struct replay_scale *base,
                      struct replay_scale scale)
{
    double ratio = scale.time.span_ns > 0 ? base->time.span_ns / scale.time.span_ns : 1;
    scale.efficiency = ratio;
    scale.speedup = (double)scale.scale * ratio;
    if (rep->strong) {
        scale.speedup = ratio;
        scale.efficiency = ratio / (double)scale.scale;
    }
    ARRAY_GROW(rep->scales, rep->cap_scales, rep->nscales + 1);
    rep->scales[rep->nscales++] = scale;
}

static int check_scale(const struct job *job, int64_t scale, struct err *e)
{
    if (growth_check(&job->growth, job->rep->to.network, scale, e) < 0)
        return -1;
    return job->rep->strong ? strong_check(&job->strong, scale, e) : 0;
}

/* Scales that nobody asked for and that cannot be are left out, aloud. */
static size_t default_count(struct job *job)
{
    size_t n = 1, all = replay_nscales;
    struct err why;
    job->rep->topic = TOPIC_SCALE;
    if (job->growth.refused != NULL) {
        replay_assume(job->rep, "scales above 1 are left out: %s", job->growth.refused);
        return 1;
    }
    while (n < all && check_scale(job, replay_scales[n], &why) == 0)
        n++;
    if (n < all)
        replay_assume(job->rep, "scales above %lld are left out: %s",
                      (long long)replay_scales[n - 1], why.msg);
    return n;
}

/* Does the network hold them all? Says so when growing changes nothing. */
static int check_scales(struct job *job, const int64_t *scales, size_t n, struct err *e)
{
    bool grown = false;
    for (size_t i = 0; i < n; i++) {
        if (check_scale(job, scales[i], e) < 0)
            return -1;
        grown = grown || scales[i] > 1;
    }
    if (grown && !growth_any(&job->growth))
        replay_note_first(job->rep, "no communicator grows with the scale: every scale takes the "
                                    "time of scale 1, and 100 %% says nothing about scaling");
    return 0;
}

/* What was asked for, as scales or as sizes of the job; *n of them. NULL with e filled. */
static const int64_t *find_scales(struct job *job, const struct replay_opts *opts, size_t *n,
                                  struct err *e)
{
    int64_t *scales;
    *n = opts->nscales;
    if (opts->nscales > 0)
        return opts->scales;
    *n = opts->ngpus;
    if (opts->ngpus > 0) {
        scales = arena_alloc(&job->rep->arena, opts->ngpus * sizeof *scales);
        return growth_scales(&job->growth, opts->gpus, opts->ngpus, scales, e) < 0 ? NULL : scales;
    }
    *n = default_count(job);
    return replay_scales;
}

/* Is too much of the work such that nobody knows what is left of it in a part of the batch? */
static int check_untold(struct replay *rep, struct err *e)
{
    if (rep->untold > STRONG_UNTOLD_MAX)
        return err_set(
            e, ERR_INPUT,
            "--strong: %.1f %% of the device time is work whose part in the batch is not "
            "known (kernels of no known class, graphs, operations of unknown size); %.0f "
            "%% is the most",
            100 * rep->untold, 100 * STRONG_UNTOLD_MAX);
    say_untold(rep, rep->untold);
    return 0;
}

static int simulate_all(struct job *job, const struct replay_opts *opts, struct err *e)
{
    size_t n;
    const int64_t *scales = find_scales(job, opts, &n, e);
    struct replay_scale base, one;
    if (scales == NULL || check_scales(job, scales, n, e) < 0)
        return -1;
    if (vary_check_faults(job, scales, n, e) < 0)
        return -1;
    job->rep->first_scale = scales[0];
    if (growth_check(&job->growth, job->rep->to.network, 1, e) < 0 || simulate_own(job, e) < 0 ||
        simulate_scale(job, 1, &base, e) < 0)
        return -1;
    if (!opts->brief)
        look_for_reasons(job, &base);
    if (job->rep->strong && check_untold(job->rep, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        one = base;
        if (scales[i] != 1 && simulate_scale(job, scales[i], &one, e) < 0)
            return -1;
        add_scale(job->rep, &base, one);
    }
    return 0;
}

int replay_run(struct replay *rep, const struct run *run, const struct replay_opts *opts,
               struct err *e)
{
    struct job job = {.rep = rep, .opts = opts};
    int rc;
    memset(rep, 0, sizeof *rep);
    arena_init(&rep->arena);
    if (run->nranks == 0)
        return err_set(e, ERR_INPUT, "%s: no rank to replay", run->source);
    rep->calibrate = opts->calibrate;
    rep->strong = opts->strong;
    rep->host_speed = opts->host_speed > 0 ? opts->host_speed : 1;
    rep->nranks = run->nranks;
    rep->ranks = arena_alloc(&rep->arena, run->nranks * sizeof *rep->ranks);
    if (replay_find_hardware(rep, run, opts, e) < 0)
        return -1;
    rc = job_make(&job, run, opts, e);
    if (rc == 0) {
        rep->recorded = job_measure(&job, false);
        for (size_t r = 0; r < rep->nranks; r++)
            rep->ranks[r].recorded_ns = job.spans[r];
        if (!opts->brief)
            look_at_recording(&job);
        if (opts->watch.look != NULL)
            opts->watch.look(opts->watch.context, &job, NULL);
        rc = simulate_all(&job, opts, e);
    }
    say_in_order(rep);
    job_release(&job);
    return rc;
}

void replay_release(struct replay *rep)
{
    free(rep->scales);
    free(rep->assumptions.list);
    free(rep->notes.list);
    grid_release(&rep->grid);
    arena_release(&rep->arena);
    memset(rep, 0, sizeof *rep);
}
