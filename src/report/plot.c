/* SPDX-License-Identifier: MIT */
#include "report/plot.h"

#include "report/page.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

double plot_round_up(double value)
{
    static const double steps[] = {1, 1.2, 1.6, 2, 2.5, 4, 5, 8, 10};
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

/* ---- curves ---- */

#define WIDTH 440.0
#define HEIGHT 240.0
#define LEFT 58.0
#define RIGHT 14.0
#define TOP 22.0
#define BOTTOM 40.0
#define TICKS 4
#define LABEL 52.0 /* that one takes of the horizontal axis */

/* The range of an axis, from least to most; in logarithms where it is logarithmic. */
struct axis_range {
    bool log;
    double least, most;
};

static bool is_shown(const struct plot_axis *a, double value)
{
    return isfinite(value) && (!a->log || value > 0);
}

static void widen_range(struct axis_range *r, const struct plot_axis *a, double value)
{
    if (!is_shown(a, value))
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
            if (!is_shown(&p->x, s->x[k]) || !is_shown(&p->y, s->y[k]))
                continue;
            widen_range(&r, a, horizontal ? s->x[k] : s->y[k]);
            if (!horizontal && s->form == PLOT_BAND)
                widen_range(&r, a, s->high[k]);
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
    r->most = r->most > 0 ? plot_round_up(r->most) : 0;
    r->least = r->least < 0 ? -plot_round_up(-r->least) : 0;
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

static void value_label(const struct plot_axis *a, double value, char *buf, size_t size)
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
    double next_free = 0, before = NAN;
    for (int i = 0; i <= TICKS; i++) {
        double at = y->least + (y->most - y->least) * i / TICKS;
        double value = y->log ? exp2(round(at)) : at;
        if (value == before) /* powers of two are rounded to */
            continue;
        before = value;
        buf_printf(b, "<line class=axis x1=%.1f x2=%.1f y1=%.1f y2=%.1f />", LEFT, WIDTH - RIGHT,
                   y_of(y, value), y_of(y, value));
        value_label(&p->y, value, text, sizeof text);
        buf_printf(b, "<text x=%.1f y=%.1f text-anchor=end>%s</text>", LEFT - 6, y_of(y, value) + 4,
                   text);
    }
    for (int i = 0; i <= 2 * TICKS; i++) {
        double at = x->least + (x->most - x->least) * i / (2 * TICKS);
        double value = x->log ? exp2(round(at)) : at;
        if (x->log && (log2(value) < x->least || log2(value) > x->most))
            continue;
        if (x_of(x, value) < next_free || x_of(x, value) > WIDTH - LABEL / 2)
            continue;
        next_free = x_of(x, value) + LABEL;
        value_label(&p->x, value, text, sizeof text);
        buf_printf(b, "<text x=%.1f y=%.1f text-anchor=middle>%s</text>", x_of(x, value),
                   HEIGHT - BOTTOM + 16, text);
    }
    if (p->x_text != NULL)
        buf_printf(b, "<text x=%.1f y=%.1f text-anchor=end>%s</text>", WIDTH - RIGHT, HEIGHT - 6,
                   p->x_text);
    if (p->y_text != NULL)
        buf_printf(b, "<text x=4 y=11>%s</text>", p->y_text);
}

/* A point shows its numbers under the pointer. */
static void put_point(struct buf *b, const struct plot *p, int colour, double cx, double cy,
                      double x, double y)
{
    char across[32], up[32];
    value_label(&p->x, x, across, sizeof across);
    value_label(&p->y, y, up, sizeof up);
    buf_printf(b, "<circle class=k%d r=3.5 cx=%.1f cy=%.1f><title>%s: %s</title></circle>", colour,
               cx, cy, across, up);
}

static void put_points(struct buf *b, const struct plot *p, const struct plot_series *s,
                       const struct axis_range *x, const struct axis_range *y)
{
    for (size_t i = 0; i < s->n; i++) {
        if (is_shown(&p->x, s->x[i]) && is_shown(&p->y, s->y[i]))
            put_point(b, p, s->colour, x_of(x, s->x[i]), y_of(y, s->y[i]), s->x[i], s->y[i]);
    }
}

static void put_line(struct buf *b, const struct plot *p, const struct plot_series *s,
                     const struct axis_range *x, const struct axis_range *y)
{
    bool open = false;
    buf_printf(b, "<path class=\"line c%d%s\" d=\"", s->colour,
               s->form == PLOT_DASHES ? " guess" : "");
    for (size_t i = 0; i < s->n; i++) {
        bool here = is_shown(&p->x, s->x[i]) && is_shown(&p->y, s->y[i]);
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
        if (!is_shown(&p->x, s->x[k]) || !is_shown(&p->y, s->y[k]) || !is_shown(&p->y, s->high[k]))
            continue;
        buf_printf(b, "%s%.1f %.1f", before, x_of(x, s->x[k]), y_of(y, value));
        before = "L";
    }
    buf_puts(b, "\"/>");
}

/* ---- numbers ---- */

/* Writes a text into a data: address, where all but a few characters are %XX. */
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

/* Writes a text from outside as a cell of the CSV. */
static void put_text_cell(struct buf *b, const char *text)
{
    struct buf cell = BUF_INIT;
    csv_put_text(&cell, text);
    put_address(b, cell.data);
    buf_release(&cell);
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
        if (p->series[i].n > 0 && p->series[i].name[0] != '\0')
            html_key(b, p->series[i].colour, p->series[i].name);
    }
    buf_puts(b, "</div>");
    begin_csv(b);
    put_address(b, "series,");
    put_text_cell(b, p->x.name);
    buf_putc(b, ',');
    put_text_cell(b, p->y.name);
    put_address(b, ",high\n");
    for (size_t i = 0; i < p->nseries; i++) {
        const struct plot_series *s = &p->series[i];
        for (size_t k = 0; k < s->n; k++) {
            put_text_cell(b, s->name);
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
#define NUMBERS_MAX 16   /* cells of a larger matrix hold no numbers */
#define FAINTEST_MAX 0.8 /* of the largest value: close values look alike */

static void put_cell(struct buf *b, const struct plot_matrix *m, int row, int column, double least,
                     double most)
{
    double value = m->values[row * m->n + column];
    double low = fmin(least, FAINTEST_MAX * most),
           part = most > low ? (value - low) / (most - low) : 0;
    if (!isfinite(value))
        return;
    buf_printf(b,
               "<rect class=k%d x=%.0f y=%.0f width=%.0f height=%.0f fill-opacity=%.2f><title>GPU "
               "%d to GPU %d: %.4g %s</title></rect>",
               m->low_is_good ? 2 : 0, EDGE + column * CELL, EDGE + row * CELL, CELL - 1, CELL - 1,
               0.12 + 0.6 * part, row, column, value, m->unit);
    if (m->n <= NUMBERS_MAX)
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

/* ---- rows by columns ---- */

#define HEAT_ROWS 64 /* more rows or columns are put together: the longest of them counts */
#define HEAT_COLUMNS 120
#define HEAT_CELL 16.0
#define HEAT_LEFT 40.0
#define HEAT_LEVELS 10
#define HEAT_SPAN 1.2 /* shades reach that far above the least: what hardly differs looks alike */

/* The largest of the values that are drawn as one cell, and where it stands; NAN: none is known. */
struct heat_cell {
    double ns;
    size_t row, column;
};

static struct heat_cell heat_cell_of(const struct plot_heat *m, size_t row, size_t column,
                                     const size_t each[2])
{
    struct heat_cell most = {NAN, row * each[0], column * each[1]};
    for (size_t r = row * each[0]; r < (row + 1) * each[0] && r < m->nrows; r++) {
        for (size_t c = column * each[1]; c < (column + 1) * each[1] && c < m->ncolumns; c++) {
            double ns = m->ns[r * m->ncolumns + c];
            if (!isnan(ns) && !(ns <= most.ns))
                most = (struct heat_cell){ns, r, c};
        }
    }
    return most;
}

/* A row: cells of one shade beside each other are one rectangle. */
static void put_heat_row(struct buf *b, const struct plot_heat *m, size_t row, const size_t each[2],
                         const double range[2])
{
    const size_t n = (m->ncolumns + each[1] - 1) / each[1];
    const double width = (WIDTH - HEAT_LEFT) / (double)n;
    const struct heat_cell most = heat_cell_of(m, row, 0, (const size_t[]){each[0], m->ncolumns});
    char text[32];
    buf_printf(b, "<g class=k2><title>%s ", m->row_name);
    html_text(b, m->rows[most.row]);
    if (isfinite(most.ns))
        buf_printf(b, ": most %s, %s %zu", text_ns(text, sizeof text, most.ns), m->column_name,
                   most.column + 1);
    buf_puts(b, "</title>");
    for (size_t c = 0, end; c < n; c = end) {
        int level = -1;
        for (end = c; end < n; end++) {
            double value = heat_cell_of(m, row, end, each).ns;
            int now =
                !isfinite(value) ? 0
                : !(range[1] > range[0])
                    ? 1
                    : 1 + (int)((HEAT_LEVELS - 1) * (value - range[0]) / (range[1] - range[0]) +
                                0.5);
            if (level >= 0 && now != level)
                break;
            level = now;
        }
        if (level > 0)
            buf_printf(b, "<rect x=%.1f y=%.0f width=%.1f height=%.0f opacity=%.2f />",
                       HEAT_LEFT + width * (double)c, 4 + HEAT_CELL * (double)row,
                       width * (double)(end - c), HEAT_CELL - 1,
                       0.08 + 0.92 * (level - 1) / (HEAT_LEVELS - 1));
    }
    buf_puts(b, "</g>");
}

static void put_heat_names(struct buf *b, const struct plot_heat *m, size_t rows,
                           const size_t each[2])
{
    const double bottom = 4 + HEAT_CELL * (double)rows + 14;
    for (size_t r = 0; r < rows; r++) {
        double y = 4 + HEAT_CELL * (double)r + 12;
        buf_printf(b, "<text x=%.0f y=%.0f text-anchor=end>", HEAT_LEFT - 6, y);
        html_text(b, m->rows[r * each[0]]);
        buf_puts(b, "</text>");
    }
    buf_printf(b, "<text x=%.0f y=%.0f>%s 1</text><text x=%.0f y=%.0f text-anchor=end>%zu</text>",
               HEAT_LEFT, bottom, m->column_name, WIDTH, bottom, m->ncolumns);
}

void plot_heat(struct buf *b, const struct plot_heat *m)
{
    const size_t each[2] = {(m->nrows + HEAT_ROWS - 1) / HEAT_ROWS,
                            (m->ncolumns + HEAT_COLUMNS - 1) / HEAT_COLUMNS};
    const size_t rows = m->nrows > 0 ? (m->nrows + each[0] - 1) / each[0] : 0;
    double range[2] = {NAN, NAN};
    char least[32], most[32];
    for (size_t i = 0; i < m->nrows * m->ncolumns; i++) {
        range[0] = fmin(range[0], m->ns[i]);
        range[1] = fmax(range[1], m->ns[i]);
    }
    if (isnan(range[0]))
        return;
    if (m->from_zero)
        range[0] = fmin(range[0], 0);
    range[1] = fmax(range[1], HEAT_SPAN * range[0]);
    begin_figure(b, m->title, WIDTH, 4 + HEAT_CELL * (double)rows + 20);
    for (size_t r = 0; r < rows; r++)
        put_heat_row(b, m, r, each, range);
    put_heat_names(b, m, rows, each);
    buf_printf(b, "</svg><p class=note>Rows are %ss. Faint: %s; full: %s.%s</p>", m->row_name,
               text_ns(least, sizeof least, range[0]), text_ns(most, sizeof most, range[1]),
               each[0] > 1 || each[1] > 1 ? " A cell is the largest of several." : "");
    begin_csv(b);
    buf_printf(b, "%s,%s,ns%%0A", m->row_name, m->column_name);
    for (size_t i = 0; i < m->nrows * m->ncolumns; i++) {
        if (!isfinite(m->ns[i]))
            continue;
        put_text_cell(b, m->rows[i / m->ncolumns]);
        buf_printf(b, ",%zu,%.0f%%0A", i % m->ncolumns + 1, m->ns[i]);
    }
    end_csv(b);
}
