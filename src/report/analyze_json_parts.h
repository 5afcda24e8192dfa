/* SPDX-License-Identifier: MIT
 *
 * For analyze_json.c and findings.c: what the pages of pipelines and of the critical path say
 * there, and rules that have a file of their own.
 */
#ifndef SPECTER_REPORT_ANALYZE_JSON_PARTS_H
#define SPECTER_REPORT_ANALYZE_JSON_PARTS_H

#include "report/findings.h"

struct buf;
struct cJSON;

/* "pipeline": null without messages; with "reason" where they form none. */
void add_pipeline_json(struct cJSON *doc, const struct analysis *a);

/* "critical": the step whose path is told; with "reason" where there is none. */
void add_critical_json(struct cJSON *doc, const struct analysis *a);

bool rule_bubble(const struct analysis *a, double threshold, struct finding *f, struct buf *b);
bool rule_slow_group(const struct analysis *a, double threshold, struct finding *f, struct buf *b);
bool rule_critical_rank(const struct analysis *a, double threshold, struct finding *f,
                        struct buf *b);
bool rule_critical_host(const struct analysis *a, double threshold, struct finding *f,
                        struct buf *b);

#endif
