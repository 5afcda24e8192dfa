/* SPDX-License-Identifier: MIT
 *
 * Charts of the page of `specter analyze`: each rank's time as a bar, each step as one.
 */
#include "report/analyze_page.h"

#include "base/arena.h"
#include "report/analyze_report.h"
#include "report/html.h"
#include "report/plot.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the exact split of each rank's time as a bar ---- */

/* Lengths compare: the longest span is the full width. */

#define RANKS_SHOWN 64

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

/* Widths are in percent of the longest span. */
static void put_rank_bar(struct buf *b, const struct time_breakdown *s, int64_t longest_ns)
{
    int64_t ns[PART_COUNT];
    char time[32];
    parts_of(s, ns);
    for (int k = 0; k < PART_COUNT; k++) {
        if (ns[k] > 0)
            buf_printf(b, "<i class=k%d style=\"width:%.3f%%\" title=\"%s: %s, %.1f %%\"></i>",
                       parts[k].colour, 100 * share_of(ns[k], longest_ns), parts[k].words,
                       text_ns(time, sizeof time, (double)ns[k]),
                       100 * share_of(ns[k], s->span_ns));
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
            buf_printf(b, "<div class=row><span>rank %d</span><div class=stack>", r->rank->rank);
            if (timed)
                put_rank_bar(b, &r->breakdown, longest_ns);
            buf_printf(b, "</div><span>%s</span></div>\n",
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

void analyze_put_ranks(struct page *p, const struct analysis *a)
{
    struct buf *b = &p->body;
    int64_t ns[PART_COUNT];
    struct table t;
    if (!analysis_timed(a))
        return;
    parts_of(&a->total, ns);
    page_heading(p, "time", "Ranks",
                 a->nranks > 1 ? "Where each rank's time went" : "Where the time went");
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
        "<p class=note>At most %d of %zu ranks: those with the longest total, compute, exposed "
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
    page_table(b, &t, "Spread over all ranks");
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

void analyze_put_steps(struct page *p, const struct analysis *a)
{
    struct buf *b = &p->body;
    const struct steps *s = &a->steps;
    double longest = 0;
    bool several = false, device = false;
    size_t each = (s->count + BARS_MAX - 1) / BARS_MAX;
    char label[32];
    double top;
    if (s->count < 2)
        return;
    for (size_t i = 0; i < s->count; i++) {
        const struct step_row *row = &s->list[i];
        longest = fmax(longest, (double)row->max_ns);
        if (row->device_max_ns != UNKNOWN_NS)
            longest = fmax(longest, (double)row->device_max_ns);
        device |= row->device_max_ns != UNKNOWN_NS;
        several |= row->ranks > 1;
    }
    top = plot_round_up(longest);
    page_heading(p, "steps", "Steps", "Steps over time");
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
        buf_printf(b, "<p class=note>%zu steps; a bar is the longest of %zu in a row.</p>",
                   s->count, each);
    if (!a->run->clock_aligned)
        buf_puts(b,
                 "<p class=note>Clocks of the ranks cannot be compared: steps stand in the order "
                 "in which they were read.</p>");
}
