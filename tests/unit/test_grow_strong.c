/* SPDX-License-Identifier: MIT
 *
 * Strong scaling: which dimension of products counts tokens, and what is left of each operation.
 */
#include "test.h"

#include "made_device.h"
#include "sim/replay/replay.h"
#include "sim/scaling/scaling.h"
#include "sim/target/retarget.h"

#include <math.h>
#include <string.h>

struct made_product {
    const char *trans;
    uint32_t m, n, k, batch;
};

#define PRODUCTS_MAX 8

/* One rank, data-parallel with another, whose one iteration is these products. */
struct made_batch {
    struct run run;
    struct arena arena;
    struct grid grid;
    struct weak_scaling growth;
    struct rank_steps iterations[1];
    uint32_t of[PRODUCTS_MAX];
    struct strong_scaling strong;
};

/* inside: products of the iteration, the first ones; the others are outside of it. */
static void find_inside(struct made_batch *b, const struct made_product *list, int inside,
                        enum grid_role grow)
{
    static const struct grid_input in = {.world = 1, .steps = 1};
    device_run(&b->run, 1);
    arena_init(&b->arena);
    for (int i = 0; i < PRODUCTS_MAX && list[i].m > 0; i++) {
        struct op *op =
            device_gemm(device_at(&b->run, 0, 0, 0), SPECTER_FP16, list[i].m, list[i].n, list[i].k);
        op->gemm.batch = list[i].batch > 0 ? list[i].batch : 1;
        memcpy(op->gemm.trans, list[i].trans, strlen(list[i].trans) + 1);
        b->of[i] = i < inside ? 0 : STEP_NONE;
    }
    b->iterations[0] = (struct rank_steps){.count = 1, .of = b->of};
    grid_find(&b->grid, &in);
    weak_scaling_init(&b->growth, &b->run, &b->grid, grow);
    strong_scaling_find(&b->strong, &b->growth, b->iterations, &b->arena);
}

static void find(struct made_batch *b, const struct made_product *list, enum grid_role grow)
{
    find_inside(b, list, PRODUCTS_MAX, grow);
}

static void drop(struct made_batch *b)
{
    weak_scaling_release(&b->growth);
    grid_release(&b->grid);
    arena_release(&b->arena);
    run_release(&b->run);
}

static struct gemm_shape left_of(const struct made_batch *b, size_t i, int64_t scale)
{
    const struct op *op = &b->run.ranks[0].ops[i];
    struct gemm_shape shape = {
        .m = op->gemm.m, .n = op->gemm.n, .k = op->gemm.k, .batch = op->gemm.batch};
    strong_scaling_divide(&b->strong, op, scale, &shape);
    return shape;
}

static void check_shape(struct gemm_shape got, uint64_t m, uint64_t n, uint64_t k, uint64_t batch)
{
    CHECK_INT((int64_t)got.m, (int64_t)m);
    CHECK_INT((int64_t)got.n, (int64_t)n);
    CHECK_INT((int64_t)got.k, (int64_t)k);
    CHECK_INT((int64_t)got.batch, (int64_t)batch);
}

/* Forward, gradient of the input, gradient of the weight of [512 -> 2048], as PyTorch asks for
 * them, with attention's batches. */
TEST(strong_products_of_pytorch)
{
    static const struct made_product list[PRODUCTS_MAX] = {{"TN", 2048, 4096, 512, 0},
                                                           {"NN", 512, 4096, 2048, 0},
                                                           {"NT", 512, 2048, 4096, 0},
                                                           {"TN", 128, 128, 64, 96}};
    struct made_batch b;
    struct err e;
    find(&b, list, GRID_DP);
    CHECK(b.strong.refused == NULL);
    CHECK_INT(b.strong.tokens, 4096);
    check_shape(left_of(&b, 0, 4), 2048, 1024, 512, 1);
    check_shape(left_of(&b, 1, 4), 512, 1024, 2048, 1);
    check_shape(left_of(&b, 2, 4), 512, 2048, 1024, 1);
    check_shape(left_of(&b, 3, 4), 128, 128, 64, 24);
    CHECK_INT(strong_scaling_check(&b.strong, 32, &e), 0);
    CHECK_INT(strong_scaling_check(&b.strong, 64, &e), -1);
    CHECK_HAS(e.msg, "does not divide batches of 96 GEMMs");
    CHECK_INT(strong_scaling_check(&b.strong, 3, &e), -1);
    CHECK_HAS(e.msg, "scale 3 does not divide the 4096 tokens");
    drop(&b);
}

/* Outside of the iteration, a dimension that cannot count tokens and a batch that the scale does
 * not divide stay. */
