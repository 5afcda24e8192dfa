/* SPDX-License-Identifier: MIT
 *
 * Device work that is known only by its time and its class: how it scales from GPU to GPU.
 *
 *     t'/t = c*C + (1-c)*M        M = mem_GBps/mem_GBps'
 *                                 C = rate/rate', rate = fp16_tflops*clock*mma_share
 *
 * c is 1 for gemm of unknown shape (convolutions count as gemm), 1/2 for attention, else 0.
 * Communication of unknown size keeps its time.
 */
#include "model/cost.h"
#include "model/params.h"

/* Share of a class's time that is bound by the tensor peak; the rest is bound by memory. */
static const double compute_share[SPECTER_KERNEL_CLASS_COUNT] = {
    [SPECTER_KERNEL_ATTENTION] = 0.5,
    [SPECTER_KERNEL_GEMM] = 1,
};

double model_compute_share(enum specter_kernel_class kind)
{
    return (unsigned)kind < SPECTER_KERNEL_CLASS_COUNT ? compute_share[kind] : 0;
}

/* The rate that 16-bit products sustain, in TFLOPS. */
static double sustained_tflops(const struct gpu_profile *gpu)
{
    return gpu->fp16_tflops * gemm_clock(gpu, gpu->fp16_tflops, SPECTER_FP16) *
           params_gemm(gpu).mma_share;
}

static int need(const struct gpu_profile *from, const struct gpu_profile *to, double of_from,
                const char *name, struct err *e)
{
    return err_set(e, ERR_USAGE, "GPU profile '%s' lacks %s", of_from > 0 ? to->name : from->name,
                   name);
}

int model_other_ratio(const struct gpu_profile *from, const struct gpu_profile *to,
                      enum specter_kernel_class kind, double *ratio, struct err *e)
{
    double compute = model_compute_share(kind);
    double memory_ratio = 1, compute_ratio = 1;
    if (kind == SPECTER_KERNEL_COMM) { /* nothing tells what it moves, and over which links */
        *ratio = 1;
        return 0;
    }
    if (compute < 1 && !(from->mem_GBps > 0 && to->mem_GBps > 0))
        return need(from, to, from->mem_GBps, "mem_GBps", e);
    if (compute > 0 && !(from->fp16_tflops > 0 && to->fp16_tflops > 0))
        return need(from, to, from->fp16_tflops, "fp16_tflops", e);
    if (compute < 1)
        memory_ratio = from->mem_GBps / to->mem_GBps;
    if (compute > 0)
        compute_ratio = sustained_tflops(from) / sustained_tflops(to);
    *ratio = compute * compute_ratio + (1 - compute) * memory_ratio;
    return 0;
}
