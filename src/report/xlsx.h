/* SPDX-License-Identifier: MIT
 *
 * Sheets as a workbook for Excel, LibreOffice and the like (libxlsxwriter): each table with bold
 * headings that stay in view, a filter, widths, and numbers in the format of their unit.
 *
 *     struct xlsx *w;
 *     if (xlsx_open(&w, "report.xlsx", e) < 0) return -1;
 *     xlsx_add(w, "Summary", &sheet, 0);
 *     if (xlsx_close(w, stderr, e) < 0) return -1;
 *
 * Headings are the keys of the sheet's columns, and values those of its JSON: `_us` is
 * microseconds. Text is never a formula. Rows beyond what a worksheet holds go on in "NAME (2)",
 * which a note says. Rows are written as they come, so that a table may be larger than memory.
 * The file appears under its name once it is whole.
 */
#ifndef SPECTER_REPORT_XLSX_H
#define SPECTER_REPORT_XLSX_H

#include <stddef.h>
#include <stdio.h>

struct err;
struct sheet;
struct xlsx;

enum xlsx_flag {
    XLSX_HIDDEN = 1,    /* the worksheet is there for formulas and scripts */
    XLSX_CHART = 2,     /* a bar chart of the second and third column by the first, at the right */
    XLSX_CHART_ONE = 4, /* of the second column alone */
};

/* Columns of these keys are coloured, green where it is better and red where it is worse: a change,
 * test / base - 1, and an improvement, which is above 0 where it is better. The column "better"
 * says of each row in which direction the change is better: "less", "more", or "", neither. */
#define XLSX_CHANGE "change"
#define XLSX_IMPROVEMENT "improvement"
#define XLSX_BETTER "better"

/* 0, or -1 with e filled (ERR_INPUT): it cannot be written, or specter was built without the
 * library, which the message names. */
int xlsx_open(struct xlsx **out, const char *path, struct err *e);

/* name: at most 31 characters, none of []:*?/\. The sheet is read, and may be released then. */
void xlsx_add(struct xlsx *w, const char *name, const struct sheet *s, unsigned flags);

/* The same in pieces: sheets of the same columns, one after the other. Widths are those of the
 * first, which is not written by xlsx_begin(). */
void xlsx_begin(struct xlsx *w, const char *name, const struct sheet *s, unsigned flags);
void xlsx_rows(struct xlsx *w, const struct sheet *s);
void xlsx_end(struct xlsx *w);

/* Releases it. -1 with e filled when not all of it was written; there is no file then. notes: gets
 * a line for each table that goes on in another worksheet; NULL. */
int xlsx_close(struct xlsx *w, FILE *notes, struct err *e);

#endif
