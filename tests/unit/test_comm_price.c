/* SPDX-License-Identifier: MIT
 *
 * The time models' parts: rates of links, what an algorithm asks of them, what a load costs. All
 * figures and parameters are round and given, so that each expected value is a sum to do by hand.
 */
#include "model/comm_price.h"
#include "test.h"

#include <math.h>
#include <pthread.h>

#define KiB 1024.0

/* 100 GB/s a GPU in a node of 4, two ports of 25 GB/s; half of the links' rate is payload. */
static const struct network_profile toy_net = {
    .name = "toy",
    .intra = "nvswitch",
    .inter = "infiniband",
    .gpus_per_node = 4,
    .intra_GBps = 100,
    .intra_lat_us = 1,
    .nics_per_node = 2,
    .nic_Gbps = 200,
    .inter_lat_us = 5,
    .node = {.start_us = 10,
             .step_us = 2,
             .simple_us = 20,
             .sync_us = 3,
             .ll_GBps = 4.096,
             .link_share = 0.5,
             .copy_ratio = 2,
             .ramp_us = 30,
             .host_share = 0.2},
    .net = {.hop_us = 4, .hop_sync_us = 15, .net_ll_GBps = 5, .nic_share = 0.8, .net_ramp_us = 100},
};

static const struct gpu_profile toy_gpu = {
    .name = "toy", .arch = "toy", .cc = 90, .nvlink_GBps = 100, .pcie_GBps = 50};

static struct topo_view site_on(const struct network_profile *net, int ranks, int nodes,
                                int per_node)
{
    struct topo_view s;
    CHECK_INT(topo_view_init(&toy_gpu, net, (struct layout){ranks, nodes, per_node}, &s, NULL), 0);
    return s;
}

static struct comm_demand load_on(const struct topo_view *s, enum specter_comm_op op,
                                  enum nccl_algo algo, enum nccl_proto proto, double bytes)
{
    struct nccl_operation o = {op, algo, proto, 2, bytes};
    struct comm_demand l;
    comm_demand_of(s, &o, &l);
    return l;
}

/* 18 nodes of a rack, some with fewer ranks than GPUs. */
TEST(topo_view_least_of_racks)
{
    struct network_profile net = *network_profile_find("gb200_nvl72", NULL);
    CHECK_INT(site_on(&net, 36, 36, 1).least, 18);
    CHECK_INT(site_on(&net, 80, 40, 2).least, 26); /* 14, 13 and 13 nodes */
    CHECK_INT(site_on(&net, 162, 54, 3).least, 54);
    CHECK_INT(site_on(&net, 512, 128, 4).least, 64);
    CHECK_INT(site_on(&net, 75, 19, 4).least, 35); /* 9 nodes, the last with 3 ranks */
}

TEST(topo_view_links_carry_their_share)
{
    struct network_profile mesh = toy_net;
    struct topo_view s = site_on(&toy_net, 4, 1, 4);
    CHECK_DOUBLE(comm_link_GBps(&s, 3), 50, 1e-12);
    mesh.pair_GBps = 20;
    s = site_on(&mesh, 4, 1, 4);
    CHECK_DOUBLE(comm_link_GBps(&s, 1), 10, 1e-12);
    CHECK_DOUBLE(comm_link_GBps(&s, 3), 30, 1e-12);
}

/* One GPU has the port beside it, all have both; behind an oversubscribed leaf, half of them. */
TEST(topo_view_ports_are_shared)
{
    struct network_profile thin = toy_net;
    struct topo_view s = site_on(&toy_net, 8, 2, 4);
    CHECK_DOUBLE(comm_nic_GBps(&s, 1), 20, 1e-12);
    CHECK_DOUBLE(comm_nic_GBps(&s, 4), 40, 1e-12);
    thin.oversubscription = 2;
    s = site_on(&thin, 8, 2, 4);
    CHECK_DOUBLE(comm_nic_GBps(&s, 4), 20, 1e-12);
}

