/* SPDX-License-Identifier: MIT
 *
 * The FLOPs of operators by their inputs, and the kernel of each that gets them.
 */
#include "made_device.h"
#include "test.h"

#include "trace/product.h"
#include "trace/run.h"

#include <string.h>

static struct json_text text_of(const char *text)
{
    return (struct json_text){text, text != NULL ? (uint32_t)strlen(text) : 0, false};
}

static struct product product(const char *op, const char *dims, const char *values)
{
    struct product_inputs in = {text_of(dims), text_of("[\"c10::BFloat16\",\"c10::BFloat16\"]"),
                                text_of(values)};
    return product_of(op, &in);
}

TEST(product_operators)
{
    CHECK_INT(product_kind_of("aten::mm"), PRODUCT_GEMM);
    CHECK_INT(product_kind_of("aten::_scaled_mm"), PRODUCT_GEMM);
    CHECK_INT(product_kind_of("aten::_grouped_mm"), PRODUCT_GROUPED);
    CHECK_INT(product_kind_of("aten::cudnn_convolution"), PRODUCT_CONV);
    CHECK_INT(product_kind_of("aten::_flash_attention_forward"), PRODUCT_ATTENTION);
    CHECK_INT(product_kind_of("aten::add"), PRODUCT_NONE);
    CHECK_INT(product_kind_of("mm"), PRODUCT_NONE);
}

