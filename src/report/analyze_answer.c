/* SPDX-License-Identifier: MIT
 *
 * The answer that the first screen and the page of `specter analyze` begin with: verdict, parts of
 * a step, and of each finding its cost and advice (analyze_internal.h).
 */
#include "report/analyze_internal.h"

#include "base/arena.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MORE 1.005    /* times its own time: less is that */
#define LARGE 0.5     /* of the step: such a part is its bound */
#define MEAN_OFF 0.01 /* of the median step: a mean that is nearer is not told */
#define GPU_COLUMNS 40

/* Advice on a finding, by its rule. */
static const char *const advice[RULE_COUNT] = {
    [RULE_hang] = "Each rank's last operation: --full. Of running processes: specter dump",
    [RULE_under_way] = "Each rank's last operation: --full",
    [RULE_snapshot] = "What a snapshot can tell: docs/inputs.md. A second one shows what moves",
    [RULE_untimed] = "Which kinds of timing there are: docs/trace-format.md",
    [RULE_exposed_comm] = "Overlap or shorten it: --table overlap,collectives,expected",
    [RULE_exposed_memory] = "Pinned memory, prefetching, fewer copies: --table copies",
    [RULE_step_variance] = "Which steps, and on which rank: --table steps,step_ranks",
    [RULE_straggler] = "What it does before that: --table stragglers,idle_ranks",
    [RULE_slow_rank] = "More work, or a slower GPU: --table ranks,gemms; specter bench state",
    [RULE_slow_collective] = "Its algorithm and transport (NCCL_DEBUG=INFO): --table expected",
    [RULE_slow_group] = "The links and GPUs of these ranks: --table comm_groups; bench p2p",
    [RULE_bubble] = "The stages: --table bubble. More micro-batches leave less of it",
    [RULE_critical_rank] = "What is on it: --table critical_ops,critical_ranks",
    [RULE_critical_host] = "Which operations wait for it: --table critical_ops,idle_gaps",
    [RULE_gemm_efficiency] = "Which shapes: --table gemms,roofline",
    [RULE_gemm_peak] = "Which shapes: --table gemms",
};

/* Of computation, by the tables that there are: [GEMMs][operations that launched it]. */
static const char *const compute_advice[2][2] = {
    {"Where it goes: --table top. A faster GPU: specter replay --gpu",
     "Where it goes: --table operations. A faster GPU: specter replay --gpu"},
    {"Where it goes: --table gemms,top. A faster GPU: specter replay --gpu",
     "Where it goes: --table gemms,operations. A faster GPU: specter replay --gpu"},
};

/* Of idle time, by its largest cause. */
static const char *const idle_advice[IDLE_CAUSE_COUNT] = {
    [IDLE_host_late] = "CUDA graphs, larger batches, fewer .item(): --table idle_gaps,launch",
    [IDLE_host_sync] = "Fewer .item() and synchronisations: --table idle_gaps,launch",
    [IDLE_launch_gap] = "CUDA graphs, larger batches, fewer kernels: --table idle_gaps,launch",
    [IDLE_dependency] = "Which streams wait for which: --table idle_gaps",
    [IDLE_other] = "What starts late after it was launched: --table idle_gaps,launch",
    [IDLE_unknown] = "The trace lacks these launches: --table idle_gaps",
};

double answer_mean_ns(const struct analysis *a, int64_t ns)
{
    const struct step_window *w = &a->step_time.window;
    return analysis_mean_ns(a, ns) / (w->several ? w->steps : 1);
}