/* Racks of two trays are one node, with the ports of both. */
TEST(topo_view_domains_are_nodes)
{
    struct network_profile rack = toy_net;
    struct topo_view s;
    rack.domain_gpus = 8;
    s = site_on(&rack, 16, 4, 4);
    CHECK_INT(s.nodes, 2);
    CHECK_INT(s.most, 8);
    CHECK_DOUBLE(comm_nic_GBps(&s, 8), 80, 1e-12);
}

/* NVLSTree between racks was measured to use few of their ports; a message and an AlltoAll have all
 * of theirs. */
TEST(topo_view_domains_have_their_ports_but_in_nvls)
{
    const struct network_profile *rack = network_profile_find("gb200_nvl72", NULL);
    struct topo_view s = site_on(rack, 144, 36, 4);
    struct comm_cost message;
    CHECK(s.nvls_wire.nic_share < s.wire.nic_share);
    CHECK_INT(model_p2p(&toy_gpu, rack, 1e9, true, &message, NULL), 0);
    CHECK_DOUBLE(comm_nic_GBps(&s, 1), message.bw_GBps, 1e-12);
}

TEST(topo_view_steps_add_software_to_the_link)
{
    struct topo_view s = site_on(&toy_net, 8, 2, 4);
    CHECK_DOUBLE(comm_step_us(&s, NCCL_LL), 1 + 2, 1e-12);
    CHECK_DOUBLE(comm_step_us(&s, NCCL_LL128), 1 + 2.5 * 2, 1e-12);
    CHECK_DOUBLE(comm_step_us(&s, NCCL_SIMPLE), 1 + 3, 1e-12);
    CHECK_DOUBLE(comm_hop_us(&s, NCCL_LL), 5 + 4, 1e-12);
    CHECK_DOUBLE(comm_hop_us(&s, NCCL_SIMPLE), 5 + 15, 1e-12);
}

/* With P2P a ring crosses between sockets once; through memory the bytes of all four GPUs add up.
 * Two GPUs sit on one switch. */
TEST(topo_view_host_path)
{
    struct network_profile pcie = toy_net;
    struct topo_view s;
    pcie.intra = "pcie";
    s = site_on(&pcie, 4, 1, 4);
    CHECK_DOUBLE(comm_host_us(&s, 1e6, 1), 100, 1e-12);
    CHECK_DOUBLE(comm_host_spread_us(&s, 1e6, 1), 100, 1e-12);
    pcie.intra = "pcie_shm";
    s = site_on(&pcie, 4, 1, 4);
    CHECK_DOUBLE(comm_host_us(&s, 1e6, 1), 400, 1e-12);
    s = site_on(&pcie, 2, 1, 2);
    CHECK_DOUBLE(comm_host_us(&s, 1e6, 1), 0, 0);
    CHECK_DOUBLE(params_host_GBps(&toy_gpu, &pcie, &pcie.node), 10, 1e-12);
    CHECK_DOUBLE(params_host_GBps(&(struct gpu_profile){0}, &pcie, &pcie.node), 20, 1e-12);
    s = site_on(&toy_net, 4, 1, 4);
    CHECK_DOUBLE(comm_host_us(&s, 1e6, 1), 0, 0);
}

TEST(comm_ramp_ends)
{
    CHECK_DOUBLE(comm_ramp_us(30, 2, 15), 15, 1e-12);
    CHECK_DOUBLE(comm_ramp_us(30, 0.5, 0), 0, 0);
    CHECK_DOUBLE(comm_ramp_us(30, 0.5, 60), 15, 1e-12);
    CHECK(comm_ramp_us(30, 0.5, 1e9) < 30);
    CHECK(comm_ramp_us(30, 0.5, 1e-3) <= 0.5e-3);
}

