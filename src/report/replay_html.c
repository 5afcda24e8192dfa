/* SPDX-License-Identifier: MIT */
#include "report/replay_html.h"

#include "base/sink.h"
#include "report/replay_html_internal.h"
#include "report/table.h"
#include "sim/replay/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct replay_html {
    struct sink *sink;
    struct buf step; /* drawn while the simulation can be asked */
    int64_t gpus;
    bool drawn;
};

int replay_html_open(struct replay_html **out, const char *path, struct err *e)
{
    struct replay_html *h = calloc(1, sizeof *h);
    if (h == NULL)
        die("out of memory");
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
    if (h->drawn || scale == NULL || scale->scale != job->rep->first_scale)
        return;
    h->drawn = true;
    h->gpus = scale->gpus;
    html_step(&h->step, job, scale->rank);
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
    char time[32], bar[32];
    buf_printf(b,
               "<div class=wide><table><tr><th>GPUs<th>iteration<th>error%s<th>speed-up"
               "<th>efficiency",
               rep->scales[0].jitter.samples > 0 ? "<th>P50<th>P95" : "");
    buf_printf(b, "%s%s</tr>", w->tokens > 0 ? "<th>tokens/s" : "",
               w->missing != NULL ? ""
               : w->given         ? "<th>MFU"
                                  : "<th>HFU");
    for (size_t i = 0; i < rep->nscales; i++) {
        const struct replay_scale *s = &rep->scales[i];
        buf_printf(b, "<tr><td>%lld<td>%s<td>&plusmn; %s%s", (long long)s->gpus,
                   text_ns(time, sizeof time, s->time.span_ns),
                   isfinite(s->error.share) ? replay_percent(bar, sizeof bar, s->error.share) : "?",
                   isfinite(s->error.share) && replay_unmeasured(s) ? " ?" : "");
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

static void put_axis(struct buf *b, const struct replay_scale *s, const char *name)
{
    const struct axis_time *axis = replay_axis(s, name);
    char total[32];
    if (axis == NULL)
        buf_puts(b, "<td>-<td>-");
    else
        buf_printf(b, "<td>%s<td>%.1f %%", text_ns(total, sizeof total, axis->total_ns),
                   replay_exposed_percent(s, axis));
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
        for (int k = 0; k < axes->count; k++)
            put_axis(b, &rep->scales[i], axes->list[k].name);
        buf_puts(b, "</tr>");
    }
    buf_puts(b, "</table></div>");
}

static void put_paths(struct buf *b, struct replay *rep)
{
    const char *words;
    char gpus[64];
    buf_puts(b, "<h2>Critical path</h2><ul>");
    for (size_t at = 0; replay_next_path(rep, &at, gpus, &words);)
        html_item(b, arena_printf(&rep->arena, "%s: %s", gpus, words));
    buf_puts(b, "</ul>");
}

static void put_bars(struct buf *b, struct replay *rep)
{
    const char *bars[REPLAY_BARS_MAX + 1];
    buf_puts(b, "<h2>Error</h2><p>");
    html_text(b, replay_error_text(rep, bars));
    buf_puts(b, "</p><ul>");
    for (int i = 0; bars[i] != NULL; i++)
        html_item(b, bars[i]);
    buf_puts(b, "</ul>");
}

static void put_lines(struct buf *b, const char *title, const struct replay_lines *lines)
{
    if (lines->count == 0)
        return;
    buf_printf(b, "<h2>%s</h2><ul>", title);
    for (size_t i = 0; i < lines->count; i++)
        html_item(b, lines->list[i].text);
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

static void put_page(struct buf *b, const struct replay_html *h, struct replay *rep,
                     const struct run *run)
{
    html_begin(b, "specter replay");
    if (rep != NULL) {
        put_head(b, rep, run);
        buf_puts(b, "<h2>Scaling</h2>");
        html_scaling(b, rep);
        put_table(b, rep);
        buf_puts(b, "<h2>Where the step goes</h2>");
        html_shares(b, rep);
        put_shares(b, rep);
        put_paths(b, rep);
        put_step(b, h);
        put_axes(b, rep);
        put_bars(b, rep);
        put_lines(b, "Assumptions", &rep->assumptions);
        put_lines(b, "Notes", &rep->notes);
    }
    html_end(b);
}

int replay_html_close(struct replay_html *h, struct replay *rep, const struct run *run,
                      struct err *e)
{
    struct buf page = BUF_INIT;
    int rc;
    put_page(&page, h, rep, run);
    sink_put(h->sink, page.data, page.len);
    rc = sink_close(h->sink, e);
    buf_release(&page);
    buf_release(&h->step);
    free(h);
    return rc;
}
