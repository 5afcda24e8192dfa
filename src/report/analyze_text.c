/* SPDX-License-Identifier: MIT
 *
 * `specter analyze --full`: all of the report as text (analyze_report.h).
 */
#include "report/analyze_report.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/opt.h"
#include "base/order.h"
#include "report/analyze_internal.h"
#include "report/analyze_sheets.h"
#include "report/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 78          /* of text from the trace that stands alone in a line */
#define RANKS_LISTED 16   /* with more ranks the table shows spread and extremes */
#define ROWS_LISTED 6     /* of collectives, GEMMs, operations */
#define NAME_COLUMNS 42   /* of an operation */
#define COMM_COLUMNS 10   /* of a communicator's size and name */
#define WAY_COLUMNS 26    /* of how NCCL ran it */
#define FINDINGS_LISTED 6 /* the others are in the JSON */

static void cell_percent(struct table *t, double share)
{
    if (isfinite(share))
        table_cell(t, share < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * share);
    else
        table_cell(t, "-");
}

/* ---- head and findings ---- */

static void print_head(const struct analysis *a, FILE *out)
{
    char text[4 * WIDTH];
    const struct run *run = a->run;
    char error[32], clocks[64];
    fprintf(out, "%s\n", text_safe(text, sizeof text, run->source, WIDTH));
    if (run->id[0] != '\0')
        fprintf(out, "run %s, ", text_safe(text, sizeof text, run->id, WIDTH / 2));
    fprintf(out, "%s trace, %zu", run->format, run_recorded_ranks(run));
    if (run_recorded_ranks(run) != (size_t)run->world_size)
        fprintf(out, " of %d", run->world_size);
    fputs(run->world_size == 1 ? " rank" : " ranks", out);
    if (a->nranks == 1 && run->nranks > 1)
        fprintf(out, ", only rank %d below", a->ranks[0].rank->rank);
    if (analyze_gpu(a)[0] != '\0')
        fprintf(out, "\n%s", text_safe(text, sizeof text, analyze_gpu(a), WIDTH));
    /* The alignment of clocks, which every comparison of hosts rests on. */
    if (run->ndomains >= 2) {
        fprintf(out, "\n%s, ", clock_text(clocks, sizeof clocks, run));
        if (run->clock_aligned)
            fprintf(out, "compared to %s", text_ns(error, sizeof error, run->clock_residual_ns));
        else
            fputs("not comparable: no times are compared across them", out);
    }
    fputs("\n\n", out);
}

/* ---- time per rank ---- */

/* The cells after the first one; `last` < 0: none. Copies that were not traced are not 0. */
static void split_cells(struct table *t, const struct time_unit *scale,
                        const struct time_breakdown *s, unsigned coverage, int64_t last)
{
    const double none = NAN;
    bool timed = s->timed_ops > 0, copies = coverage & COVER_MEMORY;
    const double times[] = {
        (double)s->span_ns,
        (double)s->compute_ns,
        (double)s->exposed_comm_ns,
        s->wait_known ? (double)s->exposed_wait_ns : none,
        copies ? (double)s->exposed_memory_ns : none,
        (double)s->idle_ns,
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        if (timed && isfinite(times[i]))
            table_cell(t, "%.*f", scale->decimals, times[i] / scale->ns);
        else
            table_cell(t, "-");
    }
    cell_percent(t, share_of(s->overlap_ns, s->comm_ns));
    if (last >= 0)
        table_cell(t, "%lld", (long long)last);
    else
        table_cell(t, "%s", "");
}

static void rank_row(struct table *t, const struct time_unit *scale, const struct analysis *a,
                     const struct rank_result *r)
{
    bool compared = a->run->clock_aligned && r->arrival->collectives > 0;
    table_cell(t, "%d", r->rank->rank);
    split_cells(t, scale, &r->breakdown, r->rank->coverage,
                compared ? (int64_t)r->arrival->last : -1);
}

