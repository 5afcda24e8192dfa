/* SPDX-License-Identifier: MIT
 *
 * Laws of collectives as NCCL chooses to do them: cases where it is known which is faster, units,
 * and that the choice is NCCL's, not the fastest.
 */
#include "comm_cases.h"
#include "test.h"

#include <math.h>
#include <string.h>

#define KiB 1024.0
#define MiB (1024 * KiB)
#define GiB (1024 * MiB)

static double us_on(const struct gpu_profile *gpu, const struct network_profile *net,
                    enum specter_comm_op op, double bytes, int ranks)
{
    struct comm_cost cost;
    struct err e = {0};
    if (model_collective(gpu, net, op, bytes, layout_dense(net, ranks), &cost, &e) < 0)
        cost.us = NAN;
    CHECK_STR_OF(specter_comm_op_name(op), e.msg, "");
    return cost.us;
}

static double us_of(const char *gpu, const char *net, enum specter_comm_op op, double bytes,
                    int ranks)
{
    return us_on(gpu_profile_find(gpu, NULL), network_profile_find(net, NULL), op, bytes, ranks);
}

static void check_slower(const char *what, enum specter_comm_op op, double bytes, int ranks,
                         double slow_us, double fast_us)
{
    if (!(slow_us > fast_us))
        test_fail(__FILE__, __LINE__, "%s: %s of %.0f B by %d ranks: %.9g us against %.9g us", what,
                  specter_comm_op_name(op), bytes, ranks, slow_us, fast_us);
}

static const double large[] = {64 * MiB, 100e6, 256 * MiB, GiB, 8 * GiB, 64 * GiB};
static const int few_nodes[] = {8, 16, 32, 64, 128};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void for_each_large(void (*see)(enum specter_comm_op op, double bytes, int ranks))
{
    for (int op = 0; op < COMM_OPS; op++) {
        for (size_t i = 0; i < COUNT(large); i++) {
            for (size_t r = 0; r < COUNT(few_nodes); r++)
                see((enum specter_comm_op)op, large[i], few_nodes[r]);
        }
    }
}

static void h100_to_a100(enum specter_comm_op op, double bytes, int ranks)
{
    check_slower("A100 against H100", op, bytes, ranks,
                 us_of("a100_sxm", "dgx_a100_200g", op, bytes, ranks),
                 us_of("h100_sxm", "dgx_h100_400g", op, bytes, ranks));
}

TEST(comm_choice_a100_is_slower_than_h100)
{
    for_each_large(h100_to_a100);
}

/* Everything that a GPU sends through has half its rate, the fitted ones (through a host) too. */
static void halve(struct gpu_profile *gpu, struct network_profile *net)
{
    const struct param_table *table = &param_tables[PARAMS_NODE];
    net->node = params_node(gpu, net);
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->params[i].unit, "GB/s") == 0)
            *param_at(&net->node, &table->params[i]) /= 2;
    }
    gpu->nvlink_GBps /= 2;
    gpu->pcie_GBps /= 2;
    net->intra_GBps /= 2;
    net->pair_GBps /= 2;
    net->nic_Gbps /= 2;
}

/* A GPU that sits in such a network. */
static const struct gpu_profile *usual_gpu(const struct network_profile *net)
{
    for (size_t i = 0; i < gpu_profile_count; i++) {
        if (strcmp(gpu_profiles[i].network, net->name) == 0)
            return &gpu_profiles[i];
    }
    return gpu_profile_find(GPU_PROFILE_DEFAULT, NULL);
}

/* All ranks of two nodes, or of one where there is no more. */
static int two_nodes(const struct network_profile *net)
{
    return (int)net->gpus_per_node * (net->nics_per_node >= 1 ? 2 : 1);
}

static void half_bandwidth(const struct network_profile *net, enum specter_comm_op op, int ranks)
{
    struct gpu_profile half_gpu = *usual_gpu(net);
    struct network_profile half_net = *net;
    halve(&half_gpu, &half_net);
    for (size_t i = 0; i < COUNT(large); i++)
        check_slower(net->name, op, large[i], ranks,
                     us_on(&half_gpu, &half_net, op, large[i], ranks),
                     us_on(usual_gpu(net), net, op, large[i], ranks));
}

