/* SPDX-License-Identifier: MIT */
#include "report/analyze_internal.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/order.h"
#include "report/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LATE_SHARE_MIN 0.01  /* of the span: less waiting than this names no late rank */
#define LATE_FAIR_FACTOR 1.5 /* times its fair share (1/ranks) that one rank must cause */
#define LATE_STEPS_MIN 3     /* with fewer it is not said in how many */
#define SLOW_RANKS_MIN 3     /* with fewer ranks the median is one of the two compared */
#define GEMM_SHARE_MIN 0.20  /* of the span: less GEMM time than this is not judged */
#define MEMBERS_SHOWN 8      /* of a slow group */
#define SAVES_NOTHING 1e-6   /* of its weight is left to what saves nothing alone: the last ones */
#define SNAPSHOT_COLUMNS 1024
#define HANGS_TOLD 3 /* the others are in the JSON */

/* Each rule returns true when it has something to say, with value, weight and text set. */

static bool any_certain(const struct hangs *h)
{
    for (size_t i = 0; i < h->count; i++) {
        if (!h->list[i].possible)
            return true;
    }
    return false;
}

/* Of several hangs, the first sentence names all who are at fault. */
bool rule_hang(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    const struct hangs *h = &a->hangs;
    bool named;
    f->value = (double)h->count;
    f->weight = INFINITY;
    buf_puts(b, any_certain(h) ? "Hang: " : "Possible hang: ");
    named = hang_culprits_text(b, h);
    buf_puts(b, named ? ". " : "");
    for (size_t i = 0; i < h->count && i < HANGS_TOLD; i++) {
        size_t first = b->len + (i > 0);
        buf_puts(b, i == 0 ? "" : " ");
        hang_text(b, &h->list[i], a->run);
        if (named || i > 0)
            b->data[first] = (char)toupper((unsigned char)b->data[first]);
        buf_putc(b, '.');
    }
    if (h->count > HANGS_TOLD)
        buf_printf(b, " And %zu more.", h->count - HANGS_TOLD);
    return f->value >= threshold;
}

bool rule_under_way(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    f->value = (double)a->hangs.under_way;
    f->weight = INFINITY;
    if (f->value < threshold)
        return false;
    buf_puts(b, "Under way: ");
    hang_under_way_text(b, &a->hangs, a->run);
    buf_puts(b, ". That is no sign of a hang; a second dump some seconds later tells whether it "
                "ends.");
    return true;
}

static bool no_operations(const struct analysis *a)
{
    return time_breakdown_untimed(&a->total) + a->total.unplaced_ops + a->total.timed_ops == 0;
}

/* Of a snapshot whose ranks wait for none of each other, its own words are the answer. */
bool rule_snapshot(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    char text[SNAPSHOT_COLUMNS];
    f->value = a->run->summary[0] != '\0' && a->hangs.count == 0 && no_operations(a);
    f->weight = INFINITY;
    if (f->value < threshold)
        return false;
    buf_puts(b, text_safe(text, sizeof text, a->run->summary, sizeof text - 4));
    return true;
}

bool rule_untimed(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    uint64_t untimed = time_breakdown_untimed(&a->total), unplaced = a->total.unplaced_ops;
    uint64_t all = untimed + unplaced + a->total.timed_ops;
    const char *sep = "";
    if (no_operations(a) && a->run->summary[0] != '\0')
        return false;
    if (all == 0) {
        buf_puts(b, "The trace holds no operation: nothing was recorded.");
        f->weight = INFINITY;
        return true;
    }
    f->value = (double)untimed / (double)all;
    if (f->value < threshold && unplaced == 0)
        return false;
    f->weight = analysis_timed(a) ? 0 : INFINITY;
    if (unplaced > 0)
        buf_printf(b,
                   "%llu of %llu operations have a device time and no start: they count in "
                   "bandwidths, and in no share of time. ",
                   (unsigned long long)unplaced, (unsigned long long)all);
    if (untimed == 0)
        return true;
    if (!analysis_timed(a) && unplaced == 0)
        buf_puts(b, "The trace holds no device times, so how long anything took on the device is "
                    "not known. ");
    buf_printf(b, "%llu of %llu operations are excluded: they have no device time (",
               (unsigned long long)untimed, (unsigned long long)all);
    for (int t = 0; t < SPECTER_TIMING_COUNT; t++) {
        if (a->total.untimed_ops[t] == 0)
            continue;
        buf_printf(b, "%s%s: %llu", sep, specter_timing_name((enum specter_timing)t),
                   (unsigned long long)a->total.untimed_ops[t]);
        sep = ", ";
    }
    buf_puts(b, ").");
    return true;
}

