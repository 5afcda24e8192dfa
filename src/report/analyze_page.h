/* SPDX-License-Identifier: MIT
 *
 * Parts of the page of `specter analyze` (analyze_html.c), each with its headings. One that has
 * nothing to show is left out.
 */
#ifndef SPECTER_REPORT_ANALYZE_PAGE_H
#define SPECTER_REPORT_ANALYZE_PAGE_H

#include "analysis/analysis.h"
#include "report/page.h"

#define ANALYZE_STEP_MAX ((size_t)24 << 20) /* bytes of a timeline that is one step */

void analyze_put_timeline(struct page *p, const struct analysis *a);

/* The exact split of each rank's time, and the steps over time (analyze_charts.c). */
void analyze_put_ranks(struct page *p, const struct analysis *a);
void analyze_put_steps(struct page *p, const struct analysis *a);

/* Bus bandwidth by size, ranks by steps, roofline of GEMMs (analyze_plots.c). */
void analyze_put_collectives(struct page *p, const struct analysis *a);
void analyze_put_grids(struct page *p, const struct analysis *a);
void analyze_put_roofline(struct page *p, const struct analysis *a);

#endif
