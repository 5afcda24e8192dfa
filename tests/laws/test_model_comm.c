/* SPDX-License-Identifier: MIT
 *
 * What must hold of the communication models whatever their figures are.
 */
#include "model/cost.h"
#include "test.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define KiB 1024.0
#define MiB (1024 * KiB)
#define GiB (1024 * MiB)

/* Round figures: 100 GB/s in a node, 2 NICs of 200 Gb/s (25 GB/s each), payload is all. */
static const struct network_profile toy_net = {
    .name = "toy",
    .intra = "nvswitch",
    .inter = "infiniband",
    .gpus_per_node = 4,
    .intra_GBps = 100,
    .intra_lat_us = 1,
    .nics_per_node = 2,
    .nic_Gbps = 200,
    .inter_lat_us = 8,
    .launch_us = 10,
};

static const struct gpu_profile toy_gpu = {.name = "toy", .nvlink_GBps = 100, .pcie_GBps = 50};

static const int rank_counts[] = {1, 2, 3, 7, 8, 9, 16, 24, 64, 100, 1024};
static const double sizes[] = {0, 1, 8, KiB, 64 * KiB, MiB, 64 * MiB, GiB, 1024 * GiB};

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define LAST_COLLECTIVE SPECTER_SCATTER

static struct comm_cost comm_on(const struct gpu_profile *gpu, const struct network_profile *net,
                                enum specter_comm_op op, double bytes, int ranks)
{
    struct comm_cost cost = {.us = NAN};
    struct err e;
    if (model_collective(gpu, net, op, bytes, layout_dense(net, ranks), &cost, &e) < 0)
        test_fail(__FILE__, __LINE__, "%s on %s: %s", specter_comm_op_name(op), net->name, e.msg);
    return cost;
}

static double toy_us(enum specter_comm_op op, double bytes, int ranks)
{
    return comm_on(&toy_gpu, &toy_net, op, bytes, ranks).us;
}

static double named_us(const char *gpu, const char *net, enum specter_comm_op op, double bytes,
                       int ranks)
{
    return comm_on(gpu_profile_find(gpu, NULL), network_profile_find(net, NULL), op, bytes, ranks)
        .us;
}

/* Calls visit for every operation, rank count and network on which they fit together. */
static void for_each_case(void (*visit)(const struct network_profile *net, enum specter_comm_op op,
                                        int ranks))
{
    for (size_t i = 0; i < network_profile_count; i++) {
        const struct network_profile *net = &network_profiles[i];
        for (int op = 0; op <= LAST_COLLECTIVE; op++) {
            for (size_t r = 0; r < COUNT(rank_counts); r++) {
                if (net->nics_per_node > 0 || rank_counts[r] <= net->gpus_per_node)
                    visit(net, (enum specter_comm_op)op, rank_counts[r]);
            }
        }
    }
}

/* 1 MB at 100 GB/s take 10 us; LL halves the rate, a step of Simple takes 5.5 latencies. */
TEST(model_comm_two_ranks_closed_forms)
{
    const double byte = 1e6;
    CHECK_DOUBLE(toy_us(SPECTER_ALLREDUCE, byte, 2), 10 + 2 * 5.5 + 10, 1e-15);
    CHECK_DOUBLE(toy_us(SPECTER_ALLREDUCE, 1000, 2), 10 + 2 * 1 + 0.02, 1e-15);
    CHECK_DOUBLE(toy_us(SPECTER_ALLGATHER, byte, 2), 10 + 5.5 + 5, 1e-15);
    CHECK_DOUBLE(toy_us(SPECTER_REDUCESCATTER, byte, 2), 10 + 5.5 + 5, 1e-15);
    CHECK_DOUBLE(toy_us(SPECTER_BROADCAST, byte, 2), 10 + 5.5 + 10, 1e-15);
    CHECK_DOUBLE(toy_us(SPECTER_REDUCE, byte, 2), 10 + 5.5 + 10, 1e-15);
    CHECK_DOUBLE(toy_us(SPECTER_ALLTOALL, byte, 2), 10 + 5.5 + 5, 1e-15);
    CHECK_DOUBLE(toy_us(SPECTER_GATHER, byte, 2), 10 + 5.5 + 5, 1e-15);
    CHECK_DOUBLE(toy_us(SPECTER_SCATTER, 0, 2), 10 + 1, 1e-15);
}

