/* SPDX-License-Identifier: MIT
 *
 * A replay from above: the job, its own iteration, and one simulation a scale.
 */
#include "sim/replay/replay.h"

#include "base/buf.h"
#include "model/nccl_tuner.h"
#include "sim/replay/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a job was recorded on, and what it is replayed on ---- */

/* The GPU that the ranks name; NULL when specter knows none of the names. */
static const struct gpu_profile *recorded_gpu(struct replay *rep, const struct run *run)
{
    const struct gpu_profile *gpu = NULL;
    for (size_t r = 0; r < run->nranks; r++) {
        const char *name = run->ranks[r].gpu;
        const struct gpu_profile *other = name[0] ? gpu_profile_of_device(name) : NULL;
        if (gpu != NULL && other != NULL && other != gpu) {
            fact_add(rep, FACT_GPUS_DIFFER, VALUES(fact_text(gpu->name)));
            break;
        }
        if (gpu == NULL)
            gpu = other;
    }
    return gpu;
}

/* The hardware of the recording; NULL where it is not known. */
static void find_source(struct replay *rep, const struct run *run, const struct replay_opts *opts)
{
    rep->from = (struct hardware){.gpu = opts->from_gpu, .network = opts->from_network};
    if (rep->from.gpu == NULL)
        rep->from.gpu = recorded_gpu(rep, run);
    if (rep->from.gpu == NULL || rep->from.network != NULL || rep->from.gpu->network == NULL)
        return;
    rep->from.network = network_profile_find(rep->from.gpu->network, NULL);
    if (rep->from.network != NULL)
        fact_add(rep, FACT_NETWORK_USUAL,
                 VALUES(fact_text(rep->from.network->name), fact_text(rep->from.gpu->name)));
}

/* The network of the target is that of the recording, unless another GPU is requested, which brings
 * its own. */
static int choose_network(struct replay *rep, bool gpu_named, struct err *e)
{
    const struct gpu_profile *gpu = rep->to.gpu;
    bool other = gpu_named && gpu != rep->from.gpu && gpu->network != NULL;
    if (other)
        rep->to.network = network_profile_find(gpu->network, e);
    else if (rep->from.network != NULL)
        rep->to.network = rep->from.network;
    else
        rep->to.network = network_profile_find(NETWORK_PROFILE_DEFAULT, e);
    if (rep->to.network == NULL)
        return -1;
    if (other)
        fact_add(rep, FACT_TARGET_NETWORK_USUAL,
                 VALUES(fact_text(rep->to.network->name), fact_text(gpu->name)));
    else
        fact_add(rep,
                 rep->from.network != NULL ? FACT_TARGET_NETWORK_RECORDED
                                           : FACT_TARGET_NETWORK_DEFAULT,
                 VALUES(fact_text(rep->to.network->name)));
    return 0;
}

/* The first name that a rank has of its GPU; "" where none has one. */
static const char *recorded_name(const struct run *run)
{
    const char *name = "";
    for (size_t r = 0; r < run->nranks && name[0] == '\0'; r++)
        name = run->ranks[r].gpu;
    return name;
}

static int find_target(struct replay *rep, const struct run *run, const struct replay_opts *opts,
                       struct err *e)
{
    rep->to = (struct hardware){.gpu = opts->gpu, .network = opts->network};
    if (rep->to.gpu == NULL && rep->from.gpu == NULL && opts->own_times)
        rep->to.gpu = gpu_profile_find(GPU_PROFILE_DEFAULT, e);
    if (rep->to.gpu == NULL && rep->from.gpu == NULL) {
        const char *name = recorded_name(run);
        return err_set(e, ERR_USAGE,
                       "the recording %s%.64s%s: --from-gpu NAME says which GPU it was, or the one "
                       "most like it ('specter profiles' lists them)",
                       name[0] != '\0' ? "is of a GPU that is not known, '" : "names no GPU", name,
                       name[0] != '\0' ? "'" : "");
    }
    if (rep->to.gpu == NULL) {
        rep->to.gpu = rep->from.gpu;
        fact_add(rep, FACT_TARGET_GPU_RECORDED, VALUES(fact_text(rep->to.gpu->name)));
    }
    return rep->to.network == NULL ? choose_network(rep, opts->gpu != NULL, e) : 0;
}

