/* SPDX-License-Identifier: MIT
 *
 * Laws of the model of GEMMs.
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
    return (struct gemm_shape){
        .m = n, .n = n, .k = n, .type = type, .type_c = type, .compute = SPECTER_DTYPE_UNKNOWN};
}

static struct gemm_cost gemm_on(const struct gpu_profile *gpu, struct gemm_shape shape)
{
    struct gemm_cost cost = {.us = NAN};
    struct err e = {0};
    CHECK_INT_OF(gpu->name, model_gemm(gpu, &shape, &cost, &e), 0);
    CHECK_STR_OF(gpu->name, e.msg, "");
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

static struct gemm_shape nth_shape(size_t i, enum specter_dtype type)
{
    return (struct gemm_shape){.m = dims[i % 7],
                               .n = dims[i / 7 % 7],
                               .k = dims[i / 49],
                               .batch = 1 + i % 3,
                               .type = type,
                               .type_c = type,
                               .compute = SPECTER_DTYPE_UNKNOWN,
                               .hot_sets = i / 3 % 3,
                               .quantize = (enum gemm_quantize)(i / 5 % 3)};
}
#define SHAPES (COUNT(dims) * COUNT(dims) * COUNT(dims))

/* The first type of the same size and peak on that GPU: to the model it is the same one. */
static enum specter_dtype first_alike(const struct gpu_profile *gpu, enum specter_dtype type)
{
    double peak = gpu_peak_tflops(gpu, type, SPECTER_DTYPE_UNKNOWN);
    size_t t = 0;
    while (gpu_peak_tflops(gpu, gemm_types[t], SPECTER_DTYPE_UNKNOWN) != peak ||
           specter_dtype_bits(gemm_types[t]) != specter_dtype_bits(type))
        t++;
    return gemm_types[t];
}

/* Calls visit over a grid of shapes, for every GPU and type that it computes in, of those alike for
 * the first. */
static void for_each_shape(void (*visit)(const struct gpu_profile *gpu, struct gemm_shape shape))
{
    for (size_t g = 0; g < gpu_profile_count; g++) {
        for (size_t t = 0; t < COUNT(gemm_types); t++) {
            const struct gpu_profile *gpu = &gpu_profiles[g];
            if (gpu_peak_tflops(gpu, gemm_types[t], SPECTER_DTYPE_UNKNOWN) == 0 ||
                first_alike(gpu, gemm_types[t]) != gemm_types[t])
                continue;
            for (size_t i = 0; i < SHAPES; i++)
                visit(gpu, nth_shape(i, gemm_types[t]));
        }
    }
}

/* The laws are checked on one of them. */
TEST(model_gemm_types_alike_cost_the_same)
{
    for (size_t g = 0; g < gpu_profile_count; g++) {
        for (size_t t = 0; t < COUNT(gemm_types); t++) {
            const struct gpu_profile *gpu = &gpu_profiles[g];
            enum specter_dtype type = gemm_types[t], first = first_alike(gpu, type);
            if (first == type || gpu_peak_tflops(gpu, type, SPECTER_DTYPE_UNKNOWN) == 0)
                continue;
            for (size_t i = 0; i < SHAPES; i++) {
                struct gemm_cost a = gemm_on(gpu, nth_shape(i, first));
                struct gemm_cost b = gemm_on(gpu, nth_shape(i, type));
                CHECK(a.us == b.us && a.busy_us == b.busy_us && a.compute_us == b.compute_us &&
                      a.memory_us == b.memory_us && a.mem_bytes == b.mem_bytes &&
                      a.bytes == b.bytes && a.flops == b.flops && a.tflops == b.tflops &&
                      a.clock == b.clock);
            }
        }
    }
}