TEST(model_comm_one_rank_costs_its_launch)
{
    for (int op = 0; op <= LAST_COLLECTIVE; op++) {
        struct comm_cost c = comm_on(&toy_gpu, &toy_net, (enum specter_comm_op)op, GiB, 1);
        CHECK_DOUBLE(c.us, 10, 0);
        CHECK_DOUBLE(c.bw_GBps, 0, 0);
        CHECK_STR(c.algo, "none");
    }
}

/* 8 ranks on 2 nodes of 4: a node's two NICs carry 50 GB/s together, the links of the node 100. */
TEST(model_comm_two_nodes_closed_forms)
{
    const double gb = 1e9;
    struct comm_cost c = comm_on(&toy_gpu, &toy_net, SPECTER_ALLREDUCE, gb, 8);
    CHECK_DOUBLE(c.us, 10 + 5.5 * (12 * 1 + 2 * 8) + 2 * 7.0 / 8 * gb / 50e3, 1e-15);
    CHECK_STR(c.algo, "ring");
    CHECK_STR(c.proto, "Simple");
    CHECK_STR(c.bound, "inter");
    CHECK_DOUBLE(c.bw_GBps, 50, 1e-15);
    /* 4 ranks send half of S each over the node's NICs */
    CHECK_DOUBLE(toy_us(SPECTER_ALLTOALL, gb, 8), 10 + 5.5 * (1 + 8) + 4 * 0.5 * gb / 50e3, 1e-15);
    /* the root alone, through the one NIC next to it */
    CHECK_DOUBLE(toy_us(SPECTER_GATHER, gb, 8), 10 + 5.5 * (1 + 8) + 0.5 * gb / 25e3, 1e-15);
}

TEST(model_comm_tree_serves_small_messages_on_many_nodes)
{
    struct comm_cost c = comm_on(&toy_gpu, &toy_net, SPECTER_ALLREDUCE, 0, 64);
    CHECK_STR(c.algo, "tree");
    CHECK_STR(c.proto, "LL");
    CHECK_STR(c.bound, "latency");
    CHECK_DOUBLE(c.us, 10 + 2 * 3 * 1 + 2 * 4 * 8, 1e-15); /* 16 nodes: depth 4 */
}

/* The 9th rank sits alone on the third node, and has one NIC. */
TEST(model_comm_ragged_last_node_limits_the_ring)
{
    struct comm_cost full = comm_on(&toy_gpu, &toy_net, SPECTER_ALLGATHER, GiB, 8);
    struct comm_cost ragged = comm_on(&toy_gpu, &toy_net, SPECTER_ALLGATHER, GiB, 9);
    CHECK_DOUBLE(full.bw_GBps, 50, 1e-14);
    CHECK_DOUBLE(ragged.bw_GBps, 25, 1e-14);
}

/* Tensor-parallel neighbours use the other GPUs; a group with one rank a node has its own NIC only.
 */
TEST(model_comm_one_rank_per_node_has_its_own_nic)
{
    struct layout where = {.ranks = 4, .nodes = 4, .per_node = 1};
    struct comm_cost c;
    CHECK_INT(model_collective(&toy_gpu, &toy_net, SPECTER_ALLREDUCE, GiB, where, &c, NULL), 0);
    CHECK_DOUBLE(c.bw_GBps, 25, 1e-14);
    CHECK_STR(c.bound, "inter");
}

