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
