/* SPDX-License-Identifier: MIT */
#include "sim/replay.h"

#include "sim/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t default_scales[] = {1, 2, 4, 8, 16, 32};

/* ---- hardware ---- */

/* The GPU that the ranks name; NULL when specter knows none of the names. */
static const struct gpu_profile *recorded_gpu(struct replay *rep, const struct run *run)
{
    const struct gpu_profile *gpu = NULL;
    for (size_t r = 0; r < run->nranks; r++) {
        const char *name = run->ranks[r].gpu;
        const struct gpu_profile *other = name[0] ? gpu_profile_of_device(name) : NULL;
        if (gpu != NULL && other != NULL && other != gpu) {
            replay_note(rep, false, "ranks ran on different GPUs: all are taken as %s", gpu->name);
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
        replay_assume(rep, "recorded on network %s, where %s usually sits (--from-network)",
                      rep->from.network->name, rep->from.gpu->name);
}

/* Of the target: that of the recording, unless another GPU is asked for, which brings its own. */
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
        replay_assume(rep, "target network %s: where %s usually sits (--network)",
                      rep->to.network->name, gpu->name);
    else
        replay_assume(rep, "target network %s: %s (--network)", rep->to.network->name,
                      rep->from.network ? "that of the recording" : "the default");
    return 0;
}

static int find_target(struct replay *rep, const struct replay_opts *opts, struct err *e)
{
    rep->to = (struct hardware){.gpu = opts->gpu, .network = opts->network};
    if (rep->to.gpu == NULL) {
        rep->to.gpu = rep->from.gpu ? rep->from.gpu : gpu_profile_find(GPU_PROFILE_DEFAULT, e);
        if (rep->to.gpu == NULL)
            return -1;
        replay_assume(rep, "target GPU %s: %s (--gpu)", rep->to.gpu->name,
                      rep->from.gpu ? "that of the recording" : "the default");
    }
    return rep->to.network == NULL ? choose_network(rep, opts->gpu != NULL, e) : 0;
}

/* Without a source there is no ratio. What was asked for by name and cannot be done is a loss. */
static void complete_source(struct replay *rep, const struct replay_opts *opts)
{
    rep->gpu_known = rep->from.gpu != NULL;
    rep->network_known = rep->from.network != NULL;
    if (!rep->gpu_known) {
        rep->from.gpu = rep->to.gpu;
        replay_note(rep, opts->gpu != NULL,
                    "the recording names no GPU that specter knows: computation is not "
                    "retargeted to %s, its measured times are kept (--from-gpu)",
                    rep->to.gpu->name);
    }
    if (!rep->network_known) {
        rep->from.network = rep->to.network;
        replay_note(rep, opts->network != NULL,
                    "the network of the recording is not known: communication is not "
                    "retargeted to %s (--from-network)",
                    rep->to.network->name);
    }
    rep->same_hardware = rep->gpu_known && rep->network_known && rep->from.gpu == rep->to.gpu &&
                         rep->from.network == rep->to.network;
}

/* ---- times ---- */

static struct sim_span recorded_span(const struct op *op)
{
    if (!op_timed(op) || op->start_ns == UNKNOWN_NS)
        return (struct sim_span){UNKNOWN_NS, UNKNOWN_NS};
    return (struct sim_span){op->start_ns, op->start_ns + op->dur_ns};
}

static struct sim_span simulated_span(const struct program *p, size_t rank, size_t op)
{
    struct sim_span span = program_span(p, rank, op);
    return span.end_ns < 0 ? (struct sim_span){UNKNOWN_NS, UNKNOWN_NS} : span;
}

static int64_t host_end(const struct program *p, const struct program_rank *rank)
{
    int64_t end_ns = 0;
    for (uint32_t h = 0; h < rank->nhosts; h++) {
        if (sim_host_end(p->sim, rank->first_host + h) > end_ns)
            end_ns = sim_host_end(p->sim, rank->first_host + h);
    }
    return end_ns;
}

static void measure_rank(struct iteration_time *out, const struct program *p, size_t r,
                         const struct iterations *it, bool simulated)
{
    const struct rank *rank = &p->run->ranks[r];
    const struct program_rank *place = &p->ranks[r];
    struct sim_span *spans = malloc((rank->nops > 0 ? rank->nops : 1) * sizeof *spans);
    struct timeline when = {spans, place->origin_ns, place->end_ns};
    if (spans == NULL)
        die("out of memory");
    for (size_t i = 0; i < rank->nops; i++)
        spans[i] = simulated ? simulated_span(p, r, i) : recorded_span(&rank->ops[i]);
    if (simulated)
        when = (struct timeline){spans, place->begin_ns, host_end(p, place)};
    iteration_measure(out, it, rank, &when);
    free(spans);
}

/* Nothing of it was recorded but who it is, while of others something was. */
static bool is_blank(const struct run *run, size_t rank)
{
    if (run->ranks[rank].nops > 0)
        return false;
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].nops > 0)
            return true;
    }
    return false;
}

