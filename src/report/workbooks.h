/* SPDX-License-Identifier: MIT
 *
 * Workbooks (xlsx.h) with the names of folders, files and worksheets that TraceLens' reports and
 * scripts have (docs/compare.md maps them).
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
