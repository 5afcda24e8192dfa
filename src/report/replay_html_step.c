/* SPDX-License-Identifier: MIT
 *
 * One predicted step as rows of streams. Times are drawn in a thousand steps: what is closer
 * together than one of them and of one kind is one rectangle, so that a row has two thousand at
 * most.
 */
#include "report/replay_html_internal.h"

#include "report/table.h"
#include "sim/replay/job.h"
#include "trace/activity.h"

#include <stdlib.h>

#define RANKS 4
#define STEPS 1000

/* Colours, by place in replay_shares. */
enum { SHARE_COMPUTE = 0, SHARE_UNTRACED = 1, SHARE_COMM = 2, SHARE_COPY = 3, SHARE_WAIT = 7 };

struct stream_row {
    uint8_t kind[STEPS + 1]; /* what fills most of each step; 255 nothing */
    bool any;
};

/* One rank while it is drawn. */
struct rank_chart {
    const struct replay_job *job;
    size_t rank;
    int64_t start_ns, end_ns; /* of the step that is drawn */
    struct stream_row *rows;  /* by stream; owned */
};

static void fill(struct rank_chart *d, size_t stream, int kind, int64_t start_ns, int64_t end_ns)
{
    double length = (double)(d->end_ns - d->start_ns);
    int64_t from_ns = start_ns > d->start_ns ? start_ns : d->start_ns;
    int64_t to_ns = end_ns < d->end_ns ? end_ns : d->end_ns;
    int first, last;
    if (from_ns >= to_ns)
        return;
    first = (int)((double)(from_ns - d->start_ns) / length * STEPS);
    last = (int)((double)(to_ns - d->start_ns) / length * STEPS);
    d->rows[stream].any = true;
    for (int i = first; i < last || i == first; i++)
        d->rows[stream].kind[i] = (uint8_t)kind;
}

static int kind_of(const struct op *op)
{
    if (op->flags & OP_COUNTED)
        return SHARE_UNTRACED;
    switch (activity_kind_of(op)) {
    case ACTIVITY_COMM:
        return SHARE_COMM;
    case ACTIVITY_MEMORY:
        return SHARE_COPY;
    default:
        return SHARE_COMPUTE;
    }
}

static void fill_rows(struct rank_chart *d)
{
    const struct program *p = &d->job->program;
    const struct program_rank *place = &p->ranks[d->rank];
    struct job_view v;
    job_view_init(&v, d->job, d->rank, true);
    for (size_t i = 0; i < p->run->ranks[d->rank].nops; i++) {
        struct sim_span span = program_span(p, (uint32_t)d->rank, i);
        size_t stream;
        int64_t moved_ns = v.moves[i].moved.start_ns;
        if (span.end_ns < 0)
            continue;
        stream = sim_item_stream(p->sim, place->item[i]) - place->first_stream;
        fill(d, stream, kind_of(&p->run->ranks[d->rank].ops[i]),
             moved_ns > span.start_ns ? moved_ns : span.start_ns, span.end_ns);
        if (moved_ns > span.start_ns)
            fill(d, stream, SHARE_WAIT, span.start_ns, moved_ns);
    }
    for (size_t i = 0; i < place->nuntraced; i++) {
        struct sim_span span = sim_span(p->sim, place->untraced[i].item);
        fill(d, sim_item_stream(p->sim, place->untraced[i].item) - place->first_stream,
             SHARE_UNTRACED, span.start_ns, span.end_ns);
    }
    job_view_release(&v);
}

static void put_row(struct buf *b, const struct rank_chart *d, size_t stream)
{
    const struct stream_row *row = &d->rows[stream];
    buf_printf(b,
               "<div class=row><span>rank %d, stream %d</span><svg viewBox=\"0 0 %d 10\" "
               "preserveAspectRatio=none>",
               d->job->program.run->ranks[d->rank].rank,
               d->job->program.ranks[d->rank].streams[stream], STEPS);
    for (int i = 0, end; i < STEPS; i = end) {
        for (end = i + 1; end < STEPS && row->kind[end] == row->kind[i];)
            end++;
        if (row->kind[i] != 255)
            buf_printf(b, "<rect class=k%d x=%d width=%d height=10 />", row->kind[i], i, end - i);
    }
    buf_puts(b, "</svg></div>");
}

static void draw_rank(struct buf *b, const struct replay_job *job, size_t rank,
                      struct sim_span step)
{
    struct rank_chart d = {
        .job = job, .rank = rank, .start_ns = step.start_ns, .end_ns = step.end_ns};
    size_t n = job->program.ranks[rank].nstreams;
    d.rows = malloc((n + 1) * sizeof *d.rows);
    if (d.rows == NULL)
        die("out of memory");
    for (size_t s = 0; s < n; s++) {
        d.rows[s].any = false;
        for (int i = 0; i <= STEPS; i++)
            d.rows[s].kind[i] = 255;
    }
    fill_rows(&d);
    for (size_t s = 0; s < n; s++) {
        if (d.rows[s].any)
            put_row(b, &d, s);
    }
    free(d.rows);
}

/* The last step. */
static struct sim_span last_step(const struct replay_job *job)
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
        job_view_init(&v, job, r, true);
        end_ns =
            iteration_end(&job->steps.ranks[r], run->ranks[r].nops, &v.when, job->steps.count - 2);
        before_ns = end_ns > before_ns ? end_ns : before_ns;
        job_view_release(&v);
    }
    if (before_ns > step.start_ns && before_ns < step.end_ns)
        step.start_ns = before_ns;
    return step;
}

void html_step(struct buf *b, const struct replay_job *job, size_t rank)
{
    const struct run *run = job->program.run;
    size_t shown = run->nranks < RANKS ? run->nranks : RANKS, last = SIZE_MAX;
    struct sim_span step = last_step(job);
    char length[32];
    buf_printf(
        b, "<p class=soft>%s from left to right, of %zu of the %zu ranks that are simulated</p>",
        text_ns(length, sizeof length, (double)(step.end_ns - step.start_ns)), shown, run->nranks);
    buf_puts(b, "<div class=step>");
    for (size_t i = 0; i < shown; i++) {
        size_t r = shown > 1 ? i * (run->nranks - 1) / (shown - 1) : 0;
        bool between = (last == SIZE_MAX || last < rank) && rank < r;
        if (between)
            r = rank; /* the one that decides is among them */
        last = r;
        if (!steps_blank(run, r))
            draw_rank(b, job, r, step);
    }
    buf_puts(b, "</div>");
}