TEST(product_gemms)
{
    static const struct {
        const char *op, *dims;
        uint32_t m, n, k, batch;
    } rows[] = {
        {"aten::mm", "[[4,8],[8,16]]", 4, 16, 8, 1},
        {"aten::addmm", "[[16],[4,8],[8,16],[],[]]", 4, 16, 8, 1},
        {"aten::linear", "[[2,3,8],[16,8],[16]]", 6, 16, 8, 1},
        {"aten::bmm", "[[5,4,8],[5,8,16]]", 4, 16, 8, 5},
        {"aten::_scaled_mm", "[[4,8],[8,16],[],[]], input_op_ids = [(0,0)]", 4, 16, 8, 1},
        {"aten::mm", "[[4,8],[9,16]]", 0, 0, 0, 0},
        {"aten::mm", "[[4,0],[0,16]]", 0, 0, 0, 0},
        {"aten::mm", "[[4,99999999999],[99999999999,2]]", 0, 0, 0, 0},
        {"aten::linear", "[[70000,70000,8],[16,8]]", 0, 0, 0, 0},
        {"aten::mm", "[[4,8],[", 0, 0, 0, 0},
        {"aten::mm", NULL, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct product p = product(rows[i].op, rows[i].dims, NULL);
        CHECK_INT(p.kind, PRODUCT_GEMM);
        CHECK_INT(p.m, rows[i].m);
        CHECK_INT(p.n, rows[i].n);
        CHECK_INT(p.k, rows[i].k);
        CHECK_INT(p.batch, rows[i].batch);
    }
}

/* By hand: 2 x outputs x channels of a group x volume of the weight; 2 x pairs x heads x extents.
 */
TEST(product_flops)
{
    static const struct {
        const char *op, *dims, *values;
        double flops;
    } rows[] = {
        {"aten::_grouped_mm", "[[100,8],[4,8,16],[4]]", NULL, 2.0 * 100 * 8 * 16},
        {"aten::_grouped_mm", "[[4,10,8],[8,16],[4]]", NULL, 2.0 * 10 * 8 * 16},
        {"aten::_grouped_mm", "[[10,80],[80,16],[4]]", NULL, 2.0 * 10 * 80 * 16},
        {"aten::_scaled_grouped_mm", "[[4,10,8],[4,8,16]]", NULL, 2.0 * 4 * 10 * 8 * 16},
        {"aten::_grouped_mm", "[[100,8],[4,9,16]]", NULL, 0},

        {"aten::convolution", "[[10,256,14,14],[512,256,3,3],[],[],[],[],[],[],[]]",
         "[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\"]",
         2.0 * 10 * 512 * 7 * 7 * 256 * 9},
        {"aten::miopen_convolution", "[[10,256,14,14],[512,256,3,3]]",
         "[\"\",\"\",\"\",\"[1, 1]\",\"[2, 2]\",\"[1, 1]\",\"1\",\"False\",\"False\"]",
         2.0 * 10 * 512 * 7 * 7 * 256 * 9},
        {"aten::cudnn_convolution", "[[10,256,14,14],[512,128,3,3]]", /* two groups */
         "[\"\",\"\",\"[1]\",\"[2]\",\"[1]\",\"2\"]", 2.0 * 10 * 512 * 7 * 7 * 128 * 9},
        {"aten::convolution", "[[2,8,5,5],[8,4,3,3]]", /* transposed */
         "[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"True\",\"[0, 0]\",\"1\"]",
         2.0 * 2 * 8 * 5 * 5 * 4 * 9},
        {"aten::convolution_backward", "[[10,512,7,7],[10,256,14,14],[512,256,3,3]]",
         "[\"\",\"\",\"\",\"[0]\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\","
         "\"[True, True, False]\"]",
         2.0 * 2 * 10 * 512 * 7 * 7 * 256 * 9},
        {"aten::convolution_backward", "[[10,512,7,7],[10,256,14,14],[512,256,3,3]]",
         "[\"\",\"\",\"\",\"[0]\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\","
         "\"[False, True, True]\"]",
         2.0 * 10 * 512 * 7 * 7 * 256 * 9},
        {"aten::convolution", "[[10,256,14,14],[512,256,3,3]]", NULL, 0}, /* stride not recorded */
        {"aten::convolution", "[[10,256,2,2],[512,256,5,5]]",
         "[\"\",\"\",\"\",\"[1, 1]\",\"[0, 0]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\"]", 0},

        {"aten::_flash_attention_forward", "[[2,100,8,64],[2,100,8,64],[2,100,8,64],[],[]]",
         "[\"\",\"\",\"\",\"\",\"\",\"100\",\"100\",\"0.\",\"False\",\"False\"]",
         2.0 * 2 * 8 * 100 * 100 * (64 + 64)},
        {"aten::_flash_attention_forward", "[[2,100,8,64],[2,100,8,64],[2,100,8,64],[],[]]",
         "[\"\",\"\",\"\",\"\",\"\",\"100\",\"100\",\"0.\",\"True\",\"False\"]",
         2.0 * 2 * 8 * (100 * 101 / 2) * (64 + 64)},
        {"aten::_scaled_dot_product_flash_attention", "[[2,8,1,64],[2,2,50,64],[2,2,50,64]]",
         "[\"\",\"\",\"\",\"0.\",\"True\",\"False\"]", 2.0 * 2 * 8 * 50 * (64 + 64)},
        {"aten::_scaled_dot_product_flash_attention_backward",
         "[[2,8,100,64],[2,8,100,64],[2,8,100,64],[2,8,100,64],[],[],[],[]]",
         "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"100\",\"100\",\"0.\",\"False\"]",
         2.0 * 2 * 8 * 100 * 100 * 5 * 64},
        {"aten::_efficient_attention_forward", "[[2,100,8,64],[2,100,8,64],[2,100,8,32]]",
         "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"0.\",\"1\",\"False\"]",
         2.0 * 2 * 8 * (100 * 101 / 2) * (64 + 32)},
        {"aten::_flash_attention_forward", "[[200,8,64],[200,8,64],[200,8,64],[3],[3]]",
         "[\"\",\"\",\"\",\"\",\"\",\"100\",\"100\",\"0.\",\"False\",\"False\"]", 0},
        {"aten::_flash_attention_forward", "[[2,100,8,64],[2,100,8,64],[2,100,8,64],[],[]]", NULL,
         0}, /* causal or not: not recorded */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_DOUBLE(product(rows[i].op, rows[i].dims, rows[i].values).flops, rows[i].flops, 0);
    /* More places than an integer can count are no other number of them. */
    CHECK_DOUBLE(product("aten::convolution", "[[1,1,3],[1,1,1]]",
                         "[\"\",\"\",\"\",\"[1]\",\"[9000000000000000000]\",\"[1]\",\"False\"]")
                     .flops,
                 2 * 18e18, 1e-9);
    CHECK_INT(product("aten::_grouped_mm", "[[100,8],[4,8,16],[4]]", NULL).dtype, SPECTER_BF16);
}

static void add(struct run *run, const char *name, int64_t start_ns, int64_t dur_ns)
{
    device_op(run, 0, -1, UNKNOWN_NS, UNKNOWN_NS, start_ns, start_ns + dur_ns)->name = name;
}

static int64_t chosen_op[2];

static void choose(void *ctx, size_t call, size_t op)
{
    (void)ctx;
    chosen_op[call] = (int64_t)op;
}

/* Names of cuBLAS, CUTLASS, hipBLASLt and Triton, in any order and case: the first in time that is
 * no second pass, with the time of all. */
TEST(product_kernels)
{
    static const struct {
        const char *name, *pass;
    } rows[] = {
        {"nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT",
         "void cublasLt::splitKreduce_kernel<32, 16, int, float>"},
        {"nvjet_sm100_tst_64x8_64x16_1x4_h_bz_splitk_tnt",
         "void cublaslt::splitkreduce_kernel<32, 16, int, float>"},
        {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>",
         "void cutlass::Kernel2<cutlass::reduction::kernel::ReduceSplitK<x>>"},
        {"Cijk_Ailk_Bljk_MT64x64x32_GSU8", "Cijk_D_PostGSU8_VW4"},
        {"_gemm_splitk_kernel", "_gemm_splitk_reduce_kernel"},
    };
    struct product gemm = {.m = 4, .n = 16, .k = 8, .batch = 1, .kind = PRODUCT_GEMM};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int reverse = 0; reverse < 2; reverse++) {
            struct run run;
            struct rank *rank;
            struct product_kernel list[] = {{0, 0, &gemm}, {0, 1, &gemm}, {0, 2, &gemm}};
            device_run(&run, 1);
            rank = &run.ranks[0];
            add(&run, "vectorized_elementwise_kernel", 50, 1000); /* no part of it */
            add(&run, reverse ? rows[i].pass : rows[i].name, reverse ? 200 : 100, reverse ? 5 : 15);
            add(&run, reverse ? rows[i].name : rows[i].pass, reverse ? 100 : 200, reverse ? 15 : 5);
            products_assign(rank, list, 3, choose, NULL);
            CHECK_INT(chosen_op[0], 1 + reverse);
            CHECK_INT(rank->ops[1 + reverse].class, OP_GEMM);
            CHECK_INT(rank->ops[2 - reverse].class, OP_KERNEL);
            CHECK_INT(rank->ops[1 + reverse].dur_ns, 15);
            CHECK_INT(op_rest_ns(&rank->ops[1 + reverse]), 5);
            CHECK_DOUBLE(op_flops(&rank->ops[1 + reverse]), 2.0 * 4 * 16 * 8, 0);
            run_release(&run);
        }
    }
}

