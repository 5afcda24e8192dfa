/* SPDX-License-Identifier: MIT
 *
 * What computation costs: products, other kernels, memory.
 */
#include "sim/target/retarget_internal.h"

#include <string.h>

static struct gemm_shape shape_of(const struct op *op)
{
    return (struct gemm_shape){
        .m = op->gemm.m,
        .n = op->gemm.n,
        .k = op->gemm.k,
        .batch = op->gemm.batch,
        .type = (enum specter_dtype)op->dtype,
        .type_c = (enum specter_dtype)op->gemm.dtype_c,
        .compute = (enum specter_dtype)op->gemm.compute,
    };
}

/* Without the launch: the engine puts that before work which finds its stream idle. */
static int shape_us(const struct gpu_profile *gpu, struct gemm_shape shape, double *us,
                    struct err *e)
{
    struct gemm_cost cost;
    if (model_gemm(gpu, &shape, &cost, e) < 0)
        return -1;
    *us = cost.busy_us;
    return 0;
}

int retarget_gemm_us(const struct gpu_profile *gpu, const struct op *op, double *us, struct err *e)
{
    return shape_us(gpu, shape_of(op), us, e);
}

/* On the target, of a divided batch. */
static struct gemm_shape shape_left(const struct retarget *t, const struct op *op)
{
    struct gemm_shape left = shape_of(op);
    if (retarget_is_divided(t))
        strong_scaling_divide(t->strong, op, t->scale, &left);
    return left;
}

bool retarget_memory_bound(const struct retarget *t, const struct op *op)
{
    struct gemm_cost cost;
    struct gemm_shape shape;
    struct err ignored;
    if (!retarget_known_shape(op))
        return false;
    shape = shape_left(t, op);
    return model_gemm(t->to.gpu, &shape, &cost, &ignored) == 0 && strcmp(cost.bound, "memory") == 0;
}

int retarget_divide(struct retarget *t, const struct strong_scaling *strong, struct err *e)
{
    const struct gemm_shape smallest = {.m = 1, .n = 1, .k = 1, .type = SPECTER_FP16};
    t->strong = strong;
    return shape_us(t->to.gpu, smallest, &t->least_us, e);
}

int retarget_gemm(struct retarget *t, const struct op *op, int64_t measured_ns, int64_t *ns,
                  struct err *e)
{
    struct modelled m;
    if (retarget_untouched(t, measured_ns, t->from.gpu == t->to.gpu && !retarget_is_divided(t))) {
        *ns = measured_ns;
        return 0;
    }
    if (shape_us(t->from.gpu, shape_of(op), &m.from_us, e) < 0)
        return -1;
    if (shape_us(t->to.gpu, shape_left(t, op), &m.to_us, e) < 0)
        return -1;
    *ns = retarget_apply(t, measured_ns, m);
    return 0;
}

static enum specter_kernel_class kind_of(const struct op *op)
{
    return op->class == OP_GEMM ? SPECTER_KERNEL_GEMM : specter_kernel_class_of(op->name);
}

/* For untimed kernels: their time is taken as spread evenly over them. */
static double mixed_ratio(const struct retarget *t, const struct program_cost *cost)
{
    double sum = 0, all = 0;
    for (int kind = 0; kind < SPECTER_KERNEL_CLASS_COUNT; kind++) {
        sum += (double)cost->classes[kind] * t->other_ratio[kind];
        all += (double)cost->classes[kind];
    }
    return all > 0 ? sum / all : t->other_ratio[SPECTER_KERNEL_OTHER];
}

int64_t retarget_scaled(const struct retarget *t, int64_t measured_ns, double ratio)
{
    return t->from.gpu == t->to.gpu ? measured_ns : retarget_ns((double)measured_ns / 1e3 * ratio);
}

/* Of a kernel, or of those that were counted. */
static double optimizer_share(const struct program_cost *cost, const struct op *op)
{
    double all = 0;
    if (op != NULL)
        return kind_of(op) == SPECTER_KERNEL_OPTIMIZER;
    for (int kind = 0; kind < SPECTER_KERNEL_CLASS_COUNT; kind++)
        all += (double)cost->classes[kind];
    return all > 0 ? (double)cost->classes[SPECTER_KERNEL_OPTIMIZER] / all : 0;
}

/* The rest of kernels where the batch is divided, by their classes; and the share of the time whose
 * part is not known. */
static double divided_ns(struct retarget *t, const struct program_cost *cost, const struct op *op,
                         double ns)
{
    double sum = 0, all = 0;
    for (int kind = 0; kind < SPECTER_KERNEL_CLASS_COUNT; kind++)
        all += op != NULL ? kind == (int)kind_of(op) : (double)cost->classes[kind];
    for (int kind = 0; kind < SPECTER_KERNEL_CLASS_COUNT && all > 0; kind++) {
        double n = op != NULL ? kind == (int)kind_of(op) : (double)cost->classes[kind];
        if (kind == SPECTER_KERNEL_OTHER)
            t->untold_ns += n / all * (double)cost->measured_ns;
        sum += strong_scaling_kernel_ns((enum specter_kernel_class)kind, n / all * ns,
                                        n * t->least_us * 1e3, t->scale);
    }
    return all > 0 ? sum : ns;
}

/* By the ratio of their class; what of them is the optimizer's work on a shard shrinks with it. */
int64_t retarget_kernel(struct retarget *t, const struct program_cost *cost, const struct op *op)
{
    double ratio = op == NULL ? mixed_ratio(t, cost) : t->other_ratio[kind_of(op)];
    double share = weak_scaling_shards(t->growth) ? optimizer_share(cost, op) : 0;
    int64_t ns = retarget_scaled(t, cost->measured_ns, ratio);
    if (t->strong != NULL)
        ns = retarget_ns(divided_ns(t, cost, op, (double)ns) / 1e3);
    if (!(share > 0))
        return ns;
    t->shard_ns += share * (double)cost->measured_ns;
    if (t->scale == 1)
        return ns;
    return retarget_ns((double)ns / 1e3 * (1 - share + share / (double)t->scale));
}

/* A memset clears gradients, whose size stays. */
int64_t retarget_memory(const struct retarget *t, const struct op *op, int64_t measured_ns)
{
    int64_t ns = retarget_scaled(t, measured_ns, t->other_ratio[SPECTER_KERNEL_COPY]);
    if (!retarget_is_divided(t) || strcasestr(op->name, "memset") != NULL)
        return ns;
    return retarget_ns(
        strong_scaling_kernel_ns(SPECTER_KERNEL_COPY, (double)ns, t->least_us * 1e3, t->scale) /
        1e3);
}
