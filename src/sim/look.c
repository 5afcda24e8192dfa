/* SPDX-License-Identifier: MIT */
#include "sim/look.h"

#include "sim/say.h"

#include <math.h>

#define MOSTLY 0.8      /* of the path, for what is left of it not to matter */
#define UNCHANGED 0.005 /* an iteration that differs by less is said to be the same */

/* The rank that job_measure() took. */
static size_t deciding_rank(const struct job *job)
{
    const struct run *run = job->program.run;
    size_t longest = 0;
    bool first = true;
    for (size_t r = 0; r < run->nranks; r++) {
        if (job_blank(run, r))
            continue;
        if (first || job->spans[r] > job->spans[longest])
            longest = r;
        first = false;
    }
    return longest;
}

/* Needs the recording's measurement in job->spans. */
void look_at_recording(struct job *job)
{
    struct replay *rep = job->rep;
    size_t r = deciding_rank(job);
    struct job_view view;
    job_view_make(&view, job, r, false);
    spread_measure(&rep->spread, &job->iterations[r], job->program.run->ranks[r].nops, &view.when);
    axis_times_measure(&rep->recorded_axes, job, r, &view.when);
    job_view_release(&view);
    workload_survey(&rep->workload, job, job->opts->tokens, job->opts->flops);
}

/* How far the replay is off where the truth is known. */
static double replay_error(const struct replay *rep)
{
    double off = fabs(rep->own.span_ns / rep->recorded.span_ns - 1);
    return isfinite(off) ? off : 0;
}

int look_at_scale(struct job *job, const struct retarget *t, struct replay_scale *out,
                  struct err *e)
{
    struct replay *rep = job->rep;
    struct job_view view;
    struct certainty known = {replay_error(rep), rep->gpu_known, rep->network_known,
                              job->opts->gpu != NULL, job->opts->network != NULL};
    struct path path;
    int rc;
    out->rank = deciding_rank(job);
    job_view_make(&view, job, out->rank, true);
    axis_times_measure(&out->axes, job, out->rank, &view.when);
    job_view_release(&view);
    path_find(&path, job, out->rank);
    path_summarise(&out->path, &path, job);
    rc = uncertainty_of(&out->error, &path, t, &known, e);
    path_release(&path);
    out->rate = throughput_of(&rep->workload, rep->strong ? 1 : (double)out->scale,
                              (double)out->gpus, out->time.span_ns, rep->grown);
    if (out->rate.utilisation > 1)
        replay_note(rep, false,
                    "at %lld GPUs the %s come to %.0f %% of the GPUs' dense peak: more than can be",
                    (long long)out->gpus, rep->workload.told ? "FLOPs that were told" : "GEMMs",
                    100 * out->rate.utilisation);
    return rc;
}

/* ---- what-ifs without effect ---- */

/* Is anything of the recording of this kind? */
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

static void give_reason(struct job *job, const struct replay_scale *base, bool comm)
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

void look_for_reasons(struct job *job, const struct replay_scale *base)
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
