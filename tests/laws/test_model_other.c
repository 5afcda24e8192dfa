/* SPDX-License-Identifier: MIT
 *
 * Laws of the scaling of other device work from GPU to GPU.
 */
#include "model/cost.h"
#include "test.h"

#include <math.h>

static const struct gpu_profile toy_gpu = {
    .name = "toy", .fp16_tflops = 100, .mem_GBps = 1000, .sms = 10, .boost_MHz = 1000};

static double other_ratio(const struct gpu_profile *from, const struct gpu_profile *to,
                          enum specter_kernel_class kind)
{
    double ratio = NAN;
    struct err e = {0};
    CHECK_INT_OF(to->name, model_other_ratio(from, to, kind, &ratio, &e), 0);
    CHECK_STR_OF(to->name, e.msg, "");
    return ratio;
}

TEST(model_other_work_scales_by_its_class)
{
    const struct gpu_profile *h100 = gpu_profile_find("h100_sxm", NULL);
    const struct gpu_profile *a100 = gpu_profile_find("a100_sxm", NULL);
    double memory = 3350.0 / 2039, compute = other_ratio(h100, a100, SPECTER_KERNEL_GEMM);
    CHECK_DOUBLE(other_ratio(h100, a100, SPECTER_KERNEL_OTHER), memory, 1e-15);
    CHECK_DOUBLE(other_ratio(h100, a100, SPECTER_KERNEL_ELEMENTWISE), memory, 1e-15);
    CHECK_DOUBLE(other_ratio(h100, a100, SPECTER_KERNEL_REDUCTION), memory, 1e-15);
    CHECK_DOUBLE(other_ratio(h100, a100, SPECTER_KERNEL_OPTIMIZER), memory, 1e-15);
    CHECK_DOUBLE(other_ratio(h100, a100, SPECTER_KERNEL_ATTENTION), (memory + compute) / 2, 1e-15);
    CHECK(compute > 2.8 && compute < 3.5); /* peaks: 3.17 */
    CHECK_DOUBLE(other_ratio(h100, a100, SPECTER_KERNEL_COMM), 1,
                 0); /* what it moves is not known */
    for (int kind = 0; kind < SPECTER_KERNEL_CLASS_COUNT; kind++)
        CHECK_DOUBLE(other_ratio(h100, h100, (enum specter_kernel_class)kind), 1, 0);
}

TEST(model_other_work_needs_the_figures_of_its_class)
{
    struct gpu_profile poor = toy_gpu;
    double ratio;
    struct err e;
    poor.mem_GBps = 0;
    CHECK_INT(model_other_ratio(&poor, &toy_gpu, SPECTER_KERNEL_COPY, &ratio, &e), -1);
    CHECK_STR(e.msg, "GPU profile 'toy' lacks mem_GBps");
    CHECK_INT(model_other_ratio(&toy_gpu, &poor, SPECTER_KERNEL_ATTENTION, &ratio, &e), -1);
    CHECK_INT(model_other_ratio(&toy_gpu, &poor, SPECTER_KERNEL_GEMM, &ratio, &e), 0);
    poor.fp16_tflops = 0;
    CHECK_INT(model_other_ratio(&toy_gpu, &poor, SPECTER_KERNEL_GEMM, &ratio, &e), -1);
    CHECK_STR(e.msg, "GPU profile 'toy' lacks fp16_tflops");
}
