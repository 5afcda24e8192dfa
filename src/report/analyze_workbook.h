/* SPDX-License-Identifier: MIT
 *
 * An analysis as workbooks (xlsx.h), with the names of folders, files and worksheets that
 * TraceLens' reports have (docs/compare.md maps them):
 *
 *   tracelens_analysis/individual_reports/rank<N>_individual_report.xlsx    of each selected rank
 *   tracelens_analysis/collective_reports/collective_all_ranks.xlsx
 */
#ifndef SPECTER_REPORT_ANALYZE_WORKBOOK_H
#define SPECTER_REPORT_ANALYZE_WORKBOOK_H

#include "analysis/analysis.h"

#include <stdio.h>

#define WORKBOOKS_FOLDER "tracelens_analysis"
#define WORKBOOKS_INDIVIDUAL WORKBOOKS_FOLDER "/individual_reports"
#define WORKBOOKS_COLLECTIVE WORKBOOKS_FOLDER "/collective_reports"

/* Writes them below a folder in which these folders are. a->all_rows is set. notes: as of
 * xlsx_close(). 0, or -1 with e filled. */
int analyze_workbooks(const char *dir, const struct analysis *a, FILE *notes, struct err *e);

#endif
