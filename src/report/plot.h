/* SPDX-License-Identifier: MIT
 *
 * Charts in a page, as SVG without script: curves over one axis, and matrices as heat maps. Below
 * each stands a link that saves its numbers as CSV; they are in the page itself.
 *
 *     const double x[] = {8, 64, 512}, y[] = {12.1, 12.3, 13.0};
 *     const struct plot_series series[] = {{"measured", PLOT_POINTS, 0, x, y, 3}};
 *     plot_curves(&b, &(struct plot){.title = "AllReduce",
 *                                    .x = {"size", PLOT_BYTES, true},
 *                                    .y = {"time", PLOT_US, true},
 *                                    .series = series, .nseries = 1});
 *
 * A value that is not finite, or not above 0 on a logarithmic axis, is left out.
 */
#ifndef SPECTER_REPORT_PLOT_H
#define SPECTER_REPORT_PLOT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Where an axis may end that holds `value`: the next of 1, 1.2, 1.6, 2, 2.5, 4, 5, 8 x 10^n. */
double plot_round_up(double value);

/* The unit of an axis: how its ticks are written. */
enum plot_unit { PLOT_NUMBER, PLOT_BYTES, PLOT_US, PLOT_GBPS };

enum plot_form {
    PLOT_LINE,
    PLOT_DASHES,
    PLOT_POINTS,
    PLOT_BAND, /* from y up to `high` */
};

struct plot_series {
    const char *name;
    enum plot_form form;
    int colour; /* k0, k1, ... */
    const double *x, *y;
    size_t n;
    const double *high; /* of a band */
};

struct plot_axis {
    const char *name; /* in the CSV's header */
    enum plot_unit unit;
    bool log;
};

struct plot {
    const char *title; /* of us or from outside: escaped */
    struct plot_axis x, y;
    const char *x_text, *y_text; /* what stands beside the axes; NULL: nothing */
    const struct plot_series *series;
    size_t nseries;
};

/* One <figure>; belongs into <div class=charts>. Nothing where there is no value. */
void plot_curves(struct buf *b, const struct plot *p);

/* Rows are sources, columns destinations; [row * n + column], not finite: an empty cell. */
struct plot_matrix {
    const char *title, *unit;
    const double *values;
    int n;
    bool low_is_good; /* latencies: the largest is the darkest in any case */
};

void plot_matrix(struct buf *b, const struct plot_matrix *m);

/* Times of rows by columns as a heat map; [row * ncolumns + column], not finite: an empty cell.
 * Many rows or columns are put together: what is longest counts. */
struct plot_heat {
    const char *title;
    const char *const *rows;            /* [nrows] */
    const char *row_name, *column_name; /* "rank", "step": columns count from 1 */
    const double *ns;
    size_t nrows, ncolumns;
    bool from_zero; /* the faintest shade is 0; else the least value */
};

void plot_heat(struct buf *b, const struct plot_heat *m);

#endif
