/* SPDX-License-Identifier: MIT
 *
 * What a matrix product, and other device work, costs on a GPU. Derivations: README.md beside this
 * file.
 */
#include "model/cost.h"

#include <math.h>

/* The share of the dense peak that a large product sustains: clocks fall under the power limit, and
 * loading and storing tiles is not hidden in full. Public measurements of the best achievable rate
 * give 0.80 for H100 SXM and 0.87 for A100 SXM (README.md); one value serves all GPUs here. */
#define SUSTAINED 0.80

#define TEXT_OF(_x) #_x
#define TEXT(_x) TEXT_OF(_x)

const char *const model_gemm_assumptions[] = {
    "time = launch + the longer of FLOPs at " TEXT(
        SUSTAINED) " of the dense peak and bytes at full "
                   "memory bandwidth",
    "operands are read once and the result is written once, from and to memory (nothing is in L2)",
    "no loss from tiles that do not fill the GPU",
    NULL,
};

static double matrix_bytes(double rows, double columns, double batch, enum specter_dtype type)
{
    return rows * columns * batch * specter_dtype_bits(type) / 8;
}

/* Fills flops and bytes. */
static int count_work(const struct gemm_shape *s, struct gemm_cost *out, struct err *e)
{
    double m = (double)s->m, n = (double)s->n, k = (double)s->k;
    double batch = s->batch > 0 ? (double)s->batch : 1;
    enum specter_dtype type_c = s->type_c == SPECTER_DTYPE_UNKNOWN ? s->type : s->type_c;
    if (specter_dtype_bits(s->type) == 0 || specter_dtype_bits(type_c) == 0)
        return err_set(e, ERR_USAGE, "a matrix product of type '%s' into '%s' has no known size",
                       specter_dtype_name(s->type), specter_dtype_name(type_c));
    out->flops = 2 * m * n * k * batch;
    out->bytes = matrix_bytes(m, k, batch, s->type) + matrix_bytes(k, n, batch, s->type) +
                 matrix_bytes(m, n, batch, type_c);
    return 0;
}

/* The dense peak for the shape's types, or 0 with e filled. */
static double peak_for(const struct gpu_profile *gpu, const struct gemm_shape *s, struct err *e)
{
    const struct profile_field *field = gpu_peak_field(s->type, s->compute);
    double peak = field != NULL ? profile_value(gpu, field) : 0;
    if (field == NULL)
        err_set(e, ERR_USAGE, "no peak is known for matrix products of type '%s'",
                specter_dtype_name(s->type));
    else if (!(peak > 0))
        err_set(e, ERR_USAGE, "GPU profile '%s' lacks %s", gpu->name, field->name);
    return peak > 0 ? peak : 0;
}

int model_gemm(const struct gpu_profile *gpu, const struct gemm_shape *shape, struct gemm_cost *out,
               struct err *e)
{
    struct gemm_cost cost = {0};
    double peak = peak_for(gpu, shape, e);
    if (!(peak > 0) || count_work(shape, &cost, e) < 0)
        return -1;
    if (!(gpu->mem_GBps > 0))
        return err_set(e, ERR_USAGE, "GPU profile '%s' lacks mem_GBps", gpu->name);
    cost.compute_us = cost.flops / (peak * 1e6);
    cost.memory_us = cost.bytes / (gpu->mem_GBps * 1e3);
    cost.busy_us = fmax(cost.compute_us / SUSTAINED, cost.memory_us);
    cost.us = cost.busy_us + gpu->launch_us;
    cost.tflops = cost.us > 0 ? cost.flops / (cost.us * 1e6) : 0;
    if (gpu->launch_us >= cost.busy_us)
        cost.bound = "launch";
    else
        cost.bound = cost.memory_us >= cost.busy_us ? "memory" : "compute";
    *out = cost;
    return 0;
}

int model_other_ratio(const struct gpu_profile *from, const struct gpu_profile *to, double *ratio,
                      struct err *e)
{
    const struct gpu_profile *poor = from->mem_GBps > 0 ? to : from;
    if (!(poor->mem_GBps > 0))
        return err_set(e, ERR_USAGE, "GPU profile '%s' lacks mem_GBps", poor->name);
    *ratio = from->mem_GBps / to->mem_GBps;
    return 0;
}
