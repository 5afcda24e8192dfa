/* SPDX-License-Identifier: MIT
 *
 * Sheets of device work: by kind, by the length of kernels, by the framework's operation that
 * launched it, by name; GEMMs and their roofline; copies; untimed kernels; graphs.
 */
#include "report/analyze_sheets.h"
#include "report/op_text.h"
#include "report/table.h"

#include <math.h>

void sheet_of_kernel_kinds(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"kind", "device work", SHEET_TEXT, 0}, {"count", "count", SHEET_COUNT, 0},
        {"total_us", "total", SHEET_TIME, 0},   {"mean_us", "mean", SHEET_TIME, 0},
        {"share", NULL, SHEET_SHARE, 0},        {"of_span", "of total", SHEET_SHARE, 0},
        {"min_us", "min", SHEET_TIME, 0},       {"max_us", "max", SHEET_TIME, 0},
        {"median_us", "median", SHEET_TIME, 0},
    };
    double all = 0;
    sheet_init(s, "kernel_kinds", "Device work by kind, of the whole recording; durations added up",
               SHEET_COLUMNS(columns));
    for (unsigned k = 0; k < WORK_KINDS; k++)
        all += a->work.kinds[k].total_ns;
    for (unsigned k = 0; k < WORK_KINDS; k++) {
        const struct kind_sum *sum = &a->work.kinds[k];
        if (sum->count == 0)
            continue;
        sheet_text(s, work_kind_name(k));
        sheet_number(s, (double)sum->count);
        sheet_number(s, sum->total_ns);
        sheet_number(s, sum->total_ns / (double)sum->count);
        sheet_number(s, all > 0 ? sum->total_ns / all : NAN);
        sheet_number(s, sum->total_ns / (double)a->total.recorded_ns);
        sheet_number(s, sum->min_ns);
        sheet_number(s, sum->max_ns);
        sheet_number(s, sum->median_ns);
    }
}

void sheet_of_kernel_lengths(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"from_us", "from", SHEET_TIME, 0},   {"below_us", "below", SHEET_TIME, 0},
        {"count", "kernels", SHEET_COUNT, 0}, {"of_count", "of kernels", SHEET_SHARE, 0},
        {"total_us", "total", SHEET_TIME, 0}, {"of_time", "of time", SHEET_SHARE, 0},
    };
    struct work_sum all = work_kernels(&a->work), few = work_short(&a->work);
    sheet_init(s, "kernel_lengths", "Kernels by how long they take", SHEET_COLUMNS(columns));
    if (all.count == 0)
        return;
    for (size_t i = 0; i < WORK_LENGTH_COUNT; i++) {
        const struct work_sum *sum = &a->work.lengths[i];
        bool last = i == WORK_LENGTH_COUNT - 1;
        sheet_number(s, i > 0 ? (double)work_length_ns(i - 1) : 0);
        sheet_number(s, last ? NAN : (double)work_length_ns(i));
        sheet_number(s, (double)sum->count);
        sheet_number(s, (double)sum->count / (double)all.count);
        sheet_number(s, sum->total_ns);
        sheet_number(s, all.total_ns > 0 ? sum->total_ns / all.total_ns : NAN);
    }
    sheet_note(s, "%llu of %llu kernels are shorter than %d us", (unsigned long long)few.count,
               (unsigned long long)all.count, WORK_SHORT_NS / 1000);
}

void sheet_of_operations(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"operation", "launched by", SHEET_TEXT, 24},
        {"count", "kernels", SHEET_COUNT, 0},
        {"total_us", "total", SHEET_TIME, 0},
        {"mean_us", "mean", SHEET_TIME, 0},
        {"max_us", NULL, SHEET_NS, 0},
        {"comm_us", NULL, SHEET_NS, 0},
        {"memory_us", NULL, SHEET_NS, 0},
        {"share", NULL, SHEET_SHARE, 0},
        {"of_span", NULL, SHEET_SHARE, 0},
        {"min_us", "min", SHEET_TIME, 0},
        {NULL, "max", SHEET_TIME, 0},
        {"median_us", "median", SHEET_TIME, 0},
    };
    const struct framework_ops *o = &a->work.framework_ops;
    sheet_init(s, "operations",
               "Device work by the operation that launched it, of the whole recording",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < o->count && framework_ops_known(o); i++) {
        const struct framework_op_row *row = &o->list[i];
        sheet_text(s, row->name != NULL ? row->name : "unattributed");
        sheet_number(s, (double)row->count);
        sheet_number(s, row->total_ns);
        sheet_number(s, row->total_ns / (double)row->count);
        sheet_number(s, row->max_ns);
        sheet_number(s, row->comm_ns);
        sheet_number(s, row->memory_ns);
        sheet_number(s, o->total_ns > 0 ? row->total_ns / o->total_ns : NAN);
        sheet_number(s, row->total_ns / (double)a->total.recorded_ns);
        sheet_number(s, row->min_ns);
        sheet_number(s, row->max_ns);
        sheet_number(s, row->median_ns);
    }
}