void answer_head(struct buf *b, const struct analysis *a)
{
    const struct run *run = a->run;
    const struct step_summary *steps = &a->steps.job;
    char text[4 * GPU_COLUMNS], time[TIME_TEXT_SIZE];
    if (a->nranks == 1 && run->nranks > 1)
        buf_printf(b, "rank %d of ", a->ranks[0].rank->rank);
    const size_t recorded = run_recorded_ranks(run);
    buf_printf(b, "%zu", recorded);
    if (recorded != (size_t)run->world_size)
        buf_printf(b, " of %d", run->world_size);
    buf_puts(b, run->world_size == 1 ? " rank" : " ranks");
    if (analyze_gpu(a)[0] != '\0')
        buf_printf(b, ", %s", text_safe(text, sizeof text, analyze_gpu(a), GPU_COLUMNS));
    buf_printf(b, ", %s trace", run->format);
    if (!analysis_timed(a))
        return;
    if (steps->steps == 0)
        buf_printf(b, ", one recording: %s",
                   text_ns(time, sizeof time, answer_mean_ns(a, a->total.span_ns)));
    else
        buf_printf(b, ", %zu step%s: %s%s", steps->steps, steps->steps > 1 ? "s" : "",
                   steps->steps > 1 ? "median " : "", text_ns(time, sizeof time, steps->of.median));
    if (fabs(steps->of.mean / steps->of.median - 1) >= MEAN_OFF) /* the parts are of the mean */
        buf_printf(b, ", mean %s", text_ns(time, sizeof time, steps->of.mean));
}

/* ---- the verdict, and the parts of a step ---- */

static void put_why(struct buf *b, double share, const char *what)
{
    if (share >= ANSWER_PART_MIN)
        buf_printf(b, SHARE_TEXT " %s", percent(share), what);
}

/* The kind of kernels that takes most of the computation; GEMMs where that is none of those that
 * have a name. */
static void put_kind(struct buf *b, const struct analysis *a)
{
    const struct kind_sum *kinds = a->work.kinds;
    unsigned top = SPECTER_KERNEL_GEMM;
    int64_t compute_ns = 0;
    for (unsigned k = 0; k < SPECTER_KERNEL_CLASS_COUNT; k++) {
        if (k != SPECTER_KERNEL_COMM && kinds[k].total_ns > kinds[top].total_ns)
            top = k;
    }
    top = top == SPECTER_KERNEL_OTHER ? SPECTER_KERNEL_GEMM : top;
    for (size_t i = 0; i < a->nranks; i++)
        compute_ns += a->ranks[i].recorded.compute_ns;
    if (kinds[top].total_ns > 0 && compute_ns > 0)
        put_why(b, fmin(kinds[top].total_ns / (double)compute_ns, 1),
                top == SPECTER_KERNEL_GEMM ? "GEMMs" : work_kind_name(top));
}

/* Waits for ranks without a trace are part of the communication. */
static void put_waits(struct buf *b, const struct analysis *a)
{
    const struct time_breakdown *t = &a->total;
    if (t->wait_known)
        put_why(b, share_of(t->exposed_wait_ns, t->exposed_comm_ns), "waits for stragglers");
    else if (run_recorded_ranks(a->run) < (size_t)a->run->world_size)
        buf_printf(b, "may be waits: %zu of %d ranks", run_recorded_ranks(a->run),
                   a->run->world_size);
}

static void find_parts(const struct analysis *a, struct answer_part parts[ANSWER_PARTS],
                       struct buf why[ANSWER_PARTS])
{
    const struct time_breakdown *t = &a->total;
    const bool sees_all = a->coverage & COVER_KERNELS;
    const double waiting = t->wait_known ? share_of(t->exposed_wait_ns, t->exposed_comm_ns) : NAN;
    enum idle_cause causes[IDLE_CAUSE_COUNT];
    int n = idle_by_cost(&a->idle.total, causes);
    const char *idle = "Mostly idle.";
    if (findings_host_bound(a))
        idle = a->ntimed > 1 ? "Host-bound: GPUs wait for launches."
                             : "Host-bound: the GPU waits for launches.";
    parts[0] = (struct answer_part){"compute", "Compute-bound.", t->compute_ns, "", 0};
    parts[1] = (struct answer_part){
        "exposed comm",
        waiting >= 0.5 ? "Communication-bound: ranks wait for stragglers." : "Communication-bound.",
        t->exposed_comm_ns, "", 2};
    parts[2] = (struct answer_part){"exposed copies", "Copy-bound.", t->exposed_memory_ns, "", 3};
    parts[3] = (struct answer_part){sees_all ? "idle" : "nothing traced", idle, t->idle_ns, "", 7};
    put_kind(&why[0], a);
    put_waits(&why[1], a);
    if (sees_all && n > 0)
        put_why(&why[3], share_of(a->idle.total.ns[causes[0]], idle_sum_ns(&a->idle.total)),
                idle_cause_text[causes[0]]);
    if (!sees_all)
        buf_puts(&why[3], "most kernels were not timed");
    for (int i = 0; i < ANSWER_PARTS; i++)
        parts[i].why = why[i].len > 0 ? why[i].data : "";
}