static void check_bounds(const struct gpu_profile *gpu, struct gemm_shape s)
{
    struct gemm_cost c = gemm_on(gpu, s);
    CHECK(c.tflops > 0 && c.tflops < gpu_peak_tflops(gpu, s.type, s.compute));
    CHECK(c.busy_us > c.compute_us && c.busy_us > c.memory_us && c.us >= gpu->launch_us);
    CHECK(c.mem_bytes > 0 && c.mem_bytes <= c.bytes && (s.hot_sets > 0 || c.mem_bytes == c.bytes));
    CHECK(c.clock > 0 && c.clock <= 1);
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

static void check_cold_is_slowest(const struct gpu_profile *gpu, struct gemm_shape s)
{
    double us = 0;
    for (uint32_t i = 1; i <= 4; i++) {
        double before = us;
        s.hot_sets = i % 4; /* 1, 2, 3 copies of B, then nothing in L2 */
        us = gemm_on(gpu, s).us;
        CHECK(us >= before);
    }
}

TEST(model_gemm_a_fuller_cache_is_never_slower)
{
    for_each_shape(check_cold_is_slowest);
}

/* 100 TFLOPS on 10 multiprocessors, 1000 GB/s, 1000 cycles a microsecond; half of each rate is
 * sustained: figures that can be worked out by hand. */
static const struct gpu_profile toy_gpu = {
    .name = "toy",
    .fp16_tflops = 100,
    .fp16_sparse_tflops = 200,
    .fp8_tflops = 200,
    .mem_GBps = 1000,
    .l2_MB = 10,
    .sms = 10,
    .boost_MHz = 1000,
    .launch_us = 5,
    .gemm = {.mma_share = 0.5,
             .mem_share = 0.5,
             .sm_GBps = 400,
             .l2_share = 1,
             .start_kcycles = 1,
             .tile_kcycles = 1,
             .step_kcycles = 0.01,
             .split_kcycles = 2,
             .quant_us = 4},
};

static struct gemm_shape fp16_shape(uint64_t m, uint64_t n, uint64_t k, uint64_t batch)
{
    return (struct gemm_shape){.m = m,
                               .n = n,
                               .k = k,
                               .batch = batch,
                               .type = SPECTER_FP16,
                               .type_c = SPECTER_FP16,
                               .compute = SPECTER_FP32};
}

/* One tile of 256 x 256 through k = 4096 on one multiprocessor at 5 TFLOPS, its ends, its result.
 */
static const double big_tile_us = 2.0 * 256 * 256 * 4096 / 5e6 + 1 + 256 * 256 * 2 / 400e3;

TEST(model_gemm_one_full_wave)
{
    struct gemm_cost c = gemm_on(&toy_gpu, fp16_shape(2560, 256, 4096, 1));
    double bytes = 2.0 * (2560 * 4096 + 4096 * 256 + 2560 * 256);
    CHECK_DOUBLE(c.flops, 2.0 * 2560 * 256 * 4096, 0);
    CHECK_DOUBLE(c.bytes, bytes, 0);
    CHECK_DOUBLE(c.compute_us, 2.0 * 2560 * 256 * 4096 / 100e6, 1e-15);
    CHECK_DOUBLE(c.memory_us, bytes / 1e6, 1e-15);
    CHECK_DOUBLE(c.busy_us, 1 + big_tile_us + 0.3 * bytes / 500e3, 1e-12);
    CHECK_DOUBLE(c.us, c.busy_us + 5, 0);
    CHECK_DOUBLE(c.tile_m, 256, 0);
    CHECK_DOUBLE(c.tile_n, 256, 0);
    CHECK_DOUBLE(c.split, 1, 0);
    CHECK_DOUBLE(c.waves, 1, 0);
    CHECK_STR(c.bound, "compute");
}

/* Ten multiprocessors do ten products in the time of one; only the bytes add up. */
TEST(model_gemm_a_batch_fills_the_multiprocessors)
{
    struct gemm_cost c = gemm_on(&toy_gpu, fp16_shape(256, 256, 4096, 10));
    double bytes = 2.0 * 10 * (2 * 256 * 4096 + 256 * 256);
    CHECK_DOUBLE(c.bytes, bytes, 0);
    CHECK_DOUBLE(c.busy_us, 1 + big_tile_us + 0.3 * bytes / 500e3, 1e-12);
}

/* The smallest tile has 64 x 16; its k = 64 costs 2*64*16*64/5e6 us, which is more than the two
 * steps of 0.01 us and the 32 operand rows. */
TEST(model_gemm_one_small_tile)
{
    struct gemm_cost c = gemm_on(&toy_gpu, fp16_shape(16, 16, 64, 1));
    double work_us = 2.0 * 64 * 16 * 64 / 5e6 + 1 + 16 * 16 * 2 / 400e3;
    CHECK_DOUBLE(c.busy_us, 1 + work_us + 0.3 * 2 * (16 * 64 * 2 + 16 * 16) / 500e3, 1e-12);
    CHECK_STR(c.bound, "launch");
}

TEST(model_gemm_a_started_wave_costs_more_than_its_tiles)
{
    struct gemm_cost full = gemm_on(&toy_gpu, fp16_shape(2560, 2560, 4096, 1));
    struct gemm_cost more = gemm_on(&toy_gpu, fp16_shape(2560, 2560 + 16, 4096, 1));
    CHECK_DOUBLE(full.waves, 10, 0);
    CHECK(more.busy_us / full.busy_us > 1.02); /* 0.6 % more work */
}

/* One tile and a long k: cut k, or nine multiprocessors idle. */
TEST(model_gemm_cuts_k_where_tiles_are_few)
{
    struct gemm_cost c = gemm_on(&toy_gpu, fp16_shape(16, 16, 1 << 20, 1));
    CHECK_DOUBLE(c.waves, c.split / 10, 1e-15);
    CHECK(c.split > 1);
    CHECK(c.busy_us > 2.0 * 64 * 16 * (1 << 20) / 5e6 / 10);
    CHECK(c.busy_us < 2.0 * 64 * 16 * (1 << 20) / 5e6 / 2); /* 134 us are memory */
    CHECK(gemm_on(&toy_gpu, fp16_shape(2560, 256, 65536, 1)).split == 1);
}

TEST(model_gemm_memory_bound)
{
    struct gemm_cost c = gemm_on(&toy_gpu, fp16_shape(1, 16384, 16384, 1));
    double bytes = 2.0 * (16384 + 16384.0 * 16384 + 16384);
    CHECK_STR(c.bound, "memory");
    CHECK_DOUBLE(c.memory_us, bytes / 1e6, 1e-15);
    CHECK(c.busy_us > bytes / 500e3 && c.busy_us < bytes / 500e3 * 1.3 + 10);
}

/* 4 MB of weights in 10 MiB of L2: a loop over one copy reads nothing from memory and writes half
 * of its result there; over five copies it reads all weights. */
TEST(model_gemm_hot_operands_come_from_l2)
{
    struct gemm_shape s = fp16_shape(1, 1024, 2048, 1);
    double once = gemm_on(&toy_gpu, s).mem_bytes, weights = 2.0 * 1024 * 2048;
    CHECK_DOUBLE(once, weights + 2 * 2048 + 2 * 1024, 0);
    s.hot_sets = 1;
    CHECK_DOUBLE(gemm_on(&toy_gpu, s).mem_bytes, 1024, 0);
    s.hot_sets = 5;
    CHECK_DOUBLE(gemm_on(&toy_gpu, s).mem_bytes, weights + 1024, 0);
}

/* 4 MB of weights fill 0.8 of a half of 10 MiB; hits fade out over its last 0.3, so that about two
 * thirds of the bytes still come from L2. */
TEST(model_gemm_both_halves_of_l2_keep_operands)
{
    static const double one[] = {0, 75, 86, 89, 120}, two[] = {80, 90, 100, 103};
    struct gpu_profile gpu = toy_gpu;
    struct gemm_shape s = fp16_shape(1, 1024, 2048, 1);
    double once = gemm_on(&toy_gpu, s).mem_bytes, half = 5 * 1048576;
    s.hot_sets = 1;
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        gpu.cc = one[i];
        CHECK_DOUBLE(gemm_on(&gpu, s).mem_bytes, 1024, 0);
    }
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) {
        gpu.cc = two[i];
        CHECK_DOUBLE(gemm_on(&gpu, s).mem_bytes,
                     once - (half - once) / (0.3 * half) * (once - 1024), 1e-9);
    }
}

