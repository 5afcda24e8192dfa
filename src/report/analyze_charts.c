/* SPDX-License-Identifier: MIT
 *
 * Charts of the page of `specter analyze`: each rank's time as a bar, each step as one, bus
 * bandwidth by size, ranks by steps as heat maps, the roofline of GEMMs.
 */
#include "report/analyze_internal.h"

#include "base/arena.h"
#include "report/op_text.h"
#include "report/page.h"
#include "report/plot.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- each rank's time as a bar ---- */

#define RANKS_SHOWN 64

/* X(id, colour, words): the parts of a bar, which add up to the rank's span. */
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

/* The longest span has the full width, so that bars can be compared. */
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

/* Chooses the extreme ranks, and others at even distances from the first to the last. */
static void choose_ranks(const struct analysis *a, bool *chosen)
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
    choose_ranks(a, chosen);
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

/* A row of the smallest, the median and the largest value of one time, which are of different ranks
 * from row to row; `known`: the trace holds it. */
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

static void put_ranks(struct page *p, const struct analysis *a)
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

/* Each step is a bar, as high as its time on the slowest rank. Where there are more steps than a
 * screen has room for, a bar is the longest of several steps in a row. */

#define BARS_MAX 320
#define HEIGHT 1000.0
#define TICKS 4

/* The steps of one bar: steps [first, end), of which `longest` is the longest. */
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

static void put_steps(struct page *p, const struct analysis *a)
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

/* ---- collectives ---- */

#define COLLECTIVES_SHOWN 6 /* operations on groups of one size: a chart each */
#define CURVE_POINTS 33
#define BYTES_MIN 64 /* smaller ones are barriers, whose bandwidth says nothing */

/* Rows of one operation on groups of one size: one chart. */
static bool same_chart(const struct comm_row *a, const struct comm_row *b)
{
    return a->op == b->op && a->comm_size == b->comm_size && a->nodes == b->nodes;
}

static bool has_rate(const struct comm_row *row)
{
    return row->bytes_known && row->bytes >= BYTES_MIN && isfinite(row->busbw_GBps) &&
           row->comm_size > 1;
}

/* The predicted curve from half the smallest size to twice the largest one. */
struct predicted_curve {
    double x[CURVE_POINTS], y[CURVE_POINTS], low[CURVE_POINTS], high[CURVE_POINTS];
};

static void predict(struct predicted_curve *c, const struct analysis *a, const struct comm_row *row,
                    double least, double most)
{
    for (int i = 0; i < CURVE_POINTS; i++) {
        struct comm_expected e;
        c->x[i] = least * pow(most / least, (double)i / (CURVE_POINTS - 1));
        e = comm_row_expected(&a->machine, row, c->x[i]);
        c->y[i] = e.busbw_GBps;
        c->low[i] = e.busbw_GBps / e.factor80;
        c->high[i] = e.busbw_GBps * e.factor80;
    }
}

/* The chart of the row `first` and of the later rows that share it. */
static void put_collective(struct buf *b, const struct analysis *a, size_t first)
{
    const struct comm_rows *rows = &a->collectives;
    const struct comm_row *row = &rows->list[first];
    struct predicted_curve curve;
    double *x = array_new(rows->count, sizeof *x), *y = array_new(rows->count, sizeof *y);
    double least = INFINITY, most = 0;
    char title[160];
    size_t n = 0, top = 0;
    for (size_t i = first; i < rows->count; i++) {
        if (!same_chart(row, &rows->list[i]) || !has_rate(&rows->list[i]))
            continue;
        x[n] = (double)rows->list[i].bytes;
        y[n] = rows->list[i].busbw_GBps;
        least = fmin(least, x[n]);
        most = fmax(most, x[n]);
        top = y[n] > y[top] ? n : top;
        n++;
    }
    predict(&curve, a, row, least / 2, most * 2);
    const size_t points = isfinite(curve.y[CURVE_POINTS - 1]) ? CURVE_POINTS : 0;
    const size_t widths = points > 0 && isfinite(curve.low[CURVE_POINTS - 1]) ? CURVE_POINTS : 0;
    snprintf(title, sizeof title, "%s on %d ranks reaches %.3g GB/s", comm_op_text(row->op),
             row->comm_size, y[top]);
    const struct plot_series series[] = {
        {"80 % interval of the prediction", PLOT_BAND, 1, curve.x, curve.low, widths, curve.high},
        {"predicted", PLOT_LINE, 0, curve.x, curve.y, points, NULL},
        {"measured", PLOT_POINTS, 2, x, y, n, NULL},
    };
    plot_curves(b, &(struct plot){.title = title,
                                  .x = {"bytes", PLOT_BYTES, true},
                                  .y = {"busbw_GBps", PLOT_GBPS, false},
                                  .x_text = "size",
                                  .y_text = "bus bandwidth, GB/s",
                                  .series = series,
                                  .nseries = 3});
    free(x);
    free(y);
}

static void put_collectives(struct page *p, const struct analysis *a)
{
    const struct comm_rows *rows = &a->collectives;
    size_t charts = 0;
    for (size_t i = 0; i < rows->count && charts < COLLECTIVES_SHOWN; i++) {
        bool before = !has_rate(&rows->list[i]);
        for (size_t k = 0; k < i && !before; k++)
            before = has_rate(&rows->list[k]) && same_chart(&rows->list[k], &rows->list[i]);
        if (before)
            continue;
        if (charts++ == 0) {
            page_heading(p, "bandwidth", "Bandwidth", "Bandwidth of collectives by size");
            buf_puts(&p->body, "<div class=charts>");
        }
        put_collective(&p->body, a, i);
    }
    if (charts > 0)
        buf_puts(&p->body, "</div>\n");
}