/* Of the rank that takes longest, the first of several: it decides, and its parts add up. spans[r]
 * receives the time of each rank. */
static struct iteration_time measure(const struct program *p, const struct iterations *it,
                                     bool simulated, double *spans)
{
    struct iteration_time longest = {0}, one;
    bool first = true;
    for (size_t r = 0; r < p->run->nranks; r++) {
        measure_rank(&one, p, r, &it[r], simulated);
        spans[r] = one.span_ns;
        if (is_blank(p->run, r))
            continue;
        if (first || one.span_ns > longest.span_ns)
            longest = one;
        first = false;
    }
    return longest;
}

/* ---- one simulation ---- */

struct job {
    struct replay *rep;
    struct program program;
    struct growth growth;
    struct iterations *iterations; /* by rank; in the arena of rep */
    double *spans;                 /* by rank; in the arena of rep */
};

/* What is simulated: the target, how, and how often the job. */
struct target {
    struct hardware to;
    bool calibrate;
    int64_t scale;
};

static int set_costs(struct job *job, struct retarget *t, struct err *e)
{
    for (size_t i = 0; i < job->program.ncosts; i++) {
        int64_t ns;
        if (retarget_cost(t, &job->program.costs[i], &ns, e) < 0)
            return -1;
        program_set_cost(&job->program, i, ns);
    }
    return 0;
}

/* What the recording shows, on its own GPU; else the profile's figure and the recording's excess.
 */
static int64_t latency_on(const struct replay *rep, const struct gpu_profile *gpu)
{
    bool own = gpu == rep->from.gpu;
    return llround((own ? rep->latency_us : gpu->launch_us + rep->excess_us) * 1e3);
}

/* t, to be released in either case, tells by which rules the costs were set. */
static int simulate(struct job *job, struct target target, struct retarget *t,
                    struct iteration_time *out, struct err *e)
{
    sim_set_launch_latency(job->program.sim, latency_on(job->rep, target.to.gpu));
    if (retarget_init(t, &job->program, &job->growth, job->rep->from, target.to, target.calibrate,
                      target.scale, e) < 0)
        return -1;
    if (set_costs(job, t, e) < 0 || program_run(&job->program, e) < 0)
        return -1;
    *out = measure(&job->program, job->iterations, true, job->spans);
    return 0;
}

/* The recording on its own hardware: how far the replay is to be trusted. */
static int simulate_own(struct job *job, struct err *e)
{
    struct replay *rep = job->rep;
    struct retarget t;
    int rc = simulate(job, (struct target){rep->from, true, 1}, &t, &rep->own, e);
    for (size_t r = 0; rc == 0 && r < rep->nranks; r++)
        rep->ranks[r].replayed_ns = job->spans[r];
    retarget_release(&t);
    return rc;
}

