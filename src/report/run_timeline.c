/* SPDX-License-Identifier: MIT
 *
 * A recorded run in the timeline of a page (page_timeline.h).
 */
#include "report/page_timeline.h"

#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/order.h"
#include "report/tracks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_MATCH UINT32_MAX

/* The step as a run of its own, so that nothing else is looked at; what is known by operation
 * follows. */
static void take_step(struct run_timeline *r)
{
    const struct run *run = r->a->run;
    const struct job_steps *steps = &r->a->job_steps;
    if (r->only == STEP_NONE || run_part_init(&r->part, run, steps, r->only, r->only) < 0)
        return;
    for (size_t i = 0; i < run->nranks; i++) {
        size_t n = 0;
        for (size_t k = 0; k < run->ranks[i].nops; k++) {
            if (steps->ranks[i].of[k] != r->only)
                continue;
            r->match[i][n] = r->match[i][k];
            r->path[i][n++] = r->path[i][k];
        }
    }
}

void run_timeline_init(struct run_timeline *r, const struct analysis *a, uint32_t only)
{
    const struct run *run = a->run;
    const struct matches *m = &a->comm.matches;
    const struct critical *c = &a->critical;
    *r = (struct run_timeline){.a = a, .only = only};
    r->match = array_new(run->nranks, sizeof *r->match);
    r->path = array_new(run->nranks, sizeof *r->path);
    for (size_t i = 0; i < run->nranks; i++) {
        r->match[i] = array_new(run->ranks[i].nops, sizeof **r->match);
        r->path[i] = array_new(run->ranks[i].nops, sizeof **r->path);
        memset(r->match[i], 0xff, run->ranks[i].nops * sizeof **r->match);
    }
    for (size_t i = 0; i < m->count; i++) {
        for (uint32_t k = 0; k < m->list[i].nmembers; k++) {
            const struct match_member *x = &m->members[m->list[i].first + k];
            r->match[x->rank][x->op] = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < c->nparts; i++) {
        const struct critical_part *p = &c->parts[i];
        if (p->kind != PATH_HOST && p->kind != PATH_LAUNCH && p->kind != PATH_UNEXPLAINED &&
            p->kind != PATH_UNTIMED)
            r->path[p->rank][p->op] = p;
    }
    take_step(r);
}

void run_timeline_release(struct run_timeline *r)
{
    for (size_t i = 0; i < r->a->run->nranks; i++) {
        free(r->match[i]);
        free(r->path[i]);
    }
    free(r->match);
    free(r->path);
    if (r->part.nranks > 0)
        run_part_release(&r->part);
}

/* ---- what tracks.h calls ---- */

struct timeline_walk {
    struct page_timeline *out;
    const struct run_timeline *r;
    const struct timeline_part *part;
    int64_t zero_ns; /* of the rank */
    bool stream;     /* the track is one of a stream */
    bool first;      /* no slice of the track was added */
    char name[64];
};

static bool in_step(const struct analysis *a, uint32_t step, size_t rank, const struct op *op)
{
    return step == STEP_NONE || a->job_steps.ranks[rank].of[op - a->run->ranks[rank].ops] == step;
}

/* INT64_MAX: there is none. */
static int64_t first_of_rank(const struct analysis *a, uint32_t step, size_t rank)
{
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < a->run->ranks[rank].nops; i++) {
        const struct op *op = &a->run->ranks[rank].ops[i];
        if (op_timed(op) && op->start_ns != UNKNOWN_NS && op->start_ns < first_ns &&
            in_step(a, step, rank, op))
            first_ns = op->start_ns;
    }
    return first_ns;
}

/* A rank that has no operation in the step begins with its first one. */
static int64_t zero_of_rank(const struct analysis *a, const struct timeline_part *part, size_t rank)
{
    int64_t first_ns = first_of_rank(a, part->step, rank);
    if (first_ns == INT64_MAX)
        first_ns = first_of_rank(a, STEP_NONE, rank);
    return first_ns != INT64_MAX ? first_ns : part->zero_ns;
}

static void on_rank(void *context, const struct rank *rank, size_t index)
{
    struct timeline_walk *w = context;
    (void)rank;
    w->zero_ns =
        w->r->a->job_steps.apart ? zero_of_rank(w->r->a, w->part, index) : w->part->zero_ns;
}

static void on_track(void *context, const struct track *track)
{
    struct timeline_walk *w = context;
    w->stream = track->kind == TRACK_STREAM;
    w->first = true;
    snprintf(w->name, sizeof w->name, "%s", track->name);
}

