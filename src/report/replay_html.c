/* SPDX-License-Identifier: MIT */
#include "report/replay_report.h"

#include "base/arena.h"
#include "base/order.h"
#include "base/sink.h"
#include "report/html.h"
#include "report/plot.h"
#include "report/replay_internal.h"
#include "report/table.h"
#include "sim/replay/job.h"
#include "trace/activity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one predicted step as rows of streams ----
 *
 * Times are drawn in a thousand steps: what is closer together than one of them and of one kind is
 * one rectangle, so that a row has two thousand at most. */

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

static void put_stream_row(struct buf *b, const struct rank_chart *d, size_t stream)
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
    d.rows = array_new(n, sizeof *d.rows);
    for (size_t s = 0; s < n; s++) {
        for (int i = 0; i <= STEPS; i++)
            d.rows[s].kind[i] = 255;
    }
    fill_rows(&d);
    for (size_t s = 0; s < n; s++) {
        if (d.rows[s].any)
            put_stream_row(b, &d, s);
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

/* ---- charts of all scales ----
 *
 * GPUs are on a logarithmic axis; scales stand in the order of their numbers. */

#define WIDTH 360.0
#define HEIGHT 200.0
#define LEFT 56.0
#define RIGHT 14.0
#define TOP 12.0
#define BOTTOM 26.0
#define TICKS 4
#define LABEL 26.0 /* of a number of GPUs */

/* One chart: values of the scales over GPUs. */
struct chart {
    const struct replay *rep;
    const struct replay_scale **sorted; /* [nscales] by GPUs; owned */
    double top;                         /* of the vertical axis */
    double least, most;                 /* log2 of GPUs */
};

static int by_gpus(const void *pa, const void *pb)
{
    const struct replay_scale *const *a = pa, *const *b = pb;
    return ORDER((*a)->gpus, (*b)->gpus);
}

static double x_of(const struct chart *c, const struct replay_scale *s)
{
    double room = WIDTH - LEFT - RIGHT - 24;
    if (!(c->most > c->least))
        return LEFT + 12 + room / 2;
    return LEFT + 12 + room * (log2((double)s->gpus) - c->least) / (c->most - c->least);
}

static double y_of(const struct chart *c, double value)
{
    double part = c->top > 0 ? fmin(fmax(value / c->top, 0), 1) : 0;
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part;
}

/* 65536 -> "64Ki": powers of two are what scales mostly are. */
static void gpus_label(char *buf, size_t size, int64_t gpus)
{
    if (gpus >= 1 << 20 && gpus % (1 << 20) == 0)
        snprintf(buf, size, "%lldMi", (long long)gpus >> 20);
    else if (gpus >= 1 << 14 && gpus % (1 << 10) == 0)
        snprintf(buf, size, "%lldKi", (long long)gpus >> 10);
    else
        snprintf(buf, size, "%lld", (long long)gpus);
}

static void put_grid(struct buf *b, const struct chart *c, bool percent)
{
    double free = 0; /* where the next label may be */
    char label[32];
    for (int i = 0; i <= TICKS; i++) {
        double value = c->top * i / TICKS, y = y_of(c, value);
        buf_printf(b, "<line class=axis x1=%.1f x2=%.1f y1=%.1f y2=%.1f />", LEFT, WIDTH - RIGHT, y,
                   y);
        if (percent)
            snprintf(label, sizeof label, "%.0f %%", 100 * value);
        else
            text_ns(label, sizeof label, value);
        buf_printf(b, "<text x=%.1f y=%.1f text-anchor=end>%s</text>", LEFT - 6, y + 4, label);
    }
    for (size_t i = 0; i < c->rep->nscales; i++) {
        if (x_of(c, c->sorted[i]) < free)
            continue;
        free = x_of(c, c->sorted[i]) + LABEL;
        gpus_label(label, sizeof label, c->sorted[i]->gpus);
        buf_printf(b, "<text x=%.1f y=%.1f text-anchor=middle>%s</text>", x_of(c, c->sorted[i]),
                   HEIGHT - 8, label);
    }
}

/* Scales of which it is not known have no mark. */
static void put_curve(struct buf *b, const struct chart *c,
                      double (*value)(const struct replay_scale *))
{
    buf_puts(b, "<polyline class=curve points=\"");
    for (size_t i = 0; i < c->rep->nscales; i++) {
        if (isfinite(value(c->sorted[i])))
            buf_printf(b, "%.1f,%.1f ", x_of(c, c->sorted[i]), y_of(c, value(c->sorted[i])));
    }
    buf_puts(b, "\"/>");
    for (size_t i = 0; i < c->rep->nscales; i++) {
        if (isfinite(value(c->sorted[i])))
            buf_printf(b, "<circle class=mark r=3.5 cx=%.1f cy=%.1f />", x_of(c, c->sorted[i]),
                       y_of(c, value(c->sorted[i])));
    }
}

static void put_error_bars(struct buf *b, const struct chart *c)
{
    for (size_t i = 0; i < c->rep->nscales; i++) {
        const struct replay_scale *s = c->sorted[i];
        double x = x_of(c, s), low = y_of(c, s->error.interval80[0]);
        double high = y_of(c, s->error.interval80[1]);
        if (!(low - high >= 0.5))
            continue;
        buf_printf(
            b, "<path class=\"bar%s\" fill=none d=\"M%.1f %.1fV%.1fM%.1f %.1fh8M%.1f %.1fh8\"/>",
            replay_unmeasured(s) ? " guess" : "", x, low, high, x - 4, low, x - 4, high);
    }
}

static double iteration_of(const struct replay_scale *s)
{
    return s->time.span_ns;
}

static double efficiency_of(const struct replay_scale *s)
{
    return s->efficiency;
}

static void begin_figure(struct buf *b, const char *title)
{
    buf_printf(b,
               "<figure><figcaption>%s</figcaption><svg viewBox=\"0 0 %.0f %.0f\" role=img "
               "aria-label=\"%s\">",
               title, WIDTH, HEIGHT, title);
}

/* Iteration and efficiency by GPUs. */
static void html_scaling(struct buf *b, const struct replay *rep)
{
    struct chart c = {.rep = rep, .sorted = array_new(rep->nscales, sizeof *c.sorted)};
    double most = 0;
    for (size_t i = 0; i < rep->nscales; i++)
        c.sorted[i] = &rep->scales[i];
    qsort(c.sorted, rep->nscales, sizeof *c.sorted, by_gpus);
    c.least = log2((double)c.sorted[0]->gpus);
    c.most = log2((double)c.sorted[rep->nscales - 1]->gpus);
    for (size_t i = 0; i < rep->nscales; i++)
        most = fmax(most,
                    fmax(rep->scales[i].jitter.p95_ns,
                         fmin(fmax(rep->scales[i].error.interval80[1], rep->scales[i].time.span_ns),
                              2 * rep->scales[i].time.span_ns)));
    buf_puts(b, "<div class=charts>");
    begin_figure(b, "Iteration by GPUs");
    c.top = plot_round_up(most);
    put_grid(b, &c, false);
    put_curve(b, &c, iteration_of);
    put_error_bars(b, &c);
    /* P50 to P95 of single iterations, beside the bar. */
    for (size_t i = 0; i < c.rep->nscales; i++) {
        const struct replay_scale *s = c.sorted[i];
        double high = y_of(&c, s->jitter.p95_ns);
        if (s->jitter.samples == 0)
            continue;
        buf_printf(b, "<rect class=varied x=%.1f width=5 y=%.1f height=%.1f />", x_of(&c, s) + 7,
                   high, fmax(y_of(&c, s->jitter.p50_ns) - high, 1));
    }
    buf_puts(b, "</svg></figure>");
    begin_figure(b, "Efficiency by GPUs");
    for (size_t i = 0; i < rep->nscales; i++)
        most = fmax(i == 0 ? 0 : most, rep->scales[i].efficiency);
    c.top = most > 1.0005 ? plot_round_up(most) : 1;
    put_grid(b, &c, true);
    put_curve(b, &c, efficiency_of);
    buf_printf(b,
               "</svg></figure></div><p class=soft>Bars: what the prediction may be off; dashed "
               "where part of that is not measured.%s</p>",
               rep->scales[0].jitter.samples > 0 ? " Beside them: P50 to P95 of single iterations."
                                                 : "");
    free(c.sorted);
}

/* ---- where the step goes ---- */

/* Where the step goes. Classes of colours of shares, "k0".., are their places in replay_shares. */
static void html_shares(struct buf *b, const struct replay *rep)
{
    buf_puts(b, "<div class=keys>");
    for (int k = 0; k < REPLAY_SHARES; k++) {
        if (replay_share_seen(rep, k))
            html_key(b, k, replay_shares[k].name);
    }
    buf_puts(b, "</div>");
    for (size_t i = 0; i < rep->nscales; i++) {
        const struct replay_scale *s = &rep->scales[i];
        buf_printf(b, "<div class=row><span>%lld GPU%s</span><div class=stack>", (long long)s->gpus,
                   s->gpus > 1 ? "s" : "");
        for (int k = 0; k < REPLAY_SHARES; k++) {
            double share = 100 * replay_share_of(&s->time, k);
            if (share > 0)
                buf_printf(b, "<i class=k%d style=\"width:%.3f%%\" title=\"%s %.1f %%\"></i>", k,
                           share, replay_shares[k].name, share);
        }
        buf_puts(b, "</div></div>");
    }
}

/* ---- the file ---- */

struct replay_html {
    struct sink *sink;
    struct buf step; /* drawn while the simulation can be asked */
    int64_t gpus;
    bool drawn;
};

int replay_html_open(struct replay_html **out, const char *path, struct err *e)
{
    struct replay_html *h = array_new(1, sizeof *h);
    if (sink_open(&h->sink, path, e) < 0) {
        free(h);
        return -1;
    }
    buf_init(&h->step);
    *out = h;
    return 0;
}

static void observe(void *context, const struct replay_job *job, const struct replay_scale *scale)
{
    struct replay_html *h = context;
    char length[32];
    if (h->drawn || scale == NULL || scale->scale != job->rep->first_scale)
        return;
    h->drawn = true;
    h->gpus = scale->gpus;
    /* one iteration of a few ranks, and of the one whose iteration it is */
    struct buf *b = &h->step;
    size_t rank = scale->rank;
    const struct run *run = job->program.run;
    size_t shown = run->nranks < RANKS ? run->nranks : RANKS, last = SIZE_MAX;
    struct sim_span step = last_step(job);
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

struct replay_watch replay_html_watch(struct replay_html *h)
{
    return (struct replay_watch){observe, h};
}

/* ---- the page ---- */

static void put_head(struct buf *b, struct replay *rep, const struct run *run)
{
    struct arena *a = &rep->arena;
    buf_puts(b, "<h1>Replay of ");
    html_text(b, run->source);
    buf_puts(b, "</h1><dl>");
    html_fact(b, "recording", arena_printf(a, "%zu of %d ranks", rep->nranks, rep->world));
    html_fact(b, "source",
              arena_printf(a, "%s, %s", rep->gpu_known ? rep->from.gpu->name : "GPU not known",
                           rep->network_known ? rep->from.network->name : "network not known"));
    html_fact(b, "target",
              arena_printf(a, "%s, %s%s", rep->to.gpu->name, rep->to.network->name,
                           rep->same_hardware ? " (the same)" : ""));
    html_fact(b, "parallelism", grid_sentence(&rep->grid, &rep->groups));
    html_fact(b, "iteration", replay_own_text(rep));
    html_fact(b, "iterations", replay_spread_text(rep));
    html_fact(b, "work", replay_work_text(rep));
    buf_puts(b, "</dl>");
}

static void put_table(struct buf *b, const struct replay *rep)
{
    const struct workload *w = &rep->workload;
    char time[32], bar[80];
    buf_printf(b,
               "<div class=wide><table><tr><th>GPUs<th>iteration<th>80 %% interval%s<th>speed-up"
               "<th>efficiency",
               rep->scales[0].jitter.samples > 0 ? "<th>P50<th>P95" : "");
    buf_printf(b, "%s%s</tr>", w->tokens > 0 ? "<th>tokens/s" : "",
               w->missing != NULL ? ""
               : w->given         ? "<th>MFU"
                                  : "<th>HFU");
    for (size_t i = 0; i < rep->nscales; i++) {
        const struct replay_scale *s = &rep->scales[i];
        buf_printf(b, "<tr><td>%lld<td>%s<td>%s%s", (long long)s->gpus,
                   text_ns(time, sizeof time, s->time.span_ns),
                   replay_interval(bar, sizeof bar, s->error.interval80),
                   replay_unmeasured(s) ? " ?" : "");
        if (s->jitter.samples > 0)
            buf_printf(b, "<td>%s<td>%s", text_ns(time, sizeof time, s->jitter.p50_ns),
                       text_ns(bar, sizeof bar, s->jitter.p95_ns));
        if (isfinite(s->speedup))
            buf_printf(b, "<td>%.2f<td>%.1f %%", s->speedup, 100 * s->efficiency);
        else
            buf_puts(b, "<td>-<td>-");
        if (w->tokens > 0)
            buf_printf(b, "<td>%s", replay_rate(time, sizeof time, s->rate.tokens_per_s));
        if (w->missing == NULL && isnan(s->rate.utilisation))
            buf_puts(b, "<td>-");
        else if (w->missing == NULL)
            buf_printf(b, "<td>%.1f %%%s", 100 * s->rate.utilisation,
                       s->rate.utilisation > 1 ? " !" : "");
        buf_puts(b, "</tr>");
    }
    buf_puts(b, "</table></div>");
}

/* The numbers of the chart, for print and for who cannot tell its colours apart. */
static void put_shares(struct buf *b, const struct replay *rep)
{
    buf_puts(b, "<div class=wide><table><tr><th>GPUs");
    for (int k = 0; k < REPLAY_SHARES; k++) {
        if (replay_share_seen(rep, k))
            buf_printf(b, "<th>%s", replay_shares[k].brief);
    }
    buf_puts(b, "</tr>");
    for (size_t i = 0; i < rep->nscales; i++) {
        buf_printf(b, "<tr><td>%lld", (long long)rep->scales[i].gpus);
        for (int k = 0; k < REPLAY_SHARES; k++) {
            if (replay_share_seen(rep, k))
                buf_printf(b, "<td>%.1f %%", 100 * replay_share_of(&rep->scales[i].time, k));
        }
        buf_puts(b, "</tr>");
    }
    buf_puts(b, "</table></div>");
}

/* Axes in the order of the first scale. */
static void put_axes(struct buf *b, const struct replay *rep)
{
    const struct axis_times *axes = &rep->scales[0].axes;
    if (axes->count == 0)
        return;
    buf_puts(b, "<h2>Communication by group</h2><p class=soft>In a step, and exposed in % of it"
                "</p><div class=wide><table><tr><th>GPUs");
    for (int k = 0; k < axes->count; k++) {
        buf_puts(b, "<th>");
        html_text(b, axes->list[k].name);
        buf_puts(b, "<th>exposed");
    }
    buf_puts(b, "</tr>");
    for (size_t i = 0; i < rep->nscales; i++) {
        buf_printf(b, "<tr><td>%lld", (long long)rep->scales[i].gpus);
        for (int k = 0; k < axes->count; k++) {
            const struct axis_time *axis = replay_axis(&rep->scales[i], axes->list[k].name);
            char total[32];
            if (axis == NULL)
                buf_puts(b, "<td>-<td>-");
            else
                buf_printf(b, "<td>%s<td>%.1f %%", text_ns(total, sizeof total, axis->total_ns),
                           replay_exposed_percent(&rep->scales[i], axis));
        }
        buf_puts(b, "</tr>");
    }
    buf_puts(b, "</table></div>");
}

static void put_lines(struct buf *b, const char *title, const char *const *lines)
{
    if (*lines == NULL)
        return;
    buf_printf(b, "<h2>%s</h2><ul>", title);
    for (; *lines != NULL; lines++)
        html_item(b, *lines);
    buf_puts(b, "</ul>");
}

static void put_step(struct buf *b, const struct replay_html *h)
{
    if (!h->drawn)
        return;
    buf_printf(b, "<h2>The predicted step at %lld GPU%s</h2>", (long long)h->gpus,
               h->gpus > 1 ? "s" : "");
    buf_put(b, h->step.data, h->step.len);
    buf_puts(b, "<div class=keys>");
    html_key(b, 0, "compute");
    html_key(b, 1, "untimed");
    html_key(b, 2, "communication");
    html_key(b, 3, "copies");
    html_key(b, 7, "waits for other ranks");
    buf_puts(b, "</div>");
}

int replay_html_close(struct replay_html *h, struct replay *rep, const struct run *run,
                      struct err *e)
{
    struct buf page = BUF_INIT;
    int rc;
    html_begin(&page, "specter replay");
    if (rep != NULL) {
        put_head(&page, rep, run);
        buf_puts(&page, "<h2>Scaling</h2>");
        html_scaling(&page, rep);
        put_table(&page, rep);
        buf_puts(&page, "<h2>Where the step goes</h2>");
        html_shares(&page, rep);
        put_shares(&page, rep);
        const char *words;
        char gpus[64];
        buf_puts(&page, "<h2>Critical path</h2><ul>");
        for (size_t at = 0; replay_next_path(rep, &at, gpus, &words);)
            html_item(&page, arena_printf(&rep->arena, "%s: %s", gpus, words));
        buf_puts(&page, "</ul>");
        put_step(&page, h);
        put_axes(&page, rep);
        const char *bars[REPLAY_BARS_MAX + 1];
        buf_puts(&page, "<h2>Error</h2><p>");
        html_text(&page, replay_error_text(rep, bars));
        buf_puts(&page, "</p><ul>");
        for (int i = 0; bars[i] != NULL; i++)
            html_item(&page, bars[i]);
        buf_puts(&page, "</ul>");
        put_lines(&page, "Assumptions", replay_assumptions(rep));
        put_lines(&page, "Notes", replay_notes(rep));
    }
    html_end(&page);
    sink_put(h->sink, page.data, page.len);
    rc = sink_close(h->sink, e);
    buf_release(&page);
    buf_release(&h->step);
    free(h);
    return rc;
}