/* ---- ranks by steps ---- */

/* Writes a heat map, whose rows are the ranks. */
static void put_grid(struct buf *b, const struct run *run, struct plot_heat map)
{
    const char **names = array_new(run->nranks, sizeof *names);
    struct arena arena;
    arena_init(&arena);
    for (size_t r = 0; r < run->nranks; r++)
        names[r] = arena_printf(&arena, "%d", run->ranks[r].rank);
    map.rows = names;
    map.row_name = "rank";
    map.nrows = run->nranks;
    plot_heat(b, &map);
    free(names);
    arena_release(&arena);
}

static void put_grids(struct page *p, const struct analysis *a)
{
    struct step_grid g;
    size_t mark;
    if (a->run->nranks < 2)
        return;
    step_grid_init(&g, &a->comm, &a->job_steps);
    if (g.nsteps > 0 || g.nskews > 1) {
        page_heading(p, "grid", "Ranks x steps",
                     g.by_collective ? "Who comes late to each collective"
                                     : "Steps and arrivals of each rank");
        mark = page_charts(p);
        if (g.nsteps > 0)
            put_grid(&p->body, a->run,
                     (struct plot_heat){.title = "Step time by rank",
                                        .column_name = "step",
                                        .ns = g.step_ns,
                                        .ncolumns = g.nsteps});
        if (g.nskews > 1)
            put_grid(
                &p->body, a->run,
                (struct plot_heat){
                    .title = g.by_collective
                                 ? "Arrival after the first rank, by collective"
                                 : "Arrival after the first rank, mean of the step's collectives",
                    .column_name = g.by_collective ? "collective" : "step",
                    .ns = g.skew_ns,
                    .ncolumns = g.nskews,
                    .from_zero = true});
        page_charts_end(p, mark);
    }
    step_grid_release(&g);
}

/* ---- roofline ---- */

#define ROOFS 3
#define ROOF_POINTS 3

/* A roof: the memory's slope up to a type's dense peak. */
struct roof {
    double peak_tflops, bw_GBps;
    char name[64];
    double x[ROOF_POINTS], y[ROOF_POINTS];
};

static double intensity_of(const struct gemm_row *g)
{
    return gemm_row_flops(g) * (double)g->limited / g->bytes;
}

static bool has_roof(const struct gemm_row *g)
{
    return g->limited > 0 && g->bytes > 0 && g->bytes_ns > 0 && g->peak_tflops > 0 && g->tflops > 0;
}

static size_t find_roofs(const struct work *w, struct roof roofs[ROOFS])
{
    size_t n = 0;
    for (size_t i = 0; i < w->ngemms; i++) {
        const struct gemm_row *g = &w->gemms[i];
        bool known = !has_roof(g) || n == ROOFS;
        for (size_t k = 0; k < n && !known; k++)
            known = roofs[k].peak_tflops == g->peak_tflops;
        if (known)
            continue;
        roofs[n] = (struct roof){.peak_tflops = g->peak_tflops, .bw_GBps = g->bytes / g->bytes_ns};
        snprintf(roofs[n].name, sizeof roofs[n].name, "roof of %s: %.4g TFLOPS, %.4g GB/s",
                 comm_gemm_dtype_text(g->dtype, g->compute), g->peak_tflops, roofs[n].bw_GBps);
        n++;
    }
    return n;
}

static void put_roofline(struct page *p, const struct analysis *a)
{
    const struct work *w = &a->work;
    struct roof roofs[ROOFS];
    struct plot_series series[ROOFS + 1];
    double *x = array_new(w->ngemms, sizeof *x), *y = array_new(w->ngemms, sizeof *y);
    double least = INFINITY, most = 0;
    size_t n = 0, nroofs = find_roofs(w, roofs);
    for (size_t i = 0; i < w->ngemms; i++) {
        if (!has_roof(&w->gemms[i]))
            continue;
        x[n] = intensity_of(&w->gemms[i]);
        y[n] = w->gemms[i].tflops;
        least = fmin(least, x[n]);
        most = fmax(most, x[n++]);
    }
    for (size_t k = 0; k < nroofs; k++) {
        struct roof *r = &roofs[k];
        const double ridge = 1e3 * r->peak_tflops / r->bw_GBps;
        const double at[ROOF_POINTS] = {fmin(least, ridge) / 2, ridge, 2 * fmax(most, ridge)};
        for (int i = 0; i < ROOF_POINTS; i++) {
            r->x[i] = at[i];
            r->y[i] = fmin(r->peak_tflops, at[i] * r->bw_GBps / 1e3);
        }
        series[k] = (struct plot_series){r->name, PLOT_LINE, (int)k, r->x, r->y, ROOF_POINTS, NULL};
    }
    series[nroofs] = (struct plot_series){"GEMM shapes", PLOT_POINTS, 2, x, y, n, NULL};
    if (n > 0) {
        page_heading(p, "roofline", "Roofline", "GEMMs against the roofline of their GPU");
        buf_puts(&p->body, "<div class=charts>");
        plot_curves(&p->body, &(struct plot){.title = "Each GEMM shape: what it does, and could do",
                                             .x = {"flops_per_byte", PLOT_NUMBER, true},
                                             .y = {"tflops", PLOT_NUMBER, true},
                                             .x_text = "FLOPs per byte",
                                             .y_text = "TFLOPS",
                                             .series = series,
                                             .nseries = nroofs + 1});
        buf_puts(&p->body, "</div>\n");
    }
    free(x);
    free(y);
}

void analyze_put_charts(struct page *p, const struct analysis *a)
{
    put_ranks(p, a);
    put_steps(p, a);
    put_collectives(p, a);
    put_grids(p, a);
    put_roofline(p, a);
}
