/* SPDX-License-Identifier: MIT
 *
 * The compiled-in profiles: the tables beside this file as arrays.
 */
#include "model/profile.h"

#define GPU(_name, _title, _match, _arch, _network, _source, ...) \
    {.name = #_name,                                              \
     .title = _title,                                             \
     .match = _match,                                             \
     .arch = _arch,                                               \
     .network = #_network,                                        \
     .source = _source,                                           \
     __VA_ARGS__},

#define NETWORK(_name, _title, _intra, _inter, _source, ...) \
    {.name = #_name,                                         \
     .title = _title,                                        \
     .intra = _intra,                                        \
     .inter = _inter,                                        \
     .source = _source,                                      \
     __VA_ARGS__},

#define TUNER(_name, ...) static const struct tuner_row tuner_##_name[] = {__VA_ARGS__};
#include "tuner.def"

#define ROWS(_name)                                                 \
    {                                                               \
        tuner_##_name, sizeof tuner_##_name / sizeof *tuner_##_name \
    }

const struct gpu_profile gpu_profiles[] = {
#include "gpu.def"
};

const struct network_profile network_profiles[] = {
#include "network.def"
};

const size_t gpu_profile_count = sizeof gpu_profiles / sizeof *gpu_profiles;
const size_t network_profile_count = sizeof network_profiles / sizeof *network_profiles;
