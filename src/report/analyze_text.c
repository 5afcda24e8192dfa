/* SPDX-License-Identifier: MIT */
#include "report/analyze_report.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/opt.h"
#include "report/analyze_sheets.h"
#include "report/clock_text.h"
#include "report/rank_spread.h"
#include "report/table.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define WIDTH 78          /* of text from the trace that stands alone in a line */
#define RANKS_LISTED 16   /* with more ranks the table shows spread and extremes */
#define ROWS_LISTED 6     /* of collectives, products, operations */
#define NAME_COLUMNS 42   /* of an operation */
#define COMM_COLUMNS 10   /* of a communicator's size and name */
#define WAY_COLUMNS 26    /* of how NCCL ran it */
#define FINDINGS_LISTED 6 /* the others are in the JSON */

/* One unit for a whole table, so that its numbers compare at a glance. */
struct table_unit {
    const char *name;
    double ns;
    int decimals;
};

static struct table_unit scale_for(double longest_ns)
{
    if (longest_ns < 10e6)
        return (struct table_unit){"us", 1e3, 1};
    if (longest_ns < 10e9)
        return (struct table_unit){"ms", 1e6, 2};
    return (struct table_unit){"s", 1e9, 2};
}

static void cell_time(struct table *t, const struct table_unit *scale, double ns)
{
    if (isfinite(ns))
        table_cell(t, "%.*f", scale->decimals, ns / scale->ns);
    else
        table_cell(t, "-");
}

static void cell_percent(struct table *t, double share)
{
    if (isfinite(share))
        table_cell(t, share < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * share);
    else
        table_cell(t, "-");
}

static void add_columns(struct table *t, const char *const *left, const char *const *right)
{
    for (; *left != NULL; left++)
        table_column(t, *left, TABLE_LEFT);
    for (; *right != NULL; right++)
        table_column(t, *right, TABLE_RIGHT);
}

/* ---- head and findings ---- */

/* The GPU's name when all ranks have the same. */
static const char *common_gpu(const struct analysis *a)
{
    const char *name = a->ranks[0].rank->gpu;
    for (size_t i = 1; i < a->nranks; i++) {
        if (strcmp(a->ranks[i].rank->gpu, name) != 0)
            return "several GPU models";
    }
    return name;
}

/* Prints the alignment of clocks, which every comparison of hosts rests on. */
static void print_clocks(const struct run *run, FILE *out)
{
    char error[32], clocks[64];
    if (run->ndomains < 2)
        return;
    fprintf(out, "\n%s, ", clock_text(clocks, sizeof clocks, run));
    if (run->clock_aligned)
        fprintf(out, "compared to %s", text_ns(error, sizeof error, run->clock_residual_ns));
    else
        fputs("not comparable: no times are compared across them", out);
}

static void print_head(const struct analysis *a, FILE *out)
{
    char text[4 * WIDTH];
    const struct run *run = a->run;
    fprintf(out, "%s\n", text_safe(text, sizeof text, run->source, WIDTH));
    if (run->id[0] != '\0')
        fprintf(out, "run %s, ", text_safe(text, sizeof text, run->id, WIDTH / 2));
    fprintf(out, "%s trace, %zu", run->format, run->nranks);
    if (run->nranks != (size_t)run->world_size)
        fprintf(out, " of %d", run->world_size);
    fputs(run->world_size == 1 ? " rank" : " ranks", out);
    if (a->nranks == 1 && run->nranks > 1)
        fprintf(out, ", only rank %d below", a->ranks[0].rank->rank);
    if (common_gpu(a)[0] != '\0')
        fprintf(out, "\n%s", text_safe(text, sizeof text, common_gpu(a), WIDTH));
    print_clocks(run, out);
    fputs("\n\n", out);
}

static void print_findings(const struct analysis *a, const struct findings *f, FILE *out)
{
    const char *limits[COVERAGE_LIMITS];
    for (size_t i = 0; i < f->count && i < FINDINGS_LISTED; i++) {
        fprintf(out, "%zu. ", i + 1);
        opt_wrap(f->list[i].text, 3, 3, out);
    }
    coverage_limits(a, limits);
    for (size_t i = 0; limits[i] != NULL; i++) {
        fputs("   Note: ", out);
        opt_wrap(limits[i], 9, 9, out);
    }
}

/* ---- time per rank ---- */