TEST(product_kernels_of_other_operators)
{
    struct product attention = {.flops = 1000, .kind = PRODUCT_ATTENTION};
    struct product conv = {.flops = 500, .kind = PRODUCT_CONV, .dtype = SPECTER_FP32};
    struct product_kernel list[] = {
        {0, 0, &attention}, {0, 1, &attention}, {1, 2, &conv}, {1, 3, &conv}};
    struct run run;
    struct rank *rank;
    device_run(&run, 1);
    rank = &run.ranks[0];
    add(&run, "flash_bwd_dot_do_o_kernel", 10, 2);
    add(&run, "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", 20, 30);
    add(&run, "cudnn::engines_precompiled::nchwToNhwcKernel", 60, 4);
    add(&run, "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw", 70, 9);
    products_assign(rank, list, 4, NULL, NULL);
    CHECK_INT(rank->ops[0].class, OP_KERNEL);
    CHECK_DOUBLE(op_flops(&rank->ops[0]), 1000, 0);
    CHECK_INT(op_rest_ns(&rank->ops[0]), 30);
    CHECK_DOUBLE(op_flops(&rank->ops[1]) + op_flops(&rank->ops[2]), 0, 0);
    CHECK_DOUBLE(op_flops(&rank->ops[3]), 500, 0);
    CHECK_INT(rank->ops[3].kernel.compute, SPECTER_TF32);
    run_release(&run);
}

/* A sum whose product is not in the recording is none, and Winograd's way takes other operations.
 */
TEST(product_kernels_that_are_none)
{
    struct product gemm = {.m = 4, .n = 16, .k = 8, .batch = 1, .kind = PRODUCT_GEMM};
    struct product conv = {.flops = 500, .kind = PRODUCT_CONV};
    struct product_kernel list[] = {{0, 0, &gemm}, {1, 1, &conv}};
    struct run run;
    struct rank *rank;
    device_run(&run, 1);
    rank = &run.ranks[0];
    add(&run, "void cublasLt::splitKreduce_kernel<32, 16, int, float>", 10, 2);
    add(&run, "ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", 20, 30);
    chosen_op[0] = chosen_op[1] = -1;
    products_assign(rank, list, 2, choose, NULL);
    CHECK_INT(chosen_op[0], -1);
    CHECK_INT(rank->ops[0].class, OP_KERNEL);
    CHECK_INT(chosen_op[1], 1);
    CHECK_DOUBLE(op_flops(&rank->ops[1]), 0, 0);
    run_release(&run);
}