/* Returns whether every operation is in a table of its own kind: GEMMs, communication, copies. */
static bool shown_elsewhere(const struct work *w)
{
    for (size_t i = 0; i < w->ntop; i++) {
        if (w->top[i].class == OP_KERNEL || w->top[i].class == OP_GRAPH ||
            (w->top[i].class == OP_GEMM && w->ngemms == 0))
            return false;
    }
    return true;
}

void sheet_of_top(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"name", "operation", SHEET_NAME, 24},  {"class", NULL, SHEET_TEXT, 0},
        {"count", "count", SHEET_COUNT, 0},     {"total_us", "total", SHEET_TIME, 0},
        {"mean_us", "mean", SHEET_TIME, 0},     {"share", NULL, SHEET_SHARE, 0},
        {"kind", NULL, SHEET_TEXT, 0},          {"min_us", "min", SHEET_TIME, 0},
        {"max_us", "max", SHEET_TIME, 0},       {"std_us", NULL, SHEET_NS, 0},
        {"median_us", "median", SHEET_TIME, 0},
    };
    sheet_init(s, "top",
               a->nranks > 1 ? "Top operations by device time, sum of all ranks"
                             : "Top operations by device time, this rank",
               SHEET_COLUMNS(columns));
    s->off_page = framework_ops_known(&a->work.framework_ops) || shown_elsewhere(&a->work);
    for (size_t i = 0; i < a->work.ntop; i++) {
        const struct top_row *row = &a->work.top[i];
        sheet_text(s, row->name);
        sheet_text(s, op_class_name(row->class));
        sheet_number(s, (double)row->count);
        sheet_number(s, row->total_ns);
        sheet_number(s, row->total_ns / (double)row->count);
        sheet_number(s, row->total_ns / (double)a->total.recorded_ns);
        sheet_text(s, work_kind_name(row->kind));
        sheet_number(s, row->min_ns);
        sheet_number(s, row->max_ns);
        sheet_number(s, row->std_ns);
        sheet_number(s, row->median_ns);
    }
}

/* ---- GEMMs ---- */

void sheet_of_gemms(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"m", "m", SHEET_COUNT, 0},
        {"n", "n", SHEET_COUNT, 0},
        {"k", "k", SHEET_COUNT, 0},
        {"batch", "batch", SHEET_COUNT, 0},
        {NULL, "dtype", SHEET_TEXT, 0},
        {"dtype", NULL, SHEET_TEXT, 0},
        {"compute", NULL, SHEET_TEXT, 0},
        {"count", "count", SHEET_COUNT, 0},
        {"timed", NULL, SHEET_COUNT, 0},
        {"total_us", "total", SHEET_TIME, 0},
        {"tflops", "TFLOPS", SHEET_RATE, 0},
        {"peak_tflops", NULL, SHEET_RATE, 0},
        {"of_peak", "of peak", SHEET_SHARE, 0},
    };
    sheet_init(s, "gemms", "GEMMs by shape, dense peak", SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->work.ngemms; i++) {
        const struct gemm_row *g = &a->work.gemms[i];
        sheet_number(s, g->m);
        sheet_number(s, g->n);
        sheet_number(s, g->k);
        sheet_number(s, g->batch);
        sheet_text(s, comm_gemm_dtype_text(g->dtype, g->compute));
        sheet_text(s, comm_dtype_text(g->dtype));
        sheet_text(s, comm_dtype_text(g->compute));
        sheet_number(s, (double)g->count);
        sheet_number(s, (double)g->timed);
        sheet_number(s, g->timed > 0 ? g->total_ns : NAN);
        sheet_number(s, g->tflops);
        sheet_number(s, g->peak_tflops);
        sheet_number(s, g->tflops / g->peak_tflops);
    }
    if (a->gemm_sample > 1)
        sheet_note(s, "at times one in %llu was recorded or timed: counts are of those",
                   (unsigned long long)a->gemm_sample);
}

