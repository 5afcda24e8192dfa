/* SPDX-License-Identifier: MIT */
#include "report/xlsx.h"

#include "base/err.h"
#include "report/sheet.h"

#ifndef SPECTER_HAVE_XLSX

int xlsx_open(struct xlsx **out, const char *path, struct err *e)
{
    *out = NULL;
    return err_set(e, ERR_INPUT,
                   "'%s': this specter was built without libxlsxwriter (Debian: "
                   "libxlsxwriter-dev), which writes workbooks",
                   path);
}

void xlsx_add(struct xlsx *w, const char *name, const struct sheet *s, unsigned flags)
{
    (void)w;
    (void)name;
    (void)s;
    (void)flags;
}

int xlsx_close(struct xlsx *w, struct err *e)
{
    (void)w;
    (void)e;
    return 0;
}

#else

#include "base/arena.h"
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xlsxwriter.h>

#define ROWS_MAX 1048575 /* of a worksheet, beside its headings */
#define TEXT_MAX 32767   /* bytes of a cell */
#define WIDTH_MIN 10     /* characters */
#define WIDTH_MAX 60

/* Scales of TraceLens' reports: red, white, green. */
#define RED 0xF8696B
#define WHITE 0xFFFFFF
#define GREEN 0x63BE7B

/* Of each unit of sheet.h. */
static const struct {
    double divisor;
    const char *format;
} units[] = {
#define X(id, by) [SHEET_##id] = {.divisor = (by)},
    SHEET_UNITS(X)
#undef X
};

static const char *format_of(enum sheet_unit unit)
{
    switch (unit) {
    case SHEET_COUNT:
    case SHEET_BYTES:
        return "#,##0";
    case SHEET_SHARE:
        return "0.0%";
    default:
        return "#,##0.000";
    }
}

#define UNITS (sizeof units / sizeof *units)

struct xlsx {
    lxw_workbook *book;
    lxw_format *heading, *numbers[UNITS];
    char *path, *next; /* the final name, and that of the file while it is written; owned */
};

int xlsx_open(struct xlsx **out, const char *path, struct err *e)
{
    struct xlsx *w = array_new(1, sizeof *w);
    struct buf next = BUF_INIT;
    lxw_workbook_options options = {.constant_memory = LXW_TRUE};
    *out = NULL;
    buf_printf(&next, "%s.next", path);
    w->next = next.data;
    w->path = strdup(path);
    w->book = workbook_new_opt(w->next, &options);
    if (w->path == NULL || w->book == NULL)
        die("out of memory");
    w->heading = workbook_add_format(w->book);
    format_set_bold(w->heading);
    format_set_bottom(w->heading, LXW_BORDER_THIN);
    for (size_t i = 0; i < UNITS; i++) {
        w->numbers[i] = workbook_add_format(w->book);
        format_set_num_format(w->numbers[i], format_of((enum sheet_unit)i));
    }
    (void)e;
    *out = w;
    return 0;
}

/* ---- one worksheet ---- */

static const struct sheet_cell *cell_of(const struct sheet *s, size_t row, size_t column)
{
    return &s->cells[row * s->ncolumns + column];
}

/* SIZE_MAX: there is none. */
static size_t column_of(const struct sheet *s, const char *key)
{
    for (size_t i = 0; i < s->ncolumns; i++) {
        if (s->columns[i].key != NULL && strcmp(s->columns[i].key, key) == 0)
            return i;
    }
    return SIZE_MAX;
}

static void put_cell(struct xlsx *w, lxw_worksheet *ws, const struct sheet *s, size_t row,
                     size_t column, lxw_row_t at)
{
    const struct sheet_cell *cell = cell_of(s, row, column);
    const enum sheet_unit unit = s->columns[column].unit;
    if (cell->text != NULL && cell->text[0] != '\0') {
        struct buf text = BUF_INIT;
        buf_put_printable(&text, cell->text, strnlen(cell->text, TEXT_MAX / 4));
        worksheet_write_string(ws, at, (lxw_col_t)column, text.data, NULL);
        buf_release(&text);
    } else if (cell->text == NULL && isfinite(cell->number)) {
        worksheet_write_number(ws, at, (lxw_col_t)column, cell->number / units[unit].divisor,
                               w->numbers[unit]);
    }
}

static void set_widths(lxw_worksheet *ws, const struct sheet *s)
{
    for (size_t c = 0; c < s->ncolumns; c++) {
        size_t width = s->columns[c].key != NULL ? strlen(s->columns[c].key) + 3 : WIDTH_MIN;
        for (size_t r = 0; r < sheet_rows(s) && r < 1000; r++) {
            const char *text = cell_of(s, r, c)->text;
            width = text != NULL && strlen(text) > width ? strlen(text) : width;
        }
        width = width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
        worksheet_set_column(ws, (lxw_col_t)c, (lxw_col_t)c, (double)width, NULL);
    }
}

