/* SPDX-License-Identifier: MIT
 *
 * The page of `specter replay`: the answer, step time and efficiency by GPUs, what a step consists
 * of at each size, the step as recorded and as predicted, and what all that rests on.
 */
#include "report/replay_report.h"

#include "base/arena.h"
#include "base/order.h"
#include "base/whole_file.h"
#include "report/page.h"
#include "report/plot.h"
#include "report/replay_internal.h"
#include "report/table.h"
#include "sim/replay/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_COLUMNS 60 /* of what limits a step */

struct replay_html {
    struct sink *sink;
    struct replay_timeline step; /* filled while the simulation can be asked */
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
    page_timeline_init(&h->step.out);
    *out = h;
    return 0;
}

static void observe(void *context, const struct replay_job *job, const struct replay_scale *scale)
{
    struct replay_html *h = context;
    if (h->drawn || (scale != NULL && scale->scale != job->rep->first_scale))
        return;
    replay_timeline_add(&h->step, job, scale != NULL);
    h->drawn = scale != NULL;
    h->gpus = scale != NULL ? scale->gpus : 0;
}

struct replay_watch replay_html_watch(struct replay_html *h)
{
    return (struct replay_watch){observe, h};
}

/* ---- the first screen ---- */

static void put_title(struct page *p, struct replay *rep)
{
    struct buf *b = &p->body, text = BUF_INIT;
    replay_answer_text(&text, rep);
    buf_puts(b, "<h1>");
    html_text(b, text.data);
    buf_puts(b, "</h1>");
    if (rep->own_error > REPLAY_ERROR_MAX)
        buf_puts(b, "<p><b>" REPLAY_NOT_TRUSTED "</b></p>");
    buf_reset(&text);
    replay_basis_text(&text, rep);
    buf_puts(b, "<p class=soft>");
    html_text(b, text.data);
    buf_puts(b, "</p>\n");
    buf_release(&text);
}

static void put_cards(struct page *p, const struct replay *rep)
{
    const struct replay_scale *first = &rep->scales[0], *last = &rep->scales[rep->nscales - 1];
    char value[64], what[160], time[80];
    buf_puts(&p->body, "<div class=cards>");
    page_card(p, "timeline", -1, text_ns(value, sizeof value, rep->recorded.span_ns),
              "step, recorded");
    snprintf(what, sizeof what, "step on %lld %s, predicted", (long long)first->gpus,
             rep->to.gpu->name);
    page_card(p, "timeline", 0, text_ns(value, sizeof value, first->time.span_ns), what);
    if (rep->nscales > 1) {
        snprintf(what, sizeof what, "step on %lld GPUs; 80 %%: %s", (long long)last->gpus,
                 replay_interval(time, sizeof time, last->error.interval80));
        page_card(p, "scaling", 0, text_ns(value, sizeof value, last->time.span_ns), what);
    }
    if (rep->nscales > 1 && isfinite(last->efficiency)) {
        snprintf(value, sizeof value, "%.0f %%", 100 * last->efficiency);
        snprintf(what, sizeof what, "efficiency on %lld GPUs", (long long)last->gpus);
        page_card(p, "scaling", 2, value, what);
    }
    buf_puts(&p->body, "</div>\n");
}

/* ---- the table of scales ---- */

static void put_scale(struct table *t, const struct replay *rep, const struct replay_scale *s)
{
    const struct workload *w = &rep->workload;
    struct buf limit = BUF_INIT;
    char time[32], bar[80];
    table_cell(t, "%lld", (long long)s->gpus);
    table_cell(t, "%s", text_ns(time, sizeof time, s->time.span_ns));
    table_cell(t, "%s%s", replay_interval(bar, sizeof bar, s->error.interval80),
               replay_unmeasured(s) ? " ?" : "");
    if (rep->scales[0].jitter.samples > 0) {
        table_cell(t, "%s", text_ns(time, sizeof time, s->jitter.p50_ns));
        table_cell(t, "%s", text_ns(time, sizeof time, s->jitter.p95_ns));
    }
    table_cell(t, isfinite(s->speedup) ? "%.2f" : "-", s->speedup);
    table_cell(t, isfinite(s->speedup) ? "%.1f %%" : "-", 100 * s->efficiency);
    if (w->tokens > 0)
        table_cell(t, "%s", replay_rate(time, sizeof time, s->rate.tokens_per_s));
    if (w->missing == NULL && isnan(s->rate.utilisation))
        table_cell(t, "-");
    else if (w->missing == NULL)
        table_cell(t, "%.1f %%%s", 100 * s->rate.utilisation, s->rate.utilisation > 1 ? " !" : "");
    replay_limit_text(&limit, s, LIMIT_COLUMNS);
    table_text(t, limit.data, LIMIT_COLUMNS);
    buf_release(&limit);
}

