/* SPDX-License-Identifier: MIT
 *
 * A comparison as workbooks (xlsx.h), with the names of files and worksheets that TraceLens'
 * scripts have (docs/compare.md maps them):
 *
 *   final_analysis_report    all of it: the dashboard first, what the tables of `compare` hold, and
 *                            hidden the figures of each side
 *   gpu_timeline_combined, gpu_timeline_comparison, collective_combined, collective_comparison
 *   tracelens_analysis/comparison_report    the first without what is hidden in it
 */
#ifndef SPECTER_REPORT_COMPARE_WORKBOOK_H
#define SPECTER_REPORT_COMPARE_WORKBOOK_H

#include "report/compare_report.h"

/* Writes them into a folder that is there, as is WORKBOOKS_FOLDER in it. 0, or -1 with e filled. */
int compare_workbooks(const char *dir, const struct compare_report *r, struct compare_runs base,
                      struct compare_runs test, struct err *e);

#endif
