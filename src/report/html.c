/* SPDX-License-Identifier: MIT */
#include "report/html.h"

#include "base/arena.h"
#include "base/err.h"
#include "report/table.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* In pieces, as no compiler need take a longer string; ends with NULL. */
static const char *const style[] = {
    ":root{color-scheme:light dark;--ink:#1d2129;--soft:#5a6270;--line:#d8dce3;--page:#fff;"
    "--card:#f6f7f9;--k0:#3566a8;--k1:#86acd8;--k2:#d97f1e;--k3:#94703a;--k4:#b3405a;"
    "--k5:#5f6672;--k6:#8d7fc0;--k7:#cfd3da;--k8:#b9a7c9}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e8ec;--soft:#a2a9b5;--line:#3a404b;"
    "--page:#15181d;--card:#1e2229;--k0:#5f94db;--k1:#a9c9ee;--k2:#eba04e;--k3:#c4a066;"
    "--k4:#dd7189;--k5:#8b93a1;--k6:#ab9fdc;--k7:#474d58;--k8:#6b5a80}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:960px;padding:24px 16px 48px;background:var(--page);"
    "color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
    "h1{font-size:22px;margin:0 0 12px}h2{font-size:17px;margin:32px 0 8px}"
    "p{margin:6px 0}.soft{color:var(--soft)}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:0}"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(320px,100%),1fr));"
    "gap:16px}figure{margin:0;padding:12px;background:var(--card);border-radius:6px;min-width:0}"
    "figcaption{font-weight:600;margin-bottom:4px}svg{display:block;width:100%;height:auto}"
    "svg text{font-size:11px;fill:var(--soft)}"
    ".axis{stroke:var(--line);stroke-width:1}.mark{fill:var(--k0)}"
    ".curve{fill:none;stroke:var(--k0);stroke-width:2}.bar{stroke:var(--ink);stroke-width:1.2}"
    ".guess{stroke-dasharray:3 2}.varied{fill:var(--k2)}"
    ".wide{overflow-x:auto;margin-top:8px}table{border-collapse:collapse;font-variant-numeric:"
    "tabular-nums}"
    "th,td{padding:3px 10px;text-align:right;border-bottom:1px solid var(--line);"
    "white-space:nowrap}th{color:var(--soft);font-weight:600}th:first-child,td:first-child"
    "{padding-left:0}td.left,th.left{text-align:left}"
    ".row{display:grid;grid-template-columns:8.5em 1fr;gap:8px;align-items:center;margin:4px 0}"
    ".row>span{text-align:right;white-space:nowrap;color:var(--soft);font-variant-numeric:tabular-"
    "nums}"
    ".stack{display:flex;height:22px;border-radius:3px;overflow:hidden;background:var(--card)}"
    ".stack>i,.key>i{display:block;font-style:normal;print-color-adjust:exact;"
    "-webkit-print-color-adjust:exact}"
    ".keys{display:flex;flex-wrap:wrap;gap:4px 16px;margin:8px 0;color:var(--soft)}"
    ".key{display:flex;align-items:center;gap:6px}.key>i{width:12px;height:12px;border-radius:2px}"
    ".step .row{grid-template-columns:9.5em 1fr;margin:2px 0}.step svg{height:16px;"
    "background:var(--card);print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    ".k0{background:var(--k0);fill:var(--k0)}.k1{background:var(--k1);fill:var(--k1)}"
    ".k2{background:var(--k2);fill:var(--k2)}.k3{background:var(--k3);fill:var(--k3)}"
    ".k4{background:var(--k4);fill:var(--k4)}.k5{background:var(--k5);fill:var(--k5)}"
    ".k6{background:var(--k6);fill:var(--k6)}.k7{background:var(--k7);fill:var(--k7)}"
    ".k8{background:var(--k8);fill:var(--k8)}",
    "td.left{white-space:normal;overflow-wrap:anywhere;min-width:11em}"
    "td{vertical-align:top}summary{cursor:pointer}details[open]>summary{color:var(--soft)}"
    "nav{display:flex;flex-wrap:wrap;gap:2px 16px;margin:16px 0;padding:10px 12px;font-size:14px;"
    "background:var(--card);border-radius:6px}a{color:var(--k0)}"
    "code{font-size:.9em;overflow-wrap:anywhere}"
    ".bars .row{grid-template-columns:5.5em 1fr 5em;margin:2px 0}.bars svg{height:14px;"
    "background:var(--card);print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    ".plot{display:grid;grid-template-columns:max-content 1fr;gap:6px 8px;font-size:12px;"
    "color:var(--soft);padding-top:8px}.plot svg{height:180px;print-color-adjust:exact;"
    "-webkit-print-color-adjust:exact}.plot path{fill:none;vector-effect:non-scaling-stroke}"
    ".plot .y{display:flex;flex-direction:column;justify-content:space-between;text-align:right;"
    "margin:-.75em 0}.plot .x{grid-column:2;display:flex;justify-content:space-between;gap:16px;"
    "overflow-wrap:anywhere}.tick{stroke:var(--ink);stroke-width:2}"
    ".key>i.line{height:2px;background:var(--ink)}"
    ".line{fill:none;stroke-width:2}.band{fill-opacity:.35}svg text.cell{fill:var(--ink)}"
    "pre{overflow-x:auto;font-size:13px}"
    ".c0{stroke:var(--k0)}.c1{stroke:var(--k1)}.c2{stroke:var(--k2)}.c3{stroke:var(--k3)}"
    ".c4{stroke:var(--k4)}.c5{stroke:var(--k5)}.c6{stroke:var(--k6)}"
    "ul,ol{padding-left:20px;margin:6px 0}li{margin:3px 0;overflow-wrap:anywhere}"
    "@media(max-width:560px){.row{grid-template-columns:7.5em 1fr;font-size:13px}"
    ".step .row{grid-template-columns:8.5em 1fr;font-size:12px}"
    ".bars .row{grid-template-columns:4.5em 1fr 5em;font-size:12px}dl{grid-template-columns:1fr}"
    "dd{margin-bottom:6px}}"
    "@media print{:root{color-scheme:light}body{max-width:none;padding:0}"
    "figure,.row,li,tr{break-inside:avoid}}",
    NULL};

