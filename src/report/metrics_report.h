/* SPDX-License-Identifier: MIT
 *
 * The report of `specter metrics` (schema "specter.metrics/1", docs/metrics.md).
 */
#ifndef SPECTER_REPORT_METRICS_REPORT_H
#define SPECTER_REPORT_METRICS_REPORT_H

#include "metrics/metrics.h"

#include <stdio.h>

void metrics_list(FILE *out); /* names, units, definitions */
void metrics_text(const struct metrics *m, FILE *out);

struct cJSON;
struct cJSON *metrics_json(const struct metrics *m); /* caller deletes */

#endif