TEST(model_comm_mesh_pairs_have_their_own_share)
{
    struct network_profile mesh = toy_net;
    mesh.intra = "nvlink_mesh";
    mesh.pair_GBps = 40;
    CHECK_DOUBLE(comm_on(&toy_gpu, &mesh, SPECTER_ALLGATHER, GiB, 2).bw_GBps, 40, 1e-14);
    CHECK_DOUBLE(comm_on(&toy_gpu, &mesh, SPECTER_ALLGATHER, GiB, 4).bw_GBps, 100, 1e-14);
}

TEST(model_comm_payload_gets_its_share_of_each_rate)
{
    struct network_profile lossy = toy_net;
    lossy.intra_efficiency = 0.5;
    lossy.inter_efficiency = 0.25;
    CHECK_DOUBLE(comm_on(&toy_gpu, &lossy, SPECTER_ALLGATHER, GiB, 4).bw_GBps, 50, 1e-14);
    CHECK_DOUBLE(comm_on(&toy_gpu, &lossy, SPECTER_ALLGATHER, GiB, 8).bw_GBps, 12.5, 1e-14);
}

TEST(model_comm_gpu_links_limit_the_fabric)
{
    const struct gpu_profile slow = {.name = "slow", .nvlink_GBps = 30, .pcie_GBps = 10};
    const struct gpu_profile plain = {.name = "plain", .pcie_GBps = 10};
    const struct gpu_profile unknown = {.name = "unknown"};
    CHECK_DOUBLE(comm_on(&slow, &toy_net, SPECTER_ALLGATHER, GiB, 4).bw_GBps, 30, 1e-14);
    CHECK_DOUBLE(comm_on(&plain, &toy_net, SPECTER_ALLGATHER, GiB, 4).bw_GBps, 10, 1e-14);
    CHECK_DOUBLE(comm_on(&unknown, &toy_net, SPECTER_ALLGATHER, GiB, 4).bw_GBps, 100, 1e-14);
    CHECK_DOUBLE(comm_on(&plain, &toy_net, SPECTER_ALLGATHER, GiB, 8).bw_GBps, 10, 1e-14);
}

static void check_monotone_in_bytes(const struct network_profile *net, enum specter_comm_op op,
                                    int ranks)
{
    double before = 0;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct comm_cost c = comm_on(gpu_profiles, net, op, sizes[i], ranks);
        CHECK(isfinite(c.us) && c.us >= before && c.us >= c.lat_us);
        before = c.us;
    }
}

TEST(model_comm_time_never_falls_with_bytes)
{
    for_each_case(check_monotone_in_bytes);
}

/* Each field made worse by half as much again, or to two thirds. */
static void check_worse_hardware(const struct network_profile *net, enum specter_comm_op op,
                                 int ranks)
{
    for (size_t f = 0; f < network_field_count; f++) {
        const char *name = network_fields[f].name;
        bool slower = strstr(name, "_us") != NULL;
        struct network_profile worse = *net;
        double value = profile_value(net, &network_fields[f]);
        if (strcmp(name, "gpus_per_node") == 0 || strcmp(name, "nics_per_node") == 0)
            continue;
        value *= slower ? 1.5 : 2.0 / 3;
        memcpy((char *)&worse + network_fields[f].offset, &value, sizeof value);
        for (size_t i = 0; i < COUNT(sizes); i++)
            CHECK(comm_on(gpu_profiles, &worse, op, sizes[i], ranks).us >=
                  comm_on(gpu_profiles, net, op, sizes[i], ranks).us);
    }
}

TEST(model_comm_time_never_falls_with_worse_hardware)
{
    for_each_case(check_worse_hardware);
}