/* Writes each scale as on the first screen of a terminal, and more. */
static void put_table(struct page *p, const struct replay *rep)
{
    const struct workload *w = &rep->workload;
    const bool varied = rep->scales[0].jitter.samples > 0;
    struct table t;
    table_init(&t);
    table_column(&t, "GPUs", TABLE_RIGHT);
    table_column(&t, "step", TABLE_RIGHT);
    table_column(&t, "80 % interval", TABLE_RIGHT);
    if (varied) {
        table_column(&t, "P50", TABLE_RIGHT);
        table_column(&t, "P95", TABLE_RIGHT);
    }
    table_column(&t, "speed-up", TABLE_RIGHT);
    table_column(&t, "efficiency", TABLE_RIGHT);
    if (w->tokens > 0)
        table_column(&t, "tokens/s", TABLE_RIGHT);
    if (w->missing == NULL)
        table_column(&t, w->given ? "MFU" : "HFU", TABLE_RIGHT);
    table_column(&t, "limited by", TABLE_LEFT);
    for (size_t i = 0; i < rep->nscales; i++)
        put_scale(&t, rep, &rep->scales[i]);
    page_table(&p->body, &t, "Scaling");
    if (replay_unmeasured(&rep->scales[rep->nscales - 1]))
        buf_puts(&p->body, "<p class=note>?: part of the interval is assumed, not measured.</p>");
    table_release(&t);
}

/* ---- charts of all scales ---- */

static int by_gpus(const void *pa, const void *pb)
{
    const struct replay_scale *const *a = pa, *const *b = pb;
    return ORDER((*a)->gpus, (*b)->gpus);
}

/* Values of the scales, by their numbers of GPUs. */
struct scale_curves {
    double *gpus, *step, *low, *high, *p50, *p95, *efficiency, *worst, *best; /* owned */
    size_t n, varied;
};

static void curves_init(struct scale_curves *c, const struct replay *rep)
{
    const struct replay_scale **sorted = array_new(rep->nscales, sizeof *sorted);
    double **all[] = {&c->gpus, &c->step,       &c->low,   &c->high, &c->p50,
                      &c->p95,  &c->efficiency, &c->worst, &c->best};
    c->n = rep->nscales;
    c->varied = rep->scales[0].jitter.samples > 0 ? c->n : 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = array_new(c->n, sizeof **all[i]);
    for (size_t i = 0; i < c->n; i++)
        sorted[i] = &rep->scales[i];
    qsort(sorted, c->n, sizeof *sorted, by_gpus);
    for (size_t i = 0; i < c->n; i++) {
        const struct replay_scale *s = sorted[i];
        c->gpus[i] = (double)s->gpus;
        c->step[i] = s->time.span_ns / 1e3;
        c->low[i] = s->error.interval80[0] / 1e3;
        c->high[i] = s->error.interval80[1] / 1e3;
        c->p50[i] = s->jitter.p50_ns / 1e3;
        c->p95[i] = s->jitter.p95_ns / 1e3;
        c->efficiency[i] = 100 * s->efficiency;
        c->worst[i] = c->efficiency[i] * c->step[i] / c->high[i];
        c->best[i] = c->efficiency[i] * c->step[i] / c->low[i];
    }
    free(sorted);
}

static void curves_release(struct scale_curves *c)
{
    free(c->gpus);
    free(c->step);
    free(c->low);
    free(c->high);
    free(c->p50);
    free(c->p95);
    free(c->efficiency);
    free(c->worst);
    free(c->best);
}

