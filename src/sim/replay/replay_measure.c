/* SPDX-License-Identifier: MIT
 *
 * Measures the step, as recorded and as simulated.
 */
#include "sim/replay/job.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

static struct sim_span simulated_span(const struct program *p, size_t rank, size_t op)
{
    struct sim_span span = program_span(p, rank, op);
    return span.end_ns < 0 ? (struct sim_span){UNKNOWN_NS, UNKNOWN_NS} : span;
}

static int64_t simulated_launch(const struct program *p, size_t rank, size_t op,
                                const struct sim_span *span)
{
    uint32_t item = p->ranks[rank].item[op];
    return span->start_ns != UNKNOWN_NS && item != PROGRAM_NONE ? sim_launched(p->sim, item)
                                                                : UNKNOWN_NS;
}

/* Returns whether both ends of a message sit in different stages of the pipeline. */
static bool along_pipeline(const struct replay_job *job, int rank, const struct op *op)
{
    const struct grid *grid = &job->rep->grid;
    int other;
    if (op->class != OP_P2P || grid->state != GRID_FOUND || op->coll.comm < 0 || rank < 0)
        return false;
    if (job->growth.origin != NULL)
        return weak_scaling_recorded_comm(&job->growth, op->coll.comm) < 0;
    other = weak_scaling_peer(&job->growth, op);
    return other >= 0 &&
           grid_place_along(grid, GRID_PP, rank) != grid_place_along(grid, GRID_PP, other);
}

static struct movement movement_of(const struct replay_job *job, size_t r, size_t op)
{
    const struct program *p = &job->program;
    const struct rank *rank = &p->run->ranks[r];
    struct movement move = {{UNKNOWN_NS, UNKNOWN_NS}, false, false};
    struct sim_span moved = program_moved(p, r, op);
    if (moved.end_ns < 0)
        return move;
    move.moved = moved;
    move.absent = p->wait_ns[p->ranks[r].match[op]] > 0;
    move.pipeline = along_pipeline(job, rank->rank, &rank->ops[op]);
    return move;
}

#define SLICES_EACH 3 /* of an item at most: itself, and what it waited for before */

static void add_slice(struct job_view *v, enum slice_kind kind, int64_t start_ns, int64_t ns)
{
    if (ns > 0)
        v->beside[v->nbeside++] = (struct untraced_slice){{start_ns, start_ns + ns}, kind};
}

/* Adds the time in which the stream was idle before the item, by cause. The engine tells how long
 * for each cause; the one that came last is put last. */
static void add_gap(struct job_view *v, const struct sim *sim, uint32_t item)
{
    struct sim_gap gap = sim_gap(sim, item);
    int64_t at_ns = sim_span(sim, item).start_ns - gap.host_ns - gap.event_ns;
    int64_t host_ns = gap.host_ns, event_ns = gap.event_ns;
    if (gap.kind == SIM_GAP_HOST) {
        add_slice(v, SLICE_STREAM_WAIT, at_ns, event_ns);
        add_slice(v, SLICE_HOST_BOUND, at_ns + event_ns, host_ns);
    } else {
        add_slice(v, SLICE_HOST_BOUND, at_ns, host_ns);
        add_slice(v, SLICE_STREAM_WAIT, at_ns + host_ns, event_ns);
    }
}

/* The host's part of the steps in the simulation: what lies before its begin and after its end is
 * as long as recorded. */
static void host_window(const struct replay_job *job, size_t r, struct rank_timeline *when)
{
    const struct program_rank *place = &job->program.ranks[r];
    const struct step_bounds *b = &job->recorded[r * job->steps.nparts];
    bool known = b->begin_ns != UNKNOWN_NS && b->end_ns != UNKNOWN_NS;
    when->begin_ns = place->begin_ns;
    when->end_ns = 0;
    for (uint32_t h = 0; h < place->nhosts; h++) {
        int64_t end_ns = sim_host_end(job->program.sim, place->first_host + h);
        when->end_ns = end_ns > when->end_ns ? end_ns : when->end_ns;
    }
    if (known && b->begin_ns > place->origin_ns)
        when->begin_ns += b->begin_ns - place->origin_ns;
    if (known && b->end_ns < place->end_ns)
        when->end_ns -= place->end_ns - b->end_ns;
}

static void view_recorded(struct job_view *v, const struct replay_job *job, size_t r)
{
    const struct program *p = &job->program;
    const struct rank *rank = &p->run->ranks[r];
    const struct program_rank *place = &p->ranks[r];
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        v->spans[i] = (struct sim_span){UNKNOWN_NS, UNKNOWN_NS};
        if (op_timed(op) && op->start_ns != UNKNOWN_NS)
            v->spans[i] = (struct sim_span){op->start_ns, op_end_ns(op)};
        v->launched[i] = op->host_ns;
    }
    for (size_t i = 0; i < place->nuntraced; i++)
        v->beside[v->nbeside++] =
            (struct untraced_slice){place->untraced[i].recorded, SLICE_UNTRACED};
    v->when = (struct rank_timeline){.begin_ns = job->recorded[r * job->steps.nparts].begin_ns,
                                     .end_ns = job->recorded[r * job->steps.nparts].end_ns};
}

