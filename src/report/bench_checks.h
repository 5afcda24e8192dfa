/* SPDX-License-Identifier: MIT
 *
 * The checks of a benchmark as people and programs read it.
 */
#ifndef SPECTER_REPORT_BENCH_CHECKS_H
#define SPECTER_REPORT_BENCH_CHECKS_H

#include "bench/checks.h"

struct cJSON;

/* One line, "Checks: all 6 passed", and one for each that failed, with its number, its limit and
 * where to look; full: one for each that is known. Nothing where none is known. */
void bench_checks_text(const struct bench_checks *checks, bool full, FILE *out);

/* One array: name, pass (null: not known), value, limit, where. Caller deletes. */
struct cJSON *bench_checks_json(const struct bench_checks *checks);

#endif
