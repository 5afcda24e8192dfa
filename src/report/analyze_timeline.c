/* SPDX-License-Identifier: MIT
 *
 * The timeline on the page of `specter analyze`: streams of all ranks, from what tracks.h draws.
 */
#include "report/analyze_page.h"

#include "base/arena.h"
#include "base/order.h"
#include "report/html.h"
#include "report/page_timeline.h"
#include "report/table.h"
#include "report/tracks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_MATCH UINT32_MAX

/* What the timeline shows of a run. */
struct timeline_walk {
    const struct analysis *a;
    struct page_timeline out;
    uint32_t step; /* STEP_NONE: all that was recorded */
    size_t every;  /* one of so many ranks */
    int64_t origin_ns;
    uint32_t **match;                   /* owned [nranks][nops]: NO_MATCH */
    const struct critical_part ***path; /* owned [nranks][nops]: NULL */
    bool stream;                        /* the track is one of a stream */
    bool first;                         /* no slice of the track was added */
    char name[64];
};

static void index_ops(struct timeline_walk *w)
{
    const struct run *run = w->a->run;
    const struct matches *m = &w->a->comm.matches;
    const struct critical *c = &w->a->critical;
    w->match = array_new(run->nranks, sizeof *w->match);
    w->path = array_new(run->nranks, sizeof *w->path);
    for (size_t r = 0; r < run->nranks; r++) {
        w->match[r] = array_new(run->ranks[r].nops, sizeof **w->match);
        w->path[r] = array_new(run->ranks[r].nops, sizeof **w->path);
        memset(w->match[r], 0xff, run->ranks[r].nops * sizeof **w->match);
    }
    for (size_t i = 0; i < m->count; i++) {
        for (uint32_t k = 0; k < m->list[i].nmembers; k++) {
            const struct match_member *x = &m->members[m->list[i].first + k];
            w->match[x->rank][x->op] = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < c->nparts; i++) {
        const struct critical_part *p = &c->parts[i];
        if (p->kind != PATH_HOST && p->kind != PATH_LAUNCH && p->kind != PATH_UNEXPLAINED &&
            p->kind != PATH_UNTIMED)
            w->path[p->rank][p->op] = p;
    }
}

static void release(struct timeline_walk *w)
{
    for (size_t r = 0; r < w->a->run->nranks; r++) {
        free(w->match[r]);
        free(w->path[r]);
    }
    free(w->match);
    free(w->path);
    page_timeline_release(&w->out);
}

static bool shown(const struct timeline_walk *w, size_t rank, const struct op *op)
{
    const struct rank *r = &w->a->run->ranks[rank];
    return rank % w->every == 0 &&
           (w->step == STEP_NONE || w->a->job_steps.ranks[rank].of[op - r->ops] == w->step);
}

/* ---- what tracks.h calls ---- */

static void on_rank(void *context, const struct rank *rank, size_t index)
{
    (void)context, (void)rank, (void)index;
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
    const struct matches *m = &w->a->comm.matches;
    const size_t r = track->rank_index;
    const struct critical_part *part;
    uint32_t match;
    if (!w->stream || s->op == NULL || !shown(w, r, s->op))
        return;
    if (w->first)
        page_timeline_row(&w->out, &(struct timeline_row){track->rank->rank, w->name, ""});
    w->first = false;
    match = w->match[r][s->op - track->rank->ops];
    part = w->path[r][s->op - track->rank->ops];
    struct timeline_item item = {.start_ns = s->start_ns - w->origin_ns,
                                 .dur_ns = s->end_ns - s->start_ns,
                                 .name = page_timeline_name(&w->out, w->a->run, s->op),
                                 .link = -1};
    if (match != NO_MATCH) {
        const int64_t moved_ns = m->list[match].transfer_ns;
        item.link = match;
        if (moved_ns != UNKNOWN_NS && moved_ns < item.dur_ns && m->list[match].nmembers > 1)
            item.wait_ns = item.dur_ns - moved_ns;
    }
    if (part != NULL) {
        item.path_ns = part->start_ns > s->start_ns ? part->start_ns - s->start_ns : 0;
        item.path_dur_ns = part->end_ns - part->start_ns;
    }
    page_timeline_add(&w->out, &item);
}

static void on_count(void *context, const struct track *track, int64_t at_ns, int64_t value)
{
    (void)context, (void)track, (void)at_ns, (void)value;
}

/* ---- how much of it ---- */

static int64_t origin_of(const struct timeline_walk *w, size_t only)
{
    const struct run *run = w->a->run;
    int64_t origin_ns = INT64_MAX;
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; (only == SIZE_MAX || only == r) && i < run->ranks[r].nops; i++) {
            const struct op *op = &run->ranks[r].ops[i];
            if (op_timed(op) && op->start_ns != UNKNOWN_NS && op->start_ns < origin_ns &&
                shown(w, r, op))
                origin_ns = op->start_ns;
        }
    }
    return origin_ns == INT64_MAX ? 0 : origin_ns;
}

