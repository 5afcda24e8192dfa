/* SPDX-License-Identifier: MIT
 *
 * One step as recorded and as predicted, in the timeline of a replay's page (replay_internal.h).
 */
#include "report/replay_internal.h"

#include "base/arena.h"
#include "base/order.h"
#include "sim/replay/job.h"
#include "trace/match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_SHOWN 16

/* An operation on its row. */
struct step_slice {
    uint32_t stream; /* of the rank: index into its streams */
    struct timeline_item item;
};

/* One rank while its rows are made. */
struct rank_slices {
    struct replay_timeline *t;
    const struct replay_job *job;
    const struct program_rank *program; /* its part of the program */
    const struct rank *rank;
    struct job_view view;
    struct sim_span step;
    bool simulated;
    int64_t link;            /* of the rank's first operation */
    struct step_slice *list; /* owned */
    size_t count, cap;
};

static void add_slice(struct rank_slices *r, uint32_t sim_item, struct sim_span span,
                      struct timeline_item item)
{
    if (sim_item == PROGRAM_NONE || span.start_ns == UNKNOWN_NS || span.end_ns < span.start_ns ||
        span.start_ns >= r->step.end_ns || span.end_ns <= r->step.start_ns)
        return;
    item.start_ns = span.start_ns - r->step.start_ns;
    item.dur_ns = span.end_ns - span.start_ns;
    ARRAY_GROW(r->list, r->cap, r->count + 1);
    r->list[r->count++] = (struct step_slice){
        sim_item_stream(r->job->program.sim, sim_item) - r->program->first_stream, item};
}

/* Time that an operation waits for other ranks: in a simulation until it moves, in a recording what
 * it takes longer than the shortest of its members. transfers: by operation; UNKNOWN_NS. */
static int64_t wait_of(const struct rank_slices *r, uint32_t op, struct sim_span span,
                       const int64_t *transfers)
{
    if (r->simulated) {
        const int64_t moved_ns = r->view.moves[op].moved.start_ns;
        return moved_ns > span.start_ns ? moved_ns - span.start_ns : 0;
    }
    if (transfers[op] == UNKNOWN_NS || transfers[op] >= span.end_ns - span.start_ns)
        return 0;
    return span.end_ns - span.start_ns - transfers[op];
}

static void collect(struct rank_slices *r, const int64_t *transfers)
{
    const struct program *p = &r->job->program;
    const uint32_t untimed = page_timeline_text(&r->t->out, "untimed kernels", 1, "");
    const size_t index = (size_t)(r->rank - p->run->ranks);
    for (uint32_t i = 0; i < r->rank->nops; i++) {
        const struct op *op = &r->rank->ops[i];
        const bool counted = op->flags & OP_COUNTED;
        struct sim_span span = counted ? program_span(p, index, i) : r->view.spans[i];
        if (counted && !r->simulated)
            continue;
        add_slice(r, r->program->item[i], span,
                  (struct timeline_item){
                      .name = counted ? untimed : page_timeline_name(&r->t->out, p->run, op),
                      .link = r->link + i,
                      .wait_ns = counted || !op_is_comm(op) ? 0 : wait_of(r, i, span, transfers)});
    }
    for (size_t i = 0; i < r->program->nuntraced; i++) {
        const struct program_untraced *u = &r->program->untraced[i];
        add_slice(r, u->item, r->simulated ? sim_span(p->sim, u->item) : u->recorded,
                  (struct timeline_item){.name = untimed, .link = -1});
    }
}

static int by_row(const void *pa, const void *pb)
{
    const struct step_slice *a = pa, *b = pb;
    if (a->stream != b->stream)
        return ORDER(a->stream, b->stream);
    if (a->item.start_ns != b->item.start_ns)
        return ORDER(a->item.start_ns, b->item.start_ns);
    return a->item.dur_ns != b->item.dur_ns ? ORDER(b->item.dur_ns, a->item.dur_ns)
                                            : ORDER(a->item.link, b->item.link);
}

