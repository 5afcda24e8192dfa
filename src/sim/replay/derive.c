/* SPDX-License-Identifier: MIT */
#include "sim/replay/derive.h"

#include "sim/replay/notes.h"

#include <math.h>

#define MOSTLY 0.8      /* of the path, for what is left of it not to matter */
#define UNCHANGED 0.005 /* an iteration that differs by less is said to be the same */

/* Needs the recording's measurement. */
void derive_recording(struct replay_job *job)
{
    struct replay *rep = job->rep;
    struct step_time time;
    step_time_measure(&time, &job->steps, job->program.run);
    spread_measure(&rep->spread, &job->steps, &time);
    step_time_release(&time);
    axis_times_measure(&rep->recorded_axes, job, false);
    workload_measure(&rep->workload, job, job->opts->tokens, job->opts->flops);
}

/* Returns how far the truth is off the replay where it is known: a share of the replayed time, as
 * the error is of the predicted one. */
static double replay_error(const struct replay *rep)
{
    double off = fabs(rep->recorded.span_ns / rep->own.span_ns - 1);
    return isfinite(off) ? off : 0;
}

/* Returns what a replay needs and the recording lacks. */
static const char *lacks_text(const struct replay_job *job)
{
    const struct program *p = &job->program;
    const struct {
        uint64_t count;
        const char *words;
    } lacks[] = {
        {p->facts.no_host_time, "operations have no host time"},
        {p->facts.syncs_untold, "calls waited for something that the recording does not tell"},
        {p->facts.untimed[UNTIMED_HOST], "kernels were untimed"},
        {p->matches.unnumbered, "communication operations name no communicator or number"},
    };
    const char *words = NULL;
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        if (lacks[i].count > 0)
            words = arena_printf(&job->rep->arena, "%s%s%llu %s", words != NULL ? words : "",
                                 words != NULL ? ", " : "", (unsigned long long)lacks[i].count,
                                 lacks[i].words);
    }
    return words != NULL ? words : "the recording does not show why";
}