TEST(model_gemm_quantising_is_work_before_the_product)
{
    struct gemm_shape s = fp16_shape(1024, 256, 4096, 1);
    double elements = 1024 * 4096, plain;
    s.type = SPECTER_FP8E4M3;
    plain = gemm_on(&toy_gpu, s).busy_us;
    s.quantize = GEMM_QUANTIZE_STATIC;
    CHECK_DOUBLE(gemm_on(&toy_gpu, s).quant_us, 4 + elements * 3 / 500e3, 1e-15);
    s.quantize = GEMM_QUANTIZE_DYNAMIC;
    CHECK_DOUBLE(gemm_on(&toy_gpu, s).quant_us, 3 * 4 + elements * 5 / 500e3, 1e-15);
    CHECK_DOUBLE(gemm_on(&toy_gpu, s).busy_us, plain + 3 * 4 + elements * 5 / 500e3, 1e-12);
}

TEST(model_gemm_clock_follows_power)
{
    struct gpu_profile g = toy_gpu;
    double watts = 100 * 1e6 / (1830.0 * 1830); /* 1 W a TFLOPS at 1830 MHz */
    CHECK_DOUBLE(gemm_on(&g, square(1024, SPECTER_FP16)).clock, 1, 0); /* tdp_W not known */
    g.tdp_W = watts / 8;
    CHECK_DOUBLE(gemm_on(&g, square(1024, SPECTER_FP16)).clock, 0.5, 1e-12);
    g.tdp_W = watts;
    CHECK_DOUBLE(gemm_on(&g, square(1024, SPECTER_FP16)).clock, 1, 1e-12);
    CHECK_DOUBLE(gemm_on(&g, square(1024, SPECTER_FP8E4M3)).clock, cbrt(1 / sqrt(2)), 1e-12);
    g.peak_W = 8 * watts; /* of a chip that takes more */
    CHECK_DOUBLE(gemm_on(&g, square(1024, SPECTER_FP16)).clock, 0.5, 1e-12);
}

