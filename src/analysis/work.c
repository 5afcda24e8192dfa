/* SPDX-License-Identifier: MIT */
#include "analysis/work.h"

#include "analysis/time_breakdown.h"
#include "base/kernel_class.h"
#include "base/order.h"
#include "trace/activity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_EVERY 65536 /* GEMMs held before equal shapes are joined: bounds memory */

void work_init(struct work *w)
{
    memset(w, 0, sizeof *w);
}

void work_release(struct work *w)
{
    for (size_t i = 0; i < w->ntop; i++)
        sample_release(&w->top[i].times);
    free(w->top);
    free(w->gemms);
    free(w->sized_ops);
    name_index_release(&w->names);
    for (size_t i = 0; i < w->framework_ops.count; i++)
        sample_release(&w->framework_ops.list[i].times);
    free(w->framework_ops.list);
    name_index_release(&w->framework_ops.names);
    work_init(w);
}

const char *work_kind_name(unsigned kind)
{
    switch (kind) {
    case WORK_MEMORY:
        return "memory";
    case WORK_GRAPH:
        return "graph";
    default:
        return specter_kernel_class_name((enum specter_kernel_class)kind);
    }
}

static unsigned kind_of(const struct top_row *row)
{
    switch ((enum op_class)row->class) {
    case OP_COLL:
    case OP_P2P:
        return WORK_COMM;
    case OP_MEMORY:
        return WORK_MEMORY;
    case OP_GRAPH:
        return WORK_GRAPH;
    case OP_GEMM:
        return SPECTER_KERNEL_GEMM;
    case OP_KERNEL:
        break;
    }
    return kernel_class(row->name);
}

static void add_top(struct work *w, const struct op *op, double dur_ns)
{
    uint32_t at = name_index_add(&w->names, op->name, op->class);
    struct top_row *row;
    double off;
    if (at == w->ntop) {
        ARRAY_GROW(w->top, w->cap_top, w->ntop + 1);
        w->top[w->ntop++] = (struct top_row){
            .name = op->name, .class = op->class, .min_ns = dur_ns, .max_ns = dur_ns};
    }
    row = &w->top[at];
    row->count++;
    row->total_ns += dur_ns;
    row->min_ns = fmin(row->min_ns, dur_ns);
    row->max_ns = fmax(row->max_ns, dur_ns);
    off = dur_ns - row->mean_ns; /* Welford: one pass, and large values cancel nothing */
    row->mean_ns += off / (double)row->count;
    row->squares += off * (dur_ns - row->mean_ns);
    sample_add(&row->times, (int64_t)dur_ns);
}

/* Fills the kinds of the rows, and all that needs the list of times: of a row, which is freed, and
 * of all rows of a kind. */
static void measure_times(struct work *w)
{
    struct sample kinds[WORK_KINDS] = {0};
    struct sample_stats stats;
    for (size_t i = 0; i < w->ntop; i++) {
        struct top_row *row = &w->top[i];
        row->kind = (uint8_t)kind_of(row);
        row->std_ns = row->count > 1 ? sqrt(row->squares / ((double)row->count - 1)) : NAN;
        sample_measure(&row->times, &stats);
        row->median_ns = stats.median;
        for (size_t k = 0; k < row->times.count; k++)
            sample_add(&kinds[row->kind], row->times.list[k]);
        sample_release(&row->times);
        w->kinds[row->kind].count += row->count;
        w->kinds[row->kind].total_ns += row->total_ns;
    }
    for (unsigned k = 0; k < WORK_KINDS; k++) {
        sample_measure(&kinds[k], &stats);
        w->kinds[k].min_ns = stats.min;
        w->kinds[k].median_ns = stats.median;
        w->kinds[k].max_ns = stats.max;
        sample_release(&kinds[k]);
    }
}

/* ---- lengths of kernels ---- */

static const int64_t length_bounds[] = {
#define X(ns) ns,
    WORK_LENGTHS(X)
#undef X
};

int64_t work_length_ns(size_t i)
{
    return i < WORK_LENGTH_COUNT - 1 ? length_bounds[i] : INT64_MAX;
}

