/* SPDX-License-Identifier: MIT
 *
 * An analysis as one page that needs nothing else (html.h): findings, the time of each rank and the
 * steps as charts, every table with its first rows. What comes from a trace is escaped; the same
 * analysis gives the same bytes.
 */
#ifndef SPECTER_REPORT_ANALYZE_HTML_H
#define SPECTER_REPORT_ANALYZE_HTML_H

#include "report/findings.h"

/* a->all_rows: the tables say how many rows they have beyond those that are shown. 0, or -1 with e
 * filled: the file cannot be written. */
int analyze_html(const struct analysis *a, const struct findings *f, const char *path,
                 struct err *e);

#endif