/* From AMD's clocks under load follow the fastest bf16 GEMMs that others found (stas00's
 * ml-engineering), which are in no fit that counts: two rows of 6916. */
TEST(model_gemm_of_cdna3)
{
    static const struct {
        const char *gpu;
        uint32_t m, n, k;
        double tflops;
    } rows[] = {{"mi300x", 10240, 15360, 8192, 668.4}, {"mi325x", 13312, 10240, 8192, 784.9}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gemm_shape shape = square(1, SPECTER_BF16);
        shape.m = rows[i].m;
        shape.n = rows[i].n;
        shape.k = rows[i].k;
        CHECK_DOUBLE(gemm_on(gpu_profile_find(rows[i].gpu, NULL), shape).tflops, rows[i].tflops,
                     0.05);
    }
}

/* A clock that is held takes the place of what the power allows, for arithmetic; short kernels
 * follow it where it is lower than boost_MHz, which power never makes it for them. */
TEST(model_gemm_clock_may_be_told)
{
    struct gpu_profile told = *gpu_profile_find("h200_sxm", NULL);
    const struct gpu_profile *nominal = gpu_profile_find("h200_sxm", NULL);
    struct gemm_shape large = square(8192, SPECTER_BF16), small = square(16, SPECTER_BF16);
    double clock = gemm_on(nominal, large).clock;
    CHECK(clock > 0.85 && clock < 0.95);
    told.clock_MHz = told.boost_MHz / 2;
    CHECK_DOUBLE(gemm_on(&told, large).clock, 0.5, 0);
    CHECK_DOUBLE(gemm_on(&told, large).busy_us / gemm_on(nominal, large).busy_us, clock / 0.5,
                 0.05);
    CHECK_DOUBLE(gemm_on(&told, small).start_us, 2 * gemm_on(nominal, small).start_us, 1e-12);
    told.clock_MHz = 1.05 * told.boost_MHz;
    CHECK_DOUBLE(gemm_on(&told, large).clock, 1.05, 1e-12);
    CHECK(gemm_on(&told, large).busy_us < gemm_on(nominal, large).busy_us);
    CHECK_DOUBLE(gemm_on(&told, small).busy_us, gemm_on(nominal, small).busy_us, 1e-12);
}

