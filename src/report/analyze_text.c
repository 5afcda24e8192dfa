/* SPDX-License-Identifier: MIT */
#include "report/analyze_report.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/opt.h"
#include "report/analyze_sheets.h"
#include "report/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 78          /* of text from the trace that stands alone in a line */
#define RANKS_LISTED 16   /* with more ranks the table shows spread and extremes */
#define ROWS_LISTED 6     /* of collectives, products, operations */
#define NAME_COLUMNS 42   /* of an operation */
#define COMM_COLUMNS 10   /* of a communicator's size and name */
#define WAY_COLUMNS 26    /* of how NCCL ran it */
#define FINDINGS_LISTED 6 /* the others are in the JSON */

/* One unit for a whole table, so that its numbers compare at a glance. */
struct scale {
    const char *name;
    double ns;
    int decimals;
};

static struct scale scale_for(double longest_ns)
{
    if (longest_ns < 10e6)
        return (struct scale){"us", 1e3, 1};
    if (longest_ns < 10e9)
        return (struct scale){"ms", 1e6, 2};
    return (struct scale){"s", 1e9, 2};
}

static void cell_time(struct table *t, const struct scale *scale, double ns)
{
    if (isfinite(ns))
        table_cell(t, "%.*f", scale->decimals, ns / scale->ns);
    else
        table_cell(t, "-");
}

static void cell_duration(struct table *t, double ns)
{
    char text[32];
    table_cell(t, "%s", text_ns(text, sizeof text, ns));
}

