/* SPDX-License-Identifier: MIT */
#include "analysis/work.h"

#include "analysis/split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_EVERY 65536 /* products held before equal shapes are joined: bounds memory */

void work_init(struct work *w)
{
    memset(w, 0, sizeof *w);
}

void work_release(struct work *w)
{
    free(w->top);
    free(w->gemms);
    free(w->slots);
    work_init(w);
}

/* Names are interned, so that the pointer stands for the text. */
static size_t slot_of(const struct work *w, const char *name, unsigned class)
{
    uint64_t h = ((uint64_t)(uintptr_t)name >> 3 ^ class) * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(h >> 20) & (w->nslots - 1);
    while (w->slots[slot] != 0) {
        const struct top_row *row = &w->top[w->slots[slot] - 1];
        if (row->name == name && row->class == class)
            break;
        slot = (slot + 1) & (w->nslots - 1);
    }
    return slot;
}

/* Room for one more row; the table is never more than half full. */
static void reserve_slot(struct work *w)
{
    if (2 * (w->ntop + 1) <= w->nslots)
        return;
    size_t cap = 0, need = w->nslots > 0 ? 2 * w->nslots : 256;
    free(w->slots);
    w->slots = NULL;
    ARRAY_GROW(w->slots, cap, need);
    w->nslots = need;
    for (size_t i = 0; i < w->ntop; i++)
        w->slots[slot_of(w, w->top[i].name, w->top[i].class)] = (uint32_t)i + 1;
}

static void add_top(struct work *w, const struct op *op, double dur_ns)
{
    reserve_slot(w);
    size_t slot = slot_of(w, op->name, op->class);
    if (w->slots[slot] == 0) {
        ARRAY_GROW(w->top, w->cap_top, w->ntop + 1);
        w->top[w->ntop++] = (struct top_row){.name = op->name, .class = op->class};
        w->slots[slot] = (uint32_t)w->ntop;
    }
    struct top_row *row = &w->top[w->slots[slot] - 1];
    row->count++;
    row->total_ns += dur_ns;
}

static int by_shape(const void *x, const void *y)
{
    const struct gemm_row *a = x, *b = y;
    const uint32_t ka[] = {a->m, a->n, a->k, a->batch, a->dtype, a->compute};
    const uint32_t kb[] = {b->m, b->n, b->k, b->batch, b->dtype, b->compute};
    for (size_t i = 0; i < sizeof ka / sizeof *ka; i++) {
        if (ka[i] != kb[i])
            return ka[i] < kb[i] ? -1 : 1;
    }
    return 0;
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

static void join(struct gemm_row *row, const struct gemm_row *more)
{
    row->count += more->count;
    row->timed += more->timed;
    row->total_ns += more->total_ns;
    row->peak_tflops = fmax(row->peak_tflops, more->peak_tflops); /* a NAN gives way */
}

/* Joins products of one shape into one row; leaves the list sorted by shape. */
static void join_shapes(struct work *w)
{
    size_t last = 0;
    if (w->ngemms == 0)
        return;
    qsort(w->gemms, w->ngemms, sizeof *w->gemms, by_shape);
    for (size_t i = 1; i < w->ngemms; i++) {
        if (by_shape(&w->gemms[last], &w->gemms[i]) == 0)
            join(&w->gemms[last], &w->gemms[i]);
        else
            w->gemms[++last] = w->gemms[i];
    }
    w->ngemms = last + 1;
}

/* One product, to be joined with others of its shape later. */
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
    if (w->ngemms >= w->join_at) {
        join_shapes(w);
        w->join_at = 2 * w->ngemms + JOIN_EVERY;
    }
}

void work_add_rank(struct work *w, const struct rank *rank)
{
    const struct gpu_profile *gpu = NULL;
    if (rank->gpu != NULL && rank->gpu[0] != '\0')
        gpu = gpu_profile_of_device(rank->gpu);
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        int64_t dur_ns = 0;
        bool timed = op_device_duration(op, &dur_ns);
        if (timed)
            add_top(w, op, (double)dur_ns);
        if (op->class == OP_GEMM)
            add_gemm(w, op, timed ? (double)dur_ns : 0, timed, gpu);
    }
}

void work_finish(struct work *w)
{
    join_shapes(w);
    for (size_t i = 0; i < w->ngemms; i++) {
        struct gemm_row *g = &w->gemms[i];
        double flops = 2.0 * g->m * g->n * g->k * g->batch * (double)g->timed;
        if (g->total_ns > 0 && flops > 0)
            g->tflops = flops / g->total_ns / 1e3; /* flop/ns = 1e9 flop/s */
    }
    if (w->ngemms > 0)
        qsort(w->gemms, w->ngemms, sizeof *w->gemms, gemm_by_cost);
    if (w->ntop > 0)
        qsort(w->top, w->ntop, sizeof *w->top, top_by_cost);
    free(w->slots); /* the rows have moved */
    w->slots = NULL;
    w->nslots = 0;
}