size_t top_straggler(const struct analysis *a)
{
    size_t worst = 0;
    for (size_t r = 1; r < a->run->nranks; r++) {
        if (a->stragglers.arrivals[r].origin_ns > a->stragglers.arrivals[worst].origin_ns)
            worst = r;
    }
    return worst;
}

/* Writes which work the rank does for longer than others before it is late, and in how many steps
 * it is the last. */
static void put_reasons(struct buf *b, const struct analysis *a, const struct arrival *x)
{
    static const char *const words[] = {
#define X(name, words) words,
        LATE_CAUSES(X)
#undef X
    };
    char time[TIME_TEXT_SIZE];
    int most = 0;
    for (int k = 1; k < LATE_CAUSE_COUNT; k++)
        most = x->why_ns[k] > x->why_ns[most] ? k : most;
    if (x->explained > 0 && x->why_ns[most] > 0)
        buf_printf(b, " Before that %s %s longer than the median rank, on average.", words[most],
                   text_ns(time, sizeof time, x->why_ns[most] / (double)x->explained));
    if (a->stragglers.steps >= LATE_STEPS_MIN)
        buf_printf(b, " It is the worst straggler in %llu of %llu steps.",
                   (unsigned long long)x->top_steps, (unsigned long long)a->stragglers.steps);
}

/* The stages of a pipeline come to what is at a step's end one after another: what they wait there
 * is the schedule, and part of its bubble, unless the rank itself computes or idles longer. */
static bool pipeline_explains(const struct analysis *a, const struct arrival *worst)
{
    double own_ns = worst->why_ns[LATE_compute] + worst->why_ns[LATE_idle];
    return a->bubbles.why == NULL && !(own_ns >= worst->origin_ns / 2);
}

bool rule_straggler(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    char total[TIME_TEXT_SIZE], each[TIME_TEXT_SIZE];
    double path, all_ns = a->stragglers.caused_ns;
    double mean_span = analysis_mean_ns(a, a->total.recorded_ns);
    size_t rank = top_straggler(a);
    const struct arrival *worst = &a->stragglers.arrivals[rank];
    if (!(all_ns > 0))
        return false;
    f->value = worst->origin_ns / all_ns;
    f->weight = worst->origin_ns / mean_span;
    if (f->value < threshold || f->value < LATE_FAIR_FACTOR / (double)run_recorded_ranks(a->run) ||
        !(f->weight >= LATE_SHARE_MIN) || pipeline_explains(a, worst))
        return false;
    f->remedy = (struct remedy){.kind = REMEDY_RANK, .rank = rank};
    buf_printf(b, "Straggler: rank %d", a->run->ranks[rank].rank);
    if (worst->last > 0) {
        buf_printf(b, " starts last in %llu of its %llu collectives",
                   (unsigned long long)worst->last, (unsigned long long)worst->collectives);
        f->headline = b->len;
        buf_printf(b, "; the others wait for it %s on average, %s in all.",
                   text_ns(each, sizeof each, worst->caused_ns / (double)worst->last),
                   text_ns(total, sizeof total, worst->caused_ns));
    } else {
        buf_puts(b, " is never last itself; ranks that wait for it elsewhere are.");
    }
    if (worst->origin_ns - (worst->caused_ns - worst->passed_ns) > 0.01 * worst->origin_ns)
        buf_printf(b, " With ranks that are late because they waited for it, it causes %s.",
                   text_ns(total, sizeof total, worst->origin_ns));
    buf_printf(b, " That is " SHARE_TEXT " of all waiting for stragglers.", percent(f->value));
    put_reasons(b, a, worst);
    if (critical_holder(a, &path) == rank)
        buf_printf(b, " " SHARE_TEXT " of the critical path is on it.", percent(path));
    return true;
}

