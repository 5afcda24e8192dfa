/* SPDX-License-Identifier: MIT
 *
 * For analyze_json.c: what the pages of pipelines and of the critical path say there.
 */
#ifndef SPECTER_REPORT_ANALYZE_JSON_INTERNAL_H
#define SPECTER_REPORT_ANALYZE_JSON_INTERNAL_H

#include "analysis/analysis.h"

struct cJSON;

/* "pipeline": null without messages; with "reason" where they form none. */
void add_pipeline_json(struct cJSON *doc, const struct analysis *a);

/* "critical": the step whose path is told; with "reason" where there is none. */
void add_critical_json(struct cJSON *doc, const struct analysis *a);

#endif
