/* SPDX-License-Identifier: MIT */
#include "report/analyze_report.h"

#include "base/arena.h"
#include "base/sink.h"
#include "report/analyze_sheets.h"
#include "report/html.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

#define ROWS_SHOWN 50
#define TEXT_SHOWN 64 /* columns of a cell; what is longer opens on demand */

static void html_link(struct buf *links, const char *name, const char *title)
{
    buf_printf(links, "<a href=\"#%s\">", name);
    html_text(links, title);
    buf_puts(links, "</a> ");
}

static const char *side(enum table_align align)
{
    return align == TABLE_LEFT ? " class=left" : "";
}

/* Names of C++ kernels fill a screen each. */
static void put_cell(struct buf *b, const char *text)
{
    char brief[4 * TEXT_SHOWN + 4];
    text_safe(brief, sizeof brief, text, TEXT_SHOWN);
    if (strcmp(brief, text) == 0) {
        html_text(b, text);
        return;
    }
    buf_puts(b, "<details><summary>");
    html_text(b, brief);
    buf_puts(b, "</summary>");
    html_text(b, text);
    buf_puts(b, "</details>");
}

static void html_table(struct buf *b, const struct table *t)
{
    buf_puts(b, "<div class=wide><table><tr>");
    for (size_t c = 0; c < t->nheads; c++) {
        buf_printf(b, "<th%s>", side(t->heads[c].align));
        html_text(b, t->heads[c].title);
    }
    for (size_t i = 0; i < t->ncells; i++) {
        buf_printf(b, "%s<td%s>", i % t->nheads == 0 ? "</tr>\n<tr>" : "",
                   side(t->heads[i % t->nheads].align));
        put_cell(b, t->cells[i]);
    }
    buf_puts(b, "</tr></table></div>");
}

static void html_sheets(struct buf *b, struct buf *links, const struct analysis *a)
{
    for (size_t i = 0; i < ANALYZE_SHEETS; i++) {
        struct sheet s;
        analyze_sheets[i].make(&s, a);
        if (sheet_rows(&s) > 0) {
            /* Titles explain after a colon; the table of contents needs the name alone. */
            char anchor[64], title[64];
            snprintf(anchor, sizeof anchor, "t-%s", s.name);
            snprintf(title, sizeof title, "%.*s", (int)strcspn(s.title, ":;"), s.title);
            html_link(links, anchor, title);
            size_t all = sheet_rows(&s);
            struct table t;
            const char *unit;
            table_init(&t);
            unit = sheet_table(&s, ROWS_SHOWN, &t);
            buf_printf(b, "<h2 id=t-%s>", s.name);
            html_text(b, s.title);
            buf_printf(b, "%s%s</h2>", unit != NULL ? ", " : "", unit != NULL ? unit : "");
            html_table(b, &t);
            if (all > ROWS_SHOWN)
                buf_printf(
                    b,
                    "<p class=soft>The first %d of %zu rows; all: <code>specter analyze --table %s "
                    "--format csv</code></p>",
                    ROWS_SHOWN, all, s.name);
            for (size_t k = 0; k < s.nnotes; k++) {
                buf_puts(b, "<p class=soft>");
                html_text(b, s.notes[k]);
                buf_puts(b, "</p>");
            }
            table_release(&t);
        }
        sheet_release(&s);
    }
}

/* ---- the exact split of each rank's time as a bar ---- */

/* Lengths compare: the longest span is the full width. */

#define RANKS_SHOWN 64
#define WIDTH 1000

/* X(id, colour, words): what the bar is made of; together the span. */
#define PARTS(X)                                   \
    X(compute, 0, "compute")                       \
    X(moves, 2, "communication moves, exposed")    \
    X(waits, 4, "waiting for stragglers, exposed") \
    X(memory, 3, "copies, exposed")                \
    X(idle, 7, "no traced work runs")

enum {
#define X(id, colour, words) PART_##id,
    PARTS(X)
#undef X
        PART_COUNT
};

static const struct {
    int colour;
    const char *words;
} parts[] = {
#define X(id, colour, words) {colour, words},
    PARTS(X)
#undef X
};

static void parts_of(const struct time_breakdown *s, int64_t out[PART_COUNT])
{
    int64_t waits = s->wait_known ? s->exposed_wait_ns : 0;
    out[PART_compute] = s->compute_ns;
    out[PART_moves] = s->exposed_comm_ns - waits;
    out[PART_waits] = waits;
    out[PART_memory] = s->exposed_memory_ns;
    out[PART_idle] = s->idle_ns;
}