static int by_compute(const void *x, const void *y)
{
    const struct rank_result *a = *(const struct rank_result *const *)x;
    const struct rank_result *b = *(const struct rank_result *const *)y;
    return ORDER(a->breakdown.compute_ns, b->breakdown.compute_ns);
}

bool rule_slow_rank(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    char slow[TIME_TEXT_SIZE], usual[TIME_TEXT_SIZE];
    const struct rank_result **sorted;
    size_t n = 0;
    if (a->ntimed < SLOW_RANKS_MIN)
        return false;
    sorted = array_new(a->ntimed, sizeof *sorted);
    for (size_t i = 0; i < a->nranks; i++) {
        if (a->ranks[i].breakdown.timed_ops > 0)
            sorted[n++] = &a->ranks[i];
    }
    qsort(sorted, n, sizeof *sorted, by_compute);
    int64_t most = sorted[n - 1]->breakdown.compute_ns,
            median = sorted[n / 2]->breakdown.compute_ns;
    int rank = sorted[n - 1]->rank->rank;
    f->remedy = (struct remedy){.kind = REMEDY_RANK, .rank = (size_t)rank_index(a->run, rank)};
    free(sorted);
    f->value = share_of(most, median);
    f->weight = share_of(most - median, a->total.span_ns / (int64_t)n);
    if (!(f->value >= threshold))
        return false;
    buf_printf(b, "Slow rank: rank %d computes %.2f times as long as the median rank (%s, %s).",
               rank, f->value, text_ns(slow, sizeof slow, (double)most),
               text_ns(usual, sizeof usual, (double)median));
    return true;
}

bool rule_slow_collective(const struct analysis *a, double threshold, struct finding *f,
                          struct buf *b)
{
    const struct comm_row *worst = NULL;
    double worst_share = 0;
    for (size_t i = 0; i < a->collectives.count; i++) {
        const struct comm_row *row = &a->collectives.list[i];
        double share = analysis_comm_share(a, row), weight = share * (1 - row->of_expected);
        if (!(row->of_expected < threshold) || !(share >= ANALYSIS_COMM_MIN) ||
            (worst != NULL && weight <= f->weight))
            continue;
        worst = row;
        worst_share = share;
        f->value = row->of_expected;
        f->weight = weight;
    }
    if (worst != NULL) {
        char bytes[32];
        f->remedy = (struct remedy){.kind = REMEDY_COLLECTIVE,
                                    .op = worst->op,
                                    .bytes = worst->bytes,
                                    .comm_size = worst->comm_size,
                                    .factor = worst->of_expected};
        buf_printf(b,
                   "Slow collective: %s of %s over %d ranks reaches %.3g GB/s of bus "
                   "bandwidth, " SHARE_TEXT " of the %.3g GB/s that the model expects on %s",
                   specter_comm_op_name(worst->op),
                   text_bytes(bytes, sizeof bytes, (double)worst->bytes), worst->comm_size,
                   worst->of_expected * worst->expected_busbw_GBps, percent(worst->of_expected),
                   worst->expected_busbw_GBps, a->machine.net->name);
        f->headline = b->len;
        if (isfinite(worst->factor80))
            buf_printf(b, " (elsewhere 80 %% of measured times are within a factor of %.2f)",
                       worst->factor80);
        buf_printf(b,
                   ". It takes %.2g %% of the recorded time. Check its algorithm and transport "
                   "(NCCL_DEBUG=INFO), the links, and what shares them at that time.",
                   percent(worst_share));
    }
    return worst != NULL;
}

