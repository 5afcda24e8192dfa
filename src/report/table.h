/* SPDX-License-Identifier: MIT
 *
 * Aligned text tables, the way people read them: headings, a rule, numbers to the right.
 *
 *     struct table t;
 *     table_init(&t);
 *     table_column(&t, "rank", TABLE_RIGHT);
 *     table_column(&t, "busbw GB/s", TABLE_RIGHT);
 *     table_cell(&t, "%d", rank);
 *     table_cell(&t, "%.1f", busbw);
 *     table_print(&t, stdout);
 *     table_release(&t);
 *
 * Cells fill rows from left to right; a last row that is not full ends early. Text from a trace
 * goes through table_text(), which makes it safe for a terminal and cuts it to `max` columns with
 * an ellipsis ("..."). A character counts as one column. Lines have no trailing spaces.
 */
#ifndef SPECTER_REPORT_TABLE_H
#define SPECTER_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum table_align { TABLE_LEFT, TABLE_RIGHT };

struct table {
    struct table_head {
        const char *title; /* borrowed */
        enum table_align align;
        bool optional;
    } * heads;
    size_t nheads, cap_heads;
    char **cells; /* owned, row by row */
    size_t ncells, cap_cells;
};

void table_init(struct table *t);
void table_release(struct table *t);
void table_column(struct table *t, const char *title, enum table_align align);
void table_optional(struct table *t); /* the column added last may be left out */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_text(struct table *t, const char *text, size_t max);
/* Two spaces of indent; on a terminal table_print_within(), else whole. */
void table_print(const struct table *t, FILE *out);
/* Without optional columns, the last one first, until a line has at most `width` columns. Where
 * that is not enough, a last column of text is broken, or further columns are left out and named.
 */
void table_print_within(const struct table *t, size_t width, FILE *out);
void table_print_markdown(const struct table *t, FILE *out); /* as GitHub has tables */

/* With a backslash before what Markdown would take for a tag, code, a link, emphasis, an entity, or
 * the end of a cell. */
void markdown_text(const char *text, FILE *out);

/* Numbers for people, without a static buffer: each writes into buf and returns it. Three
 * significant digits; "-" for what is not finite.
 * text_ns: "850 ns", "12.3 us", "4.56 ms", "1.20 s" from nanoseconds;
 * text_bytes: "512 B", "1.5 KiB", "64 MiB".
 * From a million of the largest unit on with an exponent: "1e+21 s". 16 bytes hold any of them. */
char *text_ns(char *buf, size_t size, double ns);
char *text_bytes(char *buf, size_t size, double bytes);

/* The value to print with so many decimals: 0 for what would come out as -0. */
double without_minus(double value, int decimals);

/* One unit for all times of a table, so that its numbers compare at a glance: us, ms or s. */
struct time_unit {
    const char *name;
    double ns;
    int decimals;
};
struct time_unit time_unit_for(double longest_ns);

/* Text from outside, safe for a terminal, in at most `max` columns: what is no valid UTF-8, control
 * characters (C1 included) and those that reorder a line become '?'. */
char *text_safe(char *buf, size_t size, const char *text, size_t max);

/* All of a text, made safe; the caller frees it. */
char *text_safe_copy(const char *text);

/* Appends text to a CSV cell (RFC 4180): quoted where it must be; without control bytes and as
 * valid UTF-8; and with a ' in front of what a spreadsheet would take for a formula. */
struct buf;
void csv_put_text(struct buf *out, const char *text);

#endif
