/* SPDX-License-Identifier: MIT
 *
 * A replay from above: the job, its own iteration, and one simulation a scale.
 */
#include "sim/replay/replay.h"

#include "sim/replay/job.h"
#include "sim/replay/derive.h"
#include "sim/replay/notes.h"
#include "sim/replay/shorter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const int64_t replay_scales[] = {1, 2, 4, 8, 16, 32};
const size_t replay_nscales = sizeof replay_scales / sizeof *replay_scales;

static void compare_waits(struct replay_job *job)
{
    struct replay *rep = job->rep;
    struct rank_waits *waits = arena_alloc(&rep->arena, rep->nranks * sizeof *waits);
    waits_compare(&rep->waits, waits, &job->program);
    for (size_t r = 0; r < rep->nranks; r++)
        rep->ranks[r].waits = waits[r];
}

/* The recording on its own hardware: how far the replay is to be trusted. */
static int simulate_own(struct replay_job *job, struct err *e)
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
    if (rc == 0) {
        compare_waits(job);
        derive_own(job);
    }
    retarget_release(&t);
    return rc;
}

/* The same without what is wrong: what that costs, or why it costs nothing. */
static int simulate_without_faults(struct replay_job *job, int64_t scale,
                                   const struct retarget *faulty, struct replay_scale *out,
                                   struct err *e)
{
    struct replay *rep = job->rep;
    struct iteration_time fault_free;
    struct retarget t;
    int rc;
    out->absent = note_absent_faults(rep, &job->whatif, scale * rep->world);
    if (!faults_are_placed(&job->whatif))
        return 0;
    rc = job_simulate(job,
                      (struct target){.to = rep->to,
                                      .calibrate = rep->calibrate,
                                      .scale = scale,
                                      .host_speed = rep->host_speed},
                      &t, &fault_free, e);
    if (rc == 0)
        out->fault_free_ns = fault_free.span_ns;
    retarget_release(&t);
    if (rc == 0)
        note_faults(rep, faulty, out->fault_free_ns, out->time.span_ns);
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

static int derive(struct replay_job *job, const struct retarget *t, struct replay_scale *out,
                  struct err *e)
{
    bool shorter = out->scale > 1 && out->time.span_ns < job->base_ns; /* its error decides */
    if (!job->opts->brief && derive_scale(job, t, out, e) < 0)
        return -1;
    if (job->opts->brief && shorter && derive_error(job, t, out, e) < 0)
        return -1;
    if (job->opts->watch.observe != NULL)
        job->opts->watch.observe(job->opts->watch.context, job, out);
    return 0;
}

/* Share of a step that the optimizer takes where it works on shards. */
static double sharded_share(const struct replay_job *job, const struct retarget *t)
{
    const struct replay *rep = job->rep;
    double steps = 0;
    for (size_t r = 0; r < rep->nranks; r++)
        steps += steps_blank(job->program.run, r) ? 0 : rep->iterations;
    return weak_scaling_shards(&job->growth) && job->base_ns > 0
               ? t->shard_ns / steps / job->base_ns
               : 0;
}

static int simulate_scale(struct replay_job *job, int64_t scale, struct replay_scale *out,
                          struct err *e)
{
    struct replay *rep = job->rep;
    struct retarget t;
    int rc;
    *out = (struct replay_scale){.scale = scale, .gpus = scale * rep->world};
    if (job->pipeline != NULL && scale > 1)
        return job_simulate_pipeline(job, target_of(rep, scale), derive, out, e);
    rc = job_simulate(job, target_of(rep, scale), &t, &out->time, e);
    if (rc == 0)
        rc = derive(job, &t, out, e);
    if (rc == 0)
        shorter_derive(job, &t, out);
    if (rc == 0 && scale == 1) {
        job->base_ns = out->time.span_ns;
        rep->unmodelled = retarget_unmodelled(&t);
        rep->sharded = sharded_share(job, &t);
        memcpy(rep->device_time, t.sums, sizeof rep->device_time);
        note_costs(rep, &t);
        rep->untold = retarget_untold(&t);
        note_host_speed(rep, &out->time);
    }
    if (rc == 0)
        rc = jitter_draw(&job->whatif, &t, &out->jitter, e);
    if (rc == 0)
        rc = simulate_without_faults(job, scale, &t, out, e);
    retarget_release(&t);
    return rc;
}

/* More GPUs take nothing from any of them, but for shards: a step that is shorter by more than the
 * error tells that the recording does not show what a step takes. */
static bool is_impossible(struct replay *rep, const struct replay_scale *s, double ratio)
{
    double off = fmax(s->error.share, SHORTER);
    if (s->scale == 1 || rep->strong || 1 / ratio >= 1 - rep->sharded - off)
        return false;
    replay_note(rep, false,
                "no speed-up and efficiency at %lld GPUs: the step would be %.1f %% shorter than "
                "at %d, which is more than the prediction may be off (%.1f %%)",
                (long long)s->gpus, 100 * (1 - 1 / ratio), rep->world, 100 * s->error.share);
    return true;
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
    if (scale.scale > 1 && rep->unscaled != NULL)
        scale.error.share = NAN;
    if (isnan(scale.error.share) || rep->own_error > REPLAY_ERROR_MAX ||
        is_impossible(rep, &scale, ratio)) {
        scale.speedup = scale.efficiency = NAN;
        scale.rate = (struct throughput){NAN, NAN, NAN};
    }
    ARRAY_GROW(rep->scales, rep->cap_scales, rep->nscales + 1);
    rep->scales[rep->nscales++] = scale;
}

static int check_scale(const struct replay_job *job, int64_t scale, struct err *e)
{
    if (weak_scaling_check(&job->growth, job->rep->to.network, scale, e) < 0)
        return -1;
    return job->rep->strong ? strong_scaling_check(&job->strong, scale, e) : 0;
}

/* Scales that were not requested and are not possible are left out, with a note. */
static size_t default_count(struct replay_job *job)
{
    size_t n = 1, all = replay_nscales;
    struct err why;
    job->rep->topic = TOPIC_SCALE;
    if (job->growth.refused != NULL) {
        replay_assume(job->rep, "scales above 1 are left out: %s", job->growth.refused);
        return 1;
    }
    if (job->rep->unscaled != NULL) {
        replay_assume(job->rep, "scales above 1 are left out: %s", job->rep->unscaled);
        return 1;
    }
    while (n < all && check_scale(job, replay_scales[n], &why) == 0)
        n++;
    if (n < all)
        replay_assume(job->rep, "scales above %lld are left out: %s",
                      (long long)replay_scales[n - 1], why.msg);
    return n;
}

/* Checks that the network holds them all. */
static int check_scales(struct replay_job *job, const int64_t *scales, size_t n, struct err *e)
{
    bool grown = false;
    for (size_t i = 0; i < n; i++) {
        if (check_scale(job, scales[i], e) < 0)
            return -1;
        grown = grown || scales[i] > 1;
    }
    if (grown && job->rep->unscaled != NULL)
        replay_note_first(job->rep,
                          "every scale takes the time of scale 1, without speed-up and "
                          "efficiency: %s",
                          job->rep->unscaled);
    return 0;
}

/* Returns whether the model can price this operation at another size of its communicator. */
static bool has_size(const struct replay_job *job, size_t r, size_t i)
{
    const struct program *p = &job->program;
    const struct op *op = &p->run->ranks[r].ops[i];
    uint32_t match = p->ranks[r].match[i];
    return match != PROGRAM_NONE && p->run->comms[op->coll.comm].size > 0 &&
           (p->matches.list[match].bytes > 0 || !(op->flags & OP_BYTES_UNKNOWN));
}

/* Why the recording does not tell how the job scales: no communication of known size grows with the
 * axis. NULL when it does. */
static const char *why_unscaled(const struct replay_job *job)
{
    const struct weak_scaling *g = &job->growth;
    const struct run *run = job->program.run;
    uint64_t all = 0, unknown = 0;
    if (g->refused != NULL || job->pipeline != NULL)
        return NULL;
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            const struct op *op = &run->ranks[r].ops[i];
            if (op->class != OP_COLL && op->class != OP_P2P)
                continue;
            all++;
            if (!has_size(job, r, i))
                unknown++;
            else if (weak_scaling_grows(g, op->coll.comm))
                return NULL;
        }
    }
    if (all == 0)
        return "no communication was recorded";
    if (unknown > 0)
        return arena_printf(&job->rep->arena,
                            "%llu of %llu communication operations have no known size or "
                            "communicator, and none of the others grows",
                            (unsigned long long)unknown, (unsigned long long)all);
    return arena_printf(&job->rep->arena,
                        "no communicator that was used spans %s, which grows "
                        "(--grow)",
                        grid_role_name(g->grid->axes[g->axis].role));
}