static void add_length(struct work *w, const struct op *op, int64_t dur_ns)
{
    size_t at = 0;
    if (op->class != OP_GEMM && op->class != OP_KERNEL)
        return;
    while (dur_ns >= work_length_ns(at))
        at++;
    w->lengths[at].count++;
    w->lengths[at].total_ns += (double)dur_ns;
}

static struct work_sum sum_lengths(const struct work *w, int64_t below_ns)
{
    struct work_sum sum = {0};
    for (size_t i = 0; i < WORK_LENGTH_COUNT && work_length_ns(i) <= below_ns; i++) {
        sum.count += w->lengths[i].count;
        sum.total_ns += w->lengths[i].total_ns;
    }
    return sum;
}

struct work_sum work_short(const struct work *w)
{
    return sum_lengths(w, WORK_SHORT_NS);
}

struct work_sum work_kernels(const struct work *w)
{
    return sum_lengths(w, INT64_MAX);
}

/* ---- GEMMs ---- */

static int by_shape(const void *x, const void *y)
{
    const struct gemm_row *a = x, *b = y;
    const uint64_t ka[] = {a->m, a->n, a->k, a->batch, a->dtype, a->compute};
    const uint64_t kb[] = {b->m, b->n, b->k, b->batch, b->dtype, b->compute};
    return order_uint64s(ka, kb, sizeof ka / sizeof *ka);
}

static int gemm_by_cost(const void *x, const void *y)
{
    const struct gemm_row *a = x, *b = y;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return by_shape(x, y);
}