static int simulate_scale(struct job *job, int64_t scale, struct replay_scale *out, struct err *e)
{
    struct replay *rep = job->rep;
    struct retarget t;
    int rc;
    *out = (struct replay_scale){.scale = scale, .gpus = scale * rep->world};
    rc = simulate(job, (struct target){rep->to, rep->calibrate, scale}, &t, &out->time, e);
    if (rc == 0 && scale == 1) {
        rep->unmodelled = retarget_unmodelled(&t);
        say_costs(rep, &t);
    }
    retarget_release(&t);
    return rc;
}

static void add_scale(struct replay *rep, const struct replay_scale *base,
                      struct replay_scale scale)
{
    double ratio = scale.time.span_ns > 0 ? base->time.span_ns / scale.time.span_ns : 1;
    scale.efficiency = ratio;
    scale.speedup = (double)scale.scale * ratio;
    ARRAY_GROW(rep->scales, rep->cap_scales, rep->nscales + 1);
    rep->scales[rep->nscales++] = scale;
}

/* Scales that nobody asked for and that the network cannot hold are left out, aloud. */
static size_t default_count(struct job *job)
{
    size_t n = 1, all = sizeof default_scales / sizeof *default_scales;
    const struct network_profile *net = job->rep->to.network;
    if (job->growth.refused != NULL) {
        replay_assume(job->rep, "scales above 1 are left out: %s", job->growth.refused);
        return 1;
    }
    while (n < all && growth_check(&job->growth, net, default_scales[n], NULL) == 0)
        n++;
    if (n < all)
        replay_assume(job->rep, "scales above %lld are left out: network %s holds no more GPUs",
                      (long long)default_scales[n - 1], net->name);
    return n;
}

/* Does the network hold them all? Says so when growing changes nothing. */
static int check_scales(struct job *job, const int64_t *scales, size_t n, struct err *e)
{
    bool grown = false;
    for (size_t i = 0; i < n; i++) {
        if (growth_check(&job->growth, job->rep->to.network, scales[i], e) < 0)
            return -1;
        grown = grown || scales[i] > 1;
    }
    if (grown && !growth_any(&job->growth))
        replay_note_first(job->rep, "no communicator grows with the scale: every scale takes the "
                                    "time of scale 1, and 100 %% says nothing about scaling");
    return 0;
}