/* Returns the requested scales, or sizes of the job; *n of them. NULL with e filled. */
static const int64_t *find_scales(struct replay_job *job, const struct replay_opts *opts, size_t *n,
                                  struct err *e)
{
    int64_t *scales;
    *n = opts->nscales;
    if (opts->nscales > 0)
        return opts->scales;
    *n = opts->ngpus;
    if (opts->ngpus > 0) {
        scales = arena_alloc(&job->rep->arena, opts->ngpus * sizeof *scales);
        return weak_scaling_scales(&job->growth, opts->gpus, opts->ngpus, scales, e) < 0 ? NULL
                                                                                         : scales;
    }
    *n = default_count(job);
    return replay_scales;
}

/* Refuses when the part of too much of the work in a divided batch is not known. */
static int check_untold(struct replay *rep, struct err *e)
{
    if (rep->untold > STRONG_UNTOLD_MAX)
        return err_set(
            e, ERR_INPUT,
            "--strong: %.1f %% of the device time is work whose part in the batch is not "
            "known (kernels of no known class, graphs, operations of unknown size); %.0f "
            "%% is the most",
            100 * rep->untold, 100 * STRONG_UNTOLD_MAX);
    note_undivided(rep, rep->untold);
    return 0;
}

static int simulate_all(struct replay_job *job, const struct replay_opts *opts, struct err *e)
{
    size_t n;
    const int64_t *scales;
    struct replay_scale base, one;
    job->rep->unscaled = why_unscaled(job);
    scales = find_scales(job, opts, &n, e);
    if (scales == NULL || check_scales(job, scales, n, e) < 0)
        return -1;
    if (faults_check(&job->whatif, scales, n, e) < 0)
        return -1;
    job->rep->first_scale = scales[0];
    if (weak_scaling_check(&job->growth, job->rep->to.network, 1, e) < 0 ||
        simulate_own(job, e) < 0 || simulate_scale(job, 1, &base, e) < 0)
        return -1;
    if (!opts->brief) {
        derive_reasons(job, &base);
        derive_verdict(job, &base);
    }
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

/* Returns whether there is anything on a device to be replayed. */
static bool holds_work(const struct run *run)
{
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].nops > 0 || run->ranks[r].nlaunches > 0)
            return true;
    }
    return false;
}