TEST(strong_products_outside)
{
    static const struct made_product list[PRODUCTS_MAX] = {
        {"TN", 2048, 4096, 512, 0}, {"NN", 512, 4096, 2048, 0}, {"TN", 64, 32, 4096, 0},
        {"NT", 64, 32, 4096, 0},    {"TN", 128, 128, 64, 2},    {"TN", 128, 128, 64, 8}};
    struct made_batch b;
    find_inside(&b, list, 2, GRID_DP);
    CHECK(b.strong.refused == NULL);
    CHECK_INT(b.strong.tokens, 4096);
    check_shape(left_of(&b, 2, 4), 64, 32, 4096, 1);
    check_shape(left_of(&b, 3, 4), 64, 32, 1024, 1);
    check_shape(left_of(&b, 4, 4), 128, 128, 64, 2);
    check_shape(left_of(&b, 5, 4), 128, 128, 64, 2);
    drop(&b);
}

/* Tokens, hidden and inner width alike: how the factors lie tells the dimension all the same. */
TEST(strong_products_of_equal_sizes)
{
    static const struct made_product list[PRODUCTS_MAX] = {
        {"NN", 1024, 1024, 1024, 0}, {"NT", 1024, 1024, 1024, 0}, {"TN", 4096, 1024, 1024, 0}};
    struct made_batch b;
    find(&b, list, GRID_DP);
    CHECK(b.strong.refused == NULL);
    check_shape(left_of(&b, 0, 2), 1024, 512, 1024, 1);
    check_shape(left_of(&b, 1, 2), 1024, 1024, 512, 1);
    check_shape(left_of(&b, 2, 2), 4096, 512, 1024, 1);
    drop(&b);
}

