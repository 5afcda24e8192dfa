/* SPDX-License-Identifier: MIT
 *
 * Conditions (base/condition.h) on an analysis: `exposed_comm>0.3`, for `analyze --fail-on`, and
 * for `compare --fail-on`, which takes these names, too.
 *
 * FAIL_ON_SHARES are sums over the selected ranks, divided. FAIL_ON_VALUES are other shares,
 * counts, and times in the unit that their name ends in. docs/analyze.md, "--fail-on", defines
 * each.
 *
 * To add a share of time: a line in FAIL_ON_SHARES. To add another value: a line in FAIL_ON_VALUES
 * and its function in fail_on.c. Either: a row in the document.
 */
#ifndef SPECTER_ANALYSIS_FAIL_ON_H
#define SPECTER_ANALYSIS_FAIL_ON_H

#include "analysis/analysis.h"
#include "base/condition.h"

/* X(name, part, whole, help): name = part / whole */
#define FAIL_ON_SHARES(X)                                                          \
    X(compute, compute, span, "device computes")                                   \
    X(comm, comm, span, "communication runs")                                      \
    X(exposed_comm, exposed_comm, span, "communication runs and nothing computes") \
    X(memory, memory, span, "copies run")                                          \
    X(exposed_memory, exposed_memory, span, "only copies run")                     \
    X(idle, idle, span, "no traced work runs")                                     \
    X(overlap, overlap, comm, "share of communication time that compute covers")

/* X(name, kind, "the trace holds no ...", help): fail_on_value_<name>() */
#define FAIL_ON_VALUES(X)                                                                         \
    X(hangs, COUNT, "communication", "communication that never ended (a count)")                  \
    X(waiting, SHARE, "communication between ranks",                                              \
      "share of the step: exposed waits for stragglers")                                          \
    X(lag_us, TIME, "collectives of ranks with one clock",                                        \
      "mean over the collectives: last start - first start, in us")                               \
    X(of_model, SHARE, "collective that can be compared with the model",                          \
      "lowest share of the bandwidth that the model expects")                                     \
    X(bubble, SHARE, "pipeline", "share of a step in which pipeline stages have nothing to do")   \
    X(step_ms, TIME, "steps", "mean length of a step, in ms")                                     \
    X(step_cv, SHARE, "series of three steps", "standard deviation of the steps over their mean") \
    X(gemm_of_peak, SHARE, "GEMMs with times on a known GPU",                                     \
      "flops of the GEMMs over what the dense peak gives")                                        \
    X(untimed, SHARE, "operations", "share of the operations that have no device time")           \
    X(lost, COUNT, "count of lost operations: the recording of a rank was cut off",               \
      "operations and lines that recorder or reader lost (a count)")

/* Each returns its number; NAN: not known. */
#define X(name, kind, lacks, help) double fail_on_value_##name(const struct analysis *a);
FAIL_ON_VALUES(X)
#undef X

/* All names, shares first, for conditions_apply() on a struct analysis. */
const struct condition_table *fail_on_table(void);

/* Checks the form alone, so that a wrong expression is refused before anything is read. 0, or -1
 * with e filled (ERR_USAGE). */
int fail_on_check(const char *expr, struct err *e);

/* 0: no condition holds. -1 with e filled: ERR_NO, the first condition that holds, with its value;
 * ERR_INPUT, none holds, and for one the trace has no such number; ERR_USAGE as above. */
int fail_on_apply(const char *expr, const struct analysis *a, struct err *e);

#endif