static void put_limit(struct sheet *s, const struct gemm_row *g)
{
    double n = (double)g->limited, flops = gemm_row_flops(g);
    if (g->limited == 0) {
        for (int i = 0; i < 4; i++)
            sheet_number(s, NAN);
        sheet_text(s, NULL);
        sheet_number(s, NAN);
        return;
    }
    sheet_number(s, g->bytes / n);
    sheet_number(s, flops * n / g->bytes);
    sheet_number(s, flops * n / g->limit_ns / 1e3);
    sheet_number(s, g->limited_ns > 0 ? g->limit_ns / g->limited_ns : NAN);
    sheet_text(s, g->flops_ns >= g->bytes_ns ? "compute" : "memory");
    sheet_number(s, g->limited_ns - g->limit_ns);
}

void sheet_of_roofline(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"m", "m", SHEET_COUNT, 0},
        {"n", "n", SHEET_COUNT, 0},
        {"k", "k", SHEET_COUNT, 0},
        {"batch", "batch", SHEET_COUNT, 0},
        {NULL, "type", SHEET_TEXT, 8},
        {"dtype", NULL, SHEET_TEXT, 8},
        {"compute", NULL, SHEET_TEXT, 8},
        {"timed", "count", SHEET_COUNT, 0},
        {"flops", NULL, SHEET_COUNT, 0},
        {"tflops", "TFLOPS", SHEET_RATE, 0},
        {"peak_tflops", NULL, SHEET_RATE, 0},
        {"bytes", NULL, SHEET_BYTES, 0},
        {"flops_per_byte", "flop/B", SHEET_RATE, 0},
        {"attainable_tflops", "roof", SHEET_RATE, 0},
        {"of_attainable", "reached", SHEET_SHARE, 0},
        {"bound", "bound by", SHEET_TEXT, 8},
        {"lost_us", "lost", SHEET_TIME, 0},
    };
    size_t unlimited = 0;
    sheet_init(s, "roofline", "GEMMs against the roofline of their GPU", SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->work.ngemms; i++) {
        const struct gemm_row *g = &a->work.gemms[i];
        if (g->timed == 0)
            continue;
        unlimited += g->limited == 0;
        sheet_number(s, g->m);
        sheet_number(s, g->n);
        sheet_number(s, g->k);
        sheet_number(s, g->batch);
        sheet_text(s, comm_gemm_dtype_text(g->dtype, g->compute));
        sheet_text(s, comm_dtype_text(g->dtype));
        sheet_text(s, comm_dtype_text(g->compute));
        sheet_number(s, (double)g->timed);
        sheet_number(s, gemm_row_flops(g));
        sheet_number(s, g->tflops);
        sheet_number(s, g->peak_tflops);
        put_limit(s, g);
    }
    if (unlimited > 0)
        sheet_note(s, "no roofline for %zu shape%s: no profile of the GPU, or types not known",
                   unlimited, unlimited == 1 ? "" : "s");
}

void sheet_of_operator_flops(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"operator", "operator", SHEET_NAME, 0}, {"flops", "FLOPs", SHEET_COUNT, 0},
        {NULL, "dtype", SHEET_TEXT, 0},          {"dtype", NULL, SHEET_TEXT, 0},
        {"compute", NULL, SHEET_TEXT, 0},        {"count", "count", SHEET_COUNT, 0},
        {"timed", NULL, SHEET_COUNT, 0},         {"total_us", "total", SHEET_TIME, 0},
        {"tflops", "TFLOPS", SHEET_RATE, 0},     {"peak_tflops", NULL, SHEET_RATE, 0},
        {"of_peak", "of peak", SHEET_SHARE, 0},
    };
    sheet_init(s, "operator_flops", "Convolutions, attention and grouped GEMMs by size, dense peak",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->work.nsized_ops; i++) {
        const struct flops_row *row = &a->work.sized_ops[i];
        sheet_text(s, row->op);
        sheet_number(s, row->flops);
        sheet_text(s, comm_gemm_dtype_text(row->dtype, row->compute));
        sheet_text(s, comm_dtype_text(row->dtype));
        sheet_text(s, comm_dtype_text(row->compute));
        sheet_number(s, (double)row->count);
        sheet_number(s, (double)row->timed);
        sheet_number(s, row->timed > 0 ? row->total_ns : NAN);
        sheet_number(s, row->tflops);
        sheet_number(s, row->peak_tflops);
        sheet_number(s, row->tflops / row->peak_tflops);
    }
}

