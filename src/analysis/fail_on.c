/* SPDX-License-Identifier: MIT */
#include "analysis/fail_on.h"

#include <math.h>

/* Values of shares; like all values here NAN where the trace has no such number. */
#define X(name, part, whole, help)                                                          \
    static double value_of_##name(const struct analysis *a)                                 \
    {                                                                                       \
        return analysis_timed(a) ? share_of(a->total.part##_ns, a->total.whole##_ns) : NAN; \
    }
FAIL_ON_SHARES(X)
#undef X

/* ---- values that are no share of a rank's time ---- */

double fail_on_value_hangs(const struct analysis *a)
{
    return a->coverage & COVER_NCCL ? (double)(a->hangs.count + a->run->unnamed_hangs) : NAN;
}

double fail_on_value_waiting(const struct analysis *a)
{
    return a->total.wait_known ? share_of(a->total.exposed_wait_ns, a->total.span_ns) : NAN;
}

/* Where not all clocks agree, only ranks of one host could be compared, and the mean would be
 * theirs.
 */
double fail_on_value_lag_us(const struct analysis *a)
{
    double sum_ns = 0, n = 0;
    if (!a->run->clock_aligned)
        return NAN;
    for (size_t i = 0; i < a->comm.count; i++) {
        const struct comm_instance *in = &a->comm.list[i];
        if (in->p2p || in->timing.first_start_ns == UNKNOWN_NS ||
            in->timing.last_start_ns == UNKNOWN_NS)
            continue;
        sum_ns += (double)(in->timing.last_start_ns - in->timing.first_start_ns);
        n++;
    }
    return n > 0 ? sum_ns / n / 1e3 : NAN;
}

double fail_on_value_of_model(const struct analysis *a)
{
    double lowest = NAN;
    for (size_t i = 0; i < a->collectives.count; i++) {
        const struct comm_row *row = &a->collectives.list[i];
        if (row->comm_size >= 2 && analysis_comm_share(a, row) >= ANALYSIS_COMM_MIN)
            lowest = fmin(lowest, row->of_expected);
    }
    return lowest;
}

double fail_on_value_bubble(const struct analysis *a)
{
    const struct bubbles *b = &a->bubbles;
    return b->why == NULL ? share_of(b->total.bubble_ns, b->total.window_ns) : NAN;
}

double fail_on_value_step_ms(const struct analysis *a)
{
    return a->steps.job.steps > 0 ? a->step_time.ns / 1e6 : NAN;
}

double fail_on_value_step_cv(const struct analysis *a)
{
    const struct step_summary *s = &a->steps.job;
    return s->steps >= STEPS_JUDGED ? sample_cv(&s->of) : NAN;
}

double fail_on_value_gemm_of_peak(const struct analysis *a)
{
    struct gemm_sum gemms = work_gemms(&a->work);
    return gemms.peak_flops > 0 ? gemms.flops / gemms.peak_flops : NAN;
}

double fail_on_value_untimed(const struct analysis *a)
{
    uint64_t untimed = time_breakdown_untimed(&a->total);
    uint64_t all = untimed + a->total.unplaced_ops + a->total.timed_ops;
    return all > 0 ? (double)untimed / (double)all : NAN;
}

/* A recorder counts what it dropped, and says so at the end. */
double fail_on_value_lost(const struct analysis *a)
{
    double lost = 0;
    for (size_t r = 0; r < a->run->nranks; r++) {
        const struct rank *rank = &a->run->ranks[r];
        if (!rank->complete)
            return NAN;
        lost += (double)rank->dropped + (double)rank->bad_lines;
    }
    return lost;
}

/* ---- all of them ---- */

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
    const char *lacks; /* when it is not known; NULL: a share of time_breakdown */
} values[] = {
#define X(name, part, whole, help) {value_of_##name, NULL},
    FAIL_ON_SHARES(X)
#undef X
#define X(name, kind, lacks, help) {fail_on_value_##name, lacks},
        FAIL_ON_VALUES(X)
#undef X
};

static double value_at(const void *of, size_t i, const char **lacks)
{
    const struct analysis *a = of;
    *lacks = values[i].lacks != NULL ? values[i].lacks
             : analysis_timed(a)     ? "such time"
                                     : "device times";
    return values[i].value(a);
}

static const struct condition_table table = {.names = names,
                                             .n = sizeof names / sizeof *names,
                                             .example = "exposed_comm>0.3",
                                             .holder = "trace",
                                             .value = value_at};

const struct condition_table *fail_on_table(void)
{
    return &table;
}

int fail_on_check(const char *expr, struct err *e)
{
    return conditions_check(&table, expr, e);
}

int fail_on_apply(const char *expr, const struct analysis *a, struct err *e)
{
    return conditions_apply(&table, expr, a, e);
}
