/* SPDX-License-Identifier: MIT
 *
 * The report of `specter analyze`: one page of text, or everything as JSON (schema
 * "specter.analyze/1", docs/analyze.md). What is not known is "-" in text and null in JSON, never
 * 0.
 */
#ifndef SPECTER_REPORT_ANALYZE_REPORT_H
#define SPECTER_REPORT_ANALYZE_REPORT_H

#include "analysis/analysis.h"
#include "report/findings.h"

#include <stdio.h>

/* At most 80 columns; with many ranks the rank table shows the spread and the extreme ranks. */
void analyze_text(const struct analysis *a, const struct findings *f, FILE *out);

struct cJSON;
struct cJSON *analyze_json(const struct analysis *a, const struct findings *f); /* caller deletes */

#endif