static void write_rows(struct rank_slices *r)
{
    char name[32];
    if (r->count > 0)
        qsort(r->list, r->count, sizeof *r->list, by_row);
    for (size_t i = 0; i < r->count; i++) {
        const struct step_slice *s = &r->list[i];
        if (i == 0 || s->stream != s[-1].stream) {
            snprintf(name, sizeof name, "stream %d", r->program->streams[s->stream]);
            page_timeline_row(
                &r->t->out,
                &(struct timeline_row){r->rank->rank, name, r->simulated ? "target" : "source"});
        }
        page_timeline_add(&r->t->out, &s->item);
    }
}

/* The last step, from the end of the one before. */
static struct sim_span last_step(const struct replay_job *job, bool simulated)
{
    const struct run *run = job->program.run;
    const struct step_window *w = &job->windows[job->deciding];
    struct sim_span step = {w->start_ns, w->end_ns};
    int64_t before_ns = UNKNOWN_NS;
    for (size_t r = 0; r < run->nranks && w->steps > 1; r++) {
        struct job_view v;
        int64_t end_ns;
        if (job->steps.apart && r != job->deciding)
            continue;
        job_view_init(&v, job, r, simulated);
        end_ns =
            iteration_end(&job->steps.ranks[r], run->ranks[r].nops, &v.when, job->steps.count - 2);
        before_ns = end_ns > before_ns ? end_ns : before_ns;
        job_view_release(&v);
    }
    if (before_ns > step.start_ns && before_ns < step.end_ns)
        step.start_ns = before_ns;
    return step;
}

/* By rank and operation the transfer time of its match; UNKNOWN_NS. */
static int64_t **find_transfers(const struct run *run)
{
    int64_t **out = array_new(run->nranks, sizeof *out);
    struct matches m;
    matches_init(&m, run);
    for (size_t r = 0; r < run->nranks; r++) {
        out[r] = array_new(run->ranks[r].nops, sizeof **out);
        for (size_t i = 0; i < run->ranks[r].nops; i++)
            out[r][i] = UNKNOWN_NS;
    }
    for (size_t i = 0; i < m.count; i++) {
        for (uint32_t k = 0; k < m.list[i].nmembers && m.list[i].nmembers > 1; k++) {
            const struct match_member *x = &m.members[m.list[i].first + k];
            out[x->rank][x->op] = m.list[i].transfer_ns;
        }
    }
    matches_release(&m);
    return out;
}

void replay_timeline_add(struct replay_timeline *t, const struct replay_job *job, bool simulated)
{
    const struct run *run = job->program.run;
    const struct sim_span step = last_step(job, simulated);
    const size_t shown = run->nranks < RANKS_SHOWN ? run->nranks : RANKS_SHOWN;
    int64_t **transfers = find_transfers(run);
    t->ranks = run->nranks;
    t->shown = 0;
    *(simulated ? &t->target_ns : &t->source_ns) = step.end_ns - step.start_ns;
    for (size_t i = 0; i < shown; i++) {
        const size_t at = shown > 1 ? i * (run->nranks - 1) / (shown - 1) : 0;
        struct rank_slices r = {.t = t,
                                .job = job,
                                .program = &job->program.ranks[at],
                                .rank = &run->ranks[at],
                                .step = step,
                                .simulated = simulated};
        if (steps_blank(run, at))
            continue;
        t->full |= page_timeline_size(&t->out) > PAGE_TIMELINE_MAX / (simulated ? 1 : 2);
        if (t->full)
            break;
        for (size_t k = 0; k < at; k++)
            r.link += (int64_t)run->ranks[k].nops;
        job_view_init(&r.view, job, at, simulated);
        collect(&r, transfers[at]);
        write_rows(&r);
        job_view_release(&r.view);
        free(r.list);
        t->shown++;
    }
    for (size_t r = 0; r < run->nranks; r++)
        free(transfers[r]);
    free(transfers);
}
