/* SPDX-License-Identifier: MIT
 *
 * The first screen of `specter analyze`: what was read, what bounds it, the parts of a step, and
 * the findings that cost most, each with what to try or where to look.
 */
#include "report/analyze_report.h"

#include "report/findings_rules.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

#define FINDINGS_SHOWN 3
#define PARTS 4
#define PART_MIN 0.005 /* of the step: a smaller part has no row */
#define LARGE 0.5      /* of the step: such a part is its bound */
#define BAR_COLUMNS 16
#define GPU_COLUMNS 40

/* What to do about a finding, by its rule. */
static const char *const advice[RULE_COUNT] = {
    [RULE_hang] = "Each rank's last operation: --full. Of running processes: specter dump",
    [RULE_under_way] = "Each rank's last operation: --full",
    [RULE_untimed] = "Which kinds of timing there are: docs/trace-format.md",
    [RULE_compute] = "Where it goes: --table gemms,operations. A faster GPU: specter replay --gpu",
    [RULE_exposed_comm] = "Overlap or shorten it: --table overlap,collectives,expected",
    [RULE_exposed_memory] = "Pinned memory, prefetching, fewer copies: --table copies",
    [RULE_idle] = "CUDA graphs, larger batches, fewer .item(): --table idle_gaps,launch",
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

/* The mean of a rank and of a step. */
static double mean_ns(const struct analysis *a, int64_t ns)
{
    const struct step_window *w = &a->step_time.window;
    return (double)ns / (double)a->nranks / (w->several ? w->steps : 1);
}

static void put_head(struct screen *s, const struct analysis *a)
{
    const struct run *run = a->run;
    const struct step_summary *steps = &a->steps.job;
    struct buf b = BUF_INIT;
    char text[4 * GPU_COLUMNS], time[TIME_TEXT];
    if (a->nranks == 1 && run->nranks > 1)
        buf_printf(&b, "rank %d of ", a->ranks[0].rank->rank);
    buf_printf(&b, "%zu", run->nranks);
    if (run->nranks != (size_t)run->world_size)
        buf_printf(&b, " of %d", run->world_size);
    buf_puts(&b, run->world_size == 1 ? " rank" : " ranks");
    if (analyze_gpu(a)[0] != '\0')
        buf_printf(&b, ", %s", text_safe(text, sizeof text, analyze_gpu(a), GPU_COLUMNS));
    buf_printf(&b, ", %s trace", run->format);
    if (analysis_timed(a) && steps->steps > 0)
        buf_printf(&b, ", %zu step%s: %s%s", steps->steps, steps->steps > 1 ? "s" : "",
                   steps->steps > 1 ? "median " : "", text_ns(time, sizeof time, steps->of.median));
    else if (analysis_timed(a))
        buf_printf(&b, ", one recording: %s",
                   text_ns(time, sizeof time, mean_ns(a, a->total.span_ns)));
    screen_line(s, SCREEN_PLAIN, b.data, 2);
    buf_release(&b);
}

/* ---- the verdict, and the parts of a step ---- */

struct part {
    const char *name, *verdict; /* what is said where it is the largest */
    int64_t ns;
    const char *why; /* behind its row; "" */
};

static void put_why(struct buf *b, double share, const char *what)
{
    if (share >= PART_MIN)
        buf_printf(b, RATE_TEXT " %s", percent(share), what);
}

static void find_parts(const struct analysis *a, struct part parts[PARTS], struct buf why[PARTS])
{
    const struct time_breakdown *t = &a->total;
    const bool sees_all = a->coverage & COVER_KERNELS;
    const double waiting = t->wait_known ? share_of(t->exposed_wait_ns, t->exposed_comm_ns) : NAN;
    enum idle_cause causes[IDLE_CAUSE_COUNT];
    struct gemm_sum gemms = work_gemms(&a->work);
    int n = idle_by_cost(&a->idle.total, causes);
    int64_t recorded_ns = 0;
    parts[0] = (struct part){"compute", "Compute-bound", t->compute_ns, ""};
    parts[1] = (struct part){"exposed comm",
                             waiting >= 0.5 ? "Communication-bound: ranks wait for stragglers"
                                            : "Communication-bound",
                             t->exposed_comm_ns, ""};
    parts[2] = (struct part){"exposed copies", "Copy-bound", t->exposed_memory_ns, ""};
    parts[3] =
        (struct part){sees_all ? "idle" : "nothing traced",
                      findings_host_bound(a) ? "Host-bound: GPUs wait for launches" : "Mostly idle",
                      t->idle_ns, ""};
    for (size_t i = 0; i < a->nranks; i++)
        recorded_ns += a->ranks[i].recorded.compute_ns;
    if (gemms.total_ns > 0)
        put_why(&why[0], fmin(gemms.total_ns / (double)recorded_ns, 1), "GEMMs");
    put_why(&why[1], waiting, "waits for stragglers");
    if (sees_all && n > 0)
        put_why(&why[3], share_of(a->idle.total.ns[causes[0]], idle_sum_ns(&a->idle.total)),
                idle_cause_text[causes[0]]);
    if (!sees_all)
        buf_puts(&why[3], "most kernels were not timed");
    for (int i = 0; i < PARTS; i++)
        parts[i].why = why[i].len > 0 ? why[i].data : "";
}

static void put_verdict(struct screen *s, const struct analysis *a, const struct part parts[PARTS])
{
    const struct part *top = &parts[0];
    struct buf b = BUF_INIT;
    const bool sees_all = a->coverage & COVER_KERNELS;
    for (int i = 1; i < PARTS; i++)
        top = parts[i].ns > top->ns ? &parts[i] : top;
    if (top == &parts[3] && !sees_all)
        buf_puts(&b, "No verdict: most of the step is time in which nothing was traced.");
    else if (share_of(top->ns, a->total.span_ns) >= LARGE || findings_host_bound(a))
        buf_printf(&b, "%s.", top->verdict);
    else
        buf_puts(&b, "No single bound.");
    screen_line(s, SCREEN_STRONG, b.data, 0);
    buf_release(&b);
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

static void put_parts(struct screen *s, const struct analysis *a, const struct part parts[PARTS])
{
    const struct time_unit unit = unit_of(mean_ns(a, a->total.span_ns));
    char bar[4 * BAR_COLUMNS], time[TIME_TEXT], row[512];
    const size_t columns = s->width >= 80 ? BAR_COLUMNS : BAR_COLUMNS / 2;
    for (int i = 0; i < PARTS; i++) {
        double share = share_of(parts[i].ns, a->total.span_ns);
        size_t used;
        if (!(share >= PART_MIN))
            continue;
        snprintf(time, sizeof time, "%.*f %s", unit.decimals, mean_ns(a, parts[i].ns) / unit.ns,
                 unit.name);
        screen_bar(s, bar, share, columns);
        used = (size_t)snprintf(row, sizeof row, "  %-14s %10s %3.0f %%  ", parts[i].name, time,
                                percent(share));
        if (used + columns + 1 + strlen(parts[i].why) <= s->width && parts[i].why[0] != '\0') {
            size_t filled = 0;
            for (const char *c = bar; *c != '\0'; c++)
                filled += ((unsigned char)*c & 0xc0) != 0x80;
            snprintf(row + used, sizeof row - used, "%s%*s %s", bar, (int)(columns - filled), "",
                     parts[i].why);
        } else {
            snprintf(row + used, sizeof row - used, "%s", bar);
        }
        screen_row(s, row);
    }
}

/* ---- findings ---- */

/* Findings whose headline does not say what they cost. */
static bool costs_more(const struct finding *f)
{
    static const bool says[RULE_COUNT] = {[RULE_compute] = true,
                                          [RULE_exposed_comm] = true,
                                          [RULE_exposed_memory] = true,
                                          [RULE_idle] = true,
                                          [RULE_bubble] = true};
    return !says[f->id] && isfinite(f->weight) && f->weight >= 0.001;
}

/* Where it fits above the last `kept` lines of the screen; a hang always. Returns whether it is
 * there. */
static bool put_finding(struct screen *s, const struct analysis *a, const struct finding *f,
                        int number, size_t kept)
{
    struct buf b = BUF_INIT;
    char time[TIME_TEXT];
    size_t lines;
    buf_printf(&b, "%d. %.*s", number, (int)f->headline, f->text);
    if (costs_more(f))
        buf_printf(&b, ": up to %s, " RATE_TEXT " of the %s",
                   text_ns(time, sizeof time, fmin(f->weight, 1) * mean_ns(a, a->total.span_ns)),
                   percent(fmin(f->weight, 1)),
                   a->job_steps.source == STEPS_WHOLE ? "recording" : "step");
    lines = screen_height(s, b.data, 3);
    const bool fits = isinf(f->weight) || screen_left(s) >= lines + kept;
    if (fits) {
        screen_line(s, isinf(f->weight) ? SCREEN_BAD : SCREEN_PLAIN, b.data, 3);
        buf_reset(&b);
        buf_printf(&b, "   %s",
                   f->id == RULE_idle && !(a->coverage & COVER_KERNELS)
                       ? "What runs then: a PyTorch or Nsight profile of the job has all kernels"
                       : advice[f->id]);
        if (screen_left(s) >= screen_height(s, b.data, 3) + kept)
            screen_line(s, SCREEN_SOFT, b.data, 3);
    }
    buf_release(&b);
    return fits;
}

void analyze_summary(const struct analysis *a, const struct findings *f, struct screen *s)
{
    struct part parts[PARTS];
    struct buf why[PARTS] = {BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT};
    const char *limits[COVERAGE_LIMITS];
    size_t nlimits = 0, kept;
    int number = 1;
    struct buf more = BUF_INIT;
    for (coverage_limits(a, limits); limits[nlimits] != NULL;)
        nlimits++;
    buf_puts(&more, "More: --full");
    if (nlimits > 0)
        buf_printf(&more, " (%zu note%s)", nlimits, nlimits > 1 ? "s" : "");
    buf_puts(&more, ", --list-tables, --html FILE");
    if (s->width >= 80)
        buf_puts(&more, "; other GPUs: specter replay");
    kept = screen_height(s, more.data, 0);
    put_head(s, a);
    if (analysis_timed(a)) {
        find_parts(a, parts, why);
        put_verdict(s, a, parts);
        put_parts(s, a, parts);
    }
    if (f->count > 0 && f->list[0].weight > 0)
        screen_line(s, SCREEN_PLAIN, "", 0);
    /* They are in the order of what they cost; those that cost nothing are in --full. */
    for (size_t i = 0; i < f->count && i < FINDINGS_SHOWN && f->list[i].weight > 0; i++)
        number += put_finding(s, a, &f->list[i], number, kept);
    screen_line(s, SCREEN_SOFT, more.data, 0);
    buf_release(&more);
    for (int i = 0; i < PARTS; i++)
        buf_release(&why[i]);
}