void html_begin(struct buf *b, const char *title)
{
    buf_puts(b, "<!doctype html><html lang=en><head><meta charset=utf-8>"
                "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
                "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
                "<meta name=viewport content=\"width=device-width,initial-scale=1\"><title>");
    buf_puts(b, title);
    buf_puts(b, "</title><style>");
    for (size_t i = 0; style[i] != NULL; i++)
        buf_puts(b, style[i]);
    buf_puts(b, "</style></head><body>");
}

void html_end(struct buf *b)
{
    buf_puts(b, "</body></html>\n");
}

void html_text(struct buf *b, const char *text)
{
    char *safe = text_safe_copy(text);
    for (const char *p = safe; *p != '\0'; p++) {
        switch (*p) {
        case '&':
            buf_puts(b, "&amp;");
            break;
        case '<':
            buf_puts(b, "&lt;");
            break;
        case '>':
            buf_puts(b, "&gt;");
            break;
        case '"':
            buf_puts(b, "&quot;");
            break;
        case '\'':
            buf_puts(b, "&#39;");
            break;
        default:
            buf_putc(b, *p);
        }
    }
    free(safe);
}

void html_fact(struct buf *b, const char *what, const char *text)
{
    if (text == NULL)
        return;
    buf_printf(b, "<dt>%s</dt><dd>", what);
    html_text(b, text);
    buf_puts(b, "</dd>");
}

void html_item(struct buf *b, const char *text)
{
    buf_puts(b, "<li>");
    html_text(b, text);
    buf_puts(b, "</li>");
}

void html_key(struct buf *b, int colour, const char *text)
{
    buf_printf(b, "<span class=key><i class=k%d></i>%s</span>", colour, text);
}

