/* SPDX-License-Identifier: MIT
 *
 * Conditions (base/condition.h) on a comparison, for `compare --fail-on`: the names of `analyze
 * --fail-on` and of `metrics`, which are the test's, and those of COMPARE_CONDITIONS. With a signed
 * percentage they are changes, test / base - 1: `step_ms>+5%`.
 *
 * How much a number varies is known of several runs a side; within a run of the step, and of the
 * shares of it that each step has. What is counted has no noise.
 */
#ifndef SPECTER_COMPARE_CONDITIONS_H
#define SPECTER_COMPARE_CONDITIONS_H

#include "compare/compare.h"

struct err;

/* X(name, kind, "the comparison holds no ...", help) */
#define COMPARE_CONDITIONS(X)                                                                \
    X(step, SHARE, "step time", "change of the step: test / base - 1")                       \
    X(step_low, SHARE, "noise of the steps", "low end of its interval: above 0 is slower")   \
    X(step_high, SHARE, "noise of the steps", "high end of its interval: below 0 is faster") \
    X(worse, COUNT, "rows", "rows of all tables that are worse beyond their noise (a count)")

/* What is judged: a comparison, and the runs that it is of. */
struct compare_sides {
    struct comparison *c;
    struct compare_runs base, test;
};

/* As fail_on_check() and fail_on_apply() of analysis/fail_on.h. */
int compare_check_conditions(const char *expr, struct err *e);
int compare_apply_conditions(const char *expr, const struct compare_sides *of, struct err *e);

#endif