static void note_unknown_gpu(struct replay *rep, const struct run *run)
{
    struct fact_value to = fact_text(rep->to.gpu->name);
    const char *name = recorded_name(run);
    if (name[0] != '\0')
        fact_add_loss(rep, true, FACT_GPU_UNKNOWN, VALUES(fact_text(name), to));
    else
        fact_add_loss(rep, true, FACT_GPU_UNNAMED, VALUES(to));
}

/* The machine's network with that version of NCCL, in the answer's arena. RCCL has its numbers from
 * NCCL, but is modelled in one version. */
static const struct network_profile *with_nccl(struct replay *rep, const struct hardware *on,
                                               int version)
{
    struct network_profile copy, *own;
    if (on->gpu->cc == 0 || network_with_nccl(on->network, version, &copy) == on->network)
        return on->network;
    own = arena_alloc(&rep->arena, sizeof *own);
    *own = copy;
    return own;
}

static struct fact_value version_text(struct replay *rep, int version)
{
    char text[16];
    return fact_text(arena_strdup(&rep->arena, nccl_version_text(version, text)));
}

/* The recording's version holds on its own machine, and on another target where neither the user
 * (`asked`) nor the target's profile names one. */
static void set_nccl(struct replay *rep, int recorded, int asked)
{
    const bool same = rep->from.network == rep->to.network && rep->from.gpu == rep->to.gpu;
    const int named = (int)rep->to.network->nccl;
    rep->from.network = with_nccl(rep, &rep->from, recorded);
    const int source = (int)rep->from.network->nccl;
    if (same)
        rep->to.network = rep->from.network;
    rep->to.network = with_nccl(rep, &rep->to,
                                asked != 0            ? asked
                                : named != 0 && !same ? named
                                                      : source);
    const int target = (int)rep->to.network->nccl;
    if (rep->to.gpu->cc == 0 || target == 0)
        return;
    if (target == source)
        fact_add(rep, FACT_NCCL, VALUES(version_text(rep, target)));
    else
        fact_add(rep, FACT_NCCL_OTHER,
                 VALUES(version_text(rep, target), fact_count(source != 0),
                        version_text(rep, source), fact_count(source == 0)));
}

int replay_find_hardware(struct replay *rep, const struct run *run, const struct replay_opts *opts,
                         struct err *e)
{
    find_source(rep, run, opts);
    if (find_target(rep, run, opts, e) < 0)
        return -1;
    /* Without a source there is no ratio. What was asked for by name and cannot be done is a loss.
     */
    rep->gpu_known = rep->from.gpu != NULL;
    rep->network_known = rep->from.network != NULL;
    if (!rep->gpu_known) {
        rep->from.gpu = rep->to.gpu;
        note_unknown_gpu(rep, run);
    }
    if (!rep->network_known) {
        rep->from.network = rep->to.network;
        fact_add_loss(rep, opts->network != NULL, FACT_NETWORK_UNKNOWN,
                      VALUES(fact_text(rep->to.network->name)));
    }
    set_nccl(rep, run_nccl_version(run), opts->nccl);
    rep->same_hardware = rep->gpu_known && rep->network_known && rep->from.gpu == rep->to.gpu &&
                         rep->from.network == rep->to.network;
    return 0;
}

/* ---- simulations ---- */

const int64_t replay_scales[] = {1, 2, 4, 8, 16, 32};
const size_t replay_nscales = sizeof replay_scales / sizeof *replay_scales;

/* The recording on its own hardware: how far the replay is to be trusted. */
static int simulate_own(struct replay_job *job, struct err *e)
{
    struct replay *rep = job->rep;
    const struct target own = {
        .to = rep->from, .calibrate = true, .placed_as_recorded = true, .scale = 1};
    struct rank_waits *waits;
    struct retarget t;
    int rc = job_simulate(job, own, &t, &rep->own, e);
    if (rc == 0) {
        waits = arena_alloc(&rep->arena, rep->nranks * sizeof *waits);
        waits_compare(&rep->waits, waits, &job->program);
        for (size_t r = 0; r < rep->nranks; r++) {
            rep->ranks[r].replayed_ns = job->spans[r];
            rep->ranks[r].waits = waits[r];
        }
        derive_own(job);
    }
    retarget_release(&t);
    return rc;
}

