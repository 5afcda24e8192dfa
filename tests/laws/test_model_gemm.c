/* SPDX-License-Identifier: MIT
 *
 * What must hold of the models of matrix products and other device work.
 */
#include "model/cost.h"
#include "test.h"

#include <math.h>
#include <stdint.h>

static const enum specter_dtype gemm_types[] = {
    SPECTER_FP64,    SPECTER_FP32,    SPECTER_TF32, SPECTER_FP16, SPECTER_BF16,
    SPECTER_FP8E4M3, SPECTER_FP8E5M2, SPECTER_INT8, SPECTER_FP4,
};
static const uint64_t dims[] = {1, 2, 16, 127, 1024, 4096, 65536};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct gemm_shape square(uint64_t n, enum specter_dtype type)
{
    return (struct gemm_shape){n, n, n, 1, type, type, SPECTER_DTYPE_UNKNOWN};
}

static struct gemm_cost gemm_on(const struct gpu_profile *gpu, struct gemm_shape shape)
{
    struct gemm_cost cost = {.us = NAN};
    struct err e;
    if (model_gemm(gpu, &shape, &cost, &e) < 0)
        test_fail(__FILE__, __LINE__, "%s", e.msg);
    return cost;
}

/* A call on an idle GPU is its launch and then its work; a queued one adds the work alone. */
TEST(law_gemm_time_is_launch_and_work)
{
    for (size_t i = 0; i < COUNT(dims); i++) {
        struct gemm_cost c = gemm_on(&gpu_profiles[0], square(dims[i], SPECTER_FP16));
        CHECK(c.busy_us > 0);
        CHECK_DOUBLE(c.us, c.busy_us + gpu_profiles[0].launch_us, 0);
    }
}

/* Calls visit for every GPU and type that it computes in, over a grid of shapes. */
static void for_each_shape(void (*visit)(const struct gpu_profile *gpu, struct gemm_shape shape))
{
    for (size_t g = 0; g < gpu_profile_count; g++) {
        for (size_t t = 0; t < COUNT(gemm_types); t++) {
            if (gpu_peak_tflops(&gpu_profiles[g], gemm_types[t], SPECTER_DTYPE_UNKNOWN) == 0)
                continue;
            for (size_t i = 0; i < COUNT(dims) * COUNT(dims) * COUNT(dims); i++)
                visit(&gpu_profiles[g],
                      (struct gemm_shape){dims[i % 7], dims[i / 7 % 7], dims[i / 49], 1 + i % 3,
                                          gemm_types[t], gemm_types[t], SPECTER_DTYPE_UNKNOWN});
        }
    }
}

static void check_bounds(const struct gpu_profile *gpu, struct gemm_shape s)
{
    struct gemm_cost c = gemm_on(gpu, s);
    CHECK(c.tflops > 0 && c.tflops < gpu_peak_tflops(gpu, s.type, s.compute));
    CHECK(c.us >= c.compute_us && c.us >= c.memory_us && c.us >= gpu->launch_us);
    CHECK_DOUBLE(c.tflops * c.us * 1e6, c.flops, 1e-12);
}

TEST(model_gemm_never_above_its_bounds)
{
    for_each_shape(check_bounds);
}

static void check_growth(const struct gpu_profile *gpu, struct gemm_shape s)
{
    double us = gemm_on(gpu, s).us;
    struct gemm_shape m = s, n = s, k = s, batch = s;
    m.m++;
    n.n++;
    k.k++;
    batch.batch++;
    CHECK(gemm_on(gpu, m).us >= us && gemm_on(gpu, n).us >= us);
    CHECK(gemm_on(gpu, k).us >= us && gemm_on(gpu, batch).us >= us);
}

TEST(model_gemm_time_never_falls_with_work)
{
    for_each_shape(check_growth);
}

/* 100 TFLOPS, 1000 GB/s, 5 us: figures that can be worked out by hand. */
static const struct gpu_profile toy_gpu = {
    .name = "toy", .fp16_tflops = 100, .fp16_sparse_tflops = 200, .mem_GBps = 1000, .launch_us = 5};

TEST(model_gemm_closed_forms)
{
    struct gemm_cost c = gemm_on(&toy_gpu, square(1000, SPECTER_FP16));
    CHECK_DOUBLE(c.flops, 2e9, 0);
    CHECK_DOUBLE(c.bytes, 6e6, 0);
    CHECK_DOUBLE(c.compute_us, 20, 1e-15);
    CHECK_DOUBLE(c.memory_us, 6, 1e-15);
    CHECK_DOUBLE(c.us, 25 + 5, 1e-15);
    CHECK_STR(c.bound, "compute");
    c = gemm_on(&toy_gpu,
                (struct gemm_shape){1, 1000, 1000, 8, SPECTER_FP16, SPECTER_FP32, SPECTER_FP32});
    CHECK_DOUBLE(c.bytes, 8 * (2e3 + 2e6 + 4e3), 0);
    CHECK_DOUBLE(c.us, 8 * 2.006 + 5, 1e-15);
    CHECK_STR(c.bound, "memory");
    c = gemm_on(&toy_gpu, square(0, SPECTER_FP16));
    CHECK_DOUBLE(c.us, 5, 0);
    CHECK_DOUBLE(c.tflops, 0, 0);
    CHECK_STR(c.bound, "launch");
}