TEST(strong_refuses)
{
    static const struct {
        struct made_product list[PRODUCTS_MAX];
        enum grid_role grow;
        const char *why;
    } cases[] = {
        {{{"TN", 2048, 4096, 512, 0}, {"TN", 2048, 4096, 1024, 0}},
         GRID_DP,
         "2048 and 4096 may both be the tokens"},
        {{{"", 2048, 4096, 512, 0}, {"", 512, 4096, 2048, 0}}, GRID_DP, "may both be the tokens"},
        {{{"", 4096, 4096, 4096, 0}}, GRID_DP, "two dimensions are 4096"},
        {{{"TN", 4096, 4096, 512, 0}}, GRID_DP, "two dimensions are 4096"},
        {{{"NN", 2048, 4096, 512, 0}, {"NN", 512, 1024, 2048, 0}},
         GRID_DP,
         "2048 x 4096 x 512 (NN) and 512 x 1024 x 2048 (NN) have none in common"},
        {{{"", 0, 0, 0, 0}}, GRID_DP, "no GEMM shows the tokens"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_batch b;
        struct err e;
        find(&b, cases[i].list, cases[i].grow);
        CHECK_HAS(b.strong.refused, cases[i].why);
        CHECK_INT(strong_scaling_check(&b.strong, 1, &e), 0);
        CHECK_INT(strong_scaling_check(&b.strong, 2, &e), -1);
        drop(&b);
    }
}

/* The start and end of a kernel stay, the rest is divided; and weights stay. */
TEST(strong_kernels)
{
    CHECK_DOUBLE(strong_scaling_kernel_ns(SPECTER_KERNEL_ELEMENTWISE, 8000, 1500, 4), 3125, 0);
    CHECK_DOUBLE(strong_scaling_kernel_ns(SPECTER_KERNEL_ATTENTION, 8000, 1500, 8), 2312.5, 0);
    CHECK_DOUBLE(strong_scaling_kernel_ns(SPECTER_KERNEL_REDUCTION, 1000, 1500, 2), 1000, 0);
    CHECK_DOUBLE(strong_scaling_kernel_ns(SPECTER_KERNEL_OPTIMIZER, 8000, 1500, 4), 8000, 0);
    CHECK_DOUBLE(strong_scaling_kernel_ns(SPECTER_KERNEL_OTHER, 8000, 1500, 4), 8000, 0);
}

/* ---- the whole of it ---- */

/* The device does one after the other; the host is far ahead. */
static struct op *add(struct run *run, int64_t dur_ns, const char *name)
{
    const struct rank *rank = &run->ranks[0];
    const struct op *last = rank->nops > 0 ? &rank->ops[rank->nops - 1] : NULL;
    int64_t host_ns = (int64_t)rank->nops + 1;
    int64_t start_ns = last != NULL ? last->start_ns + last->dur_ns : host_ns;
    struct op *op = device_op(run, 0, 1, host_ns, host_ns, start_ns, start_ns + dur_ns);
    op->name = name;
    op->dtype = SPECTER_BF16;
    return op;
}

#define PRODUCT_NS 4000000

static int replay_strong(struct replay *rep, int64_t other_ns, bool strong, struct err *e)
{
    static const int64_t scales[] = {1, 2, 8};
    struct replay_opts opts = {.scales = scales, .nscales = 3, .calibrate = true, .strong = strong};
    struct run run;
    int rc;
    device_run_on(&run, 1, MADE_H100, COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_KERNELS);
    for (int i = 0; i < 5; i++) {
        struct op *op = device_gemm(add(&run, PRODUCT_NS, ""), SPECTER_BF16, 4096, 8192, 2048);
        memcpy(op->gemm.trans, "NN", 3);
        add(&run, 800000, "gelu_elementwise");
        add(&run, 500000, "fused_adam");
        add(&run, other_ns, "unheard_of");
    }
    rc = replay_run(rep, &run, &opts, e);
    run_release(&run);
    return rc;
}

static double product_us(uint64_t tokens)
{
    struct gemm_shape shape = {.m = 4096,
                               .n = tokens,
                               .k = 2048,
                               .batch = 1,
                               .type = SPECTER_BF16,
                               .type_c = SPECTER_BF16,
                               .compute = SPECTER_FP32};
    struct gemm_cost cost;
    CHECK_INT(model_gemm(gpu_profile_find("h100_sxm", NULL), &shape, &cost, NULL), 0);
    return cost.busy_us;
}

static double least_ns(void)
{
    const struct gemm_shape smallest = {.m = 1, .n = 1, .k = 1, .type = SPECTER_FP16};
    struct gemm_cost cost;
    CHECK_INT(model_gemm(gpu_profile_find("h100_sxm", NULL), &smallest, &cost, NULL), 0);
    return cost.busy_us * 1e3;
}

/* The needs of a GEMM, and the bytes of a transfer, are those of a rank's part at that scale. */
TEST(strong_parts_beside_each_other)
{
    struct grid_place place = {.known = true};
    struct grid grid = {.comms = &place, .ncomms = 1};
    struct weak_scaling growth = {.grid = &grid};
    struct strong_scaling strong = {.growth = &growth, .tokens = 8192};
    struct match match = {.op = SPECTER_ALLREDUCE, .dtype = SPECTER_BF16, .bytes = 8192 * 4096};
    struct program program = {.matches.list = &match};
    struct retarget t = {.program = &program,
                         .to.gpu = gpu_profile_find("h100_sxm", NULL),
                         .strong = &strong,
                         .scale = 1};
    struct op op = {.class = OP_GEMM,
                    .dtype = SPECTER_BF16,
                    .gemm = {.m = 4096, .n = 8192, .k = 2048, .batch = 1, .trans = "NN"}};
    const struct program_cost cost = {.match = 0};
    CHECK(!retarget_memory_bound(&t, &op));
    CHECK_DOUBLE(retarget_bytes(&t, &cost), 8192 * 4096, 0);
    t.scale = 128;
    CHECK(retarget_memory_bound(&t, &op));
    CHECK_DOUBLE(retarget_bytes(&t, &cost), 64 * 4096, 0);
}

TEST(strong_iteration)
{
    struct replay rep;
    struct err e;
    CHECK_INT(replay_strong(&rep, 100000, true, &e), 0);
    for (size_t i = 0; i < rep.nscales; i++) {
        int64_t n = rep.scales[i].scale;
        double gelu = least_ns() + (800000 - least_ns()) / (double)n;
        double ns =
            PRODUCT_NS * product_us(8192 / (uint64_t)n) / product_us(8192) + gelu + 500000 + 100000;
        CHECK_DOUBLE(rep.scales[i].time.span_ns, ns, 1e-6);
        CHECK_INT(isnan(rep.scales[i].speedup), n > 1); /* of a job that does not communicate */
        CHECK_INT(isnan(rep.scales[i].efficiency), n > 1);
    }
    CHECK_DOUBLE(rep.untold, 100000.0 / 5400000, 1e-9);
    replay_release(&rep);
}

/* Weak scaling of the same keeps the work. */
TEST(strong_is_not_weak)
{
    struct replay rep;
    struct err e;
    CHECK_INT(replay_strong(&rep, 100000, false, &e), 0);
    CHECK_DOUBLE(rep.scales[2].time.span_ns, rep.scales[0].time.span_ns, 0);
    replay_release(&rep);
}

TEST(strong_refuses_what_is_not_known)
{
    struct replay rep;
    struct err e;
    CHECK_INT(replay_strong(&rep, 2000000, true, &e), -1);
    CHECK_HAS(e.msg, "--strong: 27.4 % of the device time is work whose part in the batch is not");
    replay_release(&rep);
}