double html_round_up(double value)
{
    static const double steps[] = {1, 2, 2.5, 4, 5, 8, 10};
    double unit;
    if (!(value > 0) || !isfinite(value))
        return 1;
    unit = pow(10, floor(log10(value)));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i] * unit >= value)
            return steps[i] * unit;
    }
    return 10 * unit;
}

/* ---- charts ---- */

#define WIDTH 440.0
#define HEIGHT 240.0
#define LEFT 58.0
#define RIGHT 14.0
#define TOP 10.0
#define BOTTOM 26.0
#define TICKS 4
#define LABEL 52.0 /* that one takes of the horizontal axis */

/* What an axis shows, from least to most; in logarithms where it is logarithmic. */
struct axis_range {
    bool log;
    double least, most;
};

static bool shown(const struct plot_axis *a, double value)
{
    return isfinite(value) && (!a->log || value > 0);
}

static void widen(struct axis_range *r, const struct plot_axis *a, double value)
{
    if (!shown(a, value))
        return;
    value = a->log ? log2(value) : value;
    r->least = fmin(r->least, value);
    r->most = fmax(r->most, value);
}

static struct axis_range range_of(const struct plot *p, bool horizontal)
{
    const struct plot_axis *a = horizontal ? &p->x : &p->y;
    struct axis_range r = {a->log, NAN, NAN};
    for (size_t i = 0; i < p->nseries; i++) {
        const struct plot_series *s = &p->series[i];
        for (size_t k = 0; k < s->n; k++) {
            if (!shown(&p->x, s->x[k]) || !shown(&p->y, s->y[k]))
                continue;
            widen(&r, a, horizontal ? s->x[k] : s->y[k]);
            if (!horizontal && s->form == PLOT_BAND)
                widen(&r, a, s->high[k]);
        }
    }
    return r;
}

/* Axes begin at 0, or below it, and end at a round number; logarithmic ones at powers of two. */
static void round_range(struct axis_range *r)
{
    if (r->log) {
        r->least = floor(r->least);
        r->most = fmax(ceil(r->most), r->least + 1);
        return;
    }
    r->most = r->most > 0 ? html_round_up(r->most) : 0;
    r->least = r->least < 0 ? -html_round_up(-r->least) : 0;
    if (!(r->most > r->least))
        r->most = r->least + 1;
}

static double part_of(const struct axis_range *r, double value)
{
    value = r->log ? log2(value) : value;
    if (!(r->most > r->least))
        return 0.5;
    return fmin(fmax((value - r->least) / (r->most - r->least), 0), 1);
}

static double x_of(const struct axis_range *r, double value)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * part_of(r, value);
}

static double y_of(const struct axis_range *r, double value)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part_of(r, value);
}

static void label(const struct plot_axis *a, double value, char *buf, size_t size)
{
    if (a->unit == PLOT_BYTES)
        text_bytes(buf, size, value);
    else if (a->unit == PLOT_US)
        text_ns(buf, size, value * 1e3);
    else
        snprintf(buf, size, "%.4g", value);
}

static void put_grid(struct buf *b, const struct plot *p, const struct axis_range *x,
                     const struct axis_range *y)
{
    char text[32];
    double free = 0;
    for (int i = 0; i <= TICKS; i++) {
        double at = y->least + (y->most - y->least) * i / TICKS;
        double value = y->log ? exp2(at) : at;
        buf_printf(b, "<line class=axis x1=%.1f x2=%.1f y1=%.1f y2=%.1f />", LEFT, WIDTH - RIGHT,
                   y_of(y, value), y_of(y, value));
        label(&p->y, value, text, sizeof text);
        buf_printf(b, "<text x=%.1f y=%.1f text-anchor=end>%s</text>", LEFT - 6, y_of(y, value) + 4,
                   text);
    }
    for (int i = 0; i <= 2 * TICKS; i++) {
        double at = x->least + (x->most - x->least) * i / (2 * TICKS);
        double value = x->log ? exp2(round(at)) : at;
        if (x->log && (log2(value) < x->least || log2(value) > x->most))
            continue;
        if (x_of(x, value) < free || x_of(x, value) > WIDTH - LABEL / 2)
            continue;
        free = x_of(x, value) + LABEL;
        label(&p->x, value, text, sizeof text);
        buf_printf(b, "<text x=%.1f y=%.1f text-anchor=middle>%s</text>", x_of(x, value),
                   HEIGHT - 8, text);
    }
}