static void put_curves(struct page *p, const struct replay *rep)
{
    struct scale_curves c;
    if (rep->nscales < 2)
        return;
    curves_init(&c, rep);
    const struct plot_series steps[] = {
        {"80 % interval", PLOT_BAND, 1, c.gpus, c.low, c.n, c.high},
        {"P50 to P95 of single iterations", PLOT_BAND, 2, c.gpus, c.p50, c.varied, c.p95},
        {"step", PLOT_LINE, 0, c.gpus, c.step, c.n, NULL},
        {"", PLOT_POINTS, 0, c.gpus, c.step, c.n, NULL},
    };
    const struct plot_series rates[] = {
        {"80 % interval of the step", PLOT_BAND, 1, c.gpus, c.worst, c.n, c.best},
        {"efficiency", PLOT_LINE, 0, c.gpus, c.efficiency, c.n, NULL},
        {"", PLOT_POINTS, 0, c.gpus, c.efficiency, c.n, NULL},
    };
    size_t mark = page_charts(p);
    plot_curves(&p->body, &(struct plot){.title = "Step time by GPUs",
                                         .x = {"gpus", PLOT_NUMBER, true},
                                         .y = {"us", PLOT_US, false},
                                         .x_text = "GPUs",
                                         .y_text = "step",
                                         .series = steps,
                                         .nseries = 4});
    plot_curves(&p->body, &(struct plot){.title = "Efficiency by GPUs",
                                         .x = {"gpus", PLOT_NUMBER, true},
                                         .y = {"efficiency_percent", PLOT_NUMBER, false},
                                         .x_text = "GPUs",
                                         .y_text = "efficiency, %",
                                         .series = rates,
                                         .nseries = 3});
    page_charts_end(p, mark);
    curves_release(&c);
}

/* ---- what a step consists of ---- */

/* Classes of colours of shares are their places in replay_parts. */
static void put_stacks(struct buf *b, const struct replay *rep)
{
    buf_puts(b, "<div class=keys>");
    for (int k = 0; k < REPLAY_PARTS; k++) {
        if (replay_part_seen(rep, k))
            html_key(b, k, replay_parts[k].name);
    }
    buf_puts(b, "</div>");
    for (size_t i = 0; i < rep->nscales; i++) {
        const struct replay_scale *s = &rep->scales[i];
        buf_printf(b, "<div class=row><span>%lld GPU%s</span><div class=stack>", (long long)s->gpus,
                   s->gpus > 1 ? "s" : "");
        for (int k = 0; k < REPLAY_PARTS; k++) {
            double share = 100 * replay_part_share(&s->time, k);
            if (share > 0)
                buf_printf(b, "<i class=k%d style=\"width:%.3f%%\" title=\"%s %.1f %%\"></i>", k,
                           share, replay_parts[k].name, share);
        }
        buf_puts(b, "</div></div>");
    }
}

/* The numbers of the chart. */
static void put_shares(struct buf *b, const struct replay *rep)
{
    struct table t;
    table_init(&t);
    table_column(&t, "GPUs", TABLE_RIGHT);
    for (int k = 0; k < REPLAY_PARTS; k++) {
        if (replay_part_seen(rep, k))
            table_column(&t, replay_parts[k].brief, TABLE_RIGHT);
    }
    for (size_t i = 0; i < rep->nscales; i++) {
        table_cell(&t, "%lld", (long long)rep->scales[i].gpus);
        for (int k = 0; k < REPLAY_PARTS; k++) {
            if (replay_part_seen(rep, k))
                table_cell(&t, "%.1f %%", 100 * replay_part_share(&rep->scales[i].time, k));
        }
    }
    page_table(b, &t, "Parts of a step by GPUs");
    table_release(&t);
}

/* Axes in the order of the first scale. */
static void put_axes(struct page *p, const struct replay *rep)
{
    const struct axis_times *axes = &rep->scales[0].axes;
    struct table t;
    if (axes->count == 0)
        return;
    page_heading(p, "groups", NULL, "Communication by group");
    buf_puts(&p->body, "<p class=note>In a step, and exposed in % of it</p>");
    table_init(&t);
    table_column(&t, "GPUs", TABLE_RIGHT);
    for (int k = 0; k < axes->count; k++) {
        table_column(&t, axes->list[k].name, TABLE_RIGHT);
        table_column(&t, "exposed", TABLE_RIGHT);
    }
    for (size_t i = 0; i < rep->nscales; i++) {
        table_cell(&t, "%lld", (long long)rep->scales[i].gpus);
        for (int k = 0; k < axes->count; k++) {
            const struct axis_time *axis = replay_axis(&rep->scales[i], axes->list[k].name);
            char total[32];
            table_cell(&t, "%s", axis == NULL ? "-" : text_ns(total, sizeof total, axis->total_ns));
            if (axis == NULL)
                table_cell(&t, "-");
            else
                table_cell(&t, "%.1f %%", replay_exposed_percent(&rep->scales[i], axis));
        }
    }
    page_table(&p->body, &t, "Communication by group");
    table_release(&t);
}