static void put_rank_bar(struct buf *b, const struct time_breakdown *s, double scale)
{
    int64_t ns[PART_COUNT], at_ns = 0;
    char time[32];
    parts_of(s, ns);
    for (int k = 0; k < PART_COUNT; k++) {
        if (ns[k] > 0)
            buf_printf(b,
                       "<rect class=k%d x=%.2f width=%.2f height=10><title>%s: %s, %.1f "
                       "%%</title></rect>",
                       parts[k].colour, (double)at_ns * scale, (double)ns[k] * scale,
                       parts[k].words, text_ns(time, sizeof time, (double)ns[k]),
                       100 * share_of(ns[k], s->span_ns));
        at_ns += ns[k];
    }
}

/* The extreme ranks, and others evenly between first and last. */
static void choose(const struct analysis *a, bool *chosen)
{
    size_t list[RANK_EXTREMES], extremes, others, n = a->nranks;
    extremes = n > RANKS_SHOWN ? rank_extremes(a, list) : 0;
    others = n > RANKS_SHOWN ? RANKS_SHOWN - extremes : n;
    for (size_t i = 0; i < extremes; i++)
        chosen[list[i]] = true;
    for (size_t i = 0; i < others; i++)
        chosen[others > 1 ? i * (n - 1) / (others - 1) : 0] = true;
}

static void put_bars(struct buf *b, const struct analysis *a)
{
    int64_t longest_ns = 1;
    bool *chosen = array_new(a->nranks, sizeof *chosen);
    choose(a, chosen);
    for (size_t i = 0; i < a->nranks; i++)
        longest_ns =
            a->ranks[i].breakdown.span_ns > longest_ns ? a->ranks[i].breakdown.span_ns : longest_ns;
    buf_puts(b, "<div class=bars>");
    for (size_t i = 0; i < a->nranks; i++) {
        if (chosen[i]) {
            const struct rank_result *r = &a->ranks[i];
            char span[32];
            bool timed = r->breakdown.timed_ops > 0;
            buf_printf(b,
                       "<div class=row><span>rank %d</span><svg viewBox=\"0 0 %d 10\" "
                       "preserveAspectRatio=none>",
                       r->rank->rank, WIDTH);
            if (timed)
                put_rank_bar(b, &r->breakdown, (double)WIDTH / (double)longest_ns);
            buf_printf(b, "</svg><span>%s</span></div>\n",
                       timed ? text_ns(span, sizeof span, (double)r->breakdown.span_ns)
                             : "no times");
        }
    }
    buf_puts(b, "</div>");
    free(chosen);
}

/* Smallest, middle and largest of one time; `known`: the trace holds it. */
static void spread_row(struct table *t, const struct analysis *a, const char *name, size_t offset,
                       bool known)
{
    struct time_breakdown spread[3];
    char text[32];
    rank_spread(a, offset, spread);
    table_cell(t, "%s", name);
    for (int k = 0; k < 3; k++) {
        int64_t ns;
        memcpy(&ns, (const char *)&spread[k] + offset, sizeof ns);
        table_cell(t, "%s", text_ns(text, sizeof text, known ? (double)ns : NAN));
    }
}

static void html_ranks(struct buf *b, const struct analysis *a)
{
    int64_t ns[PART_COUNT];
    struct table t;
    if (!analysis_timed(a))
        return;
    parts_of(&a->total, ns);
    buf_puts(b, "<div class=keys>");
    for (int k = 0; k < PART_COUNT; k++) {
        char words[64];
        snprintf(words, sizeof words, "%s %.1f %%", parts[k].words,
                 100 * share_of(ns[k], a->total.span_ns));
        if (ns[k] > 0)
            html_key(b, parts[k].colour, words);
    }
    buf_puts(b, "</div>");
    put_bars(b, a);
    if (a->nranks <= RANKS_SHOWN)
        return;
    buf_printf(
        b,
        "<p class=soft>At most %d of %zu ranks: those with the longest total, compute, exposed "
        "communication, exposed copies and idle time, and others evenly between.</p>",
        RANKS_SHOWN, a->nranks);
    /* Each column for itself. */
    bool copies = a->coverage & COVER_MEMORY;
    table_init(&t);
    table_column(&t, "of all ranks", TABLE_LEFT);
    table_column(&t, "shortest", TABLE_RIGHT);
    table_column(&t, "median", TABLE_RIGHT);
    table_column(&t, "longest", TABLE_RIGHT);
    spread_row(&t, a, "total", offsetof(struct time_breakdown, span_ns), true);
    spread_row(&t, a, "compute", offsetof(struct time_breakdown, compute_ns), true);
    spread_row(&t, a, "exposed communication", offsetof(struct time_breakdown, exposed_comm_ns),
               true);
    spread_row(&t, a, "of it, waiting for stragglers",
               offsetof(struct time_breakdown, exposed_wait_ns), a->total.wait_known);
    spread_row(&t, a, "exposed copies", offsetof(struct time_breakdown, exposed_memory_ns), copies);
    spread_row(&t, a, "no traced work", offsetof(struct time_breakdown, idle_ns), true);
    html_table(b, &t);
    table_release(&t);
}

