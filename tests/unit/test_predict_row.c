/* SPDX-License-Identifier: MIT */
#include "calib/predict_row.h"
#include "test.h"

#include <math.h>

/* A row of sendrecv_perf, or of an AllReduce. */
static struct measured_row made_row(const char *gpu, const char *net, int ranks, int nodes)
{
    return (struct measured_row){
        .kind = MEASURED_P2P,
        .gpu = gpu_profile_find(gpu, NULL),
        .net = network_profile_find(net, NULL),
        .op = SPECTER_SEND,
        .bytes = 1 << 26,
        .where = {ranks, nodes, (ranks + nodes - 1) / nodes},
    };
}

static double row_us(const struct measured_row *row)
{
    struct row_prediction p;
    return predict_row(row, row->gpu, row->net, &p, NULL) == 0 ? p.us : NAN;
}

static double message_us(const struct measured_row *row, bool across)
{
    struct comm_cost cost;
    return model_p2p(row->gpu, row->net, row->bytes, across, &cost, NULL) == 0 ? cost.us : NAN;
}

TEST(predict_row_of_messages_takes_the_slowest_pair)
{
    struct measured_row row = made_row("h100_sxm", "dgx_h100_400g", 8, 1);
    CHECK_DOUBLE(row_us(&row), message_us(&row, false), 0);
    row.where = (struct layout){16, 2, 8};
    CHECK_DOUBLE(row_us(&row), fmax(message_us(&row, false), message_us(&row, true)), 0);
    CHECK(message_us(&row, true) > message_us(&row, false));
    row.where = (struct layout){2, 2, 1};
    CHECK_DOUBLE(row_us(&row), message_us(&row, true), 0);
}

/* Either way has its own rate on NVLink and between nodes; through host memory both share it. */
TEST(predict_row_of_a_direction)
{
    struct measured_row row = made_row("h100_sxm", "dgx_h100_400g", 2, 1);
    double one;
    row.direction = COMM_ONE_WAY;
    CHECK_DOUBLE(row_us(&row), message_us(&row, false), 0);
    row.direction = COMM_BOTH_WAYS;
    CHECK_DOUBLE(row_us(&row), message_us(&row, false), 0);
    row.where = (struct layout){2, 2, 1};
    CHECK_DOUBLE(row_us(&row), message_us(&row, true), 0);
    row = made_row("rtx_4090", "consumer_pcie", 2, 1);
    one = message_us(&row, false);
    row.direction = COMM_BOTH_WAYS;
    CHECK(row_us(&row) > 1.2 * one && row_us(&row) < 2 * one);
}

/* To seven others through one port; between nodes through NICs that eight GPUs share. */
TEST(predict_row_of_all_pairs)
{
    struct measured_row row = made_row("h100_sxm", "dgx_h100_400g", 8, 1);
    struct comm_cost alltoall;
    double within;
    row.direction = COMM_ALL_PAIRS;
    within = row_us(&row);
    CHECK(within > 5 * message_us(&row, false) && within < 7 * message_us(&row, false));
    CHECK_INT(model_collective(row.gpu, row.net, SPECTER_ALLTOALL, 8 * row.bytes, row.where,
                               &alltoall, NULL),
              0);
    CHECK(within < alltoall.us && within > 0.8 * alltoall.us); /* which copies its own part, too */
    row.where = (struct layout){16, 2, 8};
    CHECK(row_us(&row) > 7 * message_us(&row, true));
}

TEST(predict_row_counts_an_nvlink_domain_as_one_node)
{
    struct measured_row row = made_row("gb200", "gb200_nvl72", 72, 18);
    CHECK(!predict_row_leaves_node(&row));
    CHECK_DOUBLE(row_us(&row), message_us(&row, false), 0);
    row.where = (struct layout){144, 36, 4};
    CHECK(predict_row_leaves_node(&row));
    CHECK_DOUBLE(row_us(&row), message_us(&row, true), 0);
}

TEST(predict_row_takes_the_profiles_it_is_given)
{
    struct measured_row row = made_row("h100_sxm", "dgx_h100_400g", 8, 1);
    struct network_profile slow = *row.net;
    struct row_prediction p;
    row.kind = MEASURED_COLLECTIVE;
    row.op = SPECTER_ALLREDUCE;
    slow.node.link_share = 0.1;
    CHECK_INT(predict_row(&row, row.gpu, &slow, &p, NULL), 0);
    CHECK(p.us > 2 * row_us(&row));
}

TEST(predict_row_of_a_product_is_that_of_its_benchmark)
{
    struct measured_row row = {
        .kind = MEASURED_GEMM,
        .gpu = gpu_profile_find("h100_sxm", NULL),
        .m = 16,
        .n = 4096,
        .k = 4096,
        .batch = 1,
        .dtype = SPECTER_FP8E4M3,
        .lib = "torch",
    };
    struct gemm_shape shape = {.m = 16, .n = 4096, .k = 4096, .batch = 1, .type = SPECTER_FP8E4M3};
    struct gemm_cost cost;
    double plain = row_us(&row);
    shape.type_c = shape.compute = SPECTER_DTYPE_UNKNOWN;
    gemm_shape_of_bench(row.gpu, "torch", &shape);
    CHECK_INT(model_gemm(row.gpu, &shape, &cost, NULL), 0);
    CHECK_DOUBLE(plain, cost.busy_us, 0);
    row.cache = GEMM_CACHE_HOT;
    CHECK_DOUBLE(row_us(&row), plain, 0);
    row.cache = GEMM_CACHE_COLD;
    shape.hot_sets = 0;
    CHECK_INT(model_gemm(row.gpu, &shape, &cost, NULL), 0);
    CHECK_DOUBLE(row_us(&row), cost.busy_us, 0);
    CHECK(row_us(&row) > plain);
    row.cache = GEMM_CACHE_UNTOLD;
    row.lib = "torch_flow (TRTLLM 1.3.0rc20)"; /* quantises in each call */
    CHECK(row_us(&row) > plain);
}
