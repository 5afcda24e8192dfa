/* SPDX-License-Identifier: MIT
 *
 * Charts of the page of `specter analyze`: bus bandwidth by size beside its prediction, ranks by
 * steps, and the roofline of GEMMs.
 */
#include "report/analyze_page.h"

#include "analysis/step_grid.h"
#include "base/arena.h"
#include "report/html.h"
#include "report/op_text.h"
#include "report/plot.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Points of the chart that `row` begins. */
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

void analyze_put_collectives(struct page *p, const struct analysis *a)
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

/* What a heat map shows, but for its rows. */
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

void analyze_put_grids(struct page *p, const struct analysis *a)
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
    double peak_tflops, bandwidth; /* bandwidth in bytes a ns */
    char name[64];
    double x[ROOF_POINTS], y[ROOF_POINTS];
};

static double intensity_of(const struct gemm_row *g)
{
    return 2.0 * g->m * g->n * g->k * g->batch * (double)g->limited / g->bytes;
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
        roofs[n] =
            (struct roof){.peak_tflops = g->peak_tflops, .bandwidth = g->bytes / g->bytes_ns};
        snprintf(roofs[n].name, sizeof roofs[n].name, "roof of %s: %.4g TFLOPS, %.4g GB/s",
                 comm_gemm_dtype_text(g->dtype, g->compute), g->peak_tflops, roofs[n].bandwidth);
        n++;
    }
    return n;
}

void analyze_put_roofline(struct page *p, const struct analysis *a)
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
        const double ridge = 1e3 * r->peak_tflops / r->bandwidth;
        const double at[ROOF_POINTS] = {fmin(least, ridge) / 2, ridge, 2 * fmax(most, ridge)};
        for (int i = 0; i < ROOF_POINTS; i++) {
            r->x[i] = at[i];
            r->y[i] = fmin(r->peak_tflops, at[i] * r->bandwidth / 1e3);
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