/* ---- steps over time ---- */

/* A bar a step, as long as on its slowest rank. Where there are more than a screen has room for,
 * the longest of several in a row. */

#define BARS_MAX 320
#define HEIGHT 1000.0
#define TICKS 4

/* Whatever stands for one bar: steps [first, end), of which `longest` is the longest. */
struct bar {
    size_t first, end;
    const struct step_row *longest;
};

static struct bar bar_at(const struct steps *s, size_t first, size_t end)
{
    struct bar bar = {first, end < s->count ? end : s->count, &s->list[first]};
    for (size_t i = first + 1; i < bar.end; i++) {
        if (s->list[i].max_ns > bar.longest->max_ns)
            bar.longest = &s->list[i];
    }
    return bar;
}

static void put_step_name(struct buf *b, const struct step_row *row)
{
    html_text(b, row->name);
    if (row->nth > 0)
        buf_printf(b, " #%u", row->nth);
}

static double height_of(double ns, double top)
{
    return HEIGHT * fmin(fmax(ns / top, 0), 1);
}

static void put_step_bar(struct buf *b, const struct bar *bar, size_t nth, double top)
{
    const struct step_row *row = bar->longest;
    double x = 10.0 * (double)nth, most = height_of((double)row->max_ns, top);
    double least = row->ranks > 1 ? height_of((double)row->min_ns, top) : most;
    char longest[32], shortest[32];
    buf_puts(b, "<g><title>");
    if (bar->end - bar->first > 1)
        buf_printf(b, "steps %zu to %zu, the longest: ", bar->first + 1, bar->end);
    put_step_name(b, row);
    buf_printf(b, ": %s", text_ns(longest, sizeof longest, (double)row->max_ns));
    if (row->max_ns > row->min_ns)
        buf_printf(b, " on rank %d, %s on rank %d", row->slowest,
                   text_ns(shortest, sizeof shortest, (double)row->min_ns), row->lightest);
    if (row->device_max_ns != UNKNOWN_NS)
        buf_printf(b, "; device %s", text_ns(longest, sizeof longest, (double)row->device_max_ns));
    buf_puts(b, "</title>");
    if (most > least)
        buf_printf(b, "<rect class=k4 x=%.1f width=8 y=%.1f height=%.1f />", x + 1, HEIGHT - most,
                   most - least);
    buf_printf(b, "<rect class=k1 x=%.1f width=8 y=%.1f height=%.1f />", x + 1, HEIGHT - least,
               least);
    if (row->device_max_ns != UNKNOWN_NS)
        buf_printf(b, "<path class=tick d=\"M%.1f %.1fh8\"/>", x + 1,
                   HEIGHT - height_of((double)row->device_max_ns, top));
    buf_puts(b, "</g>\n");
}

static void put_drawing(struct buf *b, const struct steps *s, size_t each, double top)
{
    size_t bars = (s->count + each - 1) / each;
    buf_printf(b,
               "<svg viewBox=\"0 0 %zu %.0f\" preserveAspectRatio=none role=img "
               "aria-label=\"Length of each step\">",
               10 * bars, HEIGHT);
    for (int i = 0; i <= TICKS; i++)
        buf_printf(b, "<path class=axis d=\"M0 %.1fh%zu\"/>", HEIGHT * i / TICKS, 10 * bars);
    for (size_t i = 0; i < bars; i++) {
        struct bar bar = bar_at(s, i * each, (i + 1) * each);
        put_step_bar(b, &bar, i, top);
    }
    buf_puts(b, "</svg><div class=x><span>");
    put_step_name(b, &s->list[0]);
    buf_puts(b, "</span><span>");
    if (s->count > 1)
        put_step_name(b, &s->list[s->count - 1]);
    buf_puts(b, "</span></div></div>");
}