/* One unit for all rows, with three digits of the whole. */
static struct time_unit unit_of(double span_ns)
{
    static const struct time_unit units[] = {{"us", 1e3, 0}, {"ms", 1e6, 0}, {"s", 1e9, 0}};
    struct time_unit unit = units[span_ns >= 1e9 ? 2 : span_ns >= 1e6 ? 1 : 0];
    const double whole = span_ns / unit.ns;
    unit.decimals = whole >= 100 ? 0 : whole >= 10 ? 1 : 2;
    return unit;
}

void answer_init(struct answer *out, const struct analysis *a)
{
    const struct answer_part *top;
    const bool sees_all = a->coverage & COVER_KERNELS;
    *out = (struct answer){.unit = unit_of(answer_mean_ns(a, a->total.span_ns))};
    for (int i = 0; i < ANSWER_PARTS; i++)
        buf_init(&out->why[i]);
    find_parts(a, out->parts, out->why);
    top = &out->parts[0];
    for (int i = 1; i < ANSWER_PARTS; i++)
        top = out->parts[i].ns > top->ns ? &out->parts[i] : top;
    if (top == &out->parts[3] && !sees_all)
        out->verdict = "No verdict: most of the step is time in which nothing was traced.";
    else if (share_of(top->ns, a->total.span_ns) >= LARGE || findings_host_bound(a))
        out->verdict = top->verdict;
    else
        out->verdict = "No single bound.";
}

void answer_release(struct answer *x)
{
    for (int i = 0; i < ANSWER_PARTS; i++)
        buf_release(&x->why[i]);
}

/* ---- findings ---- */

/* Findings whose headline says what they cost: their value, as a share of the span. */
static bool says_cost(const struct finding *f)
{
    static const bool says[RULE_COUNT] = {[RULE_compute] = true,
                                          [RULE_exposed_comm] = true,
                                          [RULE_exposed_memory] = true,
                                          [RULE_idle] = true,
                                          [RULE_bubble] = true};
    return says[f->id];
}

/* Of a rank's step computation stays as it is: what a finding saves beyond its own time is time in
 * which the rank computed nothing for another reason. */
static const char *saves_more(const struct finding *f, double span_ns)
{
    return says_cost(f) && f->saves_ns > MORE * f->value * span_ns
               ? ", including waits that end with it"
               : "";
}

static const char *const remedies[] = {
    [REMEDY_COMM] = "overlapping all of it",
    [REMEDY_COPIES] = "overlapping all of it",
    [REMEDY_HOST] = "a host that is never late",
    [REMEDY_RANK] = "at the median rank's speed it",
    [REMEDY_COLLECTIVE] = "at the model's speed it",
    [REMEDY_GROUP] = "at the usual speed it",
};

void answer_cost(struct buf *b, const struct analysis *a, const struct finding *f)
{
    const char *whole = a->job_steps.source == STEPS_WHOLE ? "recording" : "step";
    const double span_ns = answer_mean_ns(a, a->total.span_ns);
    char time[TIME_TEXT_SIZE];
    if (f->saves_ns < FINDING_SAVES * span_ns)
        buf_printf(b, "%s saves nothing of the %s", remedies[f->remedy.kind], whole);
    else if (!isnan(f->saves_ns))
        buf_printf(b, "%s saves up to %s, " SHARE_TEXT " of the %s%s", remedies[f->remedy.kind],
                   text_ns(time, sizeof time, f->saves_ns), percent(f->weight), whole,
                   saves_more(f, span_ns));
    else if (!says_cost(f) && isfinite(f->weight) && f->weight >= 0.001)
        buf_printf(b, "up to %s, " SHARE_TEXT " of the %s",
                   text_ns(time, sizeof time, fmin(f->weight, 1) * span_ns),
                   percent(fmin(f->weight, 1)), whole);
}