static int top_by_cost(const void *x, const void *y)
{
    const struct top_row *a = x, *b = y;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Joins GEMMs of one shape into one row; leaves the list sorted by shape. */
static void join_shapes(struct work *w)
{
    size_t last = 0;
    if (w->ngemms == 0)
        return;
    qsort(w->gemms, w->ngemms, sizeof *w->gemms, by_shape);
    for (size_t i = 1; i < w->ngemms; i++) {
        struct gemm_row *row = &w->gemms[last], *more = &w->gemms[i];
        if (by_shape(row, more) != 0) {
            w->gemms[++last] = *more;
            continue;
        }
        row->count += more->count;
        row->timed += more->timed;
        row->total_ns += more->total_ns;
        row->limited += more->limited;
        row->limited_ns += more->limited_ns;
        row->limit_ns += more->limit_ns;
        row->flops_ns += more->flops_ns;
        row->bytes_ns += more->bytes_ns;
        row->bytes += more->bytes;
        row->peak_tflops = fmax(row->peak_tflops, more->peak_tflops); /* a NAN gives way */
    }
    w->ngemms = last + 1;
}

/* Sets the least time that the GEMM takes on that GPU. */
static void limit_gemm(struct gemm_row *row, const struct op *op, const struct gpu_profile *gpu)
{
    double a = specter_dtype_bits((enum specter_dtype)op->dtype);
    double b = specter_dtype_bits((enum specter_dtype)op->gemm.dtype_b);
    double c = specter_dtype_bits((enum specter_dtype)op->gemm.dtype_c);
    double m = row->m, n = row->n, k = row->k;
    double bytes = (a * m * k + b * k * n + c * m * n) * row->batch / 8; /* each moved once */
    bool known = a != 0 && b != 0 && c != 0;
    if (row->timed == 0 || gpu == NULL || !(row->peak_tflops > 0) || !(gpu->mem_GBps > 0) ||
        !known || !(bytes > 0))
        return;
    row->limited = 1;
    row->limited_ns = row->total_ns;
    row->bytes = bytes;
    row->flops_ns = gemm_row_flops(row) / row->peak_tflops / 1e3;
    row->bytes_ns = bytes / gpu->mem_GBps; /* GB/s is a byte a nanosecond */
    row->limit_ns = fmax(row->flops_ns, row->bytes_ns);
}

/* One GEMM, to be joined with others of its shape later. */
static void add_gemm(struct work *w, const struct op *op, double dur_ns, bool timed,
                     const struct gpu_profile *gpu)
{
    double peak = 0;
    if (gpu != NULL)
        peak = gpu_peak_tflops(gpu, op->dtype, op->gemm.compute);
    ARRAY_GROW(w->gemms, w->cap_gemms, w->ngemms + 1);
    w->gemms[w->ngemms++] = (struct gemm_row){.m = op->gemm.m,
                                              .n = op->gemm.n,
                                              .k = op->gemm.k,
                                              .batch = op->gemm.batch,
                                              .dtype = op->dtype,
                                              .compute = op->gemm.compute,
                                              .count = 1,
                                              .timed = timed,
                                              .total_ns = dur_ns,
                                              .tflops = NAN,
                                              .peak_tflops = peak > 0 ? peak : NAN};
    limit_gemm(&w->gemms[w->ngemms - 1], op, gpu);
    if (w->ngemms >= w->join_gemms_at) {
        join_shapes(w);
        w->join_gemms_at = 2 * w->ngemms + JOIN_EVERY;
    }
}

/* ---- other operators whose FLOPs are known ---- */

static int by_sized_op(const void *x, const void *y)
{
    const struct flops_row *a = x, *b = y;
    int order = a->op == b->op ? 0 : strcmp(a->op, b->op);
    if (order != 0)
        return order;
    if (a->flops != b->flops)
        return ORDER(a->flops, b->flops);
    return a->dtype != b->dtype ? ORDER(a->dtype, b->dtype) : ORDER(a->compute, b->compute);
}

static int sized_op_by_cost(const void *x, const void *y)
{
    const struct flops_row *a = x, *b = y;
    return a->total_ns != b->total_ns ? ORDER(b->total_ns, a->total_ns) : by_sized_op(x, y);
}

static void join_sized_ops(struct work *w)
{
    size_t last = 0;
    if (w->nsized_ops == 0)
        return;
    qsort(w->sized_ops, w->nsized_ops, sizeof *w->sized_ops, by_sized_op);
    for (size_t i = 1; i < w->nsized_ops; i++) {
        struct flops_row *row = &w->sized_ops[last], *more = &w->sized_ops[i];
        if (by_sized_op(row, more) != 0) {
            w->sized_ops[++last] = *more;
            continue;
        }
        row->count += more->count;
        row->timed += more->timed;
        row->total_ns += more->total_ns;
        row->peak_tflops = fmax(row->peak_tflops, more->peak_tflops);
    }
    w->nsized_ops = last + 1;
}

static void add_sized_op(struct work *w, const struct op *op, double dur_ns, bool timed,
                         const struct gpu_profile *gpu)
{
    double peak = gpu != NULL ? gpu_peak_tflops(gpu, op->dtype, op->kernel.compute) : 0;
    ARRAY_GROW(w->sized_ops, w->cap_sized_ops, w->nsized_ops + 1);
    w->sized_ops[w->nsized_ops++] = (struct flops_row){.op = op->caller,
                                                       .dtype = op->dtype,
                                                       .compute = op->kernel.compute,
                                                       .flops = op->kernel.flops,
                                                       .count = 1,
                                                       .timed = timed,
                                                       .total_ns = dur_ns,
                                                       .tflops = NAN,
                                                       .peak_tflops = peak > 0 ? peak : NAN};
    if (w->nsized_ops >= w->join_sized_ops_at) {
        join_sized_ops(w);
        w->join_sized_ops_at = 2 * w->nsized_ops + JOIN_EVERY;
    }
}

/* ---- operations of the framework ---- */

static void add_framework_ops(struct framework_ops *o, const struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        enum activity_kind kind = activity_kind_of(op);
        struct framework_op_row *row;
        const char *name = op->caller != NULL && op->caller[0] != '\0' ? op->caller : NULL;
        int64_t start, end;
        uint32_t at;
        double ns;
        if (!op_device_time(op, &start, &end) || (i > 0 && op_same_kernel(op - 1, op)))
            continue;
        ns = (double)(end - start);
        at = name_index_add(&o->names, name, 0);
        if (at == o->count) {
            ARRAY_GROW(o->list, o->cap, o->count + 1);
            o->list[o->count++].name = name;
        }
        row = &o->list[at];
        row->count++;
        row->total_ns += ns;
        sample_add(&row->times, end - start);
        row->comm_ns += kind == ACTIVITY_COMM ? ns : 0;
        row->memory_ns += kind == ACTIVITY_MEMORY ? ns : 0;
        o->total_ns += ns;
    }
}