/* The predecessor of this model priced it at 2 us; reading the weights alone takes 10. */
TEST(model_gemm_vector_product_is_bound_by_memory)
{
    struct gemm_cost c =
        gemm_on(gpu_profile_find("h100_sxm", NULL),
                (struct gemm_shape){1, 4096, 4096, 1, SPECTER_FP16, SPECTER_FP16, SPECTER_FP32});
    CHECK_STR(c.bound, "memory");
    CHECK(c.us > 10.0 && c.us < 15.0);
}

TEST(model_gemm_large_product_is_near_the_dense_peak)
{
    double tflops = gemm_on(gpu_profile_find("h100_sxm", NULL), square(4096, SPECTER_FP16)).tflops;
    CHECK(tflops > 700 && tflops < 989);
}

TEST(model_gemm_ignores_sparsity)
{
    struct gpu_profile more = toy_gpu;
    more.fp16_sparse_tflops *= 2;
    CHECK_DOUBLE(gemm_on(&more, square(1000, SPECTER_FP16)).us,
                 gemm_on(&toy_gpu, square(1000, SPECTER_FP16)).us, 0);
}

TEST(model_gemm_listed_cases_have_their_sign)
{
    const struct gpu_profile *h100 = gpu_profile_find("h100_sxm", NULL);
    const struct gpu_profile *a100 = gpu_profile_find("a100_sxm", NULL);
    struct gpu_profile half = *h100;
    struct gemm_shape large = square(8192, SPECTER_BF16);
    struct gemm_shape thin = {1, 8192, 8192, 1, SPECTER_BF16, SPECTER_BF16, SPECTER_FP32};
    double ratio = 0;
    half.bf16_tflops /= 2;
    half.mem_GBps /= 2;
    CHECK(gemm_on(a100, large).us > gemm_on(h100, large).us);
    CHECK(gemm_on(a100, thin).us > gemm_on(h100, thin).us);
    CHECK(gemm_on(&half, large).us > gemm_on(h100, large).us);
    CHECK(gemm_on(&half, thin).us > gemm_on(h100, thin).us);
    CHECK_INT(model_other_ratio(h100, a100, &ratio, NULL), 0);
    CHECK_DOUBLE(ratio, 3350.0 / 2039, 1e-15);
    CHECK_INT(model_other_ratio(h100, h100, &ratio, NULL), 0);
    CHECK_DOUBLE(ratio, 1, 0);
}

TEST(model_gemm_types_have_their_own_peak)
{
    const struct gpu_profile *h100 = gpu_profile_find("h100_sxm", NULL);
    double fp64 = gemm_on(h100, square(8192, SPECTER_FP64)).us;
    double tf32 = gemm_on(h100, square(8192, SPECTER_TF32)).us;
    double fp16 = gemm_on(h100, square(8192, SPECTER_FP16)).us;
    double fp8 = gemm_on(h100, square(8192, SPECTER_FP8E4M3)).us;
    struct gemm_shape mixed = square(8192, SPECTER_FP32);
    double fp32 = gemm_on(h100, mixed).us;
    mixed.compute = SPECTER_TF32;
    CHECK(fp64 > tf32 && fp32 > tf32 && tf32 > fp16 && fp16 > fp8);
    CHECK_DOUBLE(gemm_on(h100, mixed).us, tf32, 0);
}

static const char *gemm_refusal(const struct gpu_profile *gpu, enum specter_dtype type)
{
    static struct err e;
    struct gemm_shape shape = square(64, type);
    struct gemm_cost c;
    e.msg[0] = '\0';
    CHECK_INT(model_gemm(gpu, &shape, &c, &e), -1);
    CHECK_INT(e.code, ERR_USAGE);
    return e.msg;
}

TEST(model_gemm_refuses_what_it_cannot_know)
{
    struct gpu_profile poor = toy_gpu;
    struct err e;
    double ratio;
    poor.mem_GBps = 0;
    CHECK_STR(gemm_refusal(gpu_profile_find("v100_sxm", NULL), SPECTER_BF16),
              "GPU profile 'v100_sxm' lacks bf16_tflops");
    CHECK_STR(gemm_refusal(gpu_profile_find("a100_sxm", NULL), SPECTER_FP8E4M3),
              "GPU profile 'a100_sxm' lacks fp8_tflops");
    CHECK_STR(gemm_refusal(&toy_gpu, SPECTER_INT64),
              "no peak is known for matrix products of type 'int64'");
    CHECK_STR(gemm_refusal(&toy_gpu, SPECTER_DTYPE_UNKNOWN),
              "no peak is known for matrix products of type 'unknown'");
    CHECK_STR(gemm_refusal(&poor, SPECTER_FP16), "GPU profile 'toy' lacks mem_GBps");
    CHECK_INT(model_other_ratio(&poor, &toy_gpu, &ratio, &e), -1);
    CHECK_STR(e.msg, "GPU profile 'toy' lacks mem_GBps");
    CHECK_INT(model_other_ratio(&toy_gpu, &poor, &ratio, &e), -1);
}

TEST(model_gemm_huge_shapes_stay_finite)
{
    struct gemm_shape s = {UINT64_MAX,  UINT64_MAX,   UINT64_MAX,
                           UINT64_MAX,  SPECTER_FP16, SPECTER_DTYPE_UNKNOWN,
                           SPECTER_FP16};
    struct gemm_cost c = gemm_on(&toy_gpu, s);
    CHECK(isfinite(c.us) && c.tflops < 100);
}
