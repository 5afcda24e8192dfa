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

#endif
