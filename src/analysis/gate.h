/* SPDX-License-Identifier: MIT
 *
 * Conditions on an analysis, for `--fail-on`: `exposed_comm>0.3`, or several with commas between
 * them, of which one is enough.
 *
 *     NAME >|>=|<|<= NUMBER[%]
 *
 * A name is a fraction between 0 and 1, pooled over the selected ranks (sum over sum), or a count
 * over all ranks.
 */
#ifndef SPECTER_ANALYSIS_GATE_H
#define SPECTER_ANALYSIS_GATE_H

#include "analysis/analysis.h"

/* X(name, part, whole, help): name = part / whole */
#define GATE_SHARES(X)                                                             \
    X(compute, compute, span, "device computes")                                   \
    X(comm, comm, span, "communication runs")                                      \
    X(exposed_comm, exposed_comm, span, "communication runs and nothing computes") \
    X(memory, memory, span, "copies run")                                          \
    X(exposed_memory, exposed_memory, span, "only copies run")                     \
    X(idle, idle, span, "nothing that was traced runs")                            \
    X(overlap, overlap, comm, "share of communication time that compute covers")

/* X(name, bits of enum coverage that it needs, count in struct analysis, help) */
#define GATE_COUNTS(X) \
    X(hangs, COVER_NCCL, hangs.count, "communication that holds the job up (a count)")

/* Checks the form alone, so that a wrong expression is refused before anything is read. 0, or -1
 * with e filled (ERR_USAGE). */
int gate_check(const char *expr, struct err *e);

/* 0: no condition holds. -1 with e filled: ERR_NO, the first condition that holds, with its value;
 * ERR_INPUT, none holds, and for one the trace has no such number; ERR_USAGE as above. */
int gate_apply(const char *expr, const struct analysis *a, struct err *e);

#endif