/* The same without the faults: what they cost, or why they cost nothing. */
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

static int derive(struct replay_job *job, const struct retarget *t, struct replay_scale *out,
                  struct err *e)
{
    if ((job->opts->brief ? derive_error : derive_scale)(job, t, out, e) < 0)
        return -1;
    if (job->opts->watch.observe != NULL)
        job->opts->watch.observe(job->opts->watch.context, job, out);
    return derive_intervals(job, t, out, e);
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
    const struct target target = {.to = rep->to,
                                  .calibrate = rep->calibrate,
                                  .scale = scale,
                                  .faulty = true,
                                  .host_speed = rep->host_speed};
    struct retarget t;
    int rc;
    *out = (struct replay_scale){.scale = scale, .gpus = scale * rep->world};
    if (job->pipeline != NULL && scale > 1)
        return job_simulate_pipeline(job, target, derive, out, e);
    rc = job_simulate(job, target, &t, &out->time, e);
    if (rc == 0)
        rc = derive(job, &t, out, e);
    if (rc == 0)
        shorter_derive(job, &t, out);
    if (rc == 0 && scale == 1) {
        job->base_ns = out->time.span_ns;
        rep->unmodelled = retarget_unmodelled(&t);
        rep->sharded = sharded_share(job, &t);
        memcpy(rep->device_time, t.sums, sizeof rep->device_time);
        note_costs(rep, &t, &out->error);
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
    fact_add(rep, FACT_IMPOSSIBLE,
             VALUES(fact_count((uint64_t)s->gpus), fact_number(100 * (1 - 1 / ratio)),
                    fact_count((uint64_t)rep->world), fact_number(100 * s->error.share)));
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
        uncertainty_forget(&scale.error);
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
    const char *refused = job->growth.refused != NULL ? job->growth.refused : job->rep->unscaled;
    size_t n = 1;
    struct err why;
    if (refused != NULL) {
        fact_add(job->rep, FACT_SCALES_REFUSED, VALUES(fact_text(refused)));
        return 1;
    }
    while (n < replay_nscales && check_scale(job, replay_scales[n], &why) == 0)
        n++;
    if (n < replay_nscales)
        fact_add(job->rep, FACT_SCALES_END,
                 VALUES(fact_count((uint64_t)replay_scales[n - 1]), fact_text(why.msg)));
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
        fact_add(job->rep, FACT_UNSCALED, VALUES(fact_text(job->rep->unscaled)));
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

/* Returns why the recording does not tell how the job scales: no communication of known size grows
 * with the axis. NULL when it does. */
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

int replay_prepare(struct replay *rep, struct replay_job *job, const struct run *run,
                   const struct replay_opts *opts, struct err *e)
{
    memset(rep, 0, sizeof *rep);
    arena_init(&rep->arena);
    *job = (struct replay_job){.rep = rep, .opts = opts};
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
    if (replay_find_hardware(rep, run, opts, e) < 0 || job_init(job, run, opts, e) < 0)
        return -1;
    rep->recorded = job_measure(job, false);
    for (size_t r = 0; r < rep->nranks; r++)
        rep->ranks[r].recorded_ns = job->spans[r];
    return 0;
}

int replay_run(struct replay *rep, const struct run *run, const struct replay_opts *opts,
               struct err *e)
{
    struct replay_job job;
    int rc = replay_prepare(rep, &job, run, opts, e);
    if (rc == 0) {
        derive_spread(&job);
        if (!opts->brief)
            derive_recording(&job);
        if (opts->watch.observe != NULL)
            opts->watch.observe(opts->watch.context, &job, NULL);
        rc = simulate_all(&job, opts, e);
    }
    job_release(&job);
    return rc;
}

void replay_release(struct replay *rep)
{
    free(rep->scales);
    free(rep->facts.list);
    grid_release(&rep->grid);
    arena_release(&rep->arena);
    memset(rep, 0, sizeof *rep);
}
