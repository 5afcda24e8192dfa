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
    const struct gpu_profile gpu = {.name = "g", .arch = "nobody measured this"};
    const struct param_class *row = params_class(PARAMS_GEMM, &gpu, NULL);
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
        const struct param_class *rows = params_classes(g, &count);
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
