/* SPDX-License-Identifier: MIT
 *
 * For the files that hold the rules of findings.h: a function each, and what they share.
 */
#ifndef SPECTER_REPORT_FINDINGS_RULES_H
#define SPECTER_REPORT_FINDINGS_RULES_H

#include "report/findings.h"

#define RATE_TEXT "%.0f %%"
#define TIME_TEXT 32

static inline double percent(double share)
{
    return 100 * share;
}

/* True when the rule has something to say: value, weight and text are set. */
#define X(name, limit, what) \
    bool rule_##name(const struct analysis *a, double threshold, struct finding *f, struct buf *b);
RULES(X)
#undef X

double rule_threshold(enum rule_id id);

/* True when the rule has something to say: another one then does not say the same again. */
bool rule_speaks(const struct analysis *a, enum rule_id id);

/* Idle more than anything else, and mostly because the host launches late; every kernel was timed.
 */
bool findings_host_bound(const struct analysis *a);

/* The rank in which most waiting for late ranks has its origin: an index into run->ranks. */
size_t worst_arrival(const struct analysis *a);

/* The rank that truly holds the critical path, as such an index, and its share; SIZE_MAX: none. */
size_t critical_holder(const struct analysis *a, double *share);

#endif