/* The share of S that the NICs of one node have to carry in one direction, whatever the algorithm,
 * when switches do not reduce. `most` and `least`: ranks on the fullest and on the emptiest node.
 * AllReduce: every node holds its own sum of all of S. M of them become one by M-1 transfers of S,
 *     and M-1 more bring it back to all: 2(M-1)S leave M nodes, so one node's share is no less than
 *     2(M-1)/M.
 * AllGather: the emptiest node gets what the n-least other ranks hold; ReduceScatter: it sends its
 *     sums for them.
 * Broadcast: each node but the root's gets S; Reduce: it sends S.
 * AlltoAll(v): each of a node's p ranks sends S/n to each of n-p others.
 * Gather, Scatter: the root's node, a full one, gets or sends what the others hold. */
static double least_share(enum specter_comm_op op, int ranks, int nodes, int most, int least)
{
    const double n = ranks;
    switch (op) {
    case SPECTER_ALLREDUCE:
        return 2 * (nodes - 1.0) / nodes;
    case SPECTER_ALLGATHER:
    case SPECTER_REDUCESCATTER:
        return (n - least) / n;
    case SPECTER_BROADCAST:
    case SPECTER_REDUCE:
        return 1;
    case SPECTER_ALLTOALL:
    case SPECTER_ALLTOALLV:
        return fmax(most * (n - most), least * (n - least)) / n;
    default:
        return (n - most) / n;
    }
}

/* Raw rates: a bound that no choice or efficiency may pass. */
static void check_link_bound(const struct network_profile *net, enum specter_comm_op op, int ranks)
{
    struct layout where = layout_dense(net, ranks);
    double factor = specter_comm_op_bus_factor(op, (uint64_t)ranks);
    double node_GBps = net->nics_per_node * net->nic_Gbps / 8;
    double share = least_share(op, ranks, where.nodes, where.per_node,
                               ranks - where.per_node * (where.nodes - 1));
    if (ranks == 1)
        return;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        double us = comm_on(gpu_profiles, net, op, sizes[i], ranks).us;
        if (where.nodes == 1)
            CHECK(us >= factor * sizes[i] / (net->intra_GBps * 1e3));
        else
            CHECK(us >= share * sizes[i] / (node_GBps * 1e3));
    }
}

TEST(model_comm_never_faster_than_its_links)
{
    for_each_case(check_link_bound);
}

/* The bound is worth something: half of each time on three full nodes would break it. The root of a
 * Gather or Scatter uses the NIC next to it alone, so that its time stays further above. */
TEST(model_comm_bound_is_tight_enough_to_see_a_factor_of_two)
{
    const struct network_profile *net = network_profile_find("dgx_h100_400g", NULL);
    for (int op = 0; op < SPECTER_GATHER; op++) {
        double us = comm_on(gpu_profiles, net, (enum specter_comm_op)op, 1024 * GiB, 24).us;
        CHECK(us / 2 < least_share((enum specter_comm_op)op, 24, 3, 8, 8) * 1024 * GiB / 400e3);
    }
}

TEST(model_comm_listed_cases_have_their_sign)
{
    const enum specter_comm_op op = SPECTER_ALLREDUCE;
    struct network_profile half = *network_profile_find("dgx_h100_400g", NULL), twice = half;
    double h100 = named_us("h100_sxm", "dgx_h100_400g", op, 64 * MiB, 16);
    half.intra_GBps /= 2;
    half.pair_GBps /= 2;
    half.nic_Gbps /= 2;
    twice.intra_lat_us *= 2;
    twice.inter_lat_us *= 2;
    CHECK(named_us("a100_sxm", "dgx_a100_200g", op, 64 * MiB, 16) > h100);
    CHECK(named_us("a100_sxm", "dgx_h100_400g", op, 64 * MiB, 16) > h100);
    CHECK(named_us("h100_pcie", "cloud_pcie_100g", op, 64 * MiB, 8) >
          named_us("h100_sxm", "single_node_nvlink", op, 64 * MiB, 8));
    CHECK(comm_on(gpu_profiles, &half, op, 64 * MiB, 16).us > h100);
    CHECK(comm_on(gpu_profiles, &twice, op, KiB, 16).us >
          named_us("h100_sxm", "dgx_h100_400g", op, KiB, 16));
}

