/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "sim/replay/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a step that is shorter on more GPUs ---- */

/* The transfer that gained most; ncosts: none takes less. */
static size_t most_gained(const struct replay_job *job)
{
    const struct program *p = &job->program;
    size_t top = p->ncosts;
    int64_t most_ns = 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        int64_t gain_ns = job->before.set_ns[i] - p->costs[i].set_ns;
        if (p->costs[i].match == PROGRAM_NONE || gain_ns <= most_ns)
            continue;
        most_ns = gain_ns;
        top = i;
    }
    return top;
}

static double shorter_by(const struct replay_job *job, const struct replay_scale *now)
{
    return 1 - now->time.span_ns / job->before.time.span_ns;
}

static int64_t gpus_before(const struct replay_job *job)
{
    return job->before.scale * job->rep->world;
}

/* The model's choice for the transfer at the scale before. */
static bool price_before(const struct replay_job *job, const struct retarget *now,
                         const struct program_cost *cost, struct comm_cost *price)
{
    const struct retarget_sides sides = {
        .from = now->from, .to = now->to, .calibrate = now->calibrate, .scale = job->before.scale};
    struct retarget t;
    struct err ignored;
    bool known = retarget_init(&t, now->program, now->growth, &sides, &ignored) == 0 &&
                 retarget_price(&t, cost, price);
    retarget_release(&t);
    return known;
}

static bool same_choice(const struct comm_cost *a, const struct comm_cost *b)
{
    return strcmp(a->algo, b->algo) == 0 && strcmp(a->proto, b->proto) == 0 &&
           a->channels == b->channels;
}

/* The choices of NCCL's tuner follow where they differ. */
static void note_transfer(const struct replay_job *job, const struct retarget *t,
                          const struct replay_scale *now, size_t at)
{
    const struct program_cost *cost = &job->program.costs[at];
    const struct match *match = &job->program.matches.list[cost->match];
    struct comm_cost here, there;
    bool tuned = retarget_price(t, cost, &here) && price_before(job, t, cost, &there) &&
                 !same_choice(&here, &there);
    if (!tuned)
        here = there = (struct comm_cost){.algo = "", .proto = ""};
    fact_add(job->rep, FACT_SHORTER_TRANSFER,
             VALUES(fact_count((uint64_t)now->gpus), fact_number(100 * shorter_by(job, now)),
                    fact_count((uint64_t)gpus_before(job)),
                    fact_text(specter_comm_op_name((enum specter_comm_op)match->op)),
                    fact_number(retarget_bytes(t, cost)), fact_number((double)cost->set_ns / 1e3),
                    fact_number((double)job->before.set_ns[at] / 1e3), fact_count(tuned),
                    fact_text(here.algo), fact_text(here.proto),
                    fact_count((uint64_t)here.channels), fact_count(here.channels != 1),
                    fact_text(there.algo), fact_text(there.proto),
                    fact_count((uint64_t)there.channels), fact_count(there.channels != 1)));
}

/* The part of the step that lost most. */
static const char *most_lost(const struct iteration_time *before, const struct iteration_time *now)
{
    const struct {
        const char *name;
        double ns;
    } parts[] = {
        {"computation", before->compute_ns - now->compute_ns},
        {"untimed kernels", before->untraced_ns - now->untraced_ns},
        {"exposed communication", before->exposed_comm_ns - now->exposed_comm_ns},
        {"exposed copies", before->exposed_memory_ns - now->exposed_memory_ns},
        {"idling", before->idle_ns - now->idle_ns},
    };
    size_t top = 0;
    for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
        top = parts[i].ns > parts[top].ns ? i : top;
    return parts[top].name;
}

/* Returns the time by which shards of the optimizer's work, which shrink, are shorter than at the
 * scale before. */
static double shards_less_ns(const struct replay_job *job, const struct replay_scale *now)
{
    return job->rep->sharded * job->base_ns *
           (1 / (double)job->before.scale - 1 / (double)now->scale);
}

void shorter_derive(struct replay_job *job, const struct retarget *t,
                    const struct replay_scale *now)
{
    const struct program *p = &job->program;
    struct job_before *before = &job->before;
    if (job->rep->strong)
        return;
    if (before->set_ns == NULL)
        before->set_ns = arena_alloc(&job->rep->arena, p->ncosts * sizeof *before->set_ns);
    else if (now->scale > before->scale &&
             now->time.span_ns < before->time.span_ns * (1 - SHORTER) - shards_less_ns(job, now)) {
        size_t at = most_gained(job);
        if (at < p->ncosts)
            note_transfer(job, t, now, at);
        else
            fact_add(job->rep, FACT_SHORTER_PART,
                     VALUES(fact_count((uint64_t)now->gpus),
                            fact_number(100 * shorter_by(job, now)),
                            fact_count((uint64_t)gpus_before(job)),
                            fact_text(most_lost(&before->time, &now->time))));
    }
    for (size_t i = 0; i < p->ncosts; i++)
        before->set_ns[i] = p->costs[i].set_ns;
    before->scale = now->scale;
    before->time = now->time;
}