static void check_slower_clock(const struct gpu_profile *gpu, struct gemm_shape shape)
{
    struct gpu_profile told = *gpu;
    double last = 0;
    for (int percent = 110; percent >= 30; percent -= 20) {
        double us;
        told.clock_MHz = gpu->boost_MHz * percent / 100;
        us = gemm_on(&told, shape).busy_us;
        CHECK(us >= last);
        last = us;
    }
}

TEST(law_gemm_a_slower_clock_is_never_quicker)
{
    for_each_shape(check_slower_clock);
}

TEST(model_gemm_grouped_is_the_batch_of_equal_ones)
{
    struct gemm_shape ten[10];
    struct gemm_cost group, batch = gemm_on(&toy_gpu, fp16_shape(300, 500, 4096, 10));
    struct err e;
    for (size_t i = 0; i < COUNT(ten); i++)
        ten[i] = fp16_shape(300, 500, 4096, 1);
    CHECK_INT(model_gemm_grouped(&toy_gpu, ten, COUNT(ten), &group, &e), 0);
    CHECK_DOUBLE(batch.split, 1, 0);
    CHECK_DOUBLE(group.busy_us, batch.busy_us, 1e-12);
    CHECK_DOUBLE(group.flops, batch.flops, 0);
}

/* One launch, and tiles side by side: never slower than one after the other; and no faster than the
 * slowest member. */
TEST(model_gemm_grouped_is_between_its_longest_and_its_sum)
{
    struct gemm_shape list[] = {fp16_shape(1024, 512, 1024, 1), fp16_shape(64, 512, 1024, 1),
                                fp16_shape(300, 512, 1024, 1), fp16_shape(0, 512, 1024, 1)};
    struct gemm_cost group, one;
    double sum = 0, longest = 0;
    struct err e;
    for (size_t i = 0; i < COUNT(list); i++) {
        CHECK_INT(model_gemm_grouped(&toy_gpu, &list[i], 1, &one, &e), 0);
        sum += one.busy_us;
        longest = fmax(longest, one.busy_us);
    }
    CHECK_INT(model_gemm_grouped(&toy_gpu, list, COUNT(list), &group, &e), 0);
    CHECK(group.busy_us > longest && group.busy_us < sum);
    list[1].type = SPECTER_FP8E4M3;
    CHECK_INT(model_gemm_grouped(&toy_gpu, list, COUNT(list), &group, &e), -1);
    CHECK_STR(e.msg, "the GEMMs of a group differ in type");
    CHECK_INT(model_gemm_grouped(&toy_gpu, list, 0, &group, &e), -1);
    CHECK_STR(e.msg, "a group of GEMMs is empty");
}

TEST(model_gemm_nothing_to_do_costs_its_launch)
{
    struct gemm_cost c = gemm_on(&toy_gpu, square(0, SPECTER_FP16));
    CHECK_DOUBLE(c.us, 5, 0);
    CHECK_DOUBLE(c.tflops, 0, 0);
    CHECK_STR(c.bound, "launch");
}