const char *answer_advice(const struct analysis *a, const struct finding *f)
{
    enum idle_cause causes[IDLE_CAUSE_COUNT];
    if (f->id == RULE_compute)
        return compute_advice[a->work.ngemms > 0][framework_ops_known(&a->work.framework_ops)];
    if (f->id == RULE_exposed_comm && !a->total.wait_known &&
        run_recorded_ranks(a->run) < (size_t)a->run->world_size)
        return "How much of it is waiting, the other ranks' traces tell: --table overlap";
    if (f->id != RULE_idle)
        return advice[f->id];
    if (!(a->coverage & COVER_KERNELS))
        return "What runs then: a PyTorch or Nsight profile of the job has all kernels";
    return idle_advice[idle_by_cost(&a->idle.total, causes) > 0 ? causes[0] : IDLE_host_late];
}

/* ---- what text and page share ---- */

const char *analyze_gpu(const struct analysis *a)
{
    const char *name = a->ranks[0].rank->gpu;
    for (size_t i = 1; i < a->nranks; i++) {
        if (strcmp(a->ranks[i].rank->gpu, name) != 0)
            return "several GPU models";
    }
    return name;
}

static bool hosts_differ(const struct run *run)
{
    for (int i = 0; i < run->ndomains; i++) {
        if (run->domains[i].host[0] == '\0')
            return false;
        for (int k = 0; k < i; k++) {
            if (strcmp(run->domains[i].host, run->domains[k].host) == 0)
                return false;
        }
    }
    return true;
}

char *clock_text(char *buf, size_t size, const struct run *run)
{
    snprintf(buf, size, hosts_differ(run) ? "clocks of %d hosts" : "%d clocks", run->ndomains);
    return buf;
}

static int64_t time_at(const struct rank_result *r, size_t offset)
{
    int64_t ns;
    memcpy(&ns, (const char *)&r->breakdown + offset, sizeof ns);
    return ns;
}

void rank_spread(const struct analysis *a, size_t offset, struct time_breakdown spread[3])
{
    int64_t *values = array_new(a->nranks, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < a->nranks; i++) {
        if (a->ranks[i].breakdown.timed_ops > 0)
            values[n++] = time_at(&a->ranks[i], offset);
    }
    qsort(values, n, sizeof *values, order_int64s);
    const int64_t picked[] = {values[0], values[n / 2], values[n - 1]};
    for (int k = 0; k < 3; k++)
        memcpy((char *)&spread[k] + offset, &picked[k], sizeof picked[k]);
    free(values);
}

size_t rank_extremes(const struct analysis *a, size_t list[RANK_EXTREMES])
{
    static const size_t offsets[RANK_EXTREMES] = {
        offsetof(struct time_breakdown, span_ns), offsetof(struct time_breakdown, compute_ns),
        offsetof(struct time_breakdown, exposed_comm_ns),
        offsetof(struct time_breakdown, exposed_memory_ns),
        offsetof(struct time_breakdown, idle_ns)};
    size_t n = 0;
    for (size_t k = 0; k < RANK_EXTREMES; k++) {
        int64_t best = 0;
        size_t at = a->nranks;
        for (size_t i = 0; i < a->nranks; i++) {
            if (time_at(&a->ranks[i], offsets[k]) > best) {
                best = time_at(&a->ranks[i], offsets[k]);
                at = i;
            }
        }
        for (size_t j = 0; j < n && at < a->nranks; j++)
            at = list[j] == at ? a->nranks : at;
        if (at < a->nranks)
            list[n++] = at;
    }
    return n;
}
