/* SPDX-License-Identifier: MIT
 *
 * Fitted parameters: own values, those of a class, those of "any".
 */
#include "model/params.h"
#include "model/profile.h"
#include "test.h"

#include <string.h>

TEST(params_of_an_unmeasured_kind_are_those_of_any)
{
    const struct gpu_profile gpu = {.name = "g", .arch = "unmeasured"};
    const struct param_row *row = params_profile_row(PARAMS_GEMM, &gpu, NULL);
    const struct gemm_params p = params_gemm(&gpu);
    CHECK_STR(row->key, "any");
    CHECK(memcmp(&p, row->values, sizeof p) == 0);
}

TEST(params_of_a_profile_win_over_those_of_its_class)
{
    struct network_profile net = {.name = "n", .intra = "nvswitch", .inter = "infiniband"};
    double hop_us = params_net(&net).hop_us;
    net.net.nic_share = 0.123;
    CHECK(params_net(&net).nic_share == 0.123);
    CHECK(params_net(&net).hop_us == hop_us);
}

TEST(params_any_has_every_value_within_its_bounds)
{
    for (enum param_group g = 0; g < PARAM_GROUPS; g++) {
        size_t count;
        const struct param_row *rows = params_rows(g, &count);
        for (size_t i = 0; i < count; i++) {
            for (size_t k = 0; k < param_tables[g].count; k++) {
                const struct param *p = &param_tables[g].params[k];
                double value = param_value(rows[i].values, p);
                CHECK(value == 0 ? strcmp(rows[i].key, "any") != 0
                                 : value >= p->lowest && value <= p->highest);
            }
        }
    }
}

TEST(params_keys_name_what_a_class_has_in_common)
{
    const struct gpu_profile gpu = {.name = "g", .arch = "hopper"};
    const struct network_profile net = {.name = "n", .intra = "nvswitch", .inter = "efa"};
    char key[PARAM_KEY_MAX];
    params_key(PARAMS_GEMM, &gpu, &net, key);
    CHECK_STR(key, "hopper");
    params_key(PARAMS_NODE, &gpu, &net, key);
    CHECK_STR(key, "hopper/nvswitch");
    params_key(PARAMS_NET, &gpu, &net, key);
    CHECK_STR(key, "efa");
}

/* A machine without P2P shares the parameters of PCIe machines with P2P. */
TEST(params_of_pcie_are_one_class)
{
    const struct gpu_profile gpu = {.name = "g", .arch = "hopper"};
    const struct network_profile direct = {.name = "n", .intra = "pcie"};
    const struct network_profile staged = {.name = "n", .intra = "pcie_shm"};
    const struct node_params a = params_node(&gpu, &direct), b = params_node(&gpu, &staged);
    char key[PARAM_KEY_MAX];
    params_key(PARAMS_NODE, &gpu, &staged, key);
    CHECK_STR(key, "hopper/pcie");
    CHECK_DOUBLE(a.start_us, b.start_us, 0);
    CHECK_DOUBLE(a.host_share, b.host_share, 0);
    CHECK_STR(params_profile_row(PARAMS_NODE, &gpu, &staged)->key, "any/pcie");
}

TEST(params_fit_range_tells_what_was_not_measured)
{
    const struct fit_range some = {.smallest = 1024, .largest = 1e9, .ranks = 64, .nodes = 8};
    const struct fit_range none = {0};
    CHECK_INT(fit_range_beyond(&some, 1024, 64, 8), FIT_WITHIN);
    CHECK_INT(fit_range_beyond(&some, 1e9, 2, 1), FIT_WITHIN);
    CHECK_INT(fit_range_beyond(&some, 1023, 64, 8), FIT_SMALLER);
    CHECK_INT(fit_range_beyond(&some, 2e9, 128, 16), FIT_LARGER);
    CHECK_INT(fit_range_beyond(&some, 4096, 65, 16), FIT_RANKS);
    CHECK_INT(fit_range_beyond(&some, 4096, 64, 9), FIT_NODES);
    CHECK_INT(fit_range_beyond(&none, 1e15, 1e6, 1e6), FIT_WITHIN);
}

TEST(params_classes_widen)
{
    char key[PARAM_KEY_MAX] = "hopper/nvswitch";
    CHECK(params_widen(PARAMS_NODE, key));
    CHECK_STR(key, "any/nvswitch");
    CHECK(params_widen(PARAMS_NODE, key));
    CHECK_STR(key, "any");
    CHECK(!params_widen(PARAMS_NODE, key));
    strcpy(key, "infiniband/domains");
    CHECK(params_widen(PARAMS_NET, key));
    CHECK_STR(key, "any");
}

/* The row that params_key(), params_widen() and params_row() lead to. */
static const struct param_row *walk(enum param_group group, const struct gpu_profile *gpu,
                                    const struct network_profile *net)
{
    const struct param_row *row;
    char key[PARAM_KEY_MAX];
    params_key(group, gpu, net, key);
    while ((row = params_row(group, key)) == NULL && params_widen(group, key))
        ;
    return row;
}

/* Returns whether all values are those of the first row on the way that has each. */
static bool walked_values(enum param_group group, const struct gpu_profile *gpu,
                          const struct network_profile *net, const void *own, const void *values)
{
    bool same = true;
    for (size_t i = 0; i < param_tables[group].count; i++) {
        const struct param *p = &param_tables[group].params[i];
        double value = param_value(own, p);
        char key[PARAM_KEY_MAX];
        params_key(group, gpu, net, key);
        do {
            const struct param_row *row = params_row(group, key);
            if (value == 0 && row != NULL)
                value = param_value(row->values, p);
        } while (params_widen(group, key));
        same = same && param_value(values, p) == value;
    }
    return same;
}

TEST(params_by_key_and_of_a_profile_agree)
{
    const struct gpu_profile unmeasured_gpu = {.name = "g", .arch = "unmeasured"};
    const struct network_profile unmeasured_net = {.name = "n", .intra = "nvswitch"};
    for (size_t g = 0; g <= gpu_profile_count; g++) {
        for (size_t n = 0; n <= network_profile_count; n++) {
            const struct gpu_profile *gpu =
                g < gpu_profile_count ? &gpu_profiles[g] : &unmeasured_gpu;
            const struct network_profile *net =
                n < network_profile_count ? &network_profiles[n] : &unmeasured_net;
            const struct gemm_params gemm = params_gemm(gpu);
            const struct node_params node = params_node(gpu, net);
            const struct net_params inter = params_net(net);
            for (enum param_group group = 0; group < PARAM_GROUPS; group++)
                CHECK(params_profile_row(group, gpu, net) == walk(group, gpu, net));
            CHECK(walked_values(PARAMS_GEMM, gpu, net, &gpu->gemm, &gemm));
            CHECK(walked_values(PARAMS_NODE, gpu, net, &net->node, &node));
            CHECK(walked_values(PARAMS_NET, gpu, net, &net->net, &inter));
        }
    }
}