static int simulate_all(struct job *job, const struct replay_opts *opts, struct err *e)
{
    const int64_t *scales = opts->nscales > 0 ? opts->scales : default_scales;
    size_t n = opts->nscales > 0 ? opts->nscales : default_count(job);
    struct replay_scale base, one;
    if (check_scales(job, scales, n, e) < 0)
        return -1;
    if (growth_check(&job->growth, job->rep->to.network, 1, e) < 0 || simulate_own(job, e) < 0 ||
        simulate_scale(job, 1, &base, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        one = base;
        if (scales[i] != 1 && simulate_scale(job, scales[i], &one, e) < 0)
            return -1;
        add_scale(job->rep, &base, one);
    }
    return 0;
}

/* ---- all of it ---- */

static void find_iterations(struct job *job)
{
    struct replay *rep = job->rep;
    const struct run *run = job->program.run;
    rep->iterations = UINT32_MAX;
    for (size_t r = 0; r < run->nranks; r++) {
        struct iterations *it = &job->iterations[r];
        iterations_find(it, &run->ranks[r], &job->program.ranks[r]);
        rep->ranks[r].rank = run->ranks[r].rank;
        rep->ranks[r].iterations = it->count;
        rep->ranks[r].source = it->source;
        if (it->count < rep->iterations && !is_blank(run, r)) {
            rep->iterations = it->count;
            rep->source = it->source;
        }
    }
}

static void make_program(struct job *job, const struct run *run,
                         const struct match_standins *standins)
{
    struct replay *rep = job->rep;
    int64_t latency_ns = llround(rep->from.gpu->launch_us * 1e3);
    struct program apart;
    program_make_filled(&apart, run, latency_ns, true, standins);
    program_make_filled(&job->program, run, latency_ns, false, standins);
    rep->latency_us = (double)program_fit_latency(&apart, latency_ns) / 1e3;
    rep->excess_us = fmax(rep->latency_us - rep->from.gpu->launch_us, 0);
    program_learn(&job->program, &apart);
    program_release(&apart);
}

/* The parallel grid, and whether the ranks that are missing can be filled in. */
static int make_grid(struct job *job, const struct replay_opts *opts, struct err *e)
{
    struct replay *rep = job->rep;
    const struct run *run = job->program.run;
    const char *grow = opts->grow != NULL ? opts->grow : "dp";
    rep->grown = grid_role_parse(grow, strlen(grow));
    if (rep->grown == GRID_ROLES)
        return err_set(e, ERR_USAGE, "no axis '%s' to grow", grow);
    grid_survey(&rep->groups, run, job->program.ranks, job->iterations, &rep->arena);
    if (opts->parallel == NULL)
        grid_find(&rep->grid, &rep->groups);
    else if (grid_tell(&rep->grid, &rep->groups, opts->parallel, e) < 0)
        return -1;
    growth_make(&job->growth, run, &rep->grid, rep->grown);
    grid_find_absent(&rep->absent, &rep->grid, run, job->iterations, &rep->arena);
    if (rep->absent.refused != NULL)
        return err_set(e, ERR_INPUT,
                       "%d of %d ranks (%s) have no operations and cannot be filled in: %s",
                       rep->absent.count, rep->grid.world, rep->absent.words, rep->absent.refused);
    return 0;
}

static int job_make(struct job *job, const struct run *run, const struct replay_opts *opts,
                    struct err *e)
{
    struct replay *rep = job->rep;
    make_program(job, run, NULL);
    job->spans = arena_alloc(&rep->arena, run->nranks * sizeof *job->spans);
    job->iterations = arena_alloc(&rep->arena, run->nranks * sizeof *job->iterations);
    find_iterations(job);
    if (make_grid(job, opts, e) < 0)
        return -1;
    if (rep->absent.filled) { /* only the grid of the recorded ranks tells who stands for whom */
        program_release(&job->program);
        make_program(job, run, &rep->absent.standins);
    }
    rep->world = rep->grid.world;
    say_latency(rep);
    say_program(rep, &job->program);
    say_iterations(rep);
    say_grid(rep);
    say_growth(rep, &job->growth);
    return 0;
}

static void job_release(struct job *job)
{
    for (size_t r = 0; r < job->rep->nranks; r++)
        iterations_release(&job->iterations[r]);
    if (job->growth.run != NULL)
        growth_release(&job->growth);
    program_release(&job->program);
}

int replay_run(struct replay *rep, const struct run *run, const struct replay_opts *opts,
               struct err *e)
{
    struct job job = {.rep = rep};
    int rc;
    memset(rep, 0, sizeof *rep);
    arena_init(&rep->arena);
    if (run->nranks == 0)
        return err_set(e, ERR_INPUT, "%s: no rank to replay", run->source);
    rep->calibrate = opts->calibrate;
    rep->nranks = run->nranks;
    rep->ranks = arena_alloc(&rep->arena, run->nranks * sizeof *rep->ranks);
    find_source(rep, run, opts);
    if (find_target(rep, opts, e) < 0)
        return -1;
    complete_source(rep, opts);
    rc = job_make(&job, run, opts, e);
    if (rc == 0) {
        rep->recorded = measure(&job.program, job.iterations, false, job.spans);
        for (size_t r = 0; r < rep->nranks; r++)
            rep->ranks[r].recorded_ns = job.spans[r];
        rc = simulate_all(&job, opts, e);
    }
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