TEST(comm_choice_half_the_bandwidth_is_slower)
{
    for (size_t n = 0; n < network_profile_count; n++) {
        const struct network_profile *net = &network_profiles[n];
        for (int op = 0; op < COMM_OPS && net->gpus_per_node > 1; op++) {
            half_bandwidth(net, (enum specter_comm_op)op, (int)net->gpus_per_node);
            half_bandwidth(net, (enum specter_comm_op)op, two_nodes(net));
        }
    }
}

TEST(comm_choice_twice_the_latency_is_slower)
{
    for (size_t n = 0; n < network_profile_count; n++) {
        struct network_profile twice = network_profiles[n];
        const struct gpu_profile *gpu = usual_gpu(&twice);
        int ranks = two_nodes(&twice);
        twice.intra_lat_us *= 2;
        twice.inter_lat_us *= 2;
        for (int op = 0; op < COMM_OPS && ranks > 1; op++)
            check_slower(twice.name, (enum specter_comm_op)op, KiB, ranks,
                         us_on(gpu, &twice, (enum specter_comm_op)op, KiB, ranks),
                         us_on(gpu, &network_profiles[n], (enum specter_comm_op)op, KiB, ranks));
    }
}

TEST(comm_choice_pcie_is_slower_than_nvlink)
{
    for (int op = 0; op < COMM_OPS; op++) {
        for (size_t i = 0; i < COUNT(large); i++) {
            for (int ranks = 2; ranks <= 8; ranks *= 2)
                check_slower("PCIe against NVLink", (enum specter_comm_op)op, large[i], ranks,
                             us_of("h100_pcie", "cloud_pcie_100g", (enum specter_comm_op)op,
                                   large[i], ranks),
                             us_of("h100_sxm", "single_node_nvlink", (enum specter_comm_op)op,
                                   large[i], ranks));
        }
    }
}

/* Bits for bytes, one NIC for all of them, or a rate counted in both directions would be far
 * outside. Bus bandwidth of 8 GiB on four nodes, in a ring, against the ports of a node. */
TEST(comm_choice_units)
{
    static const struct {
        const char *gpu, *net;
        double node_GBps; /* ports of a node */
    } cases[] = {{"h100_sxm", "dgx_h100_400g", 8 * 50}, {"a100_sxm", "dgx_a100_200g", 8 * 25}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double us = us_of(cases[i].gpu, cases[i].net, SPECTER_ALLGATHER, 8 * GiB, 32);
        double busbw = 8 * GiB / us / 1e3 * 31 / 32;
        CHECK(busbw > 0.6 * cases[i].node_GBps && busbw <= cases[i].node_GBps);
    }
}

/* Where ports bound a ring, half their rate is twice the time of each byte. */
TEST(comm_choice_half_the_ports_is_twice_the_time_of_a_byte)
{
    const struct gpu_profile *gpu = gpu_profile_find("h100_sxm", NULL);
    struct network_profile slow = *network_profile_find("dgx_h100_400g", NULL), half;
    const struct comm_choice ring = {"ring", "Simple", 8};
    struct comm_case c = {gpu, &slow, SPECTER_ALLGATHER, 8 * GiB, {64, 8, 8}};
    double more, less;
    slow.nic_Gbps = 50;
    half = slow;
    half.nic_Gbps = 25;
    more = comm_case_us(&c, &ring);
    c.bytes /= 2;
    more -= comm_case_us(&c, &ring);
    c.net = &half;
    less = -comm_case_us(&c, &ring);
    c.bytes *= 2;
    less += comm_case_us(&c, &ring);
    CHECK_DOUBLE(less / more, 2, 0.02);
}

/* ---- jumps ---- */

/* The choice follows NCCL's own estimate, even where our time of another choice is less. */
TEST(comm_choice_is_nccls_estimate_not_the_fastest)
{
    const struct gpu_profile *gpu = gpu_profile_find("h100_sxm", NULL);
    const struct network_profile *net = network_profile_find("dgx_h100_400g", NULL);
    int others_faster = 0;
    for (double bytes = KiB; bytes <= GiB; bytes *= 2) {
        struct comm_candidate list[COMM_CANDIDATES_MAX];
        struct comm_cost cost;
        struct layout where = layout_dense(net, 32);
        int n = model_collective_candidates(gpu, net, SPECTER_ALLREDUCE, bytes, where, list, NULL);
        const struct comm_candidate *least = NULL;
        model_collective(gpu, net, SPECTER_ALLREDUCE, bytes, where, &cost, NULL);
        for (int i = 0; i < n; i++) {
            if (list[i].off != NULL)
                continue;
            if (least == NULL || list[i].nccl_us < least->nccl_us)
                least = &list[i];
            others_faster += list[i].cost.us < cost.us;
        }
        CHECK(least != NULL && least->chosen);
        CHECK_STR(cost.algo, least->cost.algo);
        CHECK_STR(cost.proto, least->cost.proto);
        CHECK_DOUBLE(cost.us, least->cost.us, 1e-12);
    }
    CHECK(others_faster > 0);
}

