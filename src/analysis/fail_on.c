/* SPDX-License-Identifier: MIT */
#include "analysis/fail_on.h"

#include "base/condition.h"

#include <math.h>

/* NAN: the trace has no such number. */
#define X(name, part, whole, help)                                                          \
    static double value_of_##name(const struct analysis *a)                                 \
    {                                                                                       \
        return analysis_timed(a) ? share_of(a->total.part##_ns, a->total.whole##_ns) : NAN; \
    }
FAIL_ON_SHARES(X)
#undef X

static const struct condition_name names[] = {
#define X(name, part, whole, help) {#name, CONDITION_SHARE},
    FAIL_ON_SHARES(X)
#undef X
#define X(name, kind, lacks, help) {#name, CONDITION_##kind},
        FAIL_ON_VALUES(X)
#undef X
};

static const struct {
    double (*value)(const struct analysis *a);
    const char *lacks; /* when it is not known; NULL: a time of the split */
} values[] = {
#define X(name, part, whole, help) {value_of_##name, NULL},
    FAIL_ON_SHARES(X)
#undef X
#define X(name, kind, lacks, help) {fail_on_value_##name, lacks},
        FAIL_ON_VALUES(X)
#undef X
};

static double value_of(const void *of, size_t i, const char **lacks)
{
    const struct analysis *a = of;
    *lacks = values[i].lacks != NULL ? values[i].lacks
             : analysis_timed(a)     ? "such time"
                                     : "device times";
    return values[i].value(a);
}

static const struct condition_table table = {names, sizeof names / sizeof *names,
                                             "exposed_comm>0.3", "trace", value_of};

int fail_on_check(const char *expr, struct err *e)
{
    return conditions_check(&table, expr, e);
}

int fail_on_apply(const char *expr, const struct analysis *a, struct err *e)
{
    return conditions_apply(&table, expr, a, e);
}
