/* SPDX-License-Identifier: MIT */
#include "bench/gemm.h"

#include "base/now.h"
#include "bench/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRAPH_US 2000 /* a graph is to take this long */
#define CALLS_MIN 2
#define CALLS_MAX 256
#define REPEATS 7
#define REPEATS_MAX 512
#define TRIES 3

/* The outcome of one GEMM: the GPU can go on unless it FAILED. */
enum outcome { MEASURED = 0, NOT_POSSIBLE = 1, FAILED = -1 };

/* One GEMM that is being timed. */
struct timing {
    struct bench_blas *blas;
    struct bench_gpu *gpu;
    const struct bench_gemm_case *of;
    void *nvml;
    void *(*events)[2]; /* of REPEATS_MAX runs */
    void *graph;
    int calls; /* in it */
};

/* The sets of operands that the calls go round; 0: not even one has room. */
static int sets_of(const struct timing *t, int calls)
{
    size_t operands = t->blas->operand_bytes / bench_blas_operand_set(&t->of->shape);
    size_t results = t->blas->result_bytes / bench_blas_result_set(&t->of->shape);
    size_t sets = operands < results ? operands : results;
    if (sets > 0 && t->of->hot)
        return 1;
    return sets < (size_t)calls ? (int)sets : calls;
}

/* Estimates the time of one call, as the least of TRIES: the first ones load kernels. */
static enum outcome estimate(struct timing *t, double *us, struct err *e)
{
    void **events = t->events[0];
    *us = 0;
    for (int i = 0; i < TRIES; i++) {
        double took;
        if (bench_gpu_event(t->gpu, &events[0], e) < 0)
            return FAILED;
        if (bench_blas_gemm(t->blas, &t->of->shape, 0, 0, e) < 0)
            return NOT_POSSIBLE;
        if (bench_gpu_event(t->gpu, &events[1], e) < 0 || bench_gpu_wait(t->gpu, NULL, NULL, e) < 0)
            return FAILED;
        took = bench_gpu_us(t->gpu, events[0], events[1]);
        if (i == 0 || took < *us)
            *us = took;
    }
    return MEASURED;
}

static enum outcome make_graph(struct timing *t, struct err *e)
{
    const size_t operands = bench_blas_operand_set(&t->of->shape);
    const size_t results = bench_blas_result_set(&t->of->shape);
    const int sets = sets_of(t, t->calls);
    struct err ended = {0};
    int status;
    if (bench_gpu_capture(t->gpu, e) < 0)
        return FAILED;
    status = 0;
    for (int i = 0; i < t->calls && status == 0; i++)
        status = bench_blas_gemm(t->blas, &t->of->shape, (size_t)(i % sets) * operands,
                                 (size_t)(i % sets) * results, e);
    if (bench_gpu_captured(t->gpu, &t->graph, &ended) < 0 && status == 0) {
        *e = ended;
        status = -1;
    }
    if (status == 0)
        return MEASURED;
    err_prefix(e, "the library's calls cannot be captured into a graph");
    return NOT_POSSIBLE;
}

/* All on the stream at once: the device never waits for the host. */
static int put_repeats(struct timing *t, int first, int count, struct err *e)
{
    const bool hold = t->of->hold_s > 0;
    for (int i = first; i < first + count; i++) {
        int status = 0;
        if (!t->of->hot) /* nothing is in L2 after a write of so much */
            status = bench_gpu_set(t->gpu, t->blas->flush, 0, t->blas->flush_bytes, e);
        else if (!hold)
            status = bench_gpu_launch(t->gpu, t->graph, e); /* its operands are in L2 then */
        if (status < 0 || bench_gpu_event(t->gpu, &t->events[i][0], e) < 0 ||
            bench_gpu_launch(t->gpu, t->graph, e) < 0 ||
            bench_gpu_event(t->gpu, &t->events[i][1], e) < 0)
            return -1;
    }
    return 0;
}

/* Held ones run for that long first, and the state is that of the end. */
static int repeat(struct timing *t, double graph_us, struct bench_gemm_time *out, struct err *e)
{
    const double wanted = t->of->hold_s > 0 ? t->of->hold_s * 1e6 / graph_us : 0;
    const int before = wanted < REPEATS_MAX - REPEATS ? (int)wanted : REPEATS_MAX - REPEATS;
    struct bench_stats stats;
    double us[REPEATS];
    if (put_repeats(t, 0, before, e) < 0 ||
        (before > 0 && bench_gpu_wait(t->gpu, NULL, NULL, e) < 0) ||
        put_repeats(t, before, REPEATS, e) < 0)
        return -1;
    bench_nvml_read(t->nvml, &out->state);
    if (bench_gpu_wait(t->gpu, NULL, NULL, e) < 0)
        return -1;
    for (int i = 0; i < REPEATS; i++) {
        void *const *run = t->events[before + i];
        us[i] = bench_gpu_us(t->gpu, run[0], run[1]) / t->calls;
        if (!(us[i] > 0))
            return err_set(e, ERR_INPUT, "the GPU tells no time of a GEMM");
    }
    bench_stats_of(us, REPEATS, &stats);
    out->us = stats.median;
    out->spread = stats.spread;
    out->calls = t->calls;
    out->repeats = REPEATS;
    return 0;
}