/* ---- what is derived of a simulation ---- */

#define UNCERTAIN_FROM 0.0005 /* of a step: less is not simulated */
#define MOSTLY 0.8            /* of the path, for what is left of it not to matter */
#define UNCHANGED 0.005       /* an iteration that differs by less is said to be the same */

void derive_spread(struct replay_job *job)
{
    struct step_time time;
    step_time_measure(&time, &job->steps, job->program.run);
    spread_measure(&job->rep->spread, &job->steps, &time);
    step_time_release(&time);
}

/* Needs the recording's measurement. */
void derive_recording(struct replay_job *job)
{
    struct replay *rep = job->rep;
    axis_times_measure(&rep->recorded_axes, job, false);
    workload_measure(&rep->workload, job, job->opts->tokens, job->opts->flops);
}

void derive_own(struct replay_job *job)
{
    const struct program_facts *facts = &job->program.facts;
    struct replay *rep = job->rep;
    double off = fabs(rep->recorded.span_ns / rep->own.span_ns - 1);
    /* The distance of the recorded step from the replayed one, as a share of the replayed time,
     * like errors of predictions, which are shares of the predicted time. */
    rep->own_error = isfinite(off) ? off : 0;
    if (rep->own_error <= REPLAY_ERROR_MAX)
        return;
    fact_add(rep, FACT_REPLAY_OFF,
             VALUES(fact_number(rep->recorded.span_ns / 1e6), fact_number(rep->own.span_ns / 1e6),
                    fact_count(facts->no_host_time), fact_count(facts->syncs_untold),
                    fact_count(facts->untimed[UNTIMED_HOST]),
                    fact_count(job->program.matches.unnumbered)));
}

/* Returns the part of the hosts' time in which they waited for something that the recording does
 * not tell. */
static double untold_waits(const struct replay_job *job)
{
    const struct program *p = &job->program;
    double all_ns = 0;
    for (size_t r = 0; r < p->run->nranks; r++)
        all_ns += (double)(p->ranks[r].end_ns - p->ranks[r].origin_ns);
    return all_ns > 0 ? (double)p->facts.untold_ns / all_ns : 0;
}

/* Share of the iteration in which the rank communicates without the size being known. */
static double unsized_share(const struct replay_job *job, const struct retarget *t, size_t r,
                            const struct rank_timeline *when)
{
    const struct program *p = &job->program;
    const struct rank *rank = &p->run->ranks[r];
    const struct step_window *w = &job->windows[r];
    double ns = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        struct program_cost cost = {.rank = (uint32_t)r,
                                    .op = (uint32_t)i,
                                    .match = p->ranks[r].match[i],
                                    .measured_ns = rank->ops[i].dur_ns};
        struct sim_span span = when->spans[i];
        if (span.start_ns == UNKNOWN_NS || !op_timed(&rank->ops[i]) || !retarget_unsized(t, &cost))
            continue;
        ns += (double)(step_window_at(w, span.end_ns) - step_window_at(w, span.start_ns));
    }
    return step_window_ns(w) > 0 ? ns / (double)step_window_ns(w) : 0;
}

static bool slows_ranks(const struct whatif_opts *opts)
{
    bool slows = false;
    for (size_t i = 0; i < opts->nfaults; i++)
        slows = slows || opts->faults[i].kind == FAULT_SLOW_RANK ||
                opts->faults[i].kind == FAULT_SLOW_NODE;
    return slows;
}

static struct certainty certainty_of(const struct replay_job *job)
{
    const struct replay *rep = job->rep;
    const struct iteration_spread *spread = &rep->spread;
    return (struct certainty){.replay = rep->own_error,
                              .waits = untold_waits(job),
                              .steps = rep->iterations,
                              .lengths = rep->lengths,
                              .spread =
                                  spread->mean_ns > 0 ? spread->mean_off_ns / spread->mean_ns : 0,
                              .gpu_known = rep->gpu_known,
                              .network_known = rep->network_known,
                              .gpu_asked_for = job->opts->gpu != NULL,
                              .network_asked_for = job->opts->network != NULL,
                              .slowed = slows_ranks(&job->opts->whatif)};
}

