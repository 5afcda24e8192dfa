/* SPDX-License-Identifier: MIT
 *
 * Rules of findings about where time goes: parts of a step, steps, the critical path, a pipeline's
 * bubble (rule_ functions of analyze_internal.h).
 */
#include "report/analyze_internal.h"

#include "base/buf.h"
#include "report/table.h"

#include <math.h>

#define FAIR_FACTOR 1.5     /* times its fair share (1/ranks) that one rank must hold */
#define MARGIN_MIN 0.01     /* of all steps: less lateness than this is chance */
#define IDLE_CAUSE_MIN 0.05 /* of the idle time: a smaller cause is not told */

/* The word for what shares of time refer to: "step", the steps that count; "recording" where it
 * is one step. */
static const char *span_word(const struct analysis *a)
{
    return a->job_steps.source == STEPS_WHOLE ? "recording" : "step";
}

/* "of the step (7.67 ms of 14.6 ms a rank)": a part of the steps that count, mean over steps and
 * ranks; of what is one step, of its span. */
static void put_of_span(struct buf *b, const struct analysis *a, int64_t part_ns)
{
    const struct step_window *w = &a->step_time.window;
    char part[TIME_TEXT_SIZE], span[TIME_TEXT_SIZE];
    double n = w->several ? w->steps : 1;
    buf_printf(b, "of the %s (%s of %s%s)", span_word(a),
               text_ns(part, sizeof part, analysis_mean_ns(a, part_ns) / n),
               text_ns(span, sizeof span, analysis_mean_ns(a, a->total.span_ns) / n),
               a->ntimed > 1 ? " a rank" : "");
}

/* Where this bound is the largest, and the critical path mostly another one: why. */
static void put_path(struct buf *b, const struct analysis *a, enum bound bound)
{
    struct analysis_verdict v = analysis_verdict(a);
    if (v.time == bound && v.why != NULL)
        buf_printf(b, " The critical path is mostly %s (" SHARE_TEXT "): %s.",
                   v.path == BOUND_HOST ? "the host" : bound_name(v.path), percent(v.path_share),
                   v.why);
}