static void put_points(struct buf *b, const struct plot *p, const struct plot_series *s,
                       const struct axis_range *x, const struct axis_range *y)
{
    for (size_t i = 0; i < s->n; i++) {
        if (shown(&p->x, s->x[i]) && shown(&p->y, s->y[i]))
            buf_printf(b, "<circle class=k%d r=3 cx=%.1f cy=%.1f />", s->colour, x_of(x, s->x[i]),
                       y_of(y, s->y[i]));
    }
}

static void put_line(struct buf *b, const struct plot *p, const struct plot_series *s,
                     const struct axis_range *x, const struct axis_range *y)
{
    bool open = false;
    buf_printf(b, "<path class=\"line c%d%s\" d=\"", s->colour,
               s->form == PLOT_DASHES ? " guess" : "");
    for (size_t i = 0; i < s->n; i++) {
        bool here = shown(&p->x, s->x[i]) && shown(&p->y, s->y[i]);
        if (here)
            buf_printf(b, "%c%.1f %.1f", open ? 'L' : 'M', x_of(x, s->x[i]), y_of(y, s->y[i]));
        open = here;
    }
    buf_puts(b, "\"/>");
}

/* Along the lower edge and back along the upper one. */
static void put_band(struct buf *b, const struct plot *p, const struct plot_series *s,
                     const struct axis_range *x, const struct axis_range *y)
{
    const char *before = "M";
    buf_printf(b, "<path class=\"band k%d\" d=\"", s->colour);
    for (size_t i = 0; i < 2 * s->n; i++) {
        size_t k = i < s->n ? i : 2 * s->n - 1 - i;
        double value = i < s->n ? s->y[k] : s->high[k];
        if (!shown(&p->x, s->x[k]) || !shown(&p->y, s->y[k]) || !shown(&p->y, s->high[k]))
            continue;
        buf_printf(b, "%s%.1f %.1f", before, x_of(x, s->x[k]), y_of(y, value));
        before = "L";
    }
    buf_puts(b, "\"/>");
}

/* ---- numbers ---- */

/* What stands for itself in a data: address within quotes; all else as %XX. */
static void put_address(struct buf *b, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789,.-_";
    for (; *text != '\0'; text++) {
        if (strchr(plain, *text) != NULL)
            buf_putc(b, *text);
        else
            buf_printf(b, "%%%02X", (unsigned char)*text);
    }
}

static void begin_csv(struct buf *b)
{
    buf_puts(b, "<p class=soft><a download=data.csv href=\"data:text/csv;charset=utf-8,");
}

static void end_csv(struct buf *b)
{
    buf_puts(b, "\">CSV</a></p></figure>");
}

static void put_number(struct buf *b, double value)
{
    buf_putc(b, ',');
    if (isfinite(value))
        buf_printf(b, "%.10g", value);
}

static void begin_figure(struct buf *b, const char *title, double width, double height)
{
    buf_puts(b, "<figure><figcaption>");
    html_text(b, title);
    buf_printf(b, "</figcaption><svg viewBox=\"0 0 %.0f %.0f\" role=img aria-label=\"", width,
               height);
    html_text(b, title);
    buf_puts(b, "\">");
}

