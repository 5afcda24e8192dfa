/* SPDX-License-Identifier: MIT
 *
 * The least time that links allow, by hand: 1 GB over 100 GB/s are 10 ms.
 */
#include "model/cost.h"
#include "test.h"

static const struct gpu_profile gpu = {.name = "toy", .nvlink_GBps = 100, .pcie_GBps = 50};

static const struct network_profile net = {
    .name = "toy",
    .intra = "nvswitch",
    .inter = "infiniband",
    .gpus_per_node = 4,
    .intra_GBps = 100,
    .nics_per_node = 2,
    .nic_Gbps = 200,
};

static const double GB = 1e9;

static double on_us(const struct network_profile *on, enum specter_comm_op op, int ranks,
                    bool in_switch)
{
    return comm_bound(&gpu, on, op, GB, layout_dense(on, ranks), in_switch).us;
}

static double us(enum specter_comm_op op, int ranks)
{
    return on_us(&net, op, ranks, false);
}

TEST(bound_in_a_node)
{
    CHECK_DOUBLE(us(SPECTER_ALLREDUCE, 1), 0, 0);
    CHECK_DOUBLE(us(SPECTER_ALLREDUCE, 2), 10e3, 1e-15);
    CHECK_DOUBLE(us(SPECTER_ALLREDUCE, 4), 15e3, 1e-15);
    CHECK_DOUBLE(on_us(&net, SPECTER_ALLREDUCE, 4, true), 10e3, 1e-15);
    CHECK_DOUBLE(us(SPECTER_ALLGATHER, 4), 7.5e3, 1e-15);
    CHECK_DOUBLE(us(SPECTER_BROADCAST, 4), 10e3, 1e-15);
    CHECK_DOUBLE(us(SPECTER_ALLTOALL, 4), 7.5e3, 1e-15);
}

/* S in and out of a GPU's memory, by hand for a ring of four. */
TEST(bound_memory_of_a_ring)
{
    CHECK_DOUBLE(comm_memory_bytes(SPECTER_ALLREDUCE, "ring", 4, 4), 4 * 2 + 3 * 3, 0);
    CHECK_DOUBLE(comm_memory_bytes(SPECTER_ALLREDUCE, "nvls", 4, 4), 8, 0);
    CHECK_DOUBLE(comm_memory_bytes(SPECTER_REDUCESCATTER, "ring", 4, 4), 4 + 1 + 3 * 2, 0);
    CHECK_DOUBLE(comm_memory_bytes(SPECTER_ALLGATHER, "ring", 4, 4), 4 + 3, 0);
    CHECK_DOUBLE(comm_memory_bytes(SPECTER_GATHER, "p2p", 4, 4), 4 + 1, 0);
    CHECK_DOUBLE(comm_memory_bytes(SPECTER_SEND, "p2p", 4, 2), 4, 0);
    CHECK_DOUBLE(comm_memory_bytes(SPECTER_ALLREDUCE, "none", 4, 1), 0, 0);
}

/* Two nodes of 4: 50 GB/s of ports each. 5 ranks: the fifth has the second node to itself. */
TEST(bound_between_nodes)
{
    CHECK_DOUBLE(us(SPECTER_ALLREDUCE, 8), 20e3, 1e-15);
    CHECK_DOUBLE(us(SPECTER_ALLREDUCE, 16), 30e3, 1e-15);
    CHECK_DOUBLE(on_us(&net, SPECTER_ALLREDUCE, 16, true), 20e3, 1e-15);
    CHECK_DOUBLE(us(SPECTER_ALLGATHER, 8), 10e3, 1e-15);
    CHECK_DOUBLE(us(SPECTER_ALLGATHER, 5), 16e3, 1e-15);
    CHECK_DOUBLE(us(SPECTER_ALLTOALL, 8), 4 * 0.5 * 20e3, 1e-15);
    CHECK_DOUBLE(us(SPECTER_GATHER, 8), 10e3, 1e-15);
}

/* Four nodes of one domain need no port. */
TEST(bound_of_an_nvlink_domain)
{
    struct network_profile rack = net;
    rack.domain_gpus = 16;
    CHECK_DOUBLE(on_us(&rack, SPECTER_ALLREDUCE, 16, false), 2 * 15 / 16.0 * 10e3, 1e-15);
    CHECK_DOUBLE(
        comm_bound(&gpu, &rack, SPECTER_ALLREDUCE, GB, layout_dense(&rack, 32), false).inter_us,
        GB / (4 * 50e3), 1e-15);
    /* Five nodes are a domain of three and one of two, not one of four and one of one. */
    CHECK_DOUBLE(
        comm_bound(&gpu, &rack, SPECTER_ALLGATHER, GB, layout_dense(&rack, 20), false).inter_us,
        12 / 20.0 * GB / (3 * 50e3), 1e-15);
}

TEST(bound_of_slow_memory_and_of_pairs)
{
    struct gpu_profile slow = gpu;
    struct network_profile mesh = net;
    slow.mem_GBps = 40;
    mesh.pair_GBps = 20;
    CHECK_DOUBLE(comm_bound(&slow, &net, SPECTER_ALLREDUCE, GB, layout_dense(&net, 4), false).us,
                 50e3, 1e-15);
    CHECK_DOUBLE(on_us(&mesh, SPECTER_ALLGATHER, 4, false), 0.75 * GB / 60e3, 1e-15);
    CHECK_DOUBLE(comm_bound_p2p(&gpu, &mesh, GB, false, 1).us, 50e3, 1e-15);
    CHECK_DOUBLE(comm_bound_p2p(&gpu, &net, GB, true, 1).us, 40e3, 1e-15); /* one of two ports */
    CHECK_DOUBLE(comm_bound_p2p(&gpu, &net, GB, true, 2).us, 40e3, 1e-15); /* one each */
    CHECK_DOUBLE(comm_bound_p2p(&gpu, &net, GB, true, 4).us, 80e3, 1e-15); /* one for two */
}