void derive_own(struct replay_job *job)
{
    struct replay *rep = job->rep;
    rep->own_error = replay_error(rep);
    if (rep->own_error <= REPLAY_ERROR_MAX)
        return;
    rep->topic = TOPIC_RECORDING;
    replay_note_first(rep,
                      "no speed-up and efficiency: on the recording's own hardware a step of %.3g "
                      "ms was recorded and one of %.3g ms is replayed; %s",
                      rep->recorded.span_ns / 1e6, rep->own.span_ns / 1e6, lacks_text(job));
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

/* The error that rests on a path; view: of the rank that decides. */
static int find_error(struct replay_job *job, const struct retarget *t, const struct path *path,
                      const struct rank_timeline *when, struct replay_scale *out, struct err *e)
{
    struct replay *rep = job->rep;
    const struct iteration_spread *spread = &rep->spread;
    struct certainty known = {.replay = rep->own_error,
                              .waits = untold_waits(job),
                              .steps = rep->iterations,
                              .lengths = rep->lengths,
                              .spread =
                                  spread->mean_ns > 0 ? spread->mean_off_ns / spread->mean_ns : 0,
                              .gpu_known = rep->gpu_known,
                              .network_known = rep->network_known,
                              .gpu_asked_for = job->opts->gpu != NULL,
                              .network_asked_for = job->opts->network != NULL,
                              .unsized = unsized_share(job, t, out->rank, when)};
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
        replay_note(rep, false,
                    "at %lld GPUs the %s come to %.0f %% of the GPUs' dense peak: more than can be",
                    (long long)out->gpus, rep->workload.given ? "given FLOPs" : rep->workload.of,
                    100 * out->rate.utilisation);
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

/* Of what another GPU, or another network, may change. */
static bool concerns(enum path_what what, bool comm)
{
    return what <= PATH_COMM && comm == (what == PATH_COMM);
}

/* The largest part of the path that it may not change; NULL. *others: share of all of these. */
static const struct path_part *unconcerned(const struct path_summary *path, bool comm,
                                           double *others)
{
    const struct path_part *top = NULL;
    *others = 0;
    for (int i = 0; i < path->count; i++) {
        if (concerns(path->parts[i].what, comm))
            continue;
        top = top == NULL ? &path->parts[i] : top; /* they are in order */
        *others += path->parts[i].share;
    }
    return top;
}

static void give_reason(struct replay_job *job, const struct replay_scale *base, bool comm)
{
    struct replay *rep = job->rep;
    const char *what = comm ? "network" : "GPU", *kind = comm ? "communication" : "computation";
    const char *name = comm ? rep->to.network->name : rep->to.gpu->name;
    double others;
    const struct path_part *top = unconcerned(&base->path, comm, &others);
    if (!holds(job->program.run, comm))
        replay_note(rep, false, "%s %s changes nothing: the recording holds no %s", what, name,
                    kind);
    else if (others > 1 - UNCHANGED)
        replay_note(rep, false, "%s %s changes nothing: %s is not on the critical path", what, name,
                    kind);
    else if (top != NULL && others >= MOSTLY)
        replay_note(rep, false,
                    "%s %s changes nothing: %.0f %% of the critical path is no %s, most of it %s",
                    what, name, 100 * others, kind, top->name);
    else
        replay_note(rep, false,
                    "%s %s changes nothing: the %s on the critical path takes as long there", what,
                    name, kind);
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

static const char *step_text(enum bound bound)
{
    return bound == BOUND_HOST ? "idle" : bound_name(bound);
}

static const char *path_name(enum bound bound)
{
    return bound == BOUND_HOST ? "the host" : bound_name(bound);
}

/* Why the prediction is bound otherwise than the recording is. time: whether the step is, or only
 * its path. */
static const char *why_otherwise(const struct replay_job *job, bool time)
{
    const struct replay *rep = job->rep;
    double recorded[BOUNDS];
    bound_times(recorded, &rep->recorded);
    if (rep->own_error > REPLAY_ERROR_MAX)
        return "the replay is far off the recording on its own hardware";
    if (time && bound_of(recorded) != job->opts->bounds->time)
        return "what was not timed is work here, and idle time to analyze";
    if (rep->from.gpu != rep->to.gpu || rep->from.network != rep->to.network || !rep->calibrate ||
        rep->host_speed != 1 || job->opts->whatif.nfaults > 0)
        return "on the target the parts of a step take other times";
    if (!sees_waits(job->program.run))
        return "the recording does not hold what the host waited for, which the replay infers and "
               "analyze counts as the host's own time";
    return "the host is ahead of busy devices by so little that the path goes through its calls or "
           "through their work, as one or the other is replayed to come last";
}

/* analyze tells the recording's bounds to the same reader. */
static void compare_bounds(struct replay_job *job)
{
    struct replay *rep = job->rep;
    const struct recorded_bounds *seen = job->opts->bounds;
    bool time = seen->time != rep->bound, path = seen->path_known && seen->path != rep->path_bound;
    if (!time && !path)
        return;
    rep->recorded_why = why_otherwise(job, time);
    replay_assume(rep, "%s%s%s: %s",
                  time ? arena_printf(&rep->arena,
                                      "most of the recorded step is %s, of the "
                                      "predicted one %s",
                                      step_text(seen->time), step_text(rep->bound))
                       : "",
                  time && path ? ", and " : "",
                  path ? arena_printf(&rep->arena,
                                      "most of the recorded critical path is %s, of "
                                      "the predicted one %s",
                                      path_name(seen->path), path_name(rep->path_bound))
                       : "",
                  rep->recorded_why);
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
    rep->topic = TOPIC_RECORDING;
    if (rep->bound_why != NULL)
        replay_assume(rep, "most of the step is %s, most of its critical path %s: %s",
                      step_text(rep->bound), path_name(rep->path_bound), rep->bound_why);
    if (job->opts->bounds != NULL)
        compare_bounds(job);
}
