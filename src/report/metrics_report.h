/* SPDX-License-Identifier: MIT
 *
 * The report of `specter metrics` (schema "specter.metrics/1", docs/metrics.md).
 */
#ifndef SPECTER_REPORT_METRICS_REPORT_H
#define SPECTER_REPORT_METRICS_REPORT_H

#include "metrics/metrics.h"

#include <stdio.h>

void metrics_list(FILE *out); /* names, units, definitions */

/* The values, a line each, or why there is none; and with all details. */
void metrics_summary(const struct metrics *m, FILE *out);
void metrics_text(const struct metrics *m, FILE *out);

struct cJSON;
struct cJSON *metrics_json(const struct metrics *m); /* caller deletes */

#endif