/* ---- the step ---- */

static void put_step(struct page *p, struct replay_html *h)
{
    struct replay_timeline *t = &h->step;
    struct buf title = BUF_INIT;
    char source[32], target[32];
    if (!h->drawn || t->out.nops == 0)
        return;
    buf_printf(&title, "One step: %s recorded, %s predicted on %lld GPU%s",
               text_ns(source, sizeof source, (double)t->source_ns),
               text_ns(target, sizeof target, (double)t->target_ns), (long long)h->gpus,
               h->gpus > 1 ? "s" : "");
    page_heading(p, "timeline", "Timeline", title.data);
    buf_printf(&p->body,
               "<p class=note>The last step of %zu of the %zu rank%s simulated; both begin at 0. "
               "Pointing at an operation shows it in both.%s</p>",
               t->shown, t->ranks, t->ranks > 1 ? "s that are" : " that is",
               t->full ? " More would not fit into a page." : "");
    page_timeline_put(&p->body, &t->out, false);
    buf_release(&title);
}

/* ---- what it rests on ---- */

static void put_lines(struct page *p, const char *id, const char *title, const char *const *lines)
{
    if (*lines == NULL)
        return;
    page_heading(p, id, title, title);
    buf_puts(&p->body, "<ul>");
    for (; *lines != NULL; lines++)
        html_item(&p->body, *lines);
    buf_puts(&p->body, "</ul>\n");
}

static void put_input(struct page *p, struct replay *rep, const struct run *run)
{
    struct arena *a = &rep->arena;
    struct buf *b = &p->body;
    page_heading(p, "input", NULL, "What was replayed");
    buf_puts(b, "<dl>");
    html_fact(b, "input", run->source);
    html_fact(b, "recording",
              arena_printf(a, "%zu of %d rank%s", replay_recorded_ranks(rep), rep->world,
                           rep->world > 1 ? "s" : ""));
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

static void put_path(struct page *p, struct replay *rep)
{
    const char *words;
    char gpus[64];
    page_heading(p, "path", "Critical path", "Critical path");
    buf_puts(&p->body, "<ul>");
    for (size_t at = 0; replay_next_path(rep, &at, gpus, &words);)
        html_item(&p->body, arena_printf(&rep->arena, "%s: %s", gpus, words));
    buf_puts(&p->body, "</ul>\n");
}

static void put_error(struct page *p, struct replay *rep)
{
    const char *bars[REPLAY_BARS_MAX + 1];
    page_heading(p, "error", "Error", "What the intervals rest on");
    buf_puts(&p->body, "<p>");
    html_text(&p->body, replay_error_text(rep, bars));
    buf_puts(&p->body, "</p><ul>");
    for (int i = 0; bars[i] != NULL; i++)
        html_item(&p->body, bars[i]);
    buf_puts(&p->body, "</ul>\n");
}

static void put_all(struct page *p, struct replay_html *h, struct replay *rep,
                    const struct run *run)
{
    put_title(p, rep);
    put_cards(p, rep);
    page_heading(p, "scaling", "Scaling", "Step time and efficiency by GPUs");
    put_table(p, rep);
    put_curves(p, rep);
    page_heading(p, "parts", "Parts of a step", "What a step consists of at each size");
    put_stacks(&p->body, rep);
    put_shares(&p->body, rep);
    put_path(p, rep);
    put_step(p, h);
    put_axes(p, rep);
    put_error(p, rep);
    put_lines(p, "assumptions", "Assumptions", replay_assumptions(rep));
    put_lines(p, "notes", "Notes", replay_notes(rep));
    put_input(p, rep, run);
}

int replay_html_close(struct replay_html *h, struct replay *rep, const struct run *run,
                      struct err *e)
{
    struct page p;
    int rc;
    page_init(&p, "replay", run->source);
    if (rep->nscales > 0)
        put_all(&p, h, rep, run);
    page_put(&p, h->sink);
    rc = sink_close(h->sink, e);
    page_release(&p);
    page_timeline_release(&h->step.out);
    free(h);
    return rc;
}

void replay_html_discard(struct replay_html *h)
{
    sink_discard(h->sink);
    page_timeline_release(&h->step.out);
    free(h);
}