bool rule_slow_group(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    struct slow_comm slow;
    char bytes[32], own[32], usual[32];
    double mean_span = analysis_mean_ns(a, a->total.recorded_ns);
    slow_comm_find(&slow, &a->comm, &a->node_map, threshold);
    if (slow.sample == NULL)
        return false;
    f->value = slow.median_ns / slow.usual_ns;
    f->weight = slow.lost_ns / mean_span;
    if (!(f->weight >= ANALYSIS_COMM_MIN))
        return false;
    f->remedy = (struct remedy){.kind = REMEDY_GROUP,
                                .op = slow.sample->op,
                                .bytes = slow.sample->bytes,
                                .comm = slow.sample->comm,
                                .factor = slow.usual_ns / slow.median_ns};
    buf_printf(b, "Slow group: %s of %s takes %s among ", specter_comm_op_name(slow.sample->op),
               text_bytes(bytes, sizeof bytes, (double)slow.sample->bytes),
               text_ns(own, sizeof own, slow.median_ns));
    /* "ranks 2, 3", "ranks 0, 8, 16 and 29 more". */
    const struct comm *comm = &a->run->comms[slow.sample->comm];
    int shown = comm->size > MEMBERS_SHOWN ? MEMBERS_SHOWN - 1 : comm->size, known = 0;
    for (int i = 0; i < shown; i++) {
        if (comm->ranks[i] >= 0)
            buf_printf(b, "%s%d", known++ == 0 ? "ranks " : ", ", comm->ranks[i]);
    }
    if (known > 0 && known < comm->size)
        buf_printf(b, " and %d more", comm->size - known);
    buf_printf(b, ", and %s in ", text_ns(usual, sizeof usual, slow.usual_ns));
    if (slow.alike == 1)
        buf_puts(b, "the other group like it");
    else
        buf_printf(b, "the %zu other groups like it", slow.alike);
    buf_printf(
        b,
        " (median transfer time, without waiting for stragglers): %.2f times as long. "
        "Over %llu of them that is %.2g %% of the recorded time. Check the links and the GPUs of "
        "these ranks.",
        f->value, (unsigned long long)slow.count, 100 * f->weight);
    return true;
}

bool rule_gemm_efficiency(const struct analysis *a, double threshold, struct finding *f,
                          struct buf *b)
{
    struct gemm_sum gemms = work_gemms(&a->work);
    double share = gemms.total_ns / (double)a->total.recorded_ns;
    if (!(share >= GEMM_SHARE_MIN))
        return false;
    f->value = gemms.flops / gemms.peak_flops;
    f->weight = share * (1 - f->value);
    if (f->value >= threshold)
        return false;
    buf_printf(b,
               "Slow GEMMs: they reach " SHARE_TEXT " of the dense peak (%.1f of %.0f TFLOPS) and "
               "take " SHARE_TEXT " of the recorded time.",
               percent(f->value), gemms.flops / gemms.total_ns / 1e3,
               gemms.peak_flops / gemms.total_ns / 1e3, percent(share));
    return true;
}

bool rule_gemm_peak(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    const struct gemm_row *worst = NULL;
    size_t n = 0;
    for (size_t i = 0; i < a->work.ngemms; i++) {
        const struct gemm_row *g = &a->work.gemms[i];
        double ratio = g->tflops / g->peak_tflops;
        if (!(ratio > threshold))
            continue;
        n++;
        if (worst == NULL || ratio > f->value) {
            worst = g;
            f->value = ratio;
        }
    }
    if (worst == NULL)
        return false;
    f->weight = 0;
    buf_printf(b,
               "Impossible GEMMs: %zu shape%s faster than the dense peak (%ux%ux%u: %.1f of %.0f "
               "TFLOPS): a recorded time or shape is wrong.",
               n, n == 1 ? " runs" : "s run", worst->m, worst->n, worst->k, worst->tflops,
               worst->peak_tflops);
    return true;
}

static const struct {
    const char *name;
    double threshold;
    bool (*applies)(const struct analysis *, double, struct finding *, struct buf *);
} rules[] = {
#define X(name, threshold, what) {#name, threshold, rule_##name},
    RULES(X)
#undef X
};

double rule_threshold(enum rule_id id)
{
    return rules[id].threshold;
}

