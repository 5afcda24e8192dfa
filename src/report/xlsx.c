/* SPDX-License-Identifier: MIT
 *
 * One workbook file, over libxlsxwriter (workbooks.h).
 */
#include "report/workbooks.h"

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

void xlsx_begin(struct xlsx *w, const char *name, const struct sheet *s, unsigned flags)
{
    xlsx_add(w, name, s, flags);
}

void xlsx_rows(struct xlsx *w, const struct sheet *s)
{
    xlsx_add(w, NULL, s, 0);
}

void xlsx_end(struct xlsx *w)
{
    (void)w;
}

int xlsx_close(struct xlsx *w, FILE *notes, struct err *e)
{
    (void)w;
    (void)notes;
    (void)e;
    return 0;
}

#else

#include "base/arena.h"
#include "base/buf.h"

#include <assert.h>
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
#define WIDTH_ROWS 1000 /* of which widths are taken */
#define NAME_SIZE 48    /* of a worksheet: 31 characters, and room */

#define HEADING 0xD9E1F2 /* behind headings */

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
    struct buf notes;

    /* The table that is being written: its worksheet, and the rows in that. */
    lxw_worksheet *ws;
    char table[NAME_SIZE], part[NAME_SIZE];
    int parts;
    lxw_row_t rows;
    lxw_col_t columns;
    unsigned flags;
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
    format_set_bg_color(w->heading, HEADING);
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

/* A column without a key is for people alone. */
static bool is_written(const struct sheet *s, size_t column)
{
    return s->columns[column].key != NULL;
}

/* SIZE_MAX: there is none. */
static size_t column_of(const struct sheet *s, const char *key)
{
    for (size_t i = 0; i < s->ncolumns; i++) {
        if (is_written(s, i) && strcmp(s->columns[i].key, key) == 0)
            return i;
    }
    return SIZE_MAX;
}

/* Where a column of the sheet is in the worksheet. */
static lxw_col_t place_of(const struct sheet *s, size_t column)
{
    lxw_col_t place = 0;
    for (size_t i = 0; i < column; i++)
        place = (lxw_col_t)(place + is_written(s, i));
    return place;
}

static void put_cell(struct xlsx *w, const struct sheet_cell *cell, enum sheet_unit unit,
                     lxw_row_t row, lxw_col_t column)
{
    if (cell->text != NULL && cell->text[0] != '\0') {
        struct buf text = BUF_INIT;
        buf_put_printable(&text, cell->text, strnlen(cell->text, TEXT_MAX / 4));
        worksheet_write_string(w->ws, row, column, text.data, NULL);
        buf_release(&text);
    } else if (cell->text == NULL && isfinite(cell->number)) {
        worksheet_write_number(w->ws, row, column, cell->number / units[unit].divisor,
                               w->numbers[unit]);
    }
}

static void put_row(struct xlsx *w, const struct sheet *s, size_t row)
{
    lxw_col_t place = 0;
    for (size_t c = 0; c < s->ncolumns; c++) {
        if (is_written(s, c))
            put_cell(w, cell_of(s, row, c), s->columns[c].unit, w->rows + 1, place++);
    }
    w->rows++;
}

static void set_widths(lxw_worksheet *ws, const struct sheet *s)
{
    for (size_t c = 0; c < s->ncolumns; c++) {
        size_t width = is_written(s, c) ? strlen(s->columns[c].key) + 3 : WIDTH_MIN;
        const lxw_col_t place = place_of(s, c);
        for (size_t r = 0; r < sheet_rows(s) && r < WIDTH_ROWS; r++) {
            const char *text = cell_of(s, r, c)->text;
            width = text != NULL && strlen(text) > width ? strlen(text) : width;
        }
        width = width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
        if (is_written(s, c))
            worksheet_set_column(ws, place, place, (double)width, NULL);
    }
}

/* Green where it is better: the colour of a row follows its direction. */
static void color_rows(lxw_worksheet *ws, lxw_col_t column, lxw_row_t from, lxw_row_t to, bool less)
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
    worksheet_conditional_format_range(ws, from, column, to, column, &scale);
}

/* Neighbours of one direction share a rule. begin, n: rows of the sheet, which are the last of
 * the worksheet. */