/* Bits for bytes, or one NIC for all of them, would be far outside of these. */
TEST(model_comm_units)
{
    double us = named_us("h100_sxm", "dgx_h100_400g", SPECTER_ALLREDUCE, GiB, 8);
    double busbw = GiB / us / 1e3 * 1.75;
    CHECK(busbw > 340 && busbw < 450);
    us = named_us("h100_sxm", "dgx_h100_400g", SPECTER_ALLREDUCE, GiB, 16);
    busbw = GiB / us / 1e3 * 1.875;
    CHECK(busbw > 300 && busbw < 400);
    us = named_us("a100_sxm", "dgx_a100_200g", SPECTER_ALLREDUCE, GiB, 16);
    busbw = GiB / us / 1e3 * 1.875;
    CHECK(busbw > 150 && busbw < 200);
    us = named_us("rtx_4090", "consumer_pcie", SPECTER_ALLREDUCE, GiB, 4);
    busbw = GiB / us / 1e3 * 1.5;
    CHECK(busbw > 0.9 && busbw < 1.25);
}

/* A switch gives one message all links of a GPU, a mesh those of the pair. */
TEST(model_comm_usual_networks_of_newer_gpus)
{
    static const struct {
        const char *gpu;
        double ring_GBps, pair_GBps; /* payload */
    } cases[] = {{"h100_sxm", 0.82 * 450, 0.82 * 450},
                 {"h200_sxm", 0.82 * 450, 0.82 * 450},
                 {"b200_sxm", 0.80 * 900, 0.80 * 900},
                 {"mi300x", 0.75 * 448, 0.75 * 64}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct gpu_profile *gpu = gpu_profile_find(cases[i].gpu, NULL);
        const struct network_profile *net = network_profile_find(gpu->network, NULL);
        struct comm_cost c = comm_on(gpu, net, SPECTER_ALLREDUCE, 64 * GiB, 8);
        CHECK_DOUBLE(c.bw_GBps, cases[i].ring_GBps, 1e-12);
        CHECK_INT(model_p2p(gpu, net, 64 * GiB, false, &c, NULL), 0);
        CHECK_DOUBLE(c.bw_GBps, cases[i].pair_GBps, 1e-12);
    }
}

TEST(model_comm_p2p_closed_forms)
{
    struct comm_cost c;
    CHECK_INT(model_p2p(&toy_gpu, &toy_net, 1e6, false, &c, NULL), 0);
    CHECK_DOUBLE(c.us, 10 + 5.5 + 10, 1e-15);
    CHECK_STR(c.algo, "p2p");
    CHECK_STR(c.bound, "latency");
    CHECK_INT(model_p2p(&toy_gpu, &toy_net, 1e9, true, &c, NULL), 0);
    CHECK_DOUBLE(c.us, 10 + 5.5 * 8 + 1e9 / 25e3, 1e-15);
    CHECK_STR(c.bound, "inter");
    CHECK_INT(model_p2p(&toy_gpu, &toy_net, 0, true, &c, NULL), 0);
    CHECK_DOUBLE(c.us, 10 + 8, 1e-15);
}

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

TEST(model_comm_huge_numbers_stay_finite)
{
    const struct layout sparse = {.ranks = INT32_MAX, .nodes = INT32_MAX - 3, .per_node = 4};
    struct comm_cost lonely;
    CHECK_INT(model_collective(&toy_gpu, &toy_net, SPECTER_ALLREDUCE, 1, sparse, &lonely, NULL), 0);
    CHECK(isfinite(lonely.us));
    for (int op = 0; op <= LAST_COLLECTIVE; op++) {
        struct comm_cost c = comm_on(&toy_gpu, &toy_net, (enum specter_comm_op)op,
                                     18446744073709551615.0, INT32_MAX);
        CHECK(isfinite(c.us) && c.us > 0);
    }
}