bool rule_applies(const struct analysis *a, enum rule_id id)
{
    struct finding scratch = {0};
    struct buf text = BUF_INIT;
    bool applies = rules[id].applies(a, rules[id].threshold, &scratch, &text);
    buf_release(&text);
    return applies;
}

/* Returns how long the first sentence is, without its full stop. */
static size_t first_sentence(const char *text)
{
    const char *end = strstr(text, ". ");
    size_t len = end != NULL ? (size_t)(end - text) : strlen(text);
    return end == NULL && len > 0 && text[len - 1] == '.' ? len - 1 : len;
}

/* By weight; equal weights keep the order of the list. */
static void sort_findings(struct findings *f)
{
    for (size_t i = 1; i < f->count; i++) {
        struct finding one = f->list[i];
        size_t at = i;
        for (; at > 0 && f->list[at - 1].weight < one.weight; at--)
            f->list[at] = f->list[at - 1];
        f->list[at] = one;
    }
}

void findings_init(struct findings *f, const struct analysis *a)
{
    struct buf text = BUF_INIT;
    memset(f, 0, sizeof *f);
    arena_init(&f->arena);
    for (size_t i = 0; i < RULE_COUNT; i++) {
        struct finding one = {.id = (enum rule_id)i,
                              .rule = rules[i].name,
                              .threshold = rules[i].threshold,
                              .saves_ns = NAN};
        buf_reset(&text);
        if (!rules[i].applies(a, one.threshold, &one, &text))
            continue;
        one.text = arena_strndup(&f->arena, text.data, text.len);
        if (one.headline == 0)
            one.headline = first_sentence(one.text);
        f->list[f->count++] = one;
    }
    sort_findings(f);
    buf_release(&text);
}

void findings_simulate(struct findings *f, const struct analysis *a)
{
    const double step_ns = step_window_mean(&a->step_time.window);
    struct savings *savings = NULL;
    struct err e;
    for (size_t i = 0; i < f->count; i++) {
        struct finding *one = &f->list[i];
        if (one->remedy.kind == REMEDY_NONE || isinf(one->weight))
            continue;
        if (savings == NULL && (savings = savings_new(a, &e)) == NULL)
            return;
        if (savings_of(savings, &one->remedy, &one->saves_ns, &e) < 0)
            continue;
        if (one->saves_ns >= FINDING_SAVES * step_ns)
            one->weight = one->saves_ns / step_ns;
        else if (one->remedy.kind == REMEDY_RANK && one->id != RULE_slow_rank)
            one->saves_ns = NAN; /* its speed is not what makes it late */
        else
            one->weight *= SAVES_NOTHING;
    }
    savings_free(savings);
    sort_findings(f);
}

void findings_release(struct findings *f)
{
    arena_release(&f->arena);
    memset(f, 0, sizeof *f);
}

void coverage_limits(const struct analysis *a, const char *list[COVERAGE_LIMITS])
{
    static const struct {
        unsigned bit;
        const char *text;
    } limits[] = {
        {COVER_NCCL, "communication was not traced: its time reads as idle"},
        {COVER_GEMM, "shapes of GEMMs were not traced"},
        {COVER_LAUNCHES, "kernels other than NCCL's and cuBLAS's were not traced: their time reads "
                         "as idle"},
        {COVER_KERNELS, "kernels other than NCCL's and cuBLAS's were untimed: their "
                        "time reads as idle"},
        {COVER_MEMORY, "copies and memsets were not traced: their time reads as idle"},
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        bool said = limits[i].bit == COVER_KERNELS && !(a->coverage & COVER_LAUNCHES);
        if (!(a->coverage & limits[i].bit) && !said)
            list[n++] = limits[i].text;
    }
    if (a->total.devices > 1)
        list[n++] = "a rank drives several devices: its times are of their union";
    uint32_t lengths = a->step_time.window.steps;
    if (analysis_timed(a) && a->job_steps.source != STEPS_WHOLE && lengths > 0 &&
        lengths < STEPS_FEW)
        list[n++] =
            "the step time rests on fewer than three step lengths: how much steps differ is "
            "not known";
    list[n] = NULL;
}
