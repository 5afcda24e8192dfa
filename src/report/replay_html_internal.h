/* SPDX-License-Identifier: MIT
 *
 * Inside the page of a replay: replay_html.c (the page), replay_html_chart.c (charts of all
 * scales), replay_html_step.c (one step, drawn). Common to all pages: html.h.
 */
#ifndef SPECTER_REPORT_REPLAY_HTML_INTERNAL_H
#define SPECTER_REPORT_REPLAY_HTML_INTERNAL_H

#include "report/html.h"
#include "report/replay_html.h"
#include "report/replay_internal.h"

/* Classes of colours of shares, "k0".., are their places in replay_shares. */

void html_scaling(struct buf *b, const struct replay *rep); /* iteration and efficiency by GPUs */
void html_shares(struct buf *b, const struct replay *rep);  /* where the step goes */

/* One iteration of a few ranks in the last simulation: rows of streams. rank: whose iteration. */
void html_step(struct buf *b, const struct replay_job *job, size_t rank);

#endif