/* The error that rests on a path; when: of the rank that decides. */
static int find_error(struct replay_job *job, const struct retarget *t, const struct path *path,
                      const struct rank_timeline *when, struct replay_scale *out, struct err *e)
{
    struct certainty known = certainty_of(job);
    known.unsized = unsized_share(job, t, out->rank, when);
    return uncertainty_of(&out->error, path, t, &known, e);
}

int derive_error(struct replay_job *job, const struct retarget *t, struct replay_scale *out,
                 struct err *e)
{
    struct job_view view;
    struct path path;
    int rc;
    out->rank = job->deciding;
    job_view_init(&view, job, out->rank, true);
    path_find(&path, job, out->rank);
    rc = find_error(job, t, &path, &view.when, out, e);
    path_release(&path);
    job_view_release(&view);
    return rc;
}

int derive_scale(struct replay_job *job, const struct retarget *t, struct replay_scale *out,
                 struct err *e)
{
    struct replay *rep = job->rep;
    struct job_view view;
    struct path path;
    int rc;
    out->rank = job->deciding;
    job_view_init(&view, job, out->rank, true);
    axis_times_measure(&out->axes, job, true);
    path_find(&path, job, out->rank);
    path_summarise(&out->path, &path, job);
    rc = find_error(job, t, &path, &view.when, out, e);
    path_release(&path);
    job_view_release(&view);
    out->rate = throughput_of(&rep->workload, rep->strong ? 1 : (double)out->scale,
                              (double)out->gpus, out->time.span_ns, rep->grown);
    if (out->rate.utilisation > 1)
        fact_add(rep, FACT_ABOVE_PEAK,
                 VALUES(fact_count((uint64_t)out->gpus), fact_count(rep->workload.given),
                        fact_count(!rep->workload.given),
                        fact_text(rep->workload.given ? "" : rep->workload.of),
                        fact_number(100 * out->rate.utilisation)));
    return rc;
}

/* ---- intervals ---- */

/* While the intervals of a scale are found. */
struct intervals_ctx {
    struct replay_job *job;
    const struct retarget *t;
    int64_t *costs_ns;              /* [ncosts] of the scale */
    struct cost_error *errors;      /* [ncosts] */
    double *waits;                  /* [matches] errors of waits for ranks that were not recorded */
    double *factors, *wait_factors; /* of the next simulation */
    double changed_ns[BASIS_COUNT]; /* of all costs, when they take their 80 %: sums */
    double half[BASIS_COUNT];       /* uncertainty_sum() */
    bool simulated;                 /* the job's last simulation is another one */
};

static int find_cost_errors(struct intervals_ctx *c, struct err *e)
{
    const struct program *p = &c->job->program;
    const struct certainty known = certainty_of(c->job);
    double log80[BASIS_COUNT] = {0};
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *cost = &p->costs[i];
        struct cost_error *error = &c->errors[i];
        double ns = (double)cost->set_ns;
        if (cost->match != PROGRAM_NONE && p->one_ways[cost->match].span > 0)
            ns += (double)p->one_ways[cost->match].set_ns;
        c->costs_ns[i] = cost->set_ns;
        if (uncertainty_of_cost(error, cost, c->t, &known, e) < 0)
            return -1;
        c->changed_ns[error->basis] += ns * expm1(error->log80);
        c->half[error->basis] += ns * error->log50;
        log80[error->basis] += ns * error->log80;
        c->changed_ns[BASIS_LATE] += ns * error->early;
        if (cost->match != PROGRAM_NONE && p->absent_ns[cost->match] > 0) {
            c->waits[cost->match] = uncertainty_of_wait(cost, c->t, &known);
            c->changed_ns[BASIS_WAIT] += (double)p->wait_ns[cost->match] * c->waits[cost->match];
        }
    }
    for (int b = 0; b < BASIS_COUNT; b++)
        c->half[b] = log80[b] > 0 ? c->half[b] / log80[b] : UNCERTAINTY_HALF;
    return 0;
}

/* Returns the factor on a cost at one end of its 80 %; BASIS_LATE has one end, the short one. */
static double factor_at(const struct cost_error *error, enum basis basis, int sign)
{
    if (basis == BASIS_LATE)
        return 1 - error->early;
    return error->basis == basis ? exp(sign * error->log80) : 1;
}

/* The step with all costs of a basis at one end of their 80 %: sign 1, the long one; -1. */
static int simulate_end(struct intervals_ctx *c, enum basis basis, int sign,
                        struct iteration_time *out, struct err *e)
{
    const struct program *p = &c->job->program;
    for (size_t i = 0; i < p->ncosts; i++)
        c->factors[i] = factor_at(&c->errors[i], basis, sign);
    for (uint32_t i = 0; i < p->matches.count; i++)
        c->wait_factors[i] = basis == BASIS_WAIT ? 1 + sign * c->waits[i] : 1;
    return job_simulate_scaled(c->job, c->t, c->costs_ns, c->factors, c->wait_factors, out, e);
}

