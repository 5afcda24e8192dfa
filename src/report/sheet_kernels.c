/* SPDX-License-Identifier: MIT
 *
 * Sheets of what the device ran: kinds and lengths of kernels, the framework's operations
 * after them, and what GEMMs could reach.
 */
#include "report/analyze_sheets.h"
#include "report/op_text.h"

#include <math.h>

static double span_of(const struct analysis *a)
{
    return a->total.recorded_ns > 0 ? (double)a->total.recorded_ns : NAN;
}

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
        sheet_number(s, sum->total_ns / span_of(a));
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
        sheet_number(s, row->total_ns / span_of(a));
        sheet_number(s, row->min_ns);
        sheet_number(s, row->max_ns);
        sheet_number(s, row->median_ns);
    }
}

/* ---- GEMMs ---- */

static void put_limit(struct sheet *s, const struct gemm_row *g, double flops)
{
    double n = (double)g->limited;
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
        double flops = 2.0 * g->m * g->n * g->k * g->batch;
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
        sheet_number(s, flops);
        sheet_number(s, g->tflops);
        sheet_number(s, g->peak_tflops);
        put_limit(s, g, flops);
    }
    if (unlimited > 0)
        sheet_note(s, "no roofline for %zu shape%s: no profile of the GPU, or types not known",
                   unlimited, unlimited == 1 ? "" : "s");
}
