/* SPDX-License-Identifier: MIT
 *
 * The numbers behind the names of --fail-on that are no share of a rank's time.
 */
#include "analysis/fail_on.h"

#include <math.h>

double fail_on_value_hangs(const struct analysis *a)
{
    return a->coverage & COVER_NCCL ? (double)a->hangs.count : NAN;
}

double fail_on_value_waiting(const struct analysis *a)
{
    return a->total.wait_known ? share_of(a->total.exposed_wait_ns, a->total.span_ns) : NAN;
}

/* Where not all clocks agree, the mean would be that of what happens within hosts alone. */
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
