/* SPDX-License-Identifier: MIT
 *
 * Workbooks for Excel, LibreOffice and the like, with the names of folders, files and worksheets
 * that TraceLens' reports and scripts have (docs/compare.md maps them).
 *
 * Of an analysis:
 *
 *   tracelens_analysis/individual_reports/rank<N>_individual_report.xlsx    of each selected rank
 *   tracelens_analysis/collective_reports/collective_all_ranks.xlsx
 *
 * Of a comparison:
 *
 *   final_analysis_report    all of it: the dashboard first, what the tables of `compare` hold, and
 *                            hidden the figures of each side
 *   gpu_timeline_combined, gpu_timeline_comparison, collective_combined, collective_comparison
 *   tracelens_analysis/comparison_report    the first without what is hidden in it
 */
#ifndef SPECTER_REPORT_WORKBOOKS_H
#define SPECTER_REPORT_WORKBOOKS_H

#include "analysis/analysis.h"
#include "report/compare_report.h"

#include <stdio.h>

#define WORKBOOKS_FOLDER "tracelens_analysis"
#define WORKBOOKS_INDIVIDUAL WORKBOOKS_FOLDER "/individual_reports"
#define WORKBOOKS_COLLECTIVE WORKBOOKS_FOLDER "/collective_reports"

/* Writes them below a folder in which these folders are. a->all_rows is set. notes: as of
 * xlsx_close(). 0, or -1 with e filled. */
int analyze_workbooks(const char *dir, const struct analysis *a, FILE *notes, struct err *e);

/* Writes them into a folder that is there, as is WORKBOOKS_FOLDER in it. 0, or -1 with e filled. */
int compare_workbooks(const char *dir, const struct compare_report *r, struct compare_runs base,
                      struct compare_runs test, struct err *e);

/* ---- a workbook (xlsx.c) ----
 *
 * Sheets written by libxlsxwriter: each table with bold headings that stay in view, a filter,
 * widths, and numbers in the format of their unit.
 *
 *     struct xlsx *w;
 *     if (xlsx_open(&w, "report.xlsx", e) < 0) return -1;
 *     xlsx_add(w, "Summary", &sheet, 0);
 *     if (xlsx_close(w, stderr, e) < 0) return -1;
 *
 * Headings are the keys of the sheet's columns, and values those of its JSON: `_us` is
 * microseconds. Text is never a formula. Rows beyond what a worksheet holds go on in "NAME (2)",
 * which a note says. Rows are written as they come, so that a table may be larger than memory.
 * The file appears under its name once it is whole. */

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

/* ---- what both share (gpu_times.c): types of a GPU's time as in TraceLens' timelines ---- */

/* X(name, which direction is better, the part of compare.h) */
#define GPU_TIMES(X)                               \
    X(computation_time, "less", COMPARE_COMPUTE)   \
    X(exposed_comm_time, "less", COMPARE_COMM)     \
    X(exposed_memcpy_time, "less", COMPARE_COPIES) \
    X(busy_time, "", COMPARE_BUSY)                 \
    X(idle_time, "less", COMPARE_IDLE)             \
    X(total_time, "less", COMPARE_WHOLE)           \
    X(total_comm_time, "", COMPARE_PART_COUNT)     \
    X(total_memcpy_time, "", COMPARE_PART_COUNT)

enum gpu_time {
#define X(name, better, part) GPU_##name,
    GPU_TIMES(X)
#undef X
        GPU_TIME_COUNT
};

struct gpu_time_type {
    const char *name, *better;
    enum compare_part part; /* COMPARE_PART_COUNT: no row of a comparison */
};

extern const struct gpu_time_type gpu_times[GPU_TIME_COUNT];

double gpu_time_of(const struct time_breakdown *t, enum gpu_time type); /* ns */

#endif
