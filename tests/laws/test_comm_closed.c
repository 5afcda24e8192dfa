/* SPDX-License-Identifier: MIT
 *
 * Two ranks: what collectives take in closed form, from their definitions. All fitted parameters
 * are given, with what only delays (ramps, a GPU's copies to itself) as good as nothing.
 */
#include "model/cost.h"
#include "test.h"

#include <math.h>

#define NOTHING 1e-9

/* 100 GB/s and 1 us a step in a node; 25 GB/s (one of two ports) and 8 us between nodes. */
static const struct network_profile toy_net = {
    .name = "toy",
    .intra = "nvswitch",
    .inter = "infiniband",
    .gpus_per_node = 4,
    .intra_GBps = 100,
    .nics_per_node = 2,
    .nic_Gbps = 200,
    .node = {.start_us = 10,
             .step_us = 1,
             .simple_us = 2,
             .sync_us = 3,
             .ll_GBps = 1 / NOTHING,
             .link_share = 1,
             .copy_ratio = 1 / NOTHING,
             .ramp_us = NOTHING,
             .host_share = 1 / NOTHING},
    .net = {.hop_us = 8,
            .hop_sync_us = 9,
            .net_ll_GBps = 1 / NOTHING,
            .nic_share = 1,
            .net_ramp_us = NOTHING},
};

static const struct gpu_profile toy_gpu = {
    .name = "toy", .arch = "toy", .cc = 80, .nvlink_GBps = 100, .pcie_GBps = 50};

static const struct layout one_node = {2, 1, 2}, two_nodes = {2, 2, 1};

static double us_on(const struct gpu_profile *gpu, const struct network_profile *net,
                    enum specter_comm_op op, double bytes, struct layout where, const char *proto)
{
    const struct comm_choice choice = {.proto = proto, .channels = 8};
    struct comm_cost cost = {.us = NAN};
    struct err e = {0};
    CHECK_INT_OF(proto, model_collective_as(gpu, net, op, bytes, where, &choice, &cost, &e), 0);
    CHECK_STR_OF(specter_comm_op_name(op), e.msg, "");
    return cost.us;
}

static double us(enum specter_comm_op op, double bytes, struct layout where, const char *proto)
{
    return us_on(&toy_gpu, &toy_net, op, bytes, where, proto);
}

/* Share of S that crosses a link, and steps in a row. */
static const struct {
    enum specter_comm_op op;
    double share, steps;
} ops[] = {
    {SPECTER_ALLREDUCE, 1, 2}, /* half of S for the sum of a half, half to spread it */
    {SPECTER_ALLGATHER, 0.5, 1}, {SPECTER_REDUCESCATTER, 0.5, 1}, {SPECTER_BROADCAST, 1, 1},
    {SPECTER_REDUCE, 1, 1},      {SPECTER_ALLTOALL, 0.5, 0},      {SPECTER_ALLTOALLV, 0.5, 0},
    {SPECTER_GATHER, 0.5, 0},    {SPECTER_SCATTER, 0.5, 0},
};

#define OPS (sizeof ops / sizeof *ops)

/* Time of one byte more, as 1 / (GB/s). */
static double slope(enum specter_comm_op op, struct layout where, const char *proto)
{
    return (us(op, 2e12, where, proto) - us(op, 1e12, where, proto)) / 1e9;
}

TEST(comm_closed_two_ranks_send_their_share)
{
    for (size_t i = 0; i < OPS; i++) {
        CHECK_DOUBLE(slope(ops[i].op, one_node, "Simple"), ops[i].share / 100, 1e-6);
        CHECK_DOUBLE(slope(ops[i].op, two_nodes, "Simple"), ops[i].share / 25, 1e-6);
        if (ops[i].steps > 0)
            CHECK_DOUBLE(slope(ops[i].op, one_node, "LL"), 2 * ops[i].share / 100, 1e-6);
        else /* 8 blocks are slower than the link */
            CHECK_DOUBLE(slope(ops[i].op, one_node, "LL"), ops[i].share / (8 * 5.8), 1e-6);
    }
}

/* Nothing to send: the start and the steps alone. Half of Simple's in a node moves bytes. */
TEST(comm_closed_two_ranks_take_their_steps)
{
    for (size_t i = 0; i < OPS; i++) {
        if (ops[i].steps == 0)
            continue;
        CHECK_DOUBLE(us(ops[i].op, 0, one_node, "LL"), 10 + ops[i].steps * 1, 1e-12);
        CHECK_DOUBLE(us(ops[i].op, 0, two_nodes, "LL"), 10 + ops[i].steps * 8, 1e-12);
        CHECK_DOUBLE(us(ops[i].op, 0, one_node, "Simple"), 12 + ops[i].steps * 1.5, 1e-12);
        CHECK_DOUBLE(us(ops[i].op, 0, two_nodes, "Simple"), 12 + ops[i].steps * 9, 1e-12);
    }
}

