/* SPDX-License-Identifier: MIT
 *
 * What all pages have in common: a page that needs nothing else (no network, no script: its policy
 * forbids both), one style for light, dark, phone and print, and text that comes from outside.
 *
 *     html_begin(&b, "specter replay");
 *     buf_puts(&b, "<h1>");
 *     html_text(&b, run->source);
 *     ...
 *     html_end(&b);
 *
 * Colours are classes: k0 compute, k1 work that was only counted, k2 communication, k3 copies,
 * k4 to k6 free, k7 nothing.
 */
#ifndef SPECTER_REPORT_HTML_H
#define SPECTER_REPORT_HTML_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

void html_begin(struct buf *b, const char *title); /* up to <body>; the title is not escaped */
void html_end(struct buf *b);

/* Text as text, also within quotes: & < > " ' escaped, what is no UTF-8 replaced. */
void html_text(struct buf *b, const char *text);

void html_fact(struct buf *b, const char *what, const char *text); /* in <dl>; NULL: nothing */
void html_item(struct buf *b, const char *text);                   /* in <ul> or <ol> */
void html_key(struct buf *b, int colour, const char *text);        /* in <div class=keys> */

/* Where an axis may end that holds `value`: the next of 1, 2, 2.5, 4, 5, 8 x 10^n. */
double html_round_up(double value);

/* ---- charts ----
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

/* What an axis counts: how its ticks are written. */
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

#endif