static int framework_op_by_cost(const void *x, const void *y)
{
    const struct framework_op_row *a = x, *b = y;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    if (a->name == NULL || b->name == NULL)
        return (a->name == NULL) - (b->name == NULL);
    return strcmp(a->name, b->name);
}

static void finish_framework_ops(struct framework_ops *o)
{
    for (size_t i = 0; i < o->count; i++) {
        struct framework_op_row *row = &o->list[i];
        struct sample_stats stats;
        sample_measure(&row->times, &stats);
        row->min_ns = stats.min;
        row->median_ns = stats.median;
        row->max_ns = stats.max;
        sample_release(&row->times);
    }
    if (o->count > 0)
        qsort(o->list, o->count, sizeof *o->list, framework_op_by_cost);
    name_index_release(&o->names); /* the rows have moved */
}

/* ---- all of it ---- */

void work_add_rank(struct work *w, const struct rank *rank)
{
    const struct gpu_profile *gpu = NULL;
    if (rank->gpu != NULL && rank->gpu[0] != '\0')
        gpu = gpu_profile_of_device(rank->gpu);
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        int64_t dur_ns = 0;
        bool timed = op_device_duration(op, &dur_ns);
        if (timed && (i == 0 || !op_same_kernel(op - 1, op))) {
            add_top(w, op, (double)dur_ns);
            add_length(w, op, dur_ns);
        }
        if (timed) /* the time of its FLOPs includes that of kernels that do its work with it */
            dur_ns += op_rest_ns(op);
        if (op->class == OP_GEMM)
            add_gemm(w, op, timed ? (double)dur_ns : 0, timed, gpu);
        else if (op_flops(op) > 0)
            add_sized_op(w, op, timed ? (double)dur_ns : 0, timed, gpu);
    }
    add_framework_ops(&w->framework_ops, rank);
}

void work_finish(struct work *w)
{
    join_shapes(w);
    for (size_t i = 0; i < w->ngemms; i++) {
        struct gemm_row *g = &w->gemms[i];
        double flops = gemm_row_flops(g) * (double)g->timed;
        if (g->total_ns > 0 && flops > 0)
            g->tflops = flops / g->total_ns / 1e3; /* flop/ns = 1e9 flop/s */
    }
    if (w->ngemms > 0)
        qsort(w->gemms, w->ngemms, sizeof *w->gemms, gemm_by_cost);
    join_sized_ops(w);
    for (size_t i = 0; i < w->nsized_ops; i++) {
        struct flops_row *row = &w->sized_ops[i];
        if (row->total_ns > 0)
            row->tflops = row->flops * (double)row->timed / row->total_ns / 1e3;
    }
    if (w->nsized_ops > 0)
        qsort(w->sized_ops, w->nsized_ops, sizeof *w->sized_ops, sized_op_by_cost);
    measure_times(w);
    if (w->ntop > 0)
        qsort(w->top, w->ntop, sizeof *w->top, top_by_cost);
    name_index_release(&w->names); /* the rows have moved */
    finish_framework_ops(&w->framework_ops);
}

struct gemm_sum work_gemms(const struct work *w)
{
    struct gemm_sum sum = {0};
    for (size_t i = 0; i < w->ngemms; i++) {
        const struct gemm_row *g = &w->gemms[i];
        if (isnan(g->tflops) || isnan(g->peak_tflops))
            continue;
        sum.total_ns += g->total_ns;
        sum.flops += g->tflops * g->total_ns * 1e3;
        sum.peak_flops += g->peak_tflops * g->total_ns * 1e3;
    }
    return sum;
}

bool framework_ops_known(const struct framework_ops *o)
{
    return o->count > 1 || (o->count == 1 && o->list[0].name != NULL);
}