/* A rate. Beyond 99999.9 it is damage, and must not break the table. */
static void cell_rate(struct table *t, double value)
{
    if (isfinite(value))
        table_cell(t, value < 9.995 ? "%.2f" : value < 99999.95 ? "%.1f" : "%.0e", value);
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

static void print_omitted(FILE *out, size_t total)
{
    if (total > ROWS_LISTED)
        fprintf(out, "  and %zu more (--json lists all)\n", total - ROWS_LISTED);
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
    static const char *const right[] = {"rank",    "span", "compute", "exp.comm", "waiting",
                                        "exp.mem", "idle", "hidden",  "last",     NULL};
    add_columns(t, left, right);
}

/* The cells behind the first one; `last` < 0: none. Copies that were not traced are not 0. */
static void split_cells(struct table *t, const struct scale *scale, const struct split *s,
                        unsigned coverage, int64_t last)
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

static void rank_row(struct table *t, const struct scale *scale, const struct analysis *a,
                     const struct rank_result *r)
{
    bool compared = a->run->clock_aligned && r->arrival->collectives > 0;
    table_cell(t, "%d", r->rank->rank);
    split_cells(t, scale, &r->split, r->rank->coverage, compared ? (int64_t)r->arrival->last : -1);
}

static void share_row(struct table *t, const struct split *s, unsigned coverage)
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

static int by_ns(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* Smallest, middle and largest of one time over the timed ranks, written into the three splits. */
static void spread_of(const struct analysis *a, size_t offset, struct split spread[3])
{
    int64_t *values = NULL;
    size_t cap = 0, n = 0;
    ARRAY_GROW(values, cap, a->nranks);
    for (size_t i = 0; i < a->nranks; i++) {
        if (a->ranks[i].split.timed_ops > 0)
            memcpy(&values[n++], (const char *)&a->ranks[i].split + offset, sizeof *values);
    }
    qsort(values, n, sizeof *values, by_ns);
    const int64_t picked[] = {values[0], values[n / 2], values[n - 1]};
    for (int k = 0; k < 3; k++)
        memcpy((char *)&spread[k] + offset, &picked[k], sizeof picked[k]);
    free(values);
}

/* Rows for the smallest, median and largest value of each column. */
static void spread_rows(struct table *t, const struct scale *scale, const struct analysis *a)
{
    static const char *const names[] = {"min", "median", "max"};
    struct split spread[3] = {0};
#define X(name) spread_of(a, offsetof(struct split, name##_ns), spread);
    SPLIT_TIMES(X)
#undef X
    spread_of(a, offsetof(struct split, exposed_wait_ns), spread);
    for (int k = 0; k < 3; k++) {
        spread[k].timed_ops = 1;
        spread[k].wait_known = a->total.wait_known;
        spread[k].comm_ns = 0; /* the overlap of one rank over the communication of another: none */
        table_cell(t, "%s", names[k]);
        split_cells(t, scale, &spread[k], a->coverage, -1);
    }
}

/* The ranks that a user wants to see by number: the extreme one of each time. */
static void extreme_rows(struct table *t, const struct scale *scale, const struct analysis *a)
{
    static const size_t offsets[] = {
        offsetof(struct split, span_ns), offsetof(struct split, compute_ns),
        offsetof(struct split, exposed_comm_ns), offsetof(struct split, exposed_memory_ns),
        offsetof(struct split, idle_ns)};
    size_t shown[sizeof offsets / sizeof *offsets], n = 0;
    for (size_t k = 0; k < sizeof offsets / sizeof *offsets; k++) {
        int64_t best = 0, value;
        size_t at = a->nranks;
        for (size_t i = 0; i < a->nranks; i++) {
            memcpy(&value, (const char *)&a->ranks[i].split + offsets[k], sizeof value);
            if (value > best) {
                best = value;
                at = i;
            }
        }
        for (size_t j = 0; j < n && at < a->nranks; j++)
            at = shown[j] == at ? a->nranks : at;
        if (at == a->nranks)
            continue;
        shown[n++] = at;
        rank_row(t, scale, a, &a->ranks[at]);
    }
}

static void print_ranks(const struct analysis *a, FILE *out)
{
    int64_t longest = 0;
    struct table t;
    for (size_t i = 0; i < a->nranks; i++)
        longest = a->ranks[i].split.span_ns > longest ? a->ranks[i].split.span_ns : longest;
    struct scale scale = scale_for((double)longest);
    table_init(&t);
    rank_columns(&t);
    fprintf(out, "\nTime per rank, %s: span = compute + exp.comm + exp.mem + idle\n", scale.name);
    if (a->nranks > RANKS_LISTED) {
        spread_rows(&t, &scale, a);
        extreme_rows(&t, &scale, a);
    } else {
        for (size_t i = 0; i < a->nranks; i++)
            rank_row(&t, &scale, a, &a->ranks[i]);
    }
    share_row(&t, &a->total, a->coverage);
    table_print(&t, out);
    fputs("  exp.: exposed, not behind compute; waiting: part of exp.comm, for late ranks;\n"
          "  hidden: share of communication behind compute; last: times it came last\n",
          out);
    table_release(&t);
}

/* ---- communication ---- */

/* The communicator: its size, and behind it the name when rows are told apart by names. */
static void comm_cell(struct table *t, const struct comm_row *row, bool named)
{
    char text[128], size[16] = "-";
    if (row->comm_size > 0)
        snprintf(size, sizeof size, "%d", row->comm_size);
    if (named)
        snprintf(text, sizeof text, "%s %s", size, row->name);
    table_text(t, named ? text : size, COMM_COLUMNS);
}

static void comm_cells(struct table *t, const struct comm_row *row, bool named)
{
    char size[32];
    bool typed = row->dtype != SPECTER_DTYPE_UNKNOWN;
    table_cell(t, "%s%s", specter_comm_op_name(row->op), row->grouped > 0 ? "*" : "");
    table_cell(t, "%s", typed ? specter_dtype_name(row->dtype) : "-");
    comm_cell(t, row, named);
    table_cell(t, "%s", row->bytes_known ? text_bytes(size, sizeof size, (double)row->bytes) : "-");
    table_cell(t, "%llu", (unsigned long long)row->count);
    cell_duration(t, row->median_ns);
    cell_duration(t, row->wait_ns);
    cell_rate(t, row->busbw_GBps);
}

static void print_comm(const struct comm_rows *rows, const char *title, bool named, FILE *out)
{
    static const char *const left[] = {"op", "dtype", "ranks", NULL};
    static const char *const right[] = {"size", "count", "median", "wait", "busbw", NULL};
    bool grouped = false;
    struct table t;
    if (rows->count == 0)
        return;
    table_init(&t);
    add_columns(&t, left, right);
    fprintf(out, "\n%s: median transfer, mean wait, busbw in GB/s\n", title);
    for (size_t i = 0; i < rows->count && i < ROWS_LISTED; i++) {
        comm_cells(&t, &rows->list[i], named);
        grouped = grouped || rows->list[i].grouped > 0;
    }
    table_print(&t, out);
    print_omitted(out, rows->count);
    if (grouped)
        fputs("  * in groups: the time is the group's, the bandwidth that of all it moved\n", out);
    table_release(&t);
}

/* "RING LL128 x8"; of a message "x2". */
static void way_cell(struct table *t, const struct comm_row *row)
{
    struct buf text = BUF_INIT;
    buf_puts(&text, row->algo);
    if (row->proto[0] != '\0')
        buf_printf(&text, "%s%s", text.len > 0 ? " " : "", row->proto);
    if (row->channels > 0)
        buf_printf(&text, "%sx%u", text.len > 0 ? " " : "", row->channels);
    buf_putc(&text, '\0');
    table_text(t, text.len > 1 ? text.data : "-", WAY_COLUMNS);
    buf_release(&text);
}

/* How NCCL ran what its profiler told of. */
static void print_ways(const struct comm_rows *rows, FILE *out)
{
    static const char *const left[] = {"op", "dtype", "ranks", NULL};
    static const char *const right[] = {"size", "how", "instances", NULL};
    struct table t;
    char size[32];
    table_init(&t);
    add_columns(&t, left, right);
    for (size_t i = 0; i < rows->count && i < ROWS_LISTED; i++) {
        const struct comm_row *row = &rows->list[i];
        bool typed = row->dtype != SPECTER_DTYPE_UNKNOWN;
        if (row->told == 0)
            continue;
        table_cell(&t, "%s", specter_comm_op_name(row->op));
        table_cell(&t, "%s", typed ? specter_dtype_name(row->dtype) : "-");
        comm_cell(&t, row, false);
        table_cell(&t, "%s",
                   row->bytes_known ? text_bytes(size, sizeof size, (double)row->bytes) : "-");
        way_cell(&t, row);
        table_cell(&t, "%llu of %llu", (unsigned long long)row->alike,
                   (unsigned long long)row->told);
    }
    if (t.ncells > 0) {
        fputs("\nHow NCCL ran most of them: algorithm, protocol, channels\n", out);
        table_print(&t, out);
    }
    table_release(&t);
}

/* What limits the rows above. */
static void print_comm_limits(const struct comm_study *s, FILE *out)
{
    if (s->incomplete > 0)
        fprintf(out, "  %llu of %zu operations lack ranks: their transfer may hold waiting\n",
                (unsigned long long)s->incomplete, s->count);
    if (s->inconsistent > 0)
        fprintf(out, "  in %llu of %zu operations the ranks disagree on kind, size or type\n",
                (unsigned long long)s->inconsistent, s->count);
    if (s->unnumbered > 0)
        fprintf(out, "  %llu operations could not be matched across ranks: counted one by one\n",
                (unsigned long long)s->unnumbered);
}

/* ---- device work ---- */

static void gemm_cells(struct table *t, const struct gemm_row *g)
{
    table_cell(t, "%u", g->m);
    table_cell(t, "%u", g->n);
    table_cell(t, "%u", g->k);
    table_cell(t, "%u", g->batch);
    table_cell(t, "%s", g->dtype == SPECTER_DTYPE_UNKNOWN ? "-" : specter_dtype_name(g->dtype));
    table_cell(t, "%llu", (unsigned long long)g->count);
    cell_duration(t, g->timed > 0 ? g->total_ns : NAN);
    cell_rate(t, g->tflops);
    cell_percent(t, g->tflops / g->peak_tflops);
}

static void print_gemms(const struct analysis *a, FILE *out)
{
    static const char *const left[] = {NULL};
    static const char *const right[] = {"m",     "n",     "k",      "batch",   "dtype",
                                        "count", "total", "TFLOPS", "of peak", NULL};
    const struct work *w = &a->work;
    struct table t;
    if (w->ngemms == 0)
        return;
    table_init(&t);
    add_columns(&t, left, right);
    fputs("\nMatrix products by shape, dense peak\n", out);
    for (size_t i = 0; i < w->ngemms && i < ROWS_LISTED; i++)
        gemm_cells(&t, &w->gemms[i]);
    table_print(&t, out);
    print_omitted(out, w->ngemms);
    if (a->gemm_rate > 1)
        fprintf(out, "  at times one in %llu was recorded or timed: counts are of those\n",
                (unsigned long long)a->gemm_rate);
    table_release(&t);
}

/* A C++ kernel's name without its return type and its namespaces, which fill a line and tell
 * little: "void at::native::reduce_kernel<512, ...>" becomes "reduce_kernel<512, ...>". In place.
 */
static void shorten(char *name)
{
    static const char unnamed[] = "(anonymous namespace)";
    const size_t len = sizeof unnamed - 1;
    char *out = name;
    const char *in = strncmp(name, "void ", 5) == 0 ? name + 5 : name;
    for (; *in != '\0'; in++) {
        if (in[0] != ':' || in[1] != ':') {
            *out++ = *in;
            continue;
        }
        in++;
        if ((size_t)(out - name) >= len && memcmp(out - len, unnamed, len) == 0)
            out -= len;
        while (out > name && (isalnum((unsigned char)out[-1]) || out[-1] == '_'))
            out--;
    }
    *out = '\0';
}

static void name_cell(struct table *t, const char *name)
{
    size_t size = strlen(name) + 1, cap = 0;
    char *copy = array_grow(NULL, &cap, size, 1);
    memcpy(copy, name, size);
    shorten(copy);
    table_text(t, copy, NAME_COLUMNS);
    free(copy);
}

static void print_top(const struct analysis *a, FILE *out)
{
    static const char *const left[] = {"operation", NULL};
    static const char *const right[] = {"count", "total", "mean", "of span", NULL};
    const struct work *w = &a->work;
    struct table t;
    if (w->ntop == 0)
        return;
    table_init(&t);
    add_columns(&t, left, right);
    fprintf(out, "\nTop operations by device time, %s\n",
            a->nranks > 1 ? "all ranks added" : "this rank");
    for (size_t i = 0; i < w->ntop && i < ROWS_LISTED; i++) {
        const struct top_row *row = &w->top[i];
        name_cell(&t, row->name);
        table_cell(&t, "%llu", (unsigned long long)row->count);
        cell_duration(&t, row->total_ns);
        cell_duration(&t, row->total_ns / (double)row->count);
        cell_percent(&t, row->total_ns / (double)a->total.span_ns);
    }
    table_print(&t, out);
    print_omitted(out, w->ntop);
    table_release(&t);
}

/* ---- beside these ---- */

static void print_sheets(const struct analysis *a, FILE *out)
{
    for (size_t i = 0; i < ANALYZE_SHEETS; i++) {
        struct sheet s;
        analyze_sheets[i].make(&s, a);
        if (analyze_sheets[i].rows > 0)
            sheet_print(&s, analyze_sheets[i].rows, out);
        sheet_release(&s);
    }
}

/* Kernels that were only counted, with steps a step. */
static void print_launches(const struct launch_sum *l, FILE *out)
{
    static const char *const left[] = {"kernels", NULL};
    static const char *const right[] = {"launches", "a step", NULL};
    char gap[32];
    struct table t;
    if (l->count == 0)
        return;
    table_init(&t);
    add_columns(&t, left, right);
    fprintf(out, "\nOther kernels, counted and not timed: %llu launches\n",
            (unsigned long long)l->count);
    for (int k = 0; k < SPECTER_KERNEL_CLASS_COUNT; k++) {
        if (l->classes[k] == 0)
            continue;
        table_cell(&t, "%s", specter_kernel_class_name((enum specter_kernel_class)k));
        table_cell(&t, "%llu", (unsigned long long)l->classes[k]);
        if (l->steps > 0)
            table_cell(&t, "%.1f", (double)l->in_steps_of[k] / (double)l->steps);
        else
            table_cell(&t, "-");
    }
    table_print(&t, out);
    if (l->max_gap_ns > 0)
        fprintf(out, "  longest time between two on the host: %s\n",
                text_ns(gap, sizeof gap, (double)l->max_gap_ns));
    table_release(&t);
}

static void print_graphs(const struct extra *x, FILE *out)
{
    static const char *const left[] = {NULL};
    static const char *const right[] = {"graph",   "launches", "total", "ops",
                                        "kernels", "comm.",    "bytes", NULL};
    struct table t;
    char size[32];
    if (x->ngraphs == 0)
        return;
    table_init(&t);
    add_columns(&t, left, right);
    fputs("\nLaunches of graphs, what they ran, and the communication in it\n", out);
    for (size_t i = 0; i < x->ngraphs && i < ROWS_LISTED; i++) {
        const struct graph_row *row = &x->graphs[i];
        if (row->graph >= 0)
            table_cell(&t, "%d", row->graph);
        else
            table_cell(&t, "-");
        table_cell(&t, "%llu", (unsigned long long)row->count);
        cell_duration(&t, row->timed > 0 ? row->total_ns : NAN);
        table_cell(&t, "%llu", (unsigned long long)row->ops);
        table_cell(&t, "%llu", (unsigned long long)row->kernels);
        table_cell(&t, "%llu", (unsigned long long)row->comms);
        table_cell(&t, "%s", text_bytes(size, sizeof size, (double)row->comm_bytes));
    }
    table_print(&t, out);
    print_omitted(out, x->ngraphs);
    fputs("  their time counts as compute, unless all in them is known to be communication\n", out);
    table_release(&t);
}

void analyze_text(const struct analysis *a, const struct findings *f, FILE *out)
{
    bool named = analysis_has_names(a);
    print_head(a, out);
    print_findings(a, f, out);
    if (analysis_timed(a))
        print_ranks(a, out);
    print_comm(named ? &a->collectives_named : &a->collectives, "Collectives over all ranks", named,
               out);
    print_comm(&a->p2p, "Sends with their receives", false, out);
    print_comm_limits(&a->comm, out);
    print_ways(&a->collectives, out);
    print_gemms(a, out);
    print_sheets(a, out);
    print_launches(&a->extra.launches, out);
    print_graphs(&a->extra, out);
    print_top(a, out);
}