/* Where it is not MEASURED, e says why. */
static enum outcome measure(struct timing *t, struct bench_gemm_time *out, struct err *e)
{
    enum outcome outcome;
    double us;
    if (sets_of(t, 1) == 0) {
        err_set(e, ERR_INPUT, "larger than the memory for it");
        return NOT_POSSIBLE;
    }
    outcome = estimate(t, &us, e);
    if (outcome != MEASURED)
        return outcome;
    t->calls = us > 0 ? (int)fmin(fmax(GRAPH_US / us, CALLS_MIN), CALLS_MAX) : CALLS_MAX;
    outcome = make_graph(t, e);
    if (outcome != MEASURED)
        return outcome;
    if (bench_gpu_launch(t->gpu, t->graph, e) < 0 || /* warms up */
        bench_gpu_wait(t->gpu, NULL, NULL, e) < 0 || repeat(t, us * t->calls, out, e) < 0)
        outcome = FAILED;
    bench_gpu_forget_graph(t->gpu, t->graph);
    t->graph = NULL;
    return outcome;
}

/* ---- the plan ---- */

struct bench_correlation bench_gemm_heat(const struct bench_gemm_result *result)
{
    struct bench_heat heat;
    bench_heat_init(&heat, result->nrows);
    for (size_t i = 0; i < result->nrows; i++) {
        const struct bench_gemm_row *row = &result->rows[i];
        const int celsius = row->time.state.celsius;
        bench_heat_add(&heat, celsius < 0 ? (double)NAN : celsius, row->time.us / row->expected_us);
    }
    return bench_heat_end(&heat);
}

bool bench_gemm_is_far(const struct bench_gemm_row *row)
{
    return !isnan(row->expected_us) &&
           (row->time.us < row->interval.low_us || row->time.us > row->interval.high_us);
}

/* With what the models expect. */
static void add_row(struct bench_gemm_result *r, const struct bench_gemm_on *on,
                    const struct bench_gemm_case *of, const struct bench_gemm_time *time)
{
    const struct bench_gemm_shape *s = &of->shape;
    const struct measured_row question = {.kind = MEASURED_GEMM,
                                          .gpu = on->gpu,
                                          .notes = "",
                                          .lib = "",
                                          .dtype = s->type->dtype,
                                          .m = (uint64_t)s->m,
                                          .n = (uint64_t)s->n,
                                          .k = (uint64_t)s->k,
                                          .batch = (uint64_t)s->batch,
                                          .cache = of->hot ? GEMM_CACHE_HOT : GEMM_CACHE_COLD};
    struct bench_gemm_row row = {.of = *of, .time = *time, .expected_us = NAN};
    struct row_prediction p;
    row.tflops = bench_gemm_flops(s) / time->us / 1e6;
    if (on->gpu != NULL) {
        row.peak_tflops = gpu_peak_tflops(on->gpu, s->type->dtype, SPECTER_DTYPE_UNKNOWN);
        if (predict_row(&question, on->gpu, NULL, &p, NULL) == 0 && p.us > 0) {
            row.expected_us = p.us;
            row.interval = bench_interval_gemm(on->gpu, p.us);
        }
    }
    ARRAY_GROW(r->rows, r->cap_rows, r->nrows + 1);
    r->rows[r->nrows++] = row;
    if (on->row != NULL)
        on->row(&row, on->arg);
}

int bench_gemm_run(const struct bench_gemm_plan *plan, const struct bench_gemm_on *on,
                   struct bench_gemm_result *result, struct err *e)
{
    struct timing t = {.blas = on->blas, .gpu = on->blas->gpu, .nvml = on->nvml};
    const double began_s = now_s();
    enum outcome outcome = MEASURED;
    size_t i;
    t.events = array_new(REPEATS_MAX, sizeof *t.events);
    *result = (struct bench_gemm_result){0};
    arena_init(&result->arena);
    for (i = 0; i < plan->count && outcome != FAILED && now_s() - began_s < on->budget_s; i++) {
        struct bench_gemm_time time = {0};
        struct err why = {0};
        if (on->stop != NULL && on->stop())
            break;
        t.of = &plan->cases[i];
        outcome = measure(&t, &time, &why);
        if (outcome == MEASURED) {
            add_row(result, on, t.of, &time);
        } else {
            ARRAY_GROW(result->skips, result->cap_skips, result->nskips + 1);
            result->skips[result->nskips++] =
                (struct bench_gemm_skip){*t.of, arena_strdup(&result->arena, why.msg)};
        }
        if (outcome == FAILED && e != NULL)
            *e = why;
    }
    for (int k = 0; k < REPEATS_MAX; k++) {
        bench_gpu_forget_event(t.gpu, t.events[k][0]);
        bench_gpu_forget_event(t.gpu, t.events[k][1]);
    }
    free(t.events);
    result->left = plan->count - i;
    result->complete = outcome != FAILED && (on->stop == NULL || !on->stop());
    return outcome == FAILED ? -1 : 0;
}

void bench_gemm_release(struct bench_gemm_result *result)
{
    free(result->rows);
    free(result->skips);
    arena_release(&result->arena);
    *result = (struct bench_gemm_result){0};
}