static void html_steps(struct buf *b, const struct analysis *a)
{
    const struct steps *s = &a->steps;
    double longest = 0;
    bool several = false, device = false;
    size_t each = (s->count + BARS_MAX - 1) / BARS_MAX;
    char label[32];
    double top;
    if (s->count == 0)
        return;
    for (size_t i = 0; i < s->count; i++) {
        const struct step_row *row = &s->list[i];
        longest = fmax(longest, (double)row->max_ns);
        if (row->device_max_ns != UNKNOWN_NS)
            longest = fmax(longest, (double)row->device_max_ns);
        device |= row->device_max_ns != UNKNOWN_NS;
        several |= row->ranks > 1;
    }
    top = html_round_up(longest);
    buf_puts(b, "<div class=keys>");
    html_key(b, 1, several ? "range of the host, on the fastest rank" : "range of the host");
    if (several)
        html_key(b, 4, "so much longer on the slowest");
    if (device)
        buf_puts(b, "<span class=key><i class=line></i>the device, slowest rank</span>");
    buf_puts(b, "</div>");
    /* Labels stand beside the drawing, which is stretched to the page's width. */
    buf_puts(b, "<div class=plot><div class=y>");
    for (int i = TICKS; i >= 0; i--)
        buf_printf(b, "<span>%s</span>", text_ns(label, sizeof label, top * i / TICKS));
    buf_puts(b, "</div>");
    put_drawing(b, s, each, top);
    if (each > 1)
        buf_printf(b, "<p class=soft>%zu steps; a bar is the longest of %zu in a row.</p>",
                   s->count, each);
    if (!a->run->clock_aligned)
        buf_puts(b,
                 "<p class=soft>Clocks of the ranks cannot be compared: steps stand in the order "
                 "in which they were read.</p>");
}

/* ---- the page ---- */

static const char *gpu_text(const struct analysis *a)
{
    const char *name = a->ranks[0].rank->gpu;
    for (size_t i = 1; i < a->nranks; i++) {
        if (strcmp(a->ranks[i].rank->gpu, name) != 0)
            return "several models";
    }
    return name[0] != '\0' ? name : NULL;
}

static void put_head(struct buf *b, const struct analysis *a)
{
    const struct run *run = a->run;
    const struct machine *m = &a->machine;
    char span[32], error[32], clocks[64];
    buf_puts(b, "<h1>Analysis of ");
    html_text(b, run->source);
    buf_puts(b, "</h1><dl>");
    html_fact(b, "run", run->id[0] != '\0' ? run->id : NULL);
    html_fact(b, "trace", run->format);
    buf_printf(b, "<dt>ranks</dt><dd>%zu", run->nranks);
    if (run->nranks != (size_t)run->world_size)
        buf_printf(b, " of %d", run->world_size);
    if (a->nranks == 1 && run->nranks > 1)
        buf_printf(b, ", only rank %d below", a->ranks[0].rank->rank);
    buf_puts(b, "</dd>");
    html_fact(b, "GPU", gpu_text(a));
    if (m->net != NULL)
        html_fact(b, m->by == NETWORK_TOLD ? "network" : "network (the usual one)", m->net->name);
    if (run->ndomains >= 2) {
        buf_printf(b, "<dt>clocks</dt><dd>%s, ", clock_text(clocks, sizeof clocks, run));
        if (run->clock_aligned)
            buf_printf(b, "compared to %s", text_ns(error, sizeof error, run->clock_residual_ns));
        else
            buf_puts(b, "not comparable");
        buf_puts(b, "</dd>");
    }
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

/* A chart after its heading and with its link. */
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

int analyze_html(const struct analysis *a, const struct findings *f, const char *path,
                 struct err *e)
{
    struct buf page = BUF_INIT, body = BUF_INIT, links = BUF_INIT;
    struct sink *sink;
    int rc = sink_open(&sink, path, e);
    if (rc < 0)
        return -1;
    html_link(&links, "findings", "Findings");
    put_findings(&body, a, f);
    put_chart(&body, &links, a, "time", "Where each rank's time went", html_ranks);
    put_chart(&body, &links, a, "steps", "Steps over time", html_steps);
    html_sheets(&body, &links, a);
    /* What was lost, or guessed, when the traces were read. */
    const struct run *run = a->run;
    if (run->nnotes != 0) {
        html_link(&links, "notes", "Notes on the input");
        buf_puts(&body, "<h2 id=notes>Notes on the input</h2><ul>");
        for (size_t i = 0; i < run->nnotes; i++) {
            buf_puts(&body, run->notes[i].loss ? "<li><b>lost:</b> " : "<li>");
            html_text(&body, run->notes[i].text);
            buf_puts(&body, "</li>");
        }
        buf_puts(&body, "</ul>");
    }
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