/* 10 MiB of L2 against 2 MiB of weights: five copies; against 4 MiB: three; 16 MiB: one. */
TEST(model_gemm_knows_what_benchmarks_do)
{
    static const struct {
        const char *lib;
        uint64_t n;
        enum specter_dtype type;
        uint32_t sets;
        enum gemm_quantize quantize;
        enum specter_dtype type_c;
    } rows[] = {
        {"torch_flow (TRTLLM 1.0.0)", 1024, SPECTER_FP16, 5, GEMM_QUANTIZE_NONE, SPECTER_FP16},
        {"torch_flow (TRTLLM 1.0.0)", 2048, SPECTER_BF16, 3, GEMM_QUANTIZE_NONE, SPECTER_BF16},
        {"torch_flow (TRTLLM 1.0.0)", 8192, SPECTER_BF16, 1, GEMM_QUANTIZE_NONE, SPECTER_BF16},
        {"torch_flow (TRTLLM 1.0.0)", 2048, SPECTER_FP8E4M3, 5, GEMM_QUANTIZE_DYNAMIC,
         SPECTER_BF16},
        {"torch_flow (TRTLLM 1.0.0)", 8192, SPECTER_FP4, 3, GEMM_QUANTIZE_STATIC, SPECTER_BF16},
        {"torch 2.6.0", 1024, SPECTER_FP8E4M3, 1, GEMM_QUANTIZE_NONE, SPECTER_BF16},
        {"cublas", 1024, SPECTER_INT8, 1, GEMM_QUANTIZE_NONE, SPECTER_INT32},
        {NULL, 1024, SPECTER_FP16, 1, GEMM_QUANTIZE_NONE, SPECTER_FP16},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gemm_shape s = {
            .m = 1, .n = rows[i].n, .k = 1024, .type = rows[i].type, .type_c = rows[i].type};
        gemm_shape_of_bench(&toy_gpu, rows[i].lib, &s);
        CHECK_INT(s.hot_sets, rows[i].sets);
        CHECK_INT(s.quantize, rows[i].quantize);
        CHECK_INT(s.type_c, rows[i].type_c);
    }
}

/* The time is that of the fastest candidate; each candidate's follows from its terms. */
static void check_candidates(const struct gpu_profile *gpu, struct gemm_shape s)
{
    struct gemm_candidate list[GEMM_CANDIDATES_MAX];
    struct gemm_cost c = gemm_on(gpu, s);
    struct err e;
    int n = model_gemm_candidates(gpu, &s, list, &e), chosen = 0;
    CHECK(n > 0);
    for (int i = 0; i < n; i++) {
        const struct gemm_candidate *at = &list[i];
        double loop = fmax(at->compute_us, fmax(at->l2_us, at->steps_us));
        double both = fmax(at->work_us, c.traffic_us) + 0.3 * fmin(at->work_us, c.traffic_us);
        CHECK(at->busy_us >= c.busy_us);
        CHECK(at->work_us >= (loop + at->ends_us) * fmax(1, at->waves) * (1 - 1e-12));
        CHECK_DOUBLE(at->busy_us, c.start_us + c.quant_us + both + at->split_us, 1e-12);
        if (!at->chosen)
            continue;
        chosen++;
        CHECK_DOUBLE(at->busy_us, c.busy_us, 0);
    }
    CHECK_INT(chosen, 1);
}

TEST(model_gemm_takes_the_fastest_candidate)
{
    static const uint64_t sides[] = {1, 16, 300, 4096};
    for (size_t g = 0; g < gpu_profile_count; g++) {
        for (size_t i = 0; i < 64; i++) {
            struct gemm_shape s = fp16_shape(sides[i % 4], sides[i / 4 % 4], sides[i / 16], 1);
            check_candidates(&gpu_profiles[g], s);
        }
    }
}

static int candidates_of(const char *gpu, struct gemm_shape s, double *least_side)
{
    struct gemm_candidate list[GEMM_CANDIDATES_MAX];
    struct err e;
    int n = model_gemm_candidates(gpu_profile_find(gpu, NULL), &s, list, &e);
    *least_side = INFINITY;
    for (int i = 0; i < n; i++)
        *least_side = fmin(*least_side, fmax(list[i].tile_m, list[i].tile_n));
    return n;
}