/* Four ranks pass chunks of 8 x 512 KiB on. The last one has the way past the two others before it,
 * half of it overlapped; its bytes count there, so that a step is the half that does not move
 * any. */
TEST(comm_closed_chunks_are_passed_on_once)
{
    const struct layout four = {4, 1, 4};
    for (double bytes = 1 << 20; bytes <= 1 << 28; bytes *= 16) {
        double chunk = fmin(bytes, 8 * 524288);
        CHECK_DOUBLE(us(SPECTER_BROADCAST, bytes, four, "Simple"),
                     12 + 3 * 1.5 + (bytes + chunk) / 100e3, 1e-6);
        CHECK_DOUBLE(us(SPECTER_REDUCE, bytes, four, "Simple"),
                     12 + 3 * 1.5 + (bytes + chunk) / 100e3, 1e-6);
    }
}

TEST(comm_closed_two_messages_cross_one_link)
{
    struct comm_cost half, whole;
    for (int across = 0; across <= 1; across++) {
        CHECK_INT(model_p2p(&toy_gpu, &toy_net, 1e12, across, &half, NULL), 0);
        CHECK_INT(model_p2p(&toy_gpu, &toy_net, 2e12, across, &whole, NULL), 0);
        CHECK_DOUBLE((whole.us - half.us) / 1e9, across ? 1 / 25.0 : 1 / 100.0, 1e-6);
        CHECK_STR(whole.bound, across ? "inter" : "intra");
        CHECK_DOUBLE(whole.bw_GBps, across ? 25 : 100, 1e-6);
    }
}

/* Time of one byte more of an AllGather, as 1 / (GB/s): (n-1)/n over the rate of a ring's link. */
static double ring_GBps(const struct gpu_profile *gpu, const struct network_profile *net, int ranks,
                        int per_node)
{
    struct layout where = {ranks, (ranks + per_node - 1) / per_node, per_node};
    double more = us_on(gpu, net, SPECTER_ALLGATHER, 2e12, where, "Simple") -
                  us_on(gpu, net, SPECTER_ALLGATHER, 1e12, where, "Simple");
    return (ranks - 1.0) / ranks * 1e9 / more;
}

/* Two ports carry a node's 50 GB/s; a rank alone on its node has the one beside it. */
TEST(comm_closed_rings_use_all_ports_of_the_emptiest_node)
{
    CHECK_DOUBLE(ring_GBps(&toy_gpu, &toy_net, 8, 4), 50, 1e-6);
    CHECK_DOUBLE(ring_GBps(&toy_gpu, &toy_net, 9, 4), 25, 1e-6);
    CHECK_DOUBLE(ring_GBps(&toy_gpu, &toy_net, 4, 1), 25, 1e-6);
}

TEST(comm_closed_mesh_pairs_have_their_own_share)
{
    struct network_profile mesh = toy_net;
    mesh.intra = "nvlink_mesh";
    mesh.pair_GBps = 40;
    CHECK_DOUBLE(ring_GBps(&toy_gpu, &mesh, 2, 2), 40, 1e-6);
    CHECK_DOUBLE(ring_GBps(&toy_gpu, &mesh, 4, 4), 100, 1e-6);
}

TEST(comm_closed_payload_gets_its_share_of_each_rate)
{
    struct network_profile lossy = toy_net;
    lossy.node.link_share = 0.5;
    lossy.net.nic_share = 0.25;
    CHECK_DOUBLE(ring_GBps(&toy_gpu, &lossy, 4, 4), 50, 1e-6);
    CHECK_DOUBLE(ring_GBps(&toy_gpu, &lossy, 8, 4), 12.5, 1e-6);
}

TEST(comm_closed_gpu_links_limit_the_fabric)
{
    struct gpu_profile slow = toy_gpu, plain = toy_gpu, unknown = toy_gpu;
    slow.nvlink_GBps = 30;
    plain.nvlink_GBps = 0;
    plain.pcie_GBps = 10;
    unknown.nvlink_GBps = unknown.pcie_GBps = 0;
    CHECK_DOUBLE(ring_GBps(&slow, &toy_net, 4, 4), 30, 1e-6);
    CHECK_DOUBLE(ring_GBps(&plain, &toy_net, 4, 4), 10, 1e-6);
    CHECK_DOUBLE(ring_GBps(&plain, &toy_net, 8, 4), 10, 1e-6);
    CHECK_DOUBLE(ring_GBps(&unknown, &toy_net, 4, 4), 100, 1e-6);
}