/* 4 ranks of a node, 4 MB, link 50 GB/s: 3 MB of an AllGather cross it in 60 us. */
TEST(comm_demand_of_rings)
{
    struct topo_view s = site_on(&toy_net, 4, 1, 4);
    struct comm_demand l = load_on(&s, SPECTER_ALLGATHER, NCCL_RING, NCCL_SIMPLE, 4e6);
    CHECK_DOUBLE(l.steps, 3, 0);
    CHECK_DOUBLE(l.hops, 0, 0);
    CHECK_DOUBLE(l.link_us, 60, 1e-12);
    CHECK_DOUBLE(l.copied, 1e6, 0);
    l = load_on(&s, SPECTER_ALLREDUCE, NCCL_RING, NCCL_SIMPLE, 4e6);
    CHECK_DOUBLE(l.steps, 6, 0);
    CHECK_DOUBLE(l.link_us, 120, 1e-12);
    CHECK_DOUBLE(l.nic_us, 0, 0);
}

/* The ring's passes between nodes of 1, 2 and 3 ranks: what a chunk leaves out lies in a node where
 * it has room. */
TEST(comm_hops_of_rings)
{
    static const struct {
        int ranks, nodes, each, gather, reduce;
    } rows[] = {
        {2, 2, 1, 1, 2}, {4, 4, 1, 3, 6}, {4, 2, 2, 2, 3}, {6, 2, 3, 2, 4}, {4, 1, 4, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct topo_view s = site_on(&toy_net, rows[i].ranks, rows[i].nodes, rows[i].each);
        struct comm_demand l = load_on(&s, SPECTER_ALLGATHER, NCCL_RING, NCCL_SIMPLE, 4e6);
        CHECK_DOUBLE(l.hops, rows[i].gather, 0);
        CHECK_DOUBLE(l.steps + l.hops, rows[i].ranks - 1, 0);
        l = load_on(&s, SPECTER_ALLREDUCE, NCCL_RING, NCCL_SIMPLE, 4e6);
        CHECK_DOUBLE(l.hops, rows[i].reduce, 0);
        CHECK_DOUBLE(l.steps + l.hops, 2 * (rows[i].ranks - 1), 0);
    }
}

/* 8 ranks on 2 nodes: a chunk's 14 passes cross both boundaries twice, through ports of 40 GB/s. */
TEST(comm_demand_between_nodes)
{
    struct topo_view s = site_on(&toy_net, 8, 2, 4);
    struct comm_demand l = load_on(&s, SPECTER_ALLREDUCE, NCCL_RING, NCCL_SIMPLE, 4e6);
    CHECK_DOUBLE(l.steps, 10, 0);
    CHECK_DOUBLE(l.hops, 4, 0);
    CHECK_DOUBLE(l.nic_us, 1.75 * 100, 1e-12);
    l = load_on(&s, SPECTER_ALLREDUCE, NCCL_TREE, NCCL_SIMPLE, 4e6);
    CHECK_DOUBLE(l.steps, 6, 0);
    CHECK_DOUBLE(l.hops, 2, 0);
    CHECK_DOUBLE(l.link_us, 160, 1e-12);
    CHECK_DOUBLE(l.nic_us, 100, 1e-12); /* two nodes pass S once each way */
    l = load_on(&s, SPECTER_ALLREDUCE, NCCL_TREE, NCCL_LL, 4e6);
    CHECK_DOUBLE(l.nic_us, 400, 1e-12); /* 5 GB/s, of which the price of LL takes half off */
}

/* Parent and children of a rank in NCCL's binary tree: it hangs on the rank without its lowest bit,
 * or next to it, and a child that does not exist is replaced by a nearer one. */
static int links_of(int rank, int nodes)
{
    int links = rank != 0, low = 1;
    while (low < nodes && (rank & low) == 0)
        low *= 2;
    if (rank == 0)
        return nodes > 1;
    if (low > 1)
        links++;
    for (low /= 2; low > 0; low /= 2) {
        if (rank + low < nodes)
            return links + 1;
    }
    return links;
}

/* The second tree is the first one mirrored (an even number of nodes) or shifted by one: the most
 * links of a node in both, each of which carries S/2 each way. */
static int busiest_links(int nodes)
{
    int most = 0;
    for (int r = 0; r < nodes; r++) {
        int other = nodes % 2 == 0 ? nodes - 1 - r : (r + nodes - 1) % nodes;
        int links = links_of(r, nodes) + links_of(other, nodes);
        most = links > most ? links : most;
    }
    return most;
}

TEST(comm_demand_of_a_tree_is_that_of_its_busiest_node)
{
    for (int nodes = 2; nodes <= 40; nodes++) {
        struct topo_view s = site_on(&toy_net, 4 * nodes, nodes, 4);
        struct comm_demand l = load_on(&s, SPECTER_ALLREDUCE, NCCL_TREE, NCCL_SIMPLE, 4e6);
        CHECK_DOUBLE(l.nic_us, busiest_links(nodes) / 2.0 * 100, 1e-12);
        l = load_on(&s, SPECTER_ALLREDUCE, NCCL_NVLS_TREE, NCCL_SIMPLE, 4e6);
        CHECK_DOUBLE(l.nic_us, busiest_links(nodes) / 2.0 * 100, 1e-12);
    }
}

/* S leaves and comes in once, and S/g more; the switches sustain 0.81 of it. */
TEST(comm_demand_of_reduction_in_switches)
{
    struct topo_view s = site_on(&toy_net, 4, 1, 4);
    struct comm_demand l = load_on(&s, SPECTER_ALLREDUCE, NCCL_NVLS, NCCL_SIMPLE, 4e6);
    CHECK_DOUBLE(l.link_us, 80 * 1.25 / 0.81, 1e-12);
    CHECK_DOUBLE(l.fill_us, 2 * 4 * 128 * KiB / 50e3 * 1.25 / 0.81, 1e-12);
    CHECK_DOUBLE(l.hops, 0, 0);
}

/* Start 10 + 20, steps of 4 us beside 60 us of data, 1 MB copied at 100 GB/s, half the ramp. */
TEST(comm_price_of_a_ring)
{
    struct topo_view s = site_on(&toy_net, 4, 1, 4);
    struct comm_demand l = load_on(&s, SPECTER_ALLGATHER, NCCL_RING, NCCL_SIMPLE, 4e6);
    struct comm_cost c;
    comm_price(&s, &l, 3e6, &c);
    CHECK_DOUBLE(c.us, 30 + hypot(12, 60) + 10 + 15, 1e-12);
    CHECK_DOUBLE(c.lat_us, 42, 1e-12);
    CHECK_DOUBLE(c.bw_GBps, 3e3 / 70, 1e-12);
    CHECK_STR(c.bound, "intra");
    CHECK_INT(c.channels, 2);
}

/* 32 KiB a block and step: the ring's share of two channels. With a quarter of it a step of 1 + 3
 * us takes 3/8 of 3 less; with LL it is 1 + 2. */
TEST(comm_price_of_small_steps)
{
    struct topo_view s = site_on(&toy_net, 4, 1, 4);
    struct comm_demand l;
    struct comm_cost c;
    static const struct {
        double bytes, step;
    } rows[] = {{8 * 32 * KiB, 4}, {2 * 32 * KiB, 4 - 3 * 3 / 8.0}, {1e-9, 2.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        l = load_on(&s, SPECTER_ALLGATHER, NCCL_RING, NCCL_SIMPLE, rows[i].bytes);
        comm_price(&s, &l, 1, &c);
        CHECK_DOUBLE(c.lat_us, 30 + 3 * rows[i].step, 1e-9);
    }
    l = load_on(&s, SPECTER_ALLGATHER, NCCL_RING, NCCL_LL, 1e-9);
    comm_price(&s, &l, 1, &c);
    CHECK_DOUBLE(c.lat_us, 10 + 3 * 3, 1e-9);
}

/* Batches of messages start while data of others flow: 300 us of starts and 400 us of data. */
TEST(comm_price_of_batches)
{
    struct topo_view s = site_on(&toy_net, 8, 2, 4);
    struct comm_demand l = {.proto = NCCL_LL, .channels = 2, .nic_us = 200};
    struct comm_cost at_once, batches;
    comm_price(&s, &l, 0, &at_once);
    l.batch_us = 300;
    comm_price(&s, &l, 0, &batches);
    CHECK_DOUBLE(batches.us - at_once.us, 500 - 400, 1e-12);
    CHECK_DOUBLE(batches.lat_us - at_once.lat_us, 300, 1e-12);
}

/* 8000 bytes with LL: 3 steps of 3 us and of 1000 bytes a block at 4.096 GB/s, 2 x 2000 at the ends
 * (one block moves 4000 of them), 6000 at half of 50 GB/s, 2000 copied at 100. */
TEST(comm_price_of_blocks_with_ll)
{
    struct topo_view s = site_on(&toy_net, 4, 1, 4);
    struct comm_demand l = load_on(&s, SPECTER_ALLGATHER, NCCL_RING, NCCL_LL, 8000);
    struct comm_cost c;
    comm_price(&s, &l, 6000, &c);
    CHECK_DOUBLE(c.us, 10 + 9 + (3 * 1000 + 2 * 2000) / 4096.0 + 0.24 + 0.02, 1e-12);
    CHECK_STR(c.bound, "latency");
}

/* Three messages of 1 MB of an AlltoAll: both sides' steps and half a step for two more peers, the
 * rendezvous, 60 us of data, 1.5 MB for the message to itself, half the ramp. */
TEST(comm_price_of_messages)
{
    struct comm_cost c;
    struct layout where = {4, 1, 4};
    CHECK_INT(model_collective(&toy_gpu, &toy_net, SPECTER_ALLTOALL, 4e6, where, &c, NULL), 0);
    CHECK_DOUBLE(c.us, 10 + 6.5 + 2.5 * 3 + 60 + 15 + 15, 1e-12);
    CHECK_STR(c.proto, "Simple");
}

/* Four GPUs of a node that send at once share its two ports. */
TEST(comm_price_of_flows_on_one_port)
{
    struct comm_messages messages = {COMM_ONE_WAY, {2, 2, 1}, 1};
    struct comm_cost one, four;
    CHECK_INT(model_messages(&toy_gpu, &toy_net, 1e9, &messages, &one, NULL), 0);
    messages.flows = 4;
    CHECK_INT(model_messages(&toy_gpu, &toy_net, 1e9, &messages, &four, NULL), 0);
    CHECK_DOUBLE(one.bw_GBps, 20, 1e-12);
    CHECK_DOUBLE(four.bw_GBps, 10, 1e-12);
    CHECK(four.us > one.us);
    CHECK_INT(model_p2p(&toy_gpu, &toy_net, 1e9, true, &four, NULL), 0);
    CHECK_DOUBLE(four.us, one.us, 0);
}

struct asked {
    const struct gpu_profile *gpu;
    const struct network_profile *net;
    struct layout where;
    struct comm_choice choice;
    struct comm_cost cost;
    enum specter_comm_op op;
    int rc;
};

static void *price_it(void *arg)
{
    struct asked *a = arg;
    a->rc = model_collective_as(a->gpu, a->net, a->op, 3e6, a->where, &a->choice, &a->cost, NULL);
    return NULL;
}

/* A thread keeps what it found for other communicators; a new one has found nothing. */
TEST(comm_prices_are_those_of_a_new_thread)
{
    static const char *const protos[] = {NULL, "ll", "simple"};
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < 20 * network_profile_count; i++) {
            struct asked warm = {.gpu = &gpu_profiles[i % gpu_profile_count],
                                 .net = &network_profiles[i % network_profile_count],
                                 .op = (enum specter_comm_op)(i / 7 % 5),
                                 .choice.proto = protos[i / 3 % 3]};
            struct asked cold;
            pthread_t thread;
            warm.where = layout_dense(warm.net, 2 << i % 5);
            cold = warm;
            price_it(&warm);
            CHECK_INT(pthread_create(&thread, NULL, price_it, &cold), 0);
            pthread_join(thread, NULL);
            CHECK_INT(warm.rc, cold.rc);
            CHECK(warm.rc < 0 || warm.cost.us == cold.cost.us);
            CHECK(warm.rc < 0 ||
                  (warm.cost.algo == cold.cost.algo && warm.cost.proto == cold.cost.proto &&
                   warm.cost.channels == cold.cost.channels));
        }
    }
}