/* Green where it is better: the colour of a row follows its direction. */
static void color_rows(lxw_worksheet *ws, size_t column, lxw_row_t from, lxw_row_t to, bool less)
{
    lxw_conditional_format scale = {
        .type = LXW_CONDITIONAL_3_COLOR_SCALE,
        .min_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER,
        .mid_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER,
        .max_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER,
        .min_value = -0.1,
        .mid_value = 0,
        .max_value = 0.1,
        .min_color = less ? GREEN : RED,
        .mid_color = WHITE,
        .max_color = less ? RED : GREEN,
    };
    worksheet_conditional_format_range(ws, from, (lxw_col_t)column, to, (lxw_col_t)column, &scale);
}

/* Neighbours of one direction share a rule. begin, n: rows of the sheet that are in ws. */
static void color_column(lxw_worksheet *ws, const struct sheet *s, size_t column, bool improvement,
                         size_t begin, size_t n)
{
    const size_t better = column_of(s, XLSX_BETTER);
    if (column == SIZE_MAX || better == SIZE_MAX)
        return;
    for (size_t i = 0, k; i < n; i = k) {
        const char *way = cell_of(s, begin + i, better)->text;
        for (k = i + 1; k < n && strcmp(way, cell_of(s, begin + k, better)->text) == 0;)
            k++;
        if (way[0] != '\0')
            color_rows(ws, column, (lxw_row_t)i + 1, (lxw_row_t)k,
                       !improvement && strcmp(way, "less") == 0);
    }
}

static void add_chart(struct xlsx *w, lxw_worksheet *ws, const char *name, const struct sheet *s,
                      lxw_row_t rows)
{
    lxw_chart *chart = workbook_add_chart(w->book, LXW_CHART_BAR);
    for (lxw_col_t c = 1; c <= 2; c++) {
        lxw_chart_series *series = chart_add_series(chart, NULL, NULL);
        chart_series_set_categories(series, name, 1, 0, rows, 0);
        chart_series_set_values(series, name, 1, c, rows, c);
        chart_series_set_name_range(series, name, 0, c);
    }
    chart_axis_set_reverse(chart->y_axis);
    worksheet_insert_chart(ws, 1, (lxw_col_t)s->ncolumns + 1, chart);
}

/* Rows from `begin` on, as many as fit. Returns how many. */
static size_t add_part(struct xlsx *w, const char *name, const struct sheet *s, size_t begin,
                       unsigned flags)
{
    lxw_worksheet *ws = workbook_add_worksheet(w->book, name);
    const size_t left = sheet_rows(s) - begin, n = left < ROWS_MAX ? left : ROWS_MAX;
    if (ws == NULL)
        return left;
    set_widths(ws, s);
    worksheet_freeze_panes(ws, 1, 1);
    for (size_t c = 0; c < s->ncolumns; c++)
        worksheet_write_string(ws, 0, (lxw_col_t)c,
                               s->columns[c].key != NULL ? s->columns[c].key : "", w->heading);
    for (size_t r = 0; r < n; r++) {
        for (size_t c = 0; c < s->ncolumns; c++)
            put_cell(w, ws, s, begin + r, c, (lxw_row_t)r + 1);
    }
    if (s->ncolumns > 0)
        worksheet_autofilter(ws, 0, 0, (lxw_row_t)n, (lxw_col_t)(s->ncolumns - 1));
    color_column(ws, s, column_of(s, XLSX_CHANGE), false, begin, n);
    color_column(ws, s, column_of(s, XLSX_IMPROVEMENT), true, begin, n);
    if ((flags & XLSX_CHART) != 0 && n > 0)
        add_chart(w, ws, name, s, (lxw_row_t)n);
    if ((flags & XLSX_HIDDEN) != 0)
        worksheet_hide(ws);
    return n;
}

void xlsx_add(struct xlsx *w, const char *name, const struct sheet *s, unsigned flags)
{
    char part[64];
    size_t at = add_part(w, name, s, 0, flags);
    for (int k = 2; at < sheet_rows(s); k++) {
        snprintf(part, sizeof part, "%.20s (%d)", name, k);
        at += add_part(w, part, s, at, flags);
    }
}

/* The library writes errors to stderr, which it returns as well. */
static lxw_error close_quietly(lxw_workbook *book)
{
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    lxw_error failed;
    if (null >= 0 && saved >= 0)
        dup2(null, STDERR_FILENO);
    failed = workbook_close(book);
    if (null >= 0 && saved >= 0)
        dup2(saved, STDERR_FILENO);
    if (null >= 0)
        close(null);
    if (saved >= 0)
        close(saved);
    return failed;
}

int xlsx_close(struct xlsx *w, struct err *e)
{
    lxw_error failed = close_quietly(w->book);
    int rc = 0;
    if (failed != LXW_NO_ERROR)
        rc = err_set(e, ERR_INPUT, "cannot write '%s': %s", w->path, lxw_strerror(failed));
    else if (rename(w->next, w->path) < 0)
        rc = err_set(e, ERR_INPUT, "cannot write '%s': %s", w->path, strerror(errno));
    if (rc < 0)
        unlink(w->next);
    free(w->path);
    free(w->next);
    free(w);
    return rc;
}

#endif
