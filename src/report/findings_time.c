/* SPDX-License-Identifier: MIT */
#include "report/findings_rules.h"

#include "base/buf.h"
#include "report/table.h"

#include <math.h>

#define IDLE_CAUSE_MIN 0.05 /* of the idle time: a smaller cause is not told */

const char *span_word(const struct analysis *a)
{
    return a->job_steps.source == STEPS_WHOLE ? "recording" : "step";
}

/* "of the step (7.67 ms of 14.6 ms a rank)": a part of the steps that count, mean over steps and
 * ranks; of what is one step, of its span. */
static void put_of_span(struct buf *b, const struct analysis *a, int64_t part_ns)
{
    const struct step_window *w = &a->step_time.window;
    char part[TIME_TEXT], span[TIME_TEXT];
    double n = (double)a->nranks * (w->several ? w->steps : 1);
    buf_printf(
        b, "of the %s (%s of %s%s)", span_word(a), text_ns(part, sizeof part, (double)part_ns / n),
        text_ns(span, sizeof span, (double)a->total.span_ns / n), a->nranks > 1 ? " a rank" : "");
}

/* Where this bound is the largest, and the critical path mostly another one: why. */
static void put_path(struct buf *b, const struct analysis *a, enum bound bound)
{
    struct analysis_verdict v = analysis_verdict(a);
    if (v.time == bound && v.why != NULL)
        buf_printf(b, " The critical path is mostly %s (" RATE_TEXT "): %s.",
                   v.path == BOUND_HOST ? "the host" : bound_name(v.path), percent(v.path_share),
                   v.why);
}

bool rule_compute(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    struct gemm_sum gemms = work_gemms(&a->work);
    f->value = f->weight = share_of(a->total.compute_ns, a->total.span_ns);
    if (!(f->value >= threshold))
        return false;
    buf_printf(b, "Compute-bound: %s for " RATE_TEXT " ",
               a->nranks > 1 ? "GPUs compute" : "the GPU computes", percent(f->value));
    put_of_span(b, a, a->total.compute_ns);
    buf_putc(b, '.');
    if (gemms.total_ns > 0 && !rule_speaks(a, RULE_gemm_efficiency))
        buf_printf(b, " GEMMs run at %.1f TFLOPS, " RATE_TEXT " of the dense peak.",
                   gemms.flops / gemms.total_ns / 1e3, percent(gemms.flops / gemms.peak_flops));
    put_path(b, a, BOUND_COMPUTE);
    return true;
}

/* Returns whether the traces record anything that computes. Else time without it says nothing. */
static bool sees_compute(const struct analysis *a)
{
    return a->coverage & (COVER_GEMM | COVER_KERNELS | COVER_LAUNCHES);
}

bool rule_exposed_comm(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    double waiting = share_of(a->total.exposed_wait_ns, a->total.exposed_comm_ns);
    bool pipeline = a->total.wait_known && rule_speaks(a, RULE_bubble);
    f->value = f->weight = share_of(a->total.exposed_comm_ns, a->total.span_ns);
    if (!sees_compute(a) || !(f->value >= threshold))
        return false;
    buf_printf(b, "Exposed communication: " RATE_TEXT " ", percent(f->value));
    put_of_span(b, a, a->total.exposed_comm_ns);
    buf_printf(b, "; " RATE_TEXT " of communication is overlapped.",
               percent(share_of(a->total.overlap_ns, a->total.comm_ns)));
    if (pipeline) { /* what is waited for is at stake there */
        f->weight *= 1 - waiting;
        buf_printf(
            b, " " RATE_TEXT " of the exposed time is waiting, which in a pipeline is its bubble.",
            percent(waiting));
    } else if (a->total.wait_known) {
        buf_printf(b, " " RATE_TEXT " of the exposed time is waiting for stragglers%s.",
                   percent(waiting), waiting >= 0.5 ? ", not transfer" : ", the rest is transfer");
    }
    put_path(b, a, BOUND_COMM);
    return true;
}

