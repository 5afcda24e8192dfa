/* SPDX-License-Identifier: MIT
 *
 * Inside the page of an analysis: analyze_html.c (the page), analyze_html_ranks.c and
 * analyze_html_steps.c (charts), analyze_html_sheets.c (tables).
 */
#ifndef SPECTER_REPORT_ANALYZE_HTML_INTERNAL_H
#define SPECTER_REPORT_ANALYZE_HTML_INTERNAL_H

#include "analysis/analysis.h"
#include "report/html.h"
#include "report/table.h"

/* Charts, and nothing at all when there is nothing to show. */
void html_ranks(struct buf *b, const struct analysis *a);
void html_steps(struct buf *b, const struct analysis *a);

/* The tables into `b`; a link to each into `links`. */
void html_sheets(struct buf *b, struct buf *links, const struct analysis *a);

void html_link(struct buf *links, const char *name, const char *title);
void html_table(struct buf *b, const struct table *t);

#endif