static void on_slice(void *context, const struct track *track, const struct track_slice *s)
{
    struct timeline_walk *w = context;
    const struct analysis *a = w->r->a;
    const struct matches *m = &a->comm.matches;
    const size_t r = track->rank_index;
    const struct critical_part *path;
    uint32_t match;
    bool within;
    if (!w->stream || s->op == NULL || r % w->part->every != 0)
        return;
    within = w->r->part.nranks > 0 || in_step(a, w->part->step, r, s->op);
    if (w->r->only != STEP_NONE && !within)
        return;
    if (w->first)
        page_timeline_row(w->out,
                          &(struct timeline_row){track->rank->rank, w->name, w->part->side});
    w->first = false;
    match = w->r->match[r][s->op - track->rank->ops];
    path = w->r->path[r][s->op - track->rank->ops];
    struct timeline_item item = {.start_ns = s->start_ns - w->zero_ns,
                                 .dur_ns = s->end_ns - s->start_ns,
                                 .name = page_timeline_name(w->out, a->run, s->op),
                                 .in_step = within,
                                 .link = -1};
    if (match != NO_MATCH) {
        const int64_t moved_ns = m->list[match].transfer_ns;
        item.link = w->part->first_link + match;
        if (moved_ns != UNKNOWN_NS && moved_ns < item.dur_ns && m->list[match].nmembers > 1)
            item.wait_ns = item.dur_ns - moved_ns;
    }
    if (path != NULL) {
        item.path_ns = path->start_ns > s->start_ns ? path->start_ns - s->start_ns : 0;
        item.path_dur_ns = path->end_ns - path->start_ns;
    }
    page_timeline_add(w->out, &item);
}

static void on_count(void *context, const struct track *track, int64_t at_ns, int64_t value)
{
    (void)context, (void)track, (void)at_ns, (void)value;
}

void run_timeline_add(struct page_timeline *out, const struct run_timeline *r,
                      const struct timeline_part *part)
{
    struct timeline_walk w = {.out = out, .r = r, .part = part};
    const struct track_writer writer = {&w, on_rank, on_track, on_slice, on_count};
    const struct analysis *a = r->a;
    size_t only = SIZE_MAX;
    if (a->nranks == 1 && a->run->nranks > 1)
        only = (size_t)(a->ranks[0].rank - a->run->ranks);
    tracks_write(r->part.nranks > 0 ? &r->part : a->run, only, &writer);
}

/* ---- which step, and its begin ---- */

int64_t run_timeline_first(const struct analysis *a, uint32_t step)
{
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < a->nranks; i++) {
        const size_t rank = (size_t)(a->ranks[i].rank - a->run->ranks);
        const int64_t start_ns = first_of_rank(a, step, rank);
        first_ns = start_ns < first_ns ? start_ns : first_ns;
    }
    return first_ns == INT64_MAX ? 0 : first_ns;
}

struct step_length {
    int64_t ns;
    uint32_t step;
};

static int by_length(const void *pa, const void *pb)
{
    const struct step_length *a = pa, *b = pb;
    return a->ns != b->ns ? ORDER(a->ns, b->ns) : ORDER(a->step, b->step);
}

static bool has_bounds(const struct analysis *a, uint32_t step)
{
    const int64_t *ends = a->step_time.ends_ns;
    return ends != NULL && a->job_steps.several && step > 0 && step < a->job_steps.count &&
           step_counts(&a->job_steps, step) && ends[step] != UNKNOWN_NS &&
           ends[step - 1] != UNKNOWN_NS;
}

/* The step that the critical path is of; STEP_NONE. */
static uint32_t step_of_path(const struct analysis *a)
{
    const struct critical_part *last = a->critical.parts;
    return a->critical.nparts > 0 ? a->job_steps.ranks[last->rank].of[last->op] : STEP_NONE;
}

uint32_t run_timeline_median(const struct analysis *a)
{
    const struct job_steps *job = &a->job_steps;
    const int64_t *ends = a->step_time.ends_ns;
    struct step_length *list;
    uint32_t n = 0, step = step_of_path(a);
    if (step != STEP_NONE && has_bounds(a, step))
        return step;
    step = STEP_NONE;
    list = array_new((size_t)job->count + 1, sizeof *list);
    for (uint32_t k = 1; k < job->count; k++) {
        if (has_bounds(a, k))
            list[n++] = (struct step_length){ends[k] - ends[k - 1], k};
    }
    if (n > 0) {
        qsort(list, n, sizeof *list, by_length);
        step = list[(n - 1) / 2].step;
    }
    free(list);
    return step;
}