/* Returns whether an operation has a device time. Without one the step time is not known. */
static bool holds_times(const struct run *run)
{
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            if (op_timed(&run->ranks[r].ops[i]))
                return true;
        }
    }
    return false;
}

int replay_run(struct replay *rep, const struct run *run, const struct replay_opts *opts,
               struct err *e)
{
    struct replay_job job = {.rep = rep, .opts = opts};
    int rc;
    memset(rep, 0, sizeof *rep);
    arena_init(&rep->arena);
    if (run->nranks == 0)
        return err_set(e, ERR_INPUT, "%s: no rank to replay", run->source);
    if (!holds_work(run))
        return err_set(e, ERR_INPUT, "%s: no operation to replay", run->source);
    if (!holds_times(run))
        return err_set(e, ERR_INPUT, "%s: no operation has a device time: nothing to replay",
                       run->source);
    rep->calibrate = opts->calibrate;
    rep->strong = opts->strong;
    rep->host_speed = opts->host_speed > 0 ? opts->host_speed : 1;
    rep->nranks = run->nranks;
    rep->ranks = arena_alloc(&rep->arena, run->nranks * sizeof *rep->ranks);
    if (replay_find_hardware(rep, run, opts, e) < 0)
        return -1;
    rc = job_init(&job, run, opts, e);
    if (rc == 0) {
        rep->recorded = job_measure(&job, false);
        for (size_t r = 0; r < rep->nranks; r++)
            rep->ranks[r].recorded_ns = job.spans[r];
        if (!opts->brief)
            derive_recording(&job);
        if (opts->watch.observe != NULL)
            opts->watch.observe(opts->watch.context, &job, NULL);
        rc = simulate_all(&job, opts, e);
    }
    note_sort(rep);
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
