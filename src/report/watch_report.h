/* SPDX-License-Identifier: MIT
 *
 * The report of `specter watch`: a screen, JSON (schema "specter.watch/1": docs/watch.md,
 * share/schemas/watch.json), and metrics for Prometheus.
 */
#ifndef SPECTER_REPORT_WATCH_REPORT_H
#define SPECTER_REPORT_WATCH_REPORT_H

#include "report/screen.h"
#include "watch/watch.h"

struct cJSON;

/* lines: so many at most, where a terminal has no more; 0: any number. Where there is no room for
 * all ranks, those that stand still are shown before others. */
void watch_text(const struct watch *w, const struct trace_folder *f, struct screen *s,
                size_t lines);

/* The caller deletes it. */
struct cJSON *watch_json(const struct watch *w, const struct trace_folder *f);

/* OpenMetrics, which is also what the older text format of Prometheus allows. */
void watch_metrics(const struct watch *w, struct buf *out);

#endif
