/* SPDX-License-Identifier: MIT
 *
 * A sheet: one table of a report as data, with a name, units and notes, which is then printed for
 * people, as Markdown, as CSV, or put into JSON. What a table holds is said once; every form comes
 * from here.
 *
 *     static const struct sheet_column columns[] = {
 *         {"rank", "rank", SHEET_COUNT, 0},
 *         {"wait_us", "wait", SHEET_NS, 0},
 *     };
 *     struct sheet s;
 *     sheet_init(&s, "stragglers", "Stragglers", SHEET_COLUMNS(columns));
 *     sheet_number(&s, rank);
 *     sheet_number(&s, wait_ns);
 *     sheet_note(&s, "over %zu collectives", n);
 *     sheet_print(&s, 6, stdout);
 *     sheet_release(&s);
 *
 * Cells fill rows from left to right. Text comes from traces: every form makes it safe for its
 * reader (terminal, spreadsheet, JSON). A number that is not finite is not known: "-", an empty CSV
 * cell, null.
 */
#ifndef SPECTER_REPORT_SHEET_H
#define SPECTER_REPORT_SHEET_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct cJSON;

/* Units of a column's numbers: X(id, JSON and CSV value = number / divisor). Keys say the unit that
 * comes out: `_us` for SHEET_NS, `bytes`, `_GBps`. */
#define SHEET_UNITS(X)                                                    \
    X(TEXT, 1)   /* left-aligned; beside NAME all others are numbers */   \
    X(NAME, 1)   /* of a kernel: without return type and namespaces */    \
    X(COUNT, 1)  /* whole numbers */                                      \
    X(NS, 1e3)   /* for people in one unit a sheet: us, ms or s */        \
    X(TIME, 1e3) /* nanoseconds too, for people each with its own unit */ \
    X(BYTES, 1)                                                           \
    X(RATE, 1)  /* GB/s, TFLOPS: three significant digits */              \
    X(SHARE, 1) /* 0.3 is 30 % */

enum sheet_unit {
#define X(id, divisor) SHEET_##id,
    SHEET_UNITS(X)
#undef X
};

struct sheet_column {
    const char *key;     /* in JSON and CSV; NULL: only for people */
    const char *heading; /* for people; NULL: not shown to them */
    enum sheet_unit unit;
    int max; /* of text: columns on a terminal, longer text is cut; 0: 42 */
};

#define SHEET_COLUMNS(list) list, sizeof(list) / sizeof *(list)

struct sheet_cell {
    const char *text; /* NULL: a number */
    double number;
};

struct sheet {
    struct arena arena;
    const char *name;  /* in JSON, for --table and in file names: lower case, words joined by _ */
    const char *title; /* a line above the table, for people */
    const struct sheet_column *columns; /* borrowed */
    size_t ncolumns;
    struct sheet_cell *cells; /* owned, row by row */
    size_t ncells, cap_cells;
    const char **notes; /* owned; lines below the table, for people */
    size_t nnotes, cap_notes;
    size_t json_rows; /* in JSON no more than so many; 0: all */
    bool off_page;    /* not in text for people: too little to say, or another sheet says it */
};

void sheet_init(struct sheet *s, const char *name, const char *title,
                const struct sheet_column *columns, size_t ncolumns);
void sheet_release(struct sheet *s);

void sheet_text(struct sheet *s, const char *text); /* copied; NULL or "": not known */
void sheet_number(struct sheet *s, double value);
void sheet_note(struct sheet *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
size_t sheet_rows(const struct sheet *s);

/* For people: title, up to `rows` rows ("and N more"), notes. Nothing when there are no rows. */
void sheet_print(const struct sheet *s, size_t rows, FILE *out);

/* The same, for forms for people that are laid out elsewhere: fills `t`, which was initialised,
 * with up to `rows` rows, text whole instead of cut. Returns the unit of the times that are in one
 * ("us", "ms", "s"); NULL: there are none. */
struct table;
const char *sheet_table(const struct sheet *s, size_t rows, struct table *t);

/* --format of tables. NULL: table. 0, or -1 with e filled (ERR_USAGE). */
enum sheet_form { SHEET_TABLE, SHEET_CSV, SHEET_MD };
struct err;
int sheet_form_parse(const char *text, enum sheet_form *form, struct err *e);

/* All rows in that form. */
void sheet_write(const struct sheet *s, enum sheet_form form, FILE *out);

/* All rows, as Markdown with title and notes; nothing when there are none. */
void sheet_markdown(const struct sheet *s, FILE *out);

/* All rows, after a line of keys. Text that a spreadsheet would take for a formula gets a ' in
 * front. */
void sheet_csv(const struct sheet *s, FILE *out);

/* Number of rows in JSON (json_rows), and one of them as an object, which the caller deletes. */
size_t sheet_json_rows(const struct sheet *s);
struct cJSON *sheet_json_row(const struct sheet *s, size_t row);

#endif
