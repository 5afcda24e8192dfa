/* SPDX-License-Identifier: MIT
 *
 * Parts of the page of `specter compare` (compare_html.c), each with its heading.
 */
#ifndef SPECTER_REPORT_COMPARE_PAGE_H
#define SPECTER_REPORT_COMPARE_PAGE_H

#include "report/compare_report.h"
#include "report/page.h"

#define COMPARE_TIMELINE_MAX ((size_t)3500000) /* bytes of both: with its tables a page has 5 MB \
                                                */

/* The timelines of both sides; nothing where one is a prediction. */
void compare_put_timeline(struct page *p, const struct compare_report *r);

#endif