static void view_simulated(struct job_view *v, const struct replay_job *job, size_t r)
{
    const struct program *p = &job->program;
    const struct rank *rank = &p->run->ranks[r];
    const struct program_rank *place = &p->ranks[r];
    v->moves = array_new(rank->nops, sizeof *v->moves);
    for (size_t i = 0; i < rank->nops; i++) {
        v->spans[i] = simulated_span(p, r, i);
        v->moves[i] = movement_of(job, r, i);
        v->launched[i] = simulated_launch(p, r, i, &v->spans[i]);
        if (place->item[i] != PROGRAM_NONE && v->spans[i].start_ns != UNKNOWN_NS)
            add_gap(v, p->sim, place->item[i]);
        if (!(rank->ops[i].flags & OP_COUNTED))
            continue;
        add_slice(v, SLICE_UNTRACED, v->spans[i].start_ns,
                  v->spans[i].end_ns - v->spans[i].start_ns);
        v->spans[i] = (struct sim_span){UNKNOWN_NS, UNKNOWN_NS};
    }
    for (size_t i = 0; i < place->nuntraced; i++) {
        struct sim_span span = sim_span(p->sim, place->untraced[i].item);
        add_slice(v, SLICE_UNTRACED, span.start_ns, span.end_ns - span.start_ns);
        if (span.end_ns >= 0)
            add_gap(v, p->sim, place->untraced[i].item);
    }
    v->when = (struct rank_timeline){.moves = v->moves};
    host_window(job, r, &v->when);
}

void job_view_init(struct job_view *v, const struct replay_job *job, size_t r, bool simulated)
{
    const struct program *p = &job->program;
    size_t nops = p->run->ranks[r].nops;
    size_t nslices = SLICES_EACH * (nops + p->ranks[r].nuntraced);
    *v = (struct job_view){.spans = array_new(nops, sizeof *v->spans),
                           .launched = array_new(nops, sizeof *v->launched),
                           .beside = array_new(nslices, sizeof *v->beside)};
    if (simulated)
        view_simulated(v, job, r);
    else
        view_recorded(v, job, r);
    v->when.spans = v->spans;
    v->when.launched = v->launched;
    v->when.beside = v->beside;
    v->when.nbeside = v->nbeside;
}

void job_view_release(struct job_view *v)
{
    free(v->spans);
    free(v->launched);
    free(v->moves);
    free(v->beside);
}

/* ---- a step ---- */

static void simulated_bounds(struct step_bounds *list, const struct replay_job *job, size_t r)
{
    const struct program *p = &job->program;
    size_t nops = p->run->ranks[r].nops;
    struct sim_span *spans = array_new(nops, sizeof *spans);
    int64_t *launched = array_new(nops, sizeof *launched);
    struct rank_timeline when = {.spans = spans, .launched = launched};
    for (size_t i = 0; i < nops; i++) {
        spans[i] = simulated_span(p, r, i);
        launched[i] = simulated_launch(p, r, i, &spans[i]);
    }
    host_window(job, r, &when);
    iteration_bounds(list, &job->steps.ranks[r], nops, &when);
    free(spans);
    free(launched);
}

/* Returns when the rank's part of the window was over; list: its bounds. */
static int64_t end_of(const struct job_steps *steps, const struct step_bounds *list)
{
    const struct step_bounds *b = &list[steps->nparts - 1];
    if (steps->several)
        return b->last_ns;
    return b->end_ns > b->last_ns ? b->end_ns : b->last_ns;
}

/* The windows of all ranks, and the rank that decides: where clocks are apart that whose steps take
 * longest, else the one that ends last; the first of several. The job's window. */
static struct step_window find_windows(struct replay_job *job, bool simulated)
{
    const struct run *run = job->program.run;
    const struct job_steps *steps = &job->steps;
    size_t n = 0, last = SIZE_MAX, nparts = steps->nparts;
    struct step_bounds *list = array_new(run->nranks * nparts, sizeof *list);
    struct step_window all = {.pauses = job->pauses + run->nranks * nparts};
    job->deciding = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        struct step_bounds *b = list + n * nparts;
        if (simulated)
            simulated_bounds(b, job, r);
        else
            memcpy(b, &job->recorded[r * nparts], nparts * sizeof *b);
        job->windows[r].pauses = job->pauses + r * nparts;
        steps_window(&job->windows[r], steps, b, 1);
        job->spans[r] = step_window_mean(&job->windows[r]);
        if (steps_blank(run, r))
            continue;
        if (last == SIZE_MAX || (steps->apart ? job->spans[r] > job->spans[job->deciding]
                                              : end_of(steps, b) > end_of(steps, list + last))) {
            last = n * nparts;
            job->deciding = r;
        }
        n++;
    }
    steps_window(&all, steps, list, n);
    for (size_t r = 0; r < run->nranks && !steps->apart; r++)
        job->windows[r] = all;
    free(list);
    return steps->apart ? job->windows[job->deciding] : all;
}

double job_step_ns(struct replay_job *job, bool simulated)
{
    const struct step_window all = find_windows(job, simulated);
    return step_window_mean(&all);
}

struct iteration_time job_measure(struct replay_job *job, bool simulated)
{
    const struct run *run = job->program.run;
    struct iteration_time mean = {0}, one;
    struct step_window all = find_windows(job, simulated);
    double n = 0, span_ns = step_window_mean(&all);
    for (size_t r = 0; r < run->nranks; r++)
        n += !steps_blank(run, r) && job->windows[r].steps > 0;
    for (size_t r = 0; r < run->nranks; r++) {
        struct job_view v;
        if (steps_blank(run, r) || job->windows[r].steps == 0)
            continue;
        job_view_init(&v, job, r, simulated);
        iteration_measure(&one, &job->windows[r], &run->ranks[r], &v.when);
        job_view_release(&v);
        iteration_add(&mean, &one, one.span_ns > 0 ? span_ns / one.span_ns / n : 0);
    }
    mean.span_ns = span_ns;
    return mean;
}