bool rule_exposed_memory(const struct analysis *a, double threshold, struct finding *f,
                         struct buf *b)
{
    f->value = f->weight = share_of(a->total.exposed_memory_ns, a->total.span_ns);
    if (!(f->value >= threshold))
        return false;
    buf_printf(b, "Exposed copies: only copies and memsets run in " RATE_TEXT " ",
               percent(f->value));
    put_of_span(b, a, a->total.exposed_memory_ns);
    buf_putc(b, '.');
    put_path(b, a, BOUND_COPIES);
    return true;
}

/* True for the largest of the four parts of the span. */
static bool is_largest(const struct analysis *a, int64_t part_ns)
{
    const struct time_breakdown *s = &a->total;
    return part_ns >= s->compute_ns && part_ns >= s->exposed_comm_ns &&
           part_ns >= s->exposed_memory_ns && part_ns >= s->idle_ns;
}

/* Most of the idle time ends with a launch that came late. */
static bool host_is_late(const struct idle_sum *s)
{
    double late = (double)s->ns[IDLE_host_late] + (double)s->ns[IDLE_host_sync];
    return late >= (double)idle_sum_ns(s) / 2;
}

/* "; 88 % of that: host launches late, 10 %: ...": the causes that matter, the largest first. */
static void put_causes(struct buf *b, const struct idle_sum *s)
{
    enum idle_cause order[IDLE_CAUSE_COUNT];
    int n = idle_by_cost(s, order);
    int64_t all = idle_sum_ns(s);
    for (int i = 0; i < n; i++) {
        double share = share_of(s->ns[order[i]], all);
        if (i > 0 && !(share >= IDLE_CAUSE_MIN))
            break;
        buf_printf(b, "%s" RATE_TEXT "%s: %s", i == 0 ? "; " : ", ", percent(share),
                   i == 0 ? " of that" : "", idle_cause_text[order[i]]);
    }
    buf_putc(b, '.');
}

bool host_bound(const struct analysis *a)
{
    return a->coverage & COVER_KERNELS && is_largest(a, a->total.idle_ns) &&
           host_is_late(&a->idle.total);
}

bool rule_idle(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    const struct idle_sum *causes = &a->idle.total;
    bool sees_all = a->coverage & COVER_KERNELS;
    f->value = f->weight = share_of(a->total.idle_ns, a->total.span_ns);
    if (!sees_compute(a) || !(f->value >= threshold))
        return false;
    if (sees_all)
        buf_printf(b, "%s: %s idle " RATE_TEXT " ", host_bound(a) ? "Host-bound" : "Idle",
                   a->nranks > 1 ? "GPUs are" : "the GPU is", percent(f->value));
    else
        buf_printf(b, "No traced work runs in " RATE_TEXT " ", percent(f->value));
    put_of_span(b, a, a->total.idle_ns);
    if (sees_all)
        put_causes(b, causes);
    else
        buf_printf(b, ". Other kernels were not %s, so how much of it is idle is not known.",
                   a->coverage & COVER_LAUNCHES ? "timed" : "traced");
    put_path(b, a, BOUND_HOST);
    return true;
}

bool rule_step_variance(const struct analysis *a, double threshold, struct finding *f,
                        struct buf *b)
{
    const struct step_summary *s = &a->steps.job;
    char low[TIME_TEXT], high[TIME_TEXT], middle[TIME_TEXT];
    f->value = sample_cv(&s->of);
    if (s->steps < STEPS_JUDGED || !(f->value >= threshold))
        return false;
    f->weight = (s->of.mean - s->of.min) / s->of.mean;
    buf_printf(
        b,
        "Uneven steps: they take from %s to %s, median %s (%zu steps%s; they vary by " RATE_TEXT
        " of their mean).",
        text_ns(low, sizeof low, s->of.min), text_ns(high, sizeof high, s->of.max),
        text_ns(middle, sizeof middle, s->of.median), s->steps,
        s->warm_up ? " behind a warm-up" : "", percent(f->value));
    return true;
}