/* ---- copies, untimed kernels, graphs ---- */

void sheet_of_copies(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"kind", "copies", SHEET_NAME, 0},    {"count", "count", SHEET_COUNT, 0},
        {"timed", NULL, SHEET_COUNT, 0},      {"bytes", "bytes", SHEET_BYTES, 0},
        {"total_us", "total", SHEET_TIME, 0}, {"exposed_us", "exposed", SHEET_TIME, 0},
        {"bw_GBps", "GB/s", SHEET_RATE, 0},   {"bw_max_GBps", "fastest", SHEET_RATE, 0},
        {"mean_GBps", NULL, SHEET_RATE, 0},
    };
    sheet_init(s, "copies", "Copies by kind; exposed: while nothing computes or communicates",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->other_work.ncopies; i++) {
        const struct copy_row *row = &a->other_work.copies[i];
        double moved = (double)row->timed_bytes;
        bool timed = row->timed > 0;
        sheet_text(s, row->kind);
        sheet_number(s, (double)row->count);
        sheet_number(s, (double)row->timed);
        sheet_number(s, row->sized > 0 ? (double)row->bytes : NAN);
        sheet_number(s, timed ? row->total_ns : NAN);
        sheet_number(s, timed ? row->exposed_ns : NAN);
        sheet_number(s, moved / row->sized_ns); /* not finite without a time: not known */
        sheet_number(s, row->max_GBps > 0 ? row->max_GBps : NAN);
        sheet_number(s, row->sized_ns > 0 ? moved / (double)a->total.recorded_ns : NAN);
    }
}

void sheet_of_launch_classes(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"class", "kernels", SHEET_TEXT, 0},
        {"launches", "launches", SHEET_COUNT, 0},
        {"per_step", "a step", SHEET_RATE, 0},
    };
    const struct launch_sum *l = &a->other_work.launches;
    char gap[32];
    sheet_init(s, "launch_classes", "Untimed kernels", SHEET_COLUMNS(columns));
    for (int k = 0; k < SPECTER_KERNEL_CLASS_COUNT; k++) {
        if (l->classes[k] == 0)
            continue;
        sheet_text(s, specter_kernel_class_name((enum specter_kernel_class)k));
        sheet_number(s, (double)l->classes[k]);
        sheet_number(s, (double)l->in_steps_of[k] / (double)l->steps);
    }
    if (l->max_gap_ns > 0)
        sheet_note(s, "longest host time between two launches on a stream: %s",
                   text_ns(gap, sizeof gap, (double)l->max_gap_ns));
}

void sheet_of_graphs(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"graph", "graph", SHEET_COUNT, 0},    {"count", "launches", SHEET_COUNT, 0},
        {"timed", NULL, SHEET_COUNT, 0},       {"total_us", "total", SHEET_TIME, 0},
        {"ops", "ops", SHEET_COUNT, 0},        {"kernels", "kernels", SHEET_COUNT, 0},
        {"comm_ops", "comm.", SHEET_COUNT, 0}, {"comm_bytes", "bytes", SHEET_BYTES, 0},
    };
    sheet_init(s, "graphs", "Launches of graphs, what they ran, and the communication in it",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->other_work.ngraphs; i++) {
        const struct graph_row *row = &a->other_work.graphs[i];
        sheet_number(s, row->graph >= 0 ? row->graph : NAN);
        sheet_number(s, (double)row->count);
        sheet_number(s, (double)row->timed);
        sheet_number(s, row->timed > 0 ? row->total_ns : NAN);
        sheet_number(s, (double)row->ops);
        sheet_number(s, (double)row->kernels);
        sheet_number(s, (double)row->comms);
        sheet_number(s, (double)row->comm_bytes);
    }
    sheet_note(s, "their time counts as compute, unless all in them is known to be communication");
}
