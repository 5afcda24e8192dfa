/* SPDX-License-Identifier: MIT */
#include "sim/replay.h"

#include "sim/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t default_scales[] = {1, 2, 4, 8, 16, 32};

#define DEFAULT_GPU "h100_sxm"
#define DEFAULT_NETWORK "dgx_h100_400g"

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

static int find_named(struct hardware *hw, const char *gpu, const char *network, struct err *e)
{
    if (gpu != NULL && (hw->gpu = gpu_profile_find(gpu, e)) == NULL)
        return -1;
    if (network != NULL && (hw->network = network_profile_find(network, e)) == NULL)
        return -1;
    return 0;
}

/* The hardware of the recording; NULL where it is not known. */
static int find_source(struct replay *rep, const struct run *run, const struct replay_opts *opts,
                       struct err *e)
{
    if (find_named(&rep->from, opts->from_gpu, opts->from_network, e) < 0)
        return -1;
    if (rep->from.gpu == NULL)
        rep->from.gpu = recorded_gpu(rep, run);
    if (rep->from.gpu == NULL || rep->from.network != NULL || rep->from.gpu->network == NULL)
        return 0;
    rep->from.network = network_profile_find(rep->from.gpu->network, NULL);
    if (rep->from.network != NULL)
        replay_assume(rep, "recorded on network %s, where %s usually sits (--from-network)",
                      rep->from.network->name, rep->from.gpu->name);
    return 0;
}

static int find_target(struct replay *rep, const struct replay_opts *opts, struct err *e)
{
    if (find_named(&rep->to, opts->gpu, opts->network, e) < 0)
        return -1;
    if (rep->to.gpu == NULL) {
        rep->to.gpu = rep->from.gpu ? rep->from.gpu : gpu_profile_find(DEFAULT_GPU, e);
        if (rep->to.gpu == NULL)
            return -1;
        replay_assume(rep, "target GPU %s: %s (--gpu)", rep->to.gpu->name,
                      rep->from.gpu ? "that of the recording" : "the default");
    }
    if (rep->to.network == NULL) {
        rep->to.network =
            rep->from.network ? rep->from.network : network_profile_find(DEFAULT_NETWORK, e);
        if (rep->to.network == NULL)
            return -1;
        replay_assume(rep, "target network %s: %s (--network)", rep->to.network->name,
                      rep->from.network ? "that of the recording" : "the default");
    }
    return 0;
}

/* Without a source there is no ratio: the recording is taken as made on the target. */
static void complete_source(struct replay *rep)
{
    if (rep->from.gpu == NULL) {
        rep->from.gpu = rep->to.gpu;
        replay_note(rep, false,
                    "the recording names no GPU that specter knows: taken as %s, so computation "
                    "keeps its time (--from-gpu)",
                    rep->to.gpu->name);
    }
    if (rep->from.network == NULL) {
        rep->from.network = rep->to.network;
        replay_note(rep, false,
                    "the network of the recording is not known: taken as %s "
                    "(--from-network)",
                    rep->to.network->name);
    }
    rep->same_hardware = rep->from.gpu == rep->to.gpu && rep->from.network == rep->to.network;
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

static void add_rank(struct iteration_time *sum, const struct iteration_time *t, double weight)
{
    sum->compute_ns += t->compute_ns * weight;
    sum->comm_ns += t->comm_ns * weight;
    sum->exposed_comm_ns += t->exposed_comm_ns * weight;
    sum->memory_ns += t->memory_ns * weight;
    sum->exposed_memory_ns += t->exposed_memory_ns * weight;
    sum->idle_ns += t->idle_ns * weight;
    if (t->span_ns > sum->span_ns)
        sum->span_ns = t->span_ns;
}

/* spans[r] receives the time of each rank. */
static struct iteration_time measure(const struct program *p, const struct iterations *it,
                                     bool simulated, double *spans)
{
    struct iteration_time sum = {0}, one;
    for (size_t r = 0; r < p->run->nranks; r++) {
        measure_rank(&one, p, r, &it[r], simulated);
        add_rank(&sum, &one, 1.0 / (double)p->run->nranks);
        spans[r] = one.span_ns;
    }
    return sum;
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

/* The latency that the recording shows, changed by what the profiles differ. */
static int64_t latency_on(const struct replay *rep, const struct gpu_profile *gpu)
{
    return llround((rep->latency_us + gpu->launch_us - rep->from.gpu->launch_us) * 1e3);
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
    while (n < all && growth_check(&job->growth, net, default_scales[n], NULL) == 0)
        n++;
    if (n < all)
        replay_assume(job->rep, "scales above %lld are left out: network %s holds no more GPUs",
                      (long long)default_scales[n - 1], net->name);
    return n;
}

static int simulate_all(struct job *job, const struct replay_opts *opts, struct err *e)
{
    const int64_t *scales = opts->nscales > 0 ? opts->scales : default_scales;
    size_t n = opts->nscales > 0 ? opts->nscales : default_count(job);
    struct replay_scale base, one;
    for (size_t i = 0; i < n; i++) {
        if (growth_check(&job->growth, job->rep->to.network, scales[i], e) < 0)
            return -1;
    }
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
        if (it->count < rep->iterations) {
            rep->iterations = it->count;
            rep->source = it->source;
        }
    }
}

static void make_program(struct job *job, const struct run *run)
{
    struct replay *rep = job->rep;
    int64_t latency_ns = llround(rep->from.gpu->launch_us * 1e3);
    struct program apart;
    program_make(&apart, run, latency_ns, true);
    program_make(&job->program, run, latency_ns, false);
    rep->latency_us = (double)program_fit_latency(&apart, latency_ns) / 1e3;
    program_learn(&job->program, &apart);
    program_release(&apart);
}

static void job_make(struct job *job, const struct run *run)
{
    struct replay *rep = job->rep;
    make_program(job, run);
    growth_make(&job->growth, run);
    rep->world = job->growth.world;
    job->spans = arena_alloc(&rep->arena, run->nranks * sizeof *job->spans);
    job->iterations = arena_alloc(&rep->arena, run->nranks * sizeof *job->iterations);
    find_iterations(job);
    say_latency(rep);
    say_program(rep, &job->program);
    say_iterations(rep);
    say_growth(rep, &job->growth);
}

static void job_release(struct job *job)
{
    for (size_t r = 0; r < job->rep->nranks; r++)
        iterations_release(&job->iterations[r]);
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
    if (find_source(rep, run, opts, e) < 0 || find_target(rep, opts, e) < 0)
        return -1;
    complete_source(rep);
    job_make(&job, run);
    rep->recorded = measure(&job.program, job.iterations, false, job.spans);
    for (size_t r = 0; r < rep->nranks; r++)
        rep->ranks[r].recorded_ns = job.spans[r];
    rc = simulate_all(&job, opts, e);
    job_release(&job);
    return rc;
}

void replay_release(struct replay *rep)
{
    free(rep->scales);
    free(rep->assumptions.list);
    free(rep->notes.list);
    arena_release(&rep->arena);
    memset(rep, 0, sizeof *rep);
}