/* Rows for the smallest, median and largest value of each column. */
static void spread_rows(struct table *t, const struct time_unit *scale, const struct analysis *a)
{
    static const char *const names[] = {"min", "median", "max"};
    struct time_breakdown spread[3] = {0};
#define X(name) rank_spread(a, offsetof(struct time_breakdown, name##_ns), spread);
    BREAKDOWN_TIMES(X)
#undef X
    rank_spread(a, offsetof(struct time_breakdown, exposed_wait_ns), spread);
    for (int k = 0; k < 3; k++) {
        spread[k].timed_ops = 1;
        spread[k].wait_known = a->total.wait_known;
        spread[k].comm_ns = 0; /* the overlap of one rank over the communication of another: none */
        table_cell(t, "%s", names[k]);
        split_cells(t, scale, &spread[k], a->coverage, -1);
    }
}

static void print_ranks(const struct analysis *a, FILE *out)
{
    static const char *const titles[] = {"rank",    "total", "compute", "exp.comm", "waiting",
                                         "exp.mem", "idle",  "overlap", "last"};
    int64_t longest = 0;
    struct table t;
    for (size_t i = 0; i < a->nranks; i++)
        longest = a->ranks[i].breakdown.span_ns > longest ? a->ranks[i].breakdown.span_ns : longest;
    struct time_unit scale = time_unit_for((double)longest);
    table_init(&t);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        table_column(&t, titles[i], TABLE_RIGHT);
    const struct step_window *w = &a->step_time.window;
    if (w->several)
        fprintf(out, "\nTime per rank in the %u step%s that count, %s:\n", w->steps,
                w->steps > 1 ? "s" : "", scale.name);
    else
        fprintf(out, "\nTime per rank, %s:\n", scale.name);
    fputs("total = compute + exp.comm + exp.mem + idle\n", out);
    if (a->nranks > RANKS_LISTED) {
        spread_rows(&t, &scale, a);
        size_t shown[RANK_EXTREMES], n = rank_extremes(a, shown);
        for (size_t k = 0; k < n; k++)
            rank_row(&t, &scale, a, &a->ranks[shown[k]]);
    } else {
        for (size_t i = 0; i < a->nranks; i++)
            rank_row(&t, &scale, a, &a->ranks[i]);
    }
    const struct time_breakdown *s = &a->total;
    table_cell(&t, "share");
    cell_percent(&t, share_of(s->span_ns, s->span_ns));
    cell_percent(&t, share_of(s->compute_ns, s->span_ns));
    cell_percent(&t, share_of(s->exposed_comm_ns, s->span_ns));
    cell_percent(&t, s->wait_known ? share_of(s->exposed_wait_ns, s->span_ns) : NAN);
    cell_percent(&t, a->coverage & COVER_MEMORY ? share_of(s->exposed_memory_ns, s->span_ns) : NAN);
    cell_percent(&t, share_of(s->idle_ns, s->span_ns));
    cell_percent(&t, share_of(s->overlap_ns, s->comm_ns));
    table_cell(&t, "%s", "");
    table_print(&t, out);
    fputs("  ", out);
    opt_wrap("exp.: exposed, not overlapped by compute; waiting: for stragglers, part of exp.comm; "
             "overlap: share of communication that compute overlaps; last: times it arrived last",
             2, 2, out);
    table_release(&t);
}

void analyze_text(const struct analysis *a, const struct findings *f, FILE *out)
{
    const char *limits[COVERAGE_LIMITS];
    print_head(a, out);
    for (size_t i = 0; i < f->count && i < FINDINGS_LISTED; i++) {
        fprintf(out, "%zu. ", i + 1);
        opt_wrap(f->list[i].text, 3, 3, out);
    }
    coverage_limits(a, limits);
    for (size_t i = 0; limits[i] != NULL; i++) {
        fputs("   Note: ", out);
        opt_wrap(limits[i], 9, 9, out);
    }
    if (analysis_timed(a))
        print_ranks(a, out);
    /* The tables of the page, and which others have something to say. */
    struct buf others = BUF_INIT;
    for (size_t i = 0; i < ANALYZE_SHEET_COUNT; i++) {
        struct sheet s;
        analyze_sheets[i].make(&s, a);
        if (analyze_sheets[i].rows > 0 && !s.off_page)
            sheet_print(&s, analyze_sheets[i].rows, out);
        else if (sheet_rows(&s) > 0)
            buf_printf(&others, " %s", s.name);
        sheet_release(&s);
    }
    if (others.len > 0) {
        fputs("\nMore, with --table NAME: ", out);
        opt_wrap(others.data + 1, 25, 2, out);
    }
    buf_release(&others);
}