bool rule_compute(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    struct gemm_sum gemms = work_gemms(&a->work);
    f->value = f->weight = share_of(a->total.compute_ns, a->total.span_ns);
    if (!(f->value >= threshold))
        return false;
    buf_printf(b, "Compute-bound: %s for " SHARE_TEXT " ",
               a->ntimed > 1 ? "GPUs compute" : "the GPU computes", percent(f->value));
    put_of_span(b, a, a->total.compute_ns);
    buf_putc(b, '.');
    if (gemms.total_ns > 0 && !rule_applies(a, RULE_gemm_efficiency))
        buf_printf(b, " GEMMs run at %.1f TFLOPS, " SHARE_TEXT " of the dense peak.",
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
    bool pipeline = a->total.wait_known && rule_applies(a, RULE_bubble);
    f->value = f->weight = share_of(a->total.exposed_comm_ns, a->total.span_ns);
    if (!sees_compute(a) || !(f->value >= threshold))
        return false;
    /* Where other ranks were not recorded, waiting for them cannot be told from transfer. */
    f->remedy.kind = a->total.wait_known ? REMEDY_COMM : REMEDY_NONE;
    buf_printf(b, "Exposed communication: " SHARE_TEXT " ", percent(f->value));
    put_of_span(b, a, a->total.exposed_comm_ns);
    f->headline = b->len;
    buf_printf(b, "; " SHARE_TEXT " of communication is overlapped.",
               percent(share_of(a->total.overlap_ns, a->total.comm_ns)));
    /* There the waits can be saved. */
    if (pipeline || (a->total.wait_known && rule_applies(a, RULE_straggler)))
        f->weight *= 1 - waiting;
    if (pipeline) {
        buf_printf(
            b, " " SHARE_TEXT " of the exposed time is waiting, which in a pipeline is its bubble.",
            percent(waiting));
    } else if (a->total.wait_known) {
        buf_printf(b, " " SHARE_TEXT " of the exposed time is waiting for stragglers%s.",
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
    f->remedy.kind = REMEDY_COPIES;
    buf_printf(b, "Exposed copies: only copies and memsets run in " SHARE_TEXT " ",
               percent(f->value));
    put_of_span(b, a, a->total.exposed_memory_ns);
    buf_putc(b, '.');
    put_path(b, a, BOUND_COPIES);
    return true;
}

/* Most idle time ends with a launch that came late. */
static bool launches_late(const struct analysis *a)
{
    const struct idle_sum *idle = &a->idle.total;
    double late = (double)idle->ns[IDLE_host_late] + (double)idle->ns[IDLE_host_sync];
    return late >= (double)idle_sum_ns(idle) / 2;
}

bool findings_host_bound(const struct analysis *a)
{
    const struct time_breakdown *s = &a->total;
    /* of the four parts of the span */
    bool largest = s->idle_ns >= s->compute_ns && s->idle_ns >= s->exposed_comm_ns &&
                   s->idle_ns >= s->exposed_memory_ns;
    return a->coverage & COVER_KERNELS && largest && launches_late(a);
}

bool rule_idle(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    const struct idle_sum *causes = &a->idle.total;
    bool sees_all = a->coverage & COVER_KERNELS;
    f->value = f->weight = share_of(a->total.idle_ns, a->total.span_ns);
    if (!sees_compute(a) || !(f->value >= threshold))
        return false;
    f->remedy.kind = sees_all && launches_late(a) ? REMEDY_HOST : REMEDY_NONE;
    if (sees_all)
        buf_printf(b, "%s: %s idle " SHARE_TEXT " ", findings_host_bound(a) ? "Host-bound" : "Idle",
                   a->ntimed > 1 ? "GPUs are" : "the GPU is", percent(f->value));
    else
        buf_printf(b, "No traced work runs in " SHARE_TEXT " ", percent(f->value));
    put_of_span(b, a, a->total.idle_ns);
    f->headline = b->len;
    if (sees_all) {
        /* "; 88 % of that: host launches late, 10 %: ...": the causes that matter, the largest
         * first. */
        enum idle_cause order[IDLE_CAUSE_COUNT];
        int n = idle_by_cost(causes, order);
        int64_t all = idle_sum_ns(causes);
        for (int i = 0; i < n; i++) {
            double share = share_of(causes->ns[order[i]], all);
            if (i > 0 && !(share >= IDLE_CAUSE_MIN))
                break;
            buf_printf(b, "%s" SHARE_TEXT "%s: %s", i == 0 ? "; " : ", ", percent(share),
                       i == 0 ? " of that" : "", idle_cause_text[order[i]]);
        }
        buf_putc(b, '.');
    } else {
        buf_printf(b, ". Other kernels were not %s, so how much of it is idle is not known.",
                   a->coverage & COVER_LAUNCHES ? "timed" : "traced");
    }
    put_path(b, a, BOUND_HOST);
    return true;
}

bool rule_step_variance(const struct analysis *a, double threshold, struct finding *f,
                        struct buf *b)
{
    const struct step_summary *s = &a->steps.job;
    char low[TIME_TEXT_SIZE], high[TIME_TEXT_SIZE], middle[TIME_TEXT_SIZE];
    f->value = sample_cv(&s->of);
    if (s->steps < STEPS_JUDGED || !(f->value >= threshold))
        return false;
    f->weight = (s->of.mean - s->of.min) / s->of.mean;
    buf_printf(b, "Uneven steps: they take from %s to %s, median %s",
               text_ns(low, sizeof low, s->of.min), text_ns(high, sizeof high, s->of.max),
               text_ns(middle, sizeof middle, s->of.median));
    f->headline = b->len;
    buf_printf(b, " (%zu steps%s; they vary by " SHARE_TEXT " of their mean).", s->steps,
               s->warm_up ? " after a warm-up" : "", percent(f->value));
    return true;
}

/* ---- the critical path ---- */

/* Where ranks are equal the path is on one of them by chance: only a rank for which others truly
 * waited holds it. */
size_t critical_holder(const struct analysis *a, double *share)
{
    const struct critical *c = &a->critical;
    size_t top = 0;
    if (c->why != NULL || run_recorded_ranks(c->run) < 2)
        return SIZE_MAX;
    for (size_t r = 1; r < c->run->nranks; r++) {
        int64_t more_ns = c->ranks[r].sum.all_ns - c->ranks[top].sum.all_ns;
        if (more_ns > 0 || (more_ns == 0 && c->run->ranks[r].rank < c->run->ranks[top].rank))
            top = r;
    }
    *share = share_of(c->ranks[top].sum.all_ns, c->length.all_ns);
    if (!(*share > rule_threshold(RULE_critical_rank)) ||
        *share < FAIR_FACTOR / (double)run_recorded_ranks(c->run) ||
        !(share_of(c->ranks[top].margin_ns, c->length.all_ns) >= MARGIN_MIN))
        return SIZE_MAX;
    return top;
}

bool rule_critical_rank(const struct analysis *a, double threshold, struct finding *f,
                        struct buf *b)
{
    const struct critical *c = &a->critical;
    size_t rank = critical_holder(a, &f->value);
    char margin[TIME_TEXT_SIZE];
    (void)threshold;
    if (rank == SIZE_MAX || (top_straggler(a) == rank && rule_applies(a, RULE_straggler)))
        return false;
    f->weight = share_of(c->ranks[rank].margin_ns, c->length.all_ns);
    f->remedy = (struct remedy){.kind = REMEDY_RANK, .rank = rank};
    buf_printf(b,
               "Critical path: " SHARE_TEXT " of it is on rank %d. Where it came last to "
               "communication, it did so %s after the next rank, over all steps.",
               percent(f->value), c->run->ranks[rank].rank,
               text_ns(margin, sizeof margin, (double)c->ranks[rank].margin_ns));
    return true;
}

/* Late launches that cost idle time. A host that is ahead by little is on the path as well, and
 * costs nothing; where it is what binds the job, the rule of idle time has said so. */
bool rule_critical_host(const struct analysis *a, double threshold, struct finding *f,
                        struct buf *b)
{
    const struct critical *c = &a->critical;
    const int64_t *idle = a->idle.total.ns;
    double late = share_of(idle[IDLE_host_late] + idle[IDLE_host_sync], a->total.span_ns);
    int64_t host_ns = path_kind_sum(c, PATH_HOST).all_ns;
    char part[TIME_TEXT_SIZE], whole[TIME_TEXT_SIZE];
    if (c->why != NULL)
        return false;
    f->value = share_of(host_ns, c->length.all_ns);
    f->weight = 0; /* what is at stake, idle time, has a rule of its own */
    if (!(f->value > threshold) || !(a->coverage & COVER_DEPS))
        return false; /* a host whose waits are not seen may wait for the device */
    if (!(a->coverage & COVER_KERNELS) || !(late >= rule_threshold(RULE_idle)) ||
        findings_host_bound(a))
        return false;
    buf_printf(b,
               "Host on the critical path: the host's way to its next call is " SHARE_TEXT
               " of it (%s of %s, all steps); GPUs are idle " SHARE_TEXT " of the %s for that.",
               percent(f->value), text_ns(part, sizeof part, (double)host_ns),
               text_ns(whole, sizeof whole, (double)c->length.all_ns), percent(late), span_word(a));
    return true;
}

/* ---- pipelines ---- */

bool rule_bubble(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    const struct bubbles *x = &a->bubbles;
    char part[32], whole[32];
    if (x->why != NULL)
        return false;
    f->value = f->weight = share_of(x->total.bubble_ns, x->total.window_ns);
    if (!(f->value > threshold))
        return false;
    buf_printf(b,
               "Pipeline bubble: for %.0f %% of a step (%s of %s) a stage neither computes nor "
               "moves data.",
               100 * f->value,
               text_ns(part, sizeof part, (double)x->total.bubble_ns / (double)x->windows),
               text_ns(whole, sizeof whole, (double)x->total.window_ns / (double)x->windows));
    if (isnan(x->schedule_ns))
        return true;
    if (x->schedule_ns >= x->uneven_ns && x->schedule_ns >= x->rest_ns) {
        double twice = bubble_ideal(x->stages.count, x->stages.parts, 2 * x->stages.micro);
        buf_printf(
            b,
            " Most of it is the schedule: %d stages with %g micro-batches leave %.0f %% even when "
            "they are equal, %g would leave %.0f %%.",
            x->stages.count, x->stages.micro, 100 * x->ideal, 2 * x->stages.micro, 100 * twice);
    } else if (x->uneven_ns >= x->rest_ns) {
        buf_printf(
            b,
            " Most of it is waiting for stage %d, which works %.2f times as long as the mean "
            "stage.",
            x->slowest, x->imbalance);
    } else if ((double)x->total.idle_ns >= x->rest_ns / 2) {
        buf_puts(b,
                 a->coverage & COVER_KERNELS
                     ? " Most of it is the host, which launches late: no message is awaited then."
                     : " Most of it is time between operations, when no message is awaited: "
                       "kernels that were not timed, or a late host.");
    } else {
        buf_puts(b, " Most of it is waiting for messages that are under way to other stages, or "
                    "for collectives.");
    }
    return true;
}
