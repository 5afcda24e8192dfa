/* SPDX-License-Identifier: MIT */
#include "report/analyze_html.h"

#include "base/sink.h"
#include "report/analyze_html_internal.h"
#include "report/clock_text.h"

#include <string.h>

static const char *gpu_text(const struct analysis *a)
{
    const char *name = a->ranks[0].rank->gpu;
    for (size_t i = 1; i < a->nranks; i++) {
        if (strcmp(a->ranks[i].rank->gpu, name) != 0)
            return "several models";
    }
    return name[0] != '\0' ? name : NULL;
}

static void put_ranks_fact(struct buf *b, const struct analysis *a)
{
    const struct run *run = a->run;
    buf_printf(b, "<dt>ranks</dt><dd>%zu", run->nranks);
    if (run->nranks != (size_t)run->world_size)
        buf_printf(b, " of %d", run->world_size);
    if (a->nranks == 1 && run->nranks > 1)
        buf_printf(b, ", only rank %d below", a->ranks[0].rank->rank);
    buf_puts(b, "</dd>");
}

static void put_clocks_fact(struct buf *b, const struct run *run)
{
    char error[32], clocks[64];
    if (run->ndomains < 2)
        return;
    buf_printf(b, "<dt>clocks</dt><dd>%s, ", clock_text(clocks, sizeof clocks, run));
    if (run->clock_aligned)
        buf_printf(b, "compared to %s", text_ns(error, sizeof error, run->clock_residual_ns));
    else
        buf_puts(b, "not comparable");
    buf_puts(b, "</dd>");
}

static void put_head(struct buf *b, const struct analysis *a)
{
    const struct run *run = a->run;
    const struct machine *m = &a->machine;
    char span[32];
    buf_puts(b, "<h1>Analysis of ");
    html_text(b, run->source);
    buf_puts(b, "</h1><dl>");
    html_fact(b, "run", run->id[0] != '\0' ? run->id : NULL);
    html_fact(b, "trace", run->format);
    put_ranks_fact(b, a);
    html_fact(b, "GPU", gpu_text(a));
    if (m->net != NULL)
        html_fact(b, m->by == NETWORK_TOLD ? "network" : "network (the usual one)", m->net->name);
    put_clocks_fact(b, run);
    if (analysis_timed(a))
        html_fact(b, a->step_time.window.several ? "steps that count, in all" : "recording, mean",
                  text_ns(span, sizeof span, (double)a->total.span_ns / (double)a->nranks));
    buf_puts(b, "</dl>");
}

static void put_findings(struct buf *b, const struct analysis *a, const struct findings *f)
{
    const char *limits[COVERAGE_LIMITS];
    buf_puts(b, "<h2 id=findings>Findings</h2>");
    if (f->count == 0)
        buf_puts(b, "<p>No rule has anything to say.</p>");
    else
        buf_puts(b, "<ol>");
    for (size_t i = 0; i < f->count; i++)
        html_item(b, f->list[i].text);
    if (f->count > 0)
        buf_puts(b, "</ol>");
    coverage_limits(a, limits);
    for (size_t i = 0; limits[i] != NULL; i++) {
        buf_puts(b, "<p class=soft>Note: ");
        html_text(b, limits[i]);
        buf_puts(b, "</p>");
    }
}

/* What was lost, or guessed, when the traces were read. */
static void put_notes(struct buf *b, struct buf *links, const struct run *run)
{
    if (run->nnotes == 0)
        return;
    html_link(links, "notes", "Notes on the input");
    buf_puts(b, "<h2 id=notes>Notes on the input</h2><ul>");
    for (size_t i = 0; i < run->nnotes; i++) {
        buf_puts(b, run->notes[i].loss ? "<li><b>lost:</b> " : "<li>");
        html_text(b, run->notes[i].text);
        buf_puts(b, "</li>");
    }
    buf_puts(b, "</ul>");
}

/* A chart behind its heading and with its link. */
static void put_chart(struct buf *b, struct buf *links, const struct analysis *a, const char *name,
                      const char *title, void (*draw)(struct buf *, const struct analysis *))
{
    struct buf chart = BUF_INIT;
    draw(&chart, a);
    if (chart.len > 0) {
        html_link(links, name, title);
        buf_printf(b, "<h2 id=%s>%s</h2>", name, title);
        buf_put(b, chart.data, chart.len);
    }
    buf_release(&chart);
}

static void put_body(struct buf *b, struct buf *links, const struct analysis *a,
                     const struct findings *f)
{
    html_link(links, "findings", "Findings");
    put_findings(b, a, f);
    put_chart(b, links, a, "time", "Where each rank's time went", html_ranks);
    put_chart(b, links, a, "steps", "Steps over time", html_steps);
    html_sheets(b, links, a);
    put_notes(b, links, a->run);
}

int analyze_html(const struct analysis *a, const struct findings *f, const char *path,
                 struct err *e)
{
    struct buf page = BUF_INIT, body = BUF_INIT, links = BUF_INIT;
    struct sink *sink;
    int rc = sink_open(&sink, path, e);
    if (rc < 0)
        return -1;
    put_body(&body, &links, a, f);
    html_begin(&page, "specter analyze");
    put_head(&page, a);
    buf_puts(&page, "<nav aria-label=Contents>");
    buf_put(&page, links.data, links.len);
    buf_puts(&page, "</nav>");
    buf_put(&page, body.data, body.len);
    html_end(&page);
    sink_put(sink, page.data, page.len);
    rc = sink_close(sink, e);
    buf_release(&page);
    buf_release(&body);
    buf_release(&links);
    return rc;
}