static void walk(struct timeline_walk *w)
{
    const struct track_writer writer = {w, on_rank, on_track, on_slice, on_count};
    const struct analysis *a = w->a;
    size_t only = SIZE_MAX;
    if (a->nranks == 1 && a->run->nranks > 1)
        only = (size_t)(a->ranks[0].rank - a->run->ranks);
    page_timeline_release(&w->out);
    page_timeline_init(&w->out);
    w->origin_ns = origin_of(w, only);
    tracks_write(a->run, only, &writer);
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

/* The step of median length of those that count; STEP_NONE: there are no several. */
static uint32_t median_step(const struct analysis *a)
{
    const struct job_steps *job = &a->job_steps;
    struct step_length *list = array_new((size_t)job->count + 1, sizeof *list);
    uint32_t n = 0, step = STEP_NONE;
    for (uint32_t k = 1; job->several && a->step_time.ends_ns != NULL && k < job->count; k++) {
        const int64_t *ends = a->step_time.ends_ns;
        if (step_counts(job, k) && ends[k] != UNKNOWN_NS && ends[k - 1] != UNKNOWN_NS)
            list[n++] = (struct step_length){ends[k] - ends[k - 1], k};
    }
    if (n > 0) {
        qsort(list, n, sizeof *list, by_length);
        step = list[(n - 1) / 2].step;
    }
    free(list);
    return step;
}

/* What is larger than PAGE_TIMELINE_MAX shrinks to the median step, and where that is still several
 * times as large, to some of the ranks. */
static void choose(struct timeline_walk *w)
{
    walk(w);
    if (page_timeline_size(&w->out) <= PAGE_TIMELINE_MAX)
        return;
    w->step = median_step(w->a);
    if (w->step != STEP_NONE)
        walk(w);
    while (w->a->nranks > 1 && page_timeline_size(&w->out) > ANALYZE_STEP_MAX &&
           2 * w->every <= w->a->run->nranks) {
        w->every *= 2;
        walk(w);
    }
}

void analyze_put_timeline(struct page *p, const struct analysis *a)
{
    struct timeline_walk w = {.a = a, .step = STEP_NONE, .every = 1};
    char time[32];
    index_ops(&w);
    page_timeline_init(&w.out);
    choose(&w);
    if (w.out.nops > 0) {
        struct buf title = BUF_INIT;
        buf_printf(&title, "Timeline: %" PRIu64 " operations on %zu rank%s in %s", w.out.nops,
                   (a->nranks + w.every - 1) / w.every, a->nranks > w.every ? "s" : "",
                   text_ns(time, sizeof time, (double)w.out.end_ns));
        page_heading(p, "timeline", "Timeline", title.data);
        if (w.step != STEP_NONE)
            buf_printf(&p->body,
                       "<p class=note>The recording is too large for a page: this is step %" PRIu32
                       " of %" PRIu32 ", the one of median length, on each rank.</p>",
                       w.step + 1, a->job_steps.count);
        if (w.every > 1)
            buf_printf(&p->body, "<p class=note>One of %zu ranks is shown.</p>", w.every);
        if (a->run->nranks > 1 && !a->run->clock_aligned)
            buf_puts(&p->body, "<p class=note>Clocks of the ranks cannot be compared: each rank's "
                               "times are its own.</p>");
        page_timeline_put(&p->body, &w.out, false);
        buf_release(&title);
    }
    release(&w);
}
