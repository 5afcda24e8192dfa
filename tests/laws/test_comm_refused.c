/* SPDX-License-Identifier: MIT
 *
 * Inputs that the communication models refuse, and the limits of those that they accept.
 */
#include "comm_cases.h"
#include "test.h"

#include <math.h>

static const struct network_profile toy_net = {
    .name = "toy",
    .intra = "nvswitch",
    .inter = "infiniband",
    .gpus_per_node = 4,
    .intra_GBps = 100,
    .nics_per_node = 2,
    .nic_Gbps = 200,
    .node.start_us = 10,
};

static const struct gpu_profile toy_gpu = {
    .name = "toy", .cc = 80, .nvlink_GBps = 100, .pcie_GBps = 50};

static const char *refusal(const struct network_profile *net, enum specter_comm_op op, double bytes,
                           struct layout where)
{
    static struct err e;
    struct comm_cost c;
    e.msg[0] = '\0';
    CHECK_INT(model_collective(&toy_gpu, net, op, bytes, where, &c, &e), -1);
    CHECK_INT(e.code, ERR_USAGE);
    return e.msg;
}

TEST(model_comm_refuses_what_it_cannot_know)
{
    const enum specter_comm_op op = SPECTER_ALLREDUCE;
    const struct network_profile *single = network_profile_find("single_node_nvlink", NULL);
    struct network_profile poor = toy_net;
    struct comm_cost c;
    struct err e;
    CHECK_STR(refusal(single, op, 1, layout_dense(single, 16)),
              "network 'single_node_nvlink' has no network between nodes (nics_per_node is 0): 16 "
              "ranks need 2 nodes");
    CHECK_INT(model_p2p(&toy_gpu, single, 1, true, &c, &e), -1);
    CHECK_HAS(e.msg, "a message cannot leave the node");
    poor.nic_Gbps = 0;
    CHECK_STR(refusal(&poor, op, 1, layout_dense(&poor, 8)),
              "network profile 'toy' lacks nic_Gbps");
    poor.intra_GBps = 0;
    CHECK_STR(refusal(&poor, op, 1, layout_dense(&poor, 4)),
              "network profile 'toy' lacks intra_GBps");
    poor.gpus_per_node = 0;
    CHECK_STR(refusal(&poor, op, 1, layout_dense(&poor, 1)),
              "network profile 'toy' lacks gpus_per_node");
    CHECK_STR(refusal(&toy_net, SPECTER_SEND, 1, layout_dense(&toy_net, 2)),
              "'Send' is no collective");
    CHECK_HAS(refusal(&toy_net, SPECTER_COMM_OP_COUNT, 1, layout_dense(&toy_net, 2)),
              "is no collective");
}

TEST(model_comm_refuses_nonsense)
{
    const enum specter_comm_op op = SPECTER_ALLREDUCE;
    CHECK_HAS(refusal(&toy_net, op, -1, layout_dense(&toy_net, 2)), "is no number of bytes");
    CHECK_HAS(refusal(&toy_net, op, NAN, layout_dense(&toy_net, 2)), "is no number of bytes");
    CHECK_HAS(refusal(&toy_net, op, INFINITY, layout_dense(&toy_net, 2)), "is no number of bytes");
    CHECK_HAS(refusal(&toy_net, op, 1, (struct layout){0, 1, 1}), "0 ranks cannot sit on 1 nodes");
    CHECK_HAS(refusal(&toy_net, op, 1, (struct layout){4, 5, 1}), "cannot sit");
    CHECK_HAS(refusal(&toy_net, op, 1, (struct layout){9, 2, 4}), "cannot sit");
    CHECK_HAS(refusal(&toy_net, op, 1, (struct layout){8, 1, 8}),
              "a node of network 'toy' has 4 GPUs: 8 ranks do not fit");
}

TEST(model_comm_layout_fills_nodes)
{
    struct layout w = layout_dense(&toy_net, 9);
    CHECK_INT(w.nodes, 3);
    CHECK_INT(w.per_node, 4);
    CHECK_INT(w.ranks, 9);
    w = layout_dense(&toy_net, 3);
    CHECK_INT(w.nodes, 1);
    CHECK_INT(w.per_node, 3);
}

TEST(model_comm_one_rank_costs_its_start)
{
    for (int op = 0; op < COMM_OPS; op++) {
        struct comm_cost c;
        CHECK_INT(model_collective(&toy_gpu, &toy_net, (enum specter_comm_op)op, 1 << 30,
                                   layout_dense(&toy_net, 1), &c, NULL),
                  0);
        CHECK_DOUBLE(c.us, 10, 0);
        CHECK_DOUBLE(c.bw_GBps, 0, 0);
        CHECK_STR(c.algo, "none");
    }
}

TEST(model_comm_huge_numbers_stay_finite)
{
    const struct layout sparse = {.ranks = INT32_MAX, .nodes = INT32_MAX - 3, .per_node = 4};
    const struct layout dense = layout_dense(&toy_net, INT32_MAX);
    struct comm_cost c;
    CHECK_INT(model_collective(&toy_gpu, &toy_net, SPECTER_ALLREDUCE, 1, sparse, &c, NULL), 0);
    CHECK(isfinite(c.us));
    for (int op = 0; op < COMM_OPS; op++) {
        CHECK_INT(model_collective(&toy_gpu, &toy_net, (enum specter_comm_op)op,
                                   18446744073709551615.0, dense, &c, NULL),
                  0);
        CHECK(isfinite(c.us) && c.us > 0);
    }
}