static void rank_columns(struct table *t)
{
    static const char *const left[] = {NULL};
    static const char *const right[] = {"rank",    "total", "compute", "exp.comm", "waiting",
                                        "exp.mem", "idle",  "overlap", "last",     NULL};
    add_columns(t, left, right);
}

/* The cells behind the first one; `last` < 0: none. Copies that were not traced are not 0. */
static void split_cells(struct table *t, const struct table_unit *scale,
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
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        cell_time(t, scale, timed ? times[i] : none);
    cell_percent(t, share_of(s->overlap_ns, s->comm_ns));
    if (last >= 0)
        table_cell(t, "%lld", (long long)last);
    else
        table_cell(t, "%s", "");
}

static void rank_row(struct table *t, const struct table_unit *scale, const struct analysis *a,
                     const struct rank_result *r)
{
    bool compared = a->run->clock_aligned && r->arrival->collectives > 0;
    table_cell(t, "%d", r->rank->rank);
    split_cells(t, scale, &r->breakdown, r->rank->coverage,
                compared ? (int64_t)r->arrival->last : -1);
}

static void share_row(struct table *t, const struct time_breakdown *s, unsigned coverage)
{
    table_cell(t, "share");
    cell_percent(t, share_of(s->span_ns, s->span_ns));
    cell_percent(t, share_of(s->compute_ns, s->span_ns));
    cell_percent(t, share_of(s->exposed_comm_ns, s->span_ns));
    cell_percent(t, s->wait_known ? share_of(s->exposed_wait_ns, s->span_ns) : NAN);
    cell_percent(t, coverage & COVER_MEMORY ? share_of(s->exposed_memory_ns, s->span_ns) : NAN);
    cell_percent(t, share_of(s->idle_ns, s->span_ns));
    cell_percent(t, share_of(s->overlap_ns, s->comm_ns));
    table_cell(t, "%s", "");
}

/* Rows for the smallest, median and largest value of each column. */
static void spread_rows(struct table *t, const struct table_unit *scale, const struct analysis *a)
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

static void extreme_rows(struct table *t, const struct table_unit *scale, const struct analysis *a)
{
    size_t shown[RANK_EXTREMES], n = rank_extremes(a, shown);
    for (size_t k = 0; k < n; k++)
        rank_row(t, scale, a, &a->ranks[shown[k]]);
}

static void print_ranks_title(const struct analysis *a, const char *unit, FILE *out)
{
    const struct step_window *w = &a->step_time.window;
    if (w->several)
        fprintf(out, "\nTime per rank in the %u step%s that count, %s:\n", w->steps,
                w->steps > 1 ? "s" : "", unit);
    else
        fprintf(out, "\nTime per rank, %s:\n", unit);
    fputs("total = compute + exp.comm + exp.mem + idle\n", out);
}

static void print_ranks(const struct analysis *a, FILE *out)
{
    int64_t longest = 0;
    struct table t;
    for (size_t i = 0; i < a->nranks; i++)
        longest = a->ranks[i].breakdown.span_ns > longest ? a->ranks[i].breakdown.span_ns : longest;
    struct table_unit scale = scale_for((double)longest);
    table_init(&t);
    rank_columns(&t);
    print_ranks_title(a, scale.name, out);
    if (a->nranks > RANKS_LISTED) {
        spread_rows(&t, &scale, a);
        extreme_rows(&t, &scale, a);
    } else {
        for (size_t i = 0; i < a->nranks; i++)
            rank_row(&t, &scale, a, &a->ranks[i]);
    }
    share_row(&t, &a->total, a->coverage);
    table_print(&t, out);
    fputs("  exp.: exposed, not overlapped by compute; waiting: for stragglers, part of\n"
          "  exp.comm; overlap: share of communication that compute overlaps; last: times\n"
          "  it arrived last\n",
          out);
    table_release(&t);
}

/* The tables of the page, and which others have something to say. */
static void print_sheets(const struct analysis *a, FILE *out)
{
    struct buf others = BUF_INIT;
    for (size_t i = 0; i < ANALYZE_SHEETS; i++) {
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

void analyze_text(const struct analysis *a, const struct findings *f, FILE *out)
{
    print_head(a, out);
    print_findings(a, f, out);
    if (analysis_timed(a))
        print_ranks(a, out);
    print_sheets(a, out);
}
