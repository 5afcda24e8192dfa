/* SPDX-License-Identifier: MIT
 *
 * Sheets of device work: GEMMs, copies, kernels that were counted, graphs, and what takes
 * longest.
 */
#include "report/analyze_sheets.h"
#include "report/op_text.h"
#include "report/table.h"

#include <math.h>

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
    if (a->gemm_rate > 1)
        sheet_note(s, "at times one in %llu was recorded or timed: counts are of those",
                   (unsigned long long)a->gemm_rate);
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

/* Every operation is in a table of its own kind: GEMMs, communication, copies. */
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
               a->nranks > 1 ? "Top operations by device time, all ranks added"
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