static int find_ends(struct intervals_ctx *c, struct replay_scale *out, struct err *e)
{
    struct iteration_time shorter, longer;
    for (int b = BASIS_KEPT + 1; b < BASIS_COUNT; b++) {
        /* A change that is too small for one rank when it is summed over all cannot matter. */
        if (!(c->changed_ns[b] > UNCERTAIN_FROM * out->time.span_ns * c->job->rep->iterations))
            continue;
        c->simulated = true;
        longer = out->time; /* late members make nothing longer */
        if (simulate_end(c, (enum basis)b, -1, &shorter, e) < 0 ||
            (b != BASIS_LATE && simulate_end(c, (enum basis)b, 1, &longer, e) < 0))
            return -1;
        out->error.shorter_ns[b] = fmax(out->time.span_ns - shorter.span_ns, 0);
        out->error.longer_ns[b] = fmax(longer.span_ns - out->time.span_ns, 0);
    }
    return 0;
}

int derive_intervals(struct replay_job *job, const struct retarget *t, struct replay_scale *out,
                     struct err *e)
{
    const struct program *p = &job->program;
    struct intervals_ctx c = {.job = job,
                              .t = t,
                              .costs_ns = array_new(p->ncosts, sizeof *c.costs_ns),
                              .errors = array_new(p->ncosts, sizeof *c.errors),
                              .waits = array_new(p->matches.count, sizeof *c.waits),
                              .factors = array_new(p->ncosts, sizeof *c.factors),
                              .wait_factors = array_new(p->matches.count, sizeof *c.wait_factors)};
    struct iteration_time again;
    int rc = find_cost_errors(&c, e);
    if (rc == 0)
        rc = find_ends(&c, out, e);
    for (size_t i = 0; rc == 0 && i < p->ncosts; i++)
        program_set_cost(&job->program, i, c.costs_ns[i]);
    if (rc == 0 && c.simulated && whatif_has_jitter(&job->whatif)) /* which starts from it */
        rc = job_simulate_scaled(job, t, c.costs_ns, NULL, NULL, &again, e);
    if (rc == 0)
        uncertainty_sum(&out->error, out->time.span_ns, c.half);
    free(c.costs_ns);
    free(c.errors);
    free(c.waits);
    free(c.factors);
    free(c.wait_factors);
    return rc;
}

/* ---- what-ifs without effect ---- */

/* Returns whether the recording has anything of this kind. */
static bool holds(const struct run *run, bool comm)
{
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            uint8_t class = run->ranks[r].ops[i].class;
            if (comm == (class == OP_COLL || class == OP_P2P) && class != OP_MEMORY)
                return true;
        }
    }
    return false;
}

/* The largest part of the path that another network (comm), or another GPU, may not change; NULL.
 * *others: share of all of these. */
static const struct path_part *unconcerned(const struct path_summary *path, bool comm,
                                           double *others)
{
    const struct path_part *top = NULL;
    *others = 0;
    for (int i = 0; i < path->count; i++) {
        enum path_what what = path->parts[i].what;
        if (what <= PATH_COMM && comm == (what == PATH_COMM))
            continue;
        top = top == NULL ? &path->parts[i] : top; /* they are in order */
        *others += path->parts[i].share;
    }
    return top;
}

/* comm: of the network and communication, else of the GPU and computation. */
static void give_reason(struct replay_job *job, const struct replay_scale *base, bool comm)
{
    struct replay *rep = job->rep;
    struct fact_value on_network = fact_count(comm), on_gpu = fact_count(!comm);
    struct fact_value name = fact_text(comm ? rep->to.network->name : rep->to.gpu->name);
    double others;
    const struct path_part *top = unconcerned(&base->path, comm, &others);
    if (!holds(job->program.run, comm))
        fact_add(rep, FACT_NO_EFFECT_ABSENT, VALUES(on_network, on_gpu, name, on_network, on_gpu));
    else if (others > 1 - UNCHANGED)
        fact_add(rep, FACT_NO_EFFECT_OFF_PATH,
                 VALUES(on_network, on_gpu, name, on_network, on_gpu));
    else if (top != NULL && others >= MOSTLY)
        fact_add(rep, FACT_NO_EFFECT_OTHERS,
                 VALUES(on_network, on_gpu, name, fact_number(100 * others), on_network, on_gpu,
                        fact_text(top->name)));
    else
        fact_add(rep, FACT_NO_EFFECT_SAME_TIME,
                 VALUES(on_network, on_gpu, name, on_network, on_gpu));
}

