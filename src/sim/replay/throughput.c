/* SPDX-License-Identifier: MIT */
#include "sim/replay/replay.h"

#include "base/kernel_class.h"
#include "sim/replay/job.h"
#include "trace/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The kinds of work whose floating-point operations are counted. */
enum flops_of { FLOPS_GEMM, FLOPS_CONVOLUTION, FLOPS_ATTENTION, FLOPS_KINDS };

/* Operations of GEMMs, convolutions and attention, by types of the operands and of the
 * sum. */
struct iteration_flops {
    double flops[SPECTER_DTYPE_COUNT + 1][SPECTER_DTYPE_COUNT + 1];
    double of[FLOPS_KINDS];     /* the same by what they are of */
    uint64_t shaped, shapeless; /* products */
};

static bool has_flops(const struct op *op)
{
    return op_flops(op) > 0 && op->dtype < SPECTER_DTYPE_COUNT;
}

static enum flops_of product_of(const struct op *op)
{
    if (op->class == OP_GEMM)
        return FLOPS_GEMM;
    if (kernel_class(op->name) == SPECTER_KERNEL_ATTENTION)
        return FLOPS_ATTENTION;
    return specter_kernel_holds(op->caller, "conv") ? FLOPS_CONVOLUTION : FLOPS_GEMM;
}

static void add_product(struct iteration_flops *w, const struct op *op, double share)
{
    unsigned compute = op->class == OP_GEMM ? op->gemm.compute : op->kernel.compute;
    w->flops[op->dtype][compute < SPECTER_DTYPE_COUNT ? compute : SPECTER_DTYPE_COUNT] +=
        op_flops(op) * share;
    w->of[product_of(op)] += op_flops(op) * share;
}

/* Adds the work of one rank in its iterations, without those that warm up. */
static void add_rank(struct iteration_flops *w, const struct replay_job *job, size_t r)
{
    const struct rank *rank = &job->program.run->ranks[r];
    const struct rank_steps *it = &job->steps.ranks[r];
    uint32_t first = it->count > 1 ? 1 : 0;
    double share = 1.0 / (it->count - first);
    struct graphs graphs;
    graphs_init(&graphs, rank);
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        const struct graph *graph;
        if (it->of[i] == STEP_NONE || it->of[i] < first || op->timing == SPECTER_TIMING_CAPTURED)
            continue;
        w->shaped += has_flops(op);
        if (has_flops(op))
            add_product(w, op, share);
        else if (op->class == OP_GEMM ||
                 (op->class == OP_KERNEL && kernel_class(op->name) == SPECTER_KERNEL_GEMM))
            w->shapeless++;
        graph = op->class == OP_GRAPH ? graphs_find(&graphs, op->graph) : NULL;
        for (size_t k = 0; graph != NULL && k < graph->nops; k++) {
            if (has_flops(&rank->ops[graph->ops[k]]))
                add_product(w, &rank->ops[graph->ops[k]], share);
        }
    }
    graphs_release(&graphs);
}

/* Sums the operations, and the seconds that one target GPU needs for them at its peaks. */
static double add_up(const struct iteration_flops *w, const struct gpu_profile *gpu, double *peak_s,
                     double by_type[SPECTER_DTYPE_COUNT])
{
    double all = 0;
    *peak_s = 0;
    for (int type = 0; type < SPECTER_DTYPE_COUNT; type++) {
        by_type[type] = 0;
        for (int compute = 0; compute <= SPECTER_DTYPE_COUNT; compute++) {
            enum specter_dtype sum = compute == SPECTER_DTYPE_COUNT ? SPECTER_DTYPE_UNKNOWN
                                                                    : (enum specter_dtype)compute;
            double flops = w->flops[type][compute];
            double peak = gpu_peak_tflops(gpu, (enum specter_dtype)type, sum);
            by_type[type] += flops;
            if (flops > 0)
                *peak_s += peak > 0 ? flops / (peak * 1e12) : INFINITY;
        }
        all += by_type[type];
    }
    return all;
}