void plot_curves(struct buf *b, const struct plot *p)
{
    struct axis_range x = range_of(p, true), y = range_of(p, false);
    if (isnan(x.least) || isnan(y.least))
        return;
    round_range(&y);
    if (!x.log)
        round_range(&x);
    begin_figure(b, p->title, WIDTH, HEIGHT);
    put_grid(b, p, &x, &y);
    for (size_t i = 0; i < p->nseries; i++) {
        const struct plot_series *s = &p->series[i];
        (s->form == PLOT_BAND     ? put_band
         : s->form == PLOT_POINTS ? put_points
                                  : put_line)(b, p, s, &x, &y);
    }
    buf_puts(b, "</svg><div class=keys>");
    for (size_t i = 0; i < p->nseries; i++) {
        if (p->series[i].n > 0)
            html_key(b, p->series[i].colour, p->series[i].name);
    }
    buf_puts(b, "</div>");
    begin_csv(b);
    put_address(b, "series,");
    put_address(b, p->x.name);
    buf_putc(b, ',');
    put_address(b, p->y.name);
    put_address(b, ",high\n");
    for (size_t i = 0; i < p->nseries; i++) {
        const struct plot_series *s = &p->series[i];
        for (size_t k = 0; k < s->n; k++) {
            put_address(b, s->name);
            put_number(b, s->x[k]);
            put_number(b, s->y[k]);
            put_number(b, s->form == PLOT_BAND ? s->high[k] : (double)NAN);
            put_address(b, "\n");
        }
    }
    end_csv(b);
}

/* ---- matrices ---- */

#define CELL 34.0
#define EDGE 24.0
#define LETTERS 16 /* cells of a larger matrix hold no numbers */
#define CALM 0.8   /* of the largest: values above it differ little, and look so */

static void put_cell(struct buf *b, const struct plot_matrix *m, int row, int column, double least,
                     double most)
{
    double value = m->values[row * m->n + column];
    double low = fmin(least, CALM * most), part = most > low ? (value - low) / (most - low) : 0;
    if (!isfinite(value))
        return;
    buf_printf(b,
               "<rect class=k%d x=%.0f y=%.0f width=%.0f height=%.0f fill-opacity=%.2f><title>GPU "
               "%d to GPU %d: %.4g %s</title></rect>",
               m->low_is_good ? 2 : 0, EDGE + column * CELL, EDGE + row * CELL, CELL - 1, CELL - 1,
               0.12 + 0.6 * part, row, column, value, m->unit);
    if (m->n <= LETTERS)
        buf_printf(b, "<text class=cell x=%.0f y=%.0f text-anchor=middle>%.*f</text>",
                   EDGE + column * CELL + CELL / 2, EDGE + row * CELL + CELL / 2 + 4,
                   value < 9.95 ? 1 : 0, value);
}

void plot_matrix(struct buf *b, const struct plot_matrix *m)
{
    double least = NAN, most = NAN;
    for (int i = 0; i < m->n * m->n; i++) {
        if (isfinite(m->values[i])) {
            least = fmin(least, m->values[i]);
            most = fmax(most, m->values[i]);
        }
    }
    if (isnan(least))
        return;
    begin_figure(b, m->title, fmax(EDGE + CELL * m->n, WIDTH), EDGE + CELL * m->n);
    for (int i = 0; i < m->n; i++) {
        double middle = EDGE + CELL * i + CELL / 2;
        buf_printf(b, "<text x=%.0f y=14 text-anchor=middle>%d</text>", middle, i);
        buf_printf(b, "<text x=%.0f y=%.0f text-anchor=end>%d</text>", EDGE - 6, middle + 4, i);
        for (int k = 0; k < m->n; k++)
            put_cell(b, m, i, k, least, most);
    }
    buf_printf(b, "</svg><p class=soft>Rows send, columns receive; %s, %.4g to %.4g.</p>", m->unit,
               least, most);
    begin_csv(b);
    put_address(b, "source,destination,value\n");
    for (int i = 0; i < m->n * m->n; i++) {
        if (!isfinite(m->values[i]))
            continue;
        buf_printf(b, "%d,%d", i / m->n, i % m->n);
        put_number(b, m->values[i]);
        put_address(b, "\n");
    }
    end_csv(b);
}