void derive_reasons(struct replay_job *job, const struct replay_scale *base)
{
    const struct replay_opts *opts = job->opts;
    struct replay *rep = job->rep;
    bool gpu = opts->gpu != NULL && opts->gpu != rep->from.gpu && rep->gpu_known;
    bool network =
        opts->network != NULL && opts->network != rep->from.network && rep->network_known;
    if (fabs(base->time.span_ns / rep->own.span_ns - 1) >= UNCHANGED)
        return;
    if (gpu)
        give_reason(job, base, false);
    if (network)
        give_reason(job, base, true);
}

/* ---- what bounds the step ---- */

static enum bound bound_of_part(enum path_what what)
{
    switch (what) {
    case PATH_COMM:
    case PATH_LATE:
        return BOUND_COMM;
    case PATH_COPY:
        return BOUND_COPIES;
    case PATH_LAUNCH:
    case PATH_HOST:
    case PATH_BEGIN:
        return BOUND_HOST;
    default:
        return BOUND_COMPUTE;
    }
}

static bool sees_waits(const struct run *run)
{
    bool all = true;
    for (size_t r = 0; r < run->nranks; r++)
        all = all && (steps_blank(run, r) || run->ranks[r].coverage & COVER_DEPS);
    return all;
}

static void bound_times(double time[BOUNDS], const struct iteration_time *t)
{
    time[BOUND_COMPUTE] = t->compute_ns + t->untraced_ns;
    time[BOUND_COMM] = t->exposed_comm_ns + t->absent_wait_ns + t->bubble_ns;
    time[BOUND_COPIES] = t->exposed_memory_ns;
    time[BOUND_HOST] = t->idle_ns - t->bubble_ns;
}

/* Returns why the prediction is bound otherwise than the recording. time: whether the step is, or
 * only its path. */
static enum bounds_cause cause_of_bounds(const struct replay_job *job, bool time)
{
    const struct replay *rep = job->rep;
    double recorded[BOUNDS];
    bound_times(recorded, &rep->recorded);
    if (rep->own_error > REPLAY_ERROR_MAX)
        return BOUNDS_REPLAY_OFF;
    if (time && bound_of(recorded) != job->opts->bounds->time)
        return BOUNDS_UNTIMED;
    if (rep->from.gpu != rep->to.gpu || rep->from.network != rep->to.network || !rep->calibrate ||
        rep->host_speed != 1 || job->opts->whatif.nfaults > 0)
        return BOUNDS_TARGET;
    return sees_waits(job->program.run) ? BOUNDS_CLOSE : BOUNDS_WAITS_UNKNOWN;
}

/* analyze tells the recording's bounds to the same reader. */
static void compare_bounds(struct replay_job *job)
{
    struct replay *rep = job->rep;
    const struct recorded_bounds *seen = job->opts->bounds;
    bool time = seen->time != rep->bound, path = seen->path_known && seen->path != rep->path_bound;
    if (!time && !path)
        return;
    rep->recorded_cause = cause_of_bounds(job, time);
    fact_add(rep, FACT_RECORDED_BOUNDS_DIFFER,
             VALUES(fact_count(time), fact_count(seen->time), fact_count(rep->bound),
                    fact_count(path), fact_count(seen->path), fact_count(rep->path_bound),
                    fact_count(rep->recorded_cause)));
}

void derive_verdict(struct replay_job *job, struct replay_scale *base)
{
    struct replay *rep = job->rep;
    const struct iteration_time *t = &base->time;
    double time[BOUNDS];
    double path[BOUNDS] = {0}, waits_ns = t->comm_wait_ns + t->absent_wait_ns + t->bubble_ns;
    for (int i = 0; i < base->path.count; i++)
        path[bound_of_part(base->path.parts[i].what)] += base->path.parts[i].share;
    bound_times(time, t);
    rep->bound = bound_of(time);
    rep->path_bound = bound_of(path);
    rep->bound_why = bound_why(rep->bound, rep->path_bound, sees_waits(job->program.run),
                               time[BOUND_COMM] > 0 ? waits_ns / time[BOUND_COMM] : NAN);
    if (rep->bound_why != NULL)
        fact_add(
            rep, FACT_BOUNDS_DIFFER,
            VALUES(fact_count(rep->bound), fact_count(rep->path_bound), fact_text(rep->bound_why)));
    if (job->opts->bounds != NULL)
        compare_bounds(job);
}