static void color_column(struct xlsx *w, const struct sheet *s, const char *key, size_t begin,
                         size_t n)
{
    const size_t better = column_of(s, XLSX_BETTER), column = column_of(s, key);
    const bool improvement = strcmp(key, XLSX_IMPROVEMENT) == 0;
    const lxw_row_t first = w->rows - (lxw_row_t)n + 1;
    if (column == SIZE_MAX || better == SIZE_MAX)
        return;
    for (size_t i = 0, k; i < n; i = k) {
        const char *way = cell_of(s, begin + i, better)->text;
        for (k = i + 1; k < n && strcmp(way, cell_of(s, begin + k, better)->text) == 0;)
            k++;
        if (way[0] != '\0')
            color_rows(w->ws, place_of(s, column), first + (lxw_row_t)i, first + (lxw_row_t)k - 1,
                       !improvement && strcmp(way, "less") == 0);
    }
}

static void add_chart(struct xlsx *w, lxw_col_t last)
{
    lxw_chart *chart = workbook_add_chart(w->book, LXW_CHART_BAR);
    for (lxw_col_t c = 1; c <= last; c++) {
        lxw_chart_series *series = chart_add_series(chart, NULL, NULL);
        chart_series_set_categories(series, w->part, 1, 0, w->rows, 0);
        chart_series_set_values(series, w->part, 1, c, w->rows, c);
        chart_series_set_name_range(series, w->part, 0, c);
    }
    chart_axis_set_reverse(chart->y_axis);
    worksheet_insert_chart(w->ws, 1, (lxw_col_t)(w->columns + 1), chart);
}

static void begin_part(struct xlsx *w, const struct sheet *s)
{
    w->parts++;
    w->rows = 0;
    w->columns = 0;
    if (w->parts == 1)
        snprintf(w->part, sizeof w->part, "%s", w->table);
    else
        snprintf(w->part, sizeof w->part, "%.20s (%d)", w->table, w->parts);
    if (w->parts > 1)
        buf_printf(&w->notes, "%s: '%s' goes on in '%s'\n", w->path, w->table, w->part);
    w->ws = workbook_add_worksheet(w->book, w->part);
    assert(w->ws != NULL); /* names are short, and each is used once */
    set_widths(w->ws, s);
    worksheet_freeze_panes(w->ws, 1, 1);
    for (size_t c = 0; c < s->ncolumns; c++) {
        if (is_written(s, c))
            worksheet_write_string(w->ws, 0, w->columns++, s->columns[c].key, w->heading);
    }
}

static void end_part(struct xlsx *w)
{
    if (w->columns > 0)
        worksheet_autofilter(w->ws, 0, 0, w->rows, (lxw_col_t)(w->columns - 1));
    if ((w->flags & (XLSX_CHART | XLSX_CHART_ONE)) != 0 && w->rows > 0)
        add_chart(w, (w->flags & XLSX_CHART) != 0 ? 2 : 1);
    if ((w->flags & XLSX_HIDDEN) != 0)
        worksheet_hide(w->ws);
}

void xlsx_begin(struct xlsx *w, const char *name, const struct sheet *s, unsigned flags)
{
    snprintf(w->table, sizeof w->table, "%s", name);
    w->flags = flags;
    w->parts = 0;
    begin_part(w, s);
}

void xlsx_rows(struct xlsx *w, const struct sheet *s)
{
    for (size_t begin = 0; begin < sheet_rows(s);) {
        size_t n = sheet_rows(s) - begin;
        if (w->rows == ROWS_MAX) {
            end_part(w);
            begin_part(w, s);
        }
        n = n < ROWS_MAX - w->rows ? n : ROWS_MAX - w->rows;
        for (size_t i = 0; i < n; i++)
            put_row(w, s, begin + i);
        color_column(w, s, XLSX_CHANGE, begin, n);
        color_column(w, s, XLSX_IMPROVEMENT, begin, n);
        begin += n;
    }
}

void xlsx_end(struct xlsx *w)
{
    end_part(w);
}

void xlsx_add(struct xlsx *w, const char *name, const struct sheet *s, unsigned flags)
{
    xlsx_begin(w, name, s, flags);
    xlsx_rows(w, s);
    xlsx_end(w);
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

int xlsx_close(struct xlsx *w, FILE *notes, struct err *e)
{
    lxw_error failed = close_quietly(w->book);
    int rc = 0;
    if (failed != LXW_NO_ERROR)
        rc = err_set(e, ERR_INPUT, "cannot write '%s': %s", w->path, lxw_strerror(failed));
    else if (rename(w->next, w->path) < 0)
        rc = err_set(e, ERR_INPUT, "cannot write '%s': %s", w->path, strerror(errno));
    if (rc < 0)
        unlink(w->next);
    else if (notes != NULL && w->notes.len > 0)
        fwrite(w->notes.data, 1, w->notes.len, notes);
    buf_release(&w->notes);
    free(w->path);
    free(w->next);
    free(w);
    return rc;
}

#endif