/* Tiles are those of a generation's instructions: RTX Blackwell lacks B200's tensor memory. */
TEST(model_gemm_candidates_follow_the_generation)
{
    double side;
    CHECK_INT(candidates_of("a100_sxm", square(1024, SPECTER_FP16), &side), 17 * 9);
    CHECK_DOUBLE(side, 64, 0);
    CHECK_INT(candidates_of("b200_sxm", square(1024, SPECTER_FP16), &side), 12 * 9);
    CHECK_DOUBLE(side, 128, 0);
    CHECK_INT(candidates_of("b200_sxm", square(1024, SPECTER_FP4), &side), 12);
    CHECK_INT(candidates_of("rtx_5090", square(1024, SPECTER_FP16), &side), 17 * 9);
    CHECK_INT(candidates_of("a100_sxm", square(0, SPECTER_FP16), &side), 0);
    CHECK_INT(candidates_of("a100_sxm", square(64, SPECTER_FP4), &side), -1);
}

/* The predecessor of this model priced it at 2 us; reading the weights alone takes 10. */
TEST(model_gemm_vector_product_is_bound_by_memory)
{
    struct gemm_cost c = gemm_on(gpu_profile_find("h100_sxm", NULL), fp16_shape(1, 4096, 4096, 1));
    CHECK_STR(c.bound, "memory");
    CHECK(c.busy_us > 10.0 && c.busy_us < 18.0);
}

TEST(model_gemm_large_product_is_near_the_dense_peak)
{
    double tflops = gemm_on(gpu_profile_find("h100_sxm", NULL), square(4096, SPECTER_FP16)).tflops;
    CHECK(tflops > 600 && tflops < 800); /* 0.8 of the peak is the best that was ever measured */
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
    struct gemm_shape thin = square(8192, SPECTER_BF16);
    thin.m = 1;
    half.bf16_tflops /= 2;
    half.mem_GBps /= 2;
    CHECK(gemm_on(a100, large).us > gemm_on(h100, large).us);
    CHECK(gemm_on(a100, thin).us > gemm_on(h100, thin).us);
    CHECK(gemm_on(&half, large).us > gemm_on(h100, large).us);
    CHECK(gemm_on(&half, thin).us > gemm_on(h100, thin).us);
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
    poor.mem_GBps = 0;
    CHECK_STR(gemm_refusal(gpu_profile_find("v100_sxm", NULL), SPECTER_BF16),
              "GPU profile 'v100_sxm' lacks bf16_tflops");
    CHECK_STR(gemm_refusal(gpu_profile_find("a100_sxm", NULL), SPECTER_FP8E4M3),
              "GPU profile 'a100_sxm' lacks fp8_tflops");
    CHECK_STR(gemm_refusal(&toy_gpu, SPECTER_INT64), "no peak is known for GEMMs of type 'int64'");
    CHECK_STR(gemm_refusal(&toy_gpu, SPECTER_DTYPE_UNKNOWN),
              "no peak is known for GEMMs of type 'unknown'");
    CHECK_STR(gemm_refusal(&poor, SPECTER_FP16), "GPU profile 'toy' lacks mem_GBps");
    poor = toy_gpu;
    poor.sms = 0;
    CHECK_STR(gemm_refusal(&poor, SPECTER_FP16), "GPU profile 'toy' lacks sms");
    poor = toy_gpu;
    poor.boost_MHz = 0;
    CHECK_STR(gemm_refusal(&poor, SPECTER_FP16), "GPU profile 'toy' lacks boost_MHz");
}

TEST(model_gemm_huge_shapes_stay_finite)
{
    struct gemm_shape s = fp16_shape(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    struct gemm_cost c = gemm_on(&toy_gpu, s);
    CHECK(isfinite(c.us) && c.tflops < 100);
}