/* "bf16", "fp8e4m3 80 %, bf16 20 %": the largest first. */
static const char *mix_text(struct arena *a, double by_type[SPECTER_DTYPE_COUNT], double all)
{
    const char *words = NULL;
    for (;;) {
        int top = 0;
        for (int type = 1; type < SPECTER_DTYPE_COUNT; type++) {
            if (by_type[type] > by_type[top])
                top = type;
        }
        if (!(by_type[top] > 0))
            return words != NULL ? words : "";
        if (by_type[top] >= all)
            return specter_dtype_name((enum specter_dtype)top);
        words =
            arena_printf(a, "%s%s%s %.3g %%", words != NULL ? words : "", words != NULL ? ", " : "",
                         specter_dtype_name((enum specter_dtype)top), 100 * by_type[top] / all);
        by_type[top] = 0;
    }
}

/* "GEMMs", "convolutions, GEMMs and attention": the largest first. */
static const char *product_text(struct arena *a, double of[FLOPS_KINDS])
{
    static const char *const names[FLOPS_KINDS] = {[FLOPS_GEMM] = "GEMMs",
                                                   [FLOPS_CONVOLUTION] = "convolutions",
                                                   [FLOPS_ATTENTION] = "attention"};
    const char *words = NULL;
    int left = 0;
    for (int i = 0; i < FLOPS_KINDS; i++)
        left += of[i] > 0;
    while (left-- > 0) {
        int top = 0;
        for (int i = 1; i < FLOPS_KINDS; i++)
            top = of[i] > of[top] ? i : top;
        of[top] = 0;
        words = words == NULL
                    ? names[top]
                    : arena_printf(a, "%s%s%s", words, left == 0 ? " and " : ", ", names[top]);
    }
    return words != NULL ? words : names[FLOPS_GEMM];
}

/* Returns why the recorded GEMMs do not tell the floating-point operations of a step; NULL when
 * they do. */
static const char *unknown_products(const struct run *run, const struct iteration_flops *work)
{
    if (work->shapeless > work->shaped)
        return "most recorded GEMMs have no shape (--flops N tells the operations)";
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].gemm_sample > 1)
            return "only some of the GEMMs were recorded (--flops N tells them)";
    }
    return NULL;
}

static void find_peak(struct workload *w, struct replay *rep, double all, double peak_s)
{
    if (all > 0 && peak_s < INFINITY) {
        w->peak_tflops = all / peak_s / 1e12;
        return;
    }
    if (all > 0) {
        w->missing =
            arena_printf(&rep->arena, "%s has no peak for GEMMs in %s", rep->to.gpu->name, w->mix);
        return;
    }
    w->peak_tflops = gpu_peak_tflops(rep->to.gpu, SPECTER_BF16, SPECTER_DTYPE_UNKNOWN);
    w->mix = "bf16, assumed";
    if (!(w->peak_tflops > 0))
        w->missing = "no GEMM was recorded, and the GPU has no bf16 peak";
}

void workload_measure(struct workload *w, const struct replay_job *job, double tokens, double flops)
{
    struct replay *rep = job->rep;
    const struct run *run = job->program.run;
    struct iteration_flops *work = array_new(1, sizeof *work);
    double by_type[SPECTER_DTYPE_COUNT], all, peak_s;
    int ranks = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        if (steps_blank(run, r))
            continue;
        add_rank(work, job, r);
        ranks++;
    }
    all = add_up(work, rep->to.gpu, &peak_s, by_type);
    *w = (struct workload){.tokens = tokens, .flops = flops, .given = flops > 0};
    w->mix = mix_text(&rep->arena, by_type, all);
    w->of = product_text(&rep->arena, work->of);
    w->shapeless = work->shapeless;
    w->extrapolated = ranks > 0 && ranks < rep->world;
    if (!w->given) {
        w->missing = unknown_products(run, work);
        w->flops = w->missing == NULL && ranks > 0 ? all * rep->world / ranks : 0;
        if (w->missing == NULL && !(all > 0))
            w->missing = "no GEMM of known shape was recorded (--flops N tells them)";
    }
    if (w->missing == NULL)
        find_peak(w, rep, all, peak_s);
    free(work);
}

struct throughput throughput_of(const struct workload *w, double work, double gpus, double span_ns,
                                enum grid_role grown)
{
    bool deeper = grown == GRID_TP || grown == GRID_PP || grown == GRID_CP;
    double tokens = w->tokens * (deeper ? 1 : work);
    struct throughput t = {0};
    if (!(span_ns > 0))
        return t;
    t.tokens_per_s = tokens / span_ns * 1e9;
    t.tokens_per_s_gpu = t.tokens_per_s / gpus;
    if (w->missing == NULL)
        t.utilisation = w->flops * work / (gpus * w->peak_tflops * 1e3 * span_ns);
    return t;
}