/* ---- oddities that an expert of NCCL would see at once ---- */

/* A scheduler spreads 512 GPUs evenly over racks of 72: with 8 in the last one, the ports of its
 * two trays would carry all. */
TEST(comm_choice_racks_are_filled_evenly)
{
    double reduce = us_of("gb200", "gb200_nvl72", SPECTER_ALLREDUCE, 8 * GiB, 512);
    double scatter = us_of("gb200", "gb200_nvl72", SPECTER_REDUCESCATTER, 8 * GiB, 512);
    double gather = us_of("gb200", "gb200_nvl72", SPECTER_ALLGATHER, 8 * GiB, 512);
    CHECK(reduce < 2 * (scatter + gather)); /* not equal: NVLSTree uses few of a rack's ports */
}

static const struct {
    const char *gpu, *net;
} amd[] = {{"mi300x", "mi300x_8x400g"}, {"mi300x", "oci_mi300x"}, {"mi355x", "mi355x_8x400g"}};

/* Where latency is all, RCCL's tuner knows its GPUs better than constants of NVIDIA's. */
TEST(comm_choice_small_messages_take_what_rccl_says)
{
    int checked = 0;
    for (size_t i = 0; i < COUNT(amd); i++) {
        const struct gpu_profile *gpu = gpu_profile_find(amd[i].gpu, NULL);
        const struct network_profile *net = network_profile_find(amd[i].net, NULL);
        for (int nodes = 1; nodes <= 8; nodes *= 2) {
            struct comm_candidate list[COMM_CANDIDATES_MAX];
            struct layout where = layout_dense(net, 8 * nodes);
            int n = model_collective_candidates(gpu, net, SPECTER_ALLREDUCE, 8, where, list, NULL);
            for (int k = 0; k < n; k++) {
                checked += list[k].chosen;
                if (list[k].chosen)
                    CHECK_DOUBLE(list[k].cost.us / list[k].nccl_us, 1, 0.08);
            }
        }
    }
    CHECK_INT(checked, 3 * 4);
}

/* RCCL changes from LL to LL128 and Simple at sizes where AMD has measured them to be alike; our
 * times of the two differ by up to 1.4 there, and a larger message may seem that much faster. */
TEST(comm_choice_rccl_changes_protocols_where_they_are_alike)
{
    static const enum specter_comm_op ops[] = {SPECTER_ALLREDUCE, SPECTER_ALLGATHER,
                                               SPECTER_REDUCESCATTER};
    for (size_t i = 0; i < COUNT(amd); i++) {
        for (size_t o = 0; o < COUNT(ops); o++) {
            for (double bytes = 8; bytes < GiB; bytes *= 2) {
                double half = us_of(amd[i].gpu, amd[i].net, ops[o], bytes, 16);
                double whole = us_of(amd[i].gpu, amd[i].net, ops[o], 2 * bytes, 16);
                check_slower(amd[i].net, ops[o], bytes, 16, 1.4 * whole, half);
            }
        }
    }
}

/* NCCL leaves LL where its estimate of the others is less: our times of both differ little there.
 */
TEST(comm_choice_nccl_leaves_ll_where_others_are_alike)
{
    static const enum specter_comm_op ops[] = {SPECTER_ALLREDUCE, SPECTER_ALLGATHER,
                                               SPECTER_REDUCESCATTER};
    for (size_t i = 0; i < network_profile_count; i++) {
        const struct network_profile *net = &network_profiles[i];
        if (strcmp(net->intra, "nvswitch") != 0 || net->nics_per_node < 1 || net->domain_gpus > 0)
            continue;
        for (size_t o = 0; o < COUNT(ops); o++) {
            for (double bytes = 8; bytes < GiB; bytes *= 2)
                check_slower(net->name, ops[o], bytes, 16,
                             1.42 * us_on(usual_gpu(net), net, ops[o], 2 * bytes, 16),
                             us_on(usual_gpu(net), net, ops[o], bytes, 16));
        }
    }
}
