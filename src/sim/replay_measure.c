/* SPDX-License-Identifier: MIT
 *
 * What an iteration takes, as recorded and as simulated.
 */
#include "sim/job.h"

#include "base/err.h"

#include <stdlib.h>

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

/* Do both ends of a message sit in different stages of the pipeline? */
static bool along_pipeline(const struct job *job, int rank, const struct op *op)
{
    const struct grid *grid = &job->rep->grid;
    const struct run *run = job->program.run;
    const struct comm *comm;
    if (op->class != OP_P2P || grid->state != GRID_FOUND || op->coll.comm < 0 || rank < 0)
        return false;
    if (job->growth.origin != NULL)
        return growth_recorded_comm(&job->growth, op->coll.comm) < 0;
    comm = &run->comms[op->coll.comm];
    if (op->coll.peer < 0 || op->coll.peer >= comm->size || comm->ranks[op->coll.peer] < 0)
        return false;
    return grid_place_along(grid, GRID_PP, rank) !=
           grid_place_along(grid, GRID_PP, comm->ranks[op->coll.peer]);
}

static struct movement movement_of(const struct job *job, size_t r, size_t op)
{
    const struct program *p = &job->program;
    const struct rank *rank = &p->run->ranks[r];
    struct movement move = {{UNKNOWN_NS, UNKNOWN_NS}, false};
    struct sim_span moved = program_moved(p, r, op);
    if (moved.end_ns < 0)
        return move;
    move.moved = moved;
    move.pipeline = along_pipeline(job, rank->rank, &rank->ops[op]);
    return move;
}

#define SLICES_EACH 3 /* of an item at most: itself, and what it waited for before */

static void add_slice(struct job_view *v, enum slice_kind kind, int64_t start_ns, int64_t ns)
{
    if (ns > 0)
        v->beside[v->nbeside++] = (struct slice){{start_ns, start_ns + ns}, kind};
}

/* Why the stream was idle before the item. The engine tells how long for each cause; the one that
 * came last is put last. */
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

static void view_recorded(struct job_view *v, const struct program *p, size_t r)
{
    const struct rank *rank = &p->run->ranks[r];
    const struct program_rank *place = &p->ranks[r];
    for (size_t i = 0; i < rank->nops; i++)
        v->spans[i] = recorded_span(&rank->ops[i]);
    for (size_t i = 0; i < place->nuntraced; i++)
        v->beside[v->nbeside++] = (struct slice){place->untraced[i].recorded, SLICE_UNTRACED};
    v->when = (struct timeline){.begin_ns = place->origin_ns, .end_ns = place->end_ns};
}

static void view_simulated(struct job_view *v, const struct job *job, size_t r)
{
    const struct program *p = &job->program;
    const struct rank *rank = &p->run->ranks[r];
    const struct program_rank *place = &p->ranks[r];
    v->moves = array_new(rank->nops, sizeof *v->moves);
    for (size_t i = 0; i < rank->nops; i++) {
        v->spans[i] = simulated_span(p, r, i);
        v->moves[i] = movement_of(job, r, i);
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
    v->when = (struct timeline){
        .begin_ns = place->begin_ns, .end_ns = host_end(p, place), .moves = v->moves};
}

void job_view_make(struct job_view *v, const struct job *job, size_t r, bool simulated)
{
    const struct program *p = &job->program;
    size_t nops = p->run->ranks[r].nops;
    size_t nslices = SLICES_EACH * (nops + p->ranks[r].nuntraced);
    *v = (struct job_view){.spans = array_new(nops, sizeof *v->spans),
                           .beside = array_new(nslices, sizeof *v->beside)};
    if (simulated)
        view_simulated(v, job, r);
    else
        view_recorded(v, p, r);
    v->when.spans = v->spans;
    v->when.beside = v->beside;
    v->when.nbeside = v->nbeside;
}

void job_view_release(struct job_view *v)
{
    free(v->spans);
    free(v->moves);
    free(v->beside);
}

static void measure_rank(struct iteration_time *out, const struct job *job, size_t r,
                         bool simulated)
{
    struct job_view v;
    job_view_make(&v, job, r, simulated);
    iteration_measure(out, &job->iterations[r], &job->program.run->ranks[r], &v.when);
    job_view_release(&v);
}

bool job_blank(const struct run *run, size_t rank)
{
    if (run->ranks[rank].nops > 0)
        return false;
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].nops > 0)
            return true;
    }
    return false;
}

struct iteration_time job_measure(const struct job *job, bool simulated)
{
    const struct program *p = &job->program;
    struct iteration_time longest = {0}, one;
    bool first = true;
    for (size_t r = 0; r < p->run->nranks; r++) {
        measure_rank(&one, job, r, simulated);
        job->spans[r] = one.span_ns;
        if (job_blank(p->run, r))
            continue;
        if (first || one.span_ns > longest.span_ns)
            longest = one;
        first = false;
    }
    return longest;
}
