/* SPDX-License-Identifier: MIT */
#include "calib/score.h"
#include "model/accuracy.h"
#include "test.h"

#include <math.h>

static struct accuracy_interval of_comm(const char *gpu, const char *net, enum specter_comm_op op,
                                        double bytes, struct layout where)
{
    struct accuracy_interval in;
    accuracy_interval_of_comm(gpu_profile_find(gpu, NULL), network_profile_find(net, NULL), op,
                              bytes, where, &in);
    return in;
}

TEST(interval_classes)
{
    const struct network_profile *rack = network_profile_find("gb200_nvl72", NULL);
    const struct network_profile *box = network_profile_find("l40s_pcie4", NULL);
    CHECK_INT(accuracy_class_of(rack, (struct layout){72, 18, 4}), INTERVAL_NVLINK);
    CHECK_INT(accuracy_class_of(rack, (struct layout){144, 36, 4}), INTERVAL_NODES);
    CHECK_INT(accuracy_class_of(box, (struct layout){8, 1, 8}), INTERVAL_PCIE);
    CHECK_INT(accuracy_class_of(box, (struct layout){16, 2, 8}), INTERVAL_NODES);
    for (size_t i = 0; i < accuracy_width_count; i++) {
        const struct accuracy_width *w = &accuracy_widths[i];
        CHECK(w->factor50 > 1 && w->factor80 > w->factor50 && w->machines > 1);
    }
    /* Of messages there is none; GEMMs have no sizes. */
    CHECK_INT((int)accuracy_width_count, INTERVAL_GEMM * SIZE_CLASSES + 1);
    CHECK_INT(accuracy_size_of(0), SIZE_SMALL);
    CHECK_INT(accuracy_size_of(65535), SIZE_SMALL);
    CHECK_INT(accuracy_size_of(65536), SIZE_MIDDLE);
    CHECK_INT(accuracy_size_of(67108864), SIZE_LARGE);
}

/* An interval without measurements has no number. */
TEST(interval_is_unknown_without_measurements)
{
    static const struct {
        const char *gpu, *net;
        enum specter_comm_op op;
        struct layout where;
        enum accuracy_lack lacks;
    } rows[] = {
        {"h100_sxm", "dgx_h100_400g", SPECTER_ALLREDUCE, {16, 2, 8}, ACCURACY_LACKS_NOTHING},
        {"h100_sxm", "dgx_h100_400g", SPECTER_REDUCESCATTER, {16, 2, 8}, ACCURACY_LACKS_NOTHING},
        {"h100_sxm", "dgx_h100_400g", SPECTER_ALLTOALLV, {8, 1, 8}, ACCURACY_LACKS_NOTHING},
        {"h100_sxm", "dgx_h100_400g", SPECTER_ALLTOALL, {16, 2, 8}, ACCURACY_LACKS_OPERATION},
        {"h100_sxm", "dgx_h100_400g", SPECTER_BROADCAST, {8, 1, 8}, ACCURACY_LACKS_OPERATION},
        {"a100_sxm", "perlmutter", SPECTER_ALLREDUCE, {8, 2, 4}, ACCURACY_LACKS_NETWORK},
        {"a100_sxm", "perlmutter", SPECTER_ALLREDUCE, {4, 1, 4}, ACCURACY_LACKS_FABRIC},
        {"mi300x", "mi300x_8x400g", SPECTER_ALLREDUCE, {8, 1, 8}, ACCURACY_LACKS_FABRIC},
        {"gh200", "gh200_4x200g", SPECTER_ALLREDUCE, {8, 2, 4}, ACCURACY_LACKS_FABRIC},
        {"gh200", "gh200_4x200g", SPECTER_ALLREDUCE, {2, 2, 1}, ACCURACY_LACKS_NOTHING},
    };
    struct accuracy_interval in;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        in = of_comm(rows[i].gpu, rows[i].net, rows[i].op, 1e6, rows[i].where);
        CHECK_INT(in.lacks, rows[i].lacks);
        CHECK(in.known == (rows[i].lacks == ACCURACY_LACKS_NOTHING));
    }
    accuracy_interval_of_gemm(gpu_profile_find("mi300x", NULL), 1e12, &in);
    CHECK_INT(in.lacks, ACCURACY_LACKS_GPU);
    accuracy_interval_of_gemm(gpu_profile_find("h100_sxm", NULL), 1e12, &in);
    CHECK(in.known);
    CHECK_INT(in.class, INTERVAL_GEMM);
    accuracy_interval_of_gemm(gpu_profile_find("h100_pcie", NULL), 1e12, &in);
    CHECK(in.known); /* a chip as that of the measured h100_sxm */
    accuracy_interval_of_gemm(gpu_profile_find("rtx_4090", NULL), 1e12, &in);
    CHECK_INT(in.lacks, ACCURACY_LACKS_RATE); /* half of l40s's */
    CHECK(!in.known);
}

TEST(interval_of_own_parameters_is_the_profiles)
{
    struct network_profile net = *network_profile_find("dgx_h100_400g", NULL);
    struct gpu_profile gpu = *gpu_profile_find("h100_sxm", NULL);
    struct accuracy_interval in;
    net.node.start_us = 5;
    accuracy_interval_of_comm(&gpu, &net, SPECTER_ALLREDUCE, 1e6, (struct layout){8, 1, 8}, &in);
    CHECK_INT(in.lacks, ACCURACY_LACKS_PROFILE);
    net.node_factor50 = 1.1; /* calibrate's */
    net.node_factor80 = 1.3;
    accuracy_interval_of_comm(&gpu, &net, SPECTER_BROADCAST, 1e6, (struct layout){8, 1, 8}, &in);
    CHECK(in.known && in.rows == 0);
    CHECK_DOUBLE(in.factor80, 1.3, 0);
    accuracy_interval_of_p2p(&net, &in);
    CHECK_INT(in.lacks, ACCURACY_LACKS_OPERATION);
    net.message_factor50 = 1.2;
    net.message_factor80 = 1.4;
    accuracy_interval_of_p2p(&net, &in);
    CHECK_DOUBLE(in.factor50, 1.2, 0);
    gpu.gemm.mma_share = 0.8;
    accuracy_interval_of_gemm(&gpu, 1e12, &in);
    CHECK_INT(in.lacks, ACCURACY_LACKS_PROFILE);
}

TEST(interval_widens_beyond_what_was_measured)
{
    struct accuracy_interval in =
        of_comm("h100_sxm", "dgx_h100_400g", SPECTER_ALLREDUCE, 1e6, (struct layout){16, 2, 8});
    struct accuracy_interval more = of_comm("h100_sxm", "dgx_h100_400g", SPECTER_ALLREDUCE, 1e6,
                                            (struct layout){16384, 2048, 8});
    CHECK(!in.beyond && more.beyond);
    CHECK_DOUBLE(more.factor50, in.factor50 * in.factor50, 1e-12);
    CHECK_DOUBLE(more.factor80, in.factor80 * in.factor80, 1e-12);
}

/* An interval that is not known is at least as wide as one beyond the measured range. */
TEST(interval_that_is_unknown_is_the_widest)
{
    const struct layout far = {16384, 2048, 8};
    for (double bytes = 8; bytes < 1e11; bytes *= 8) {
        struct accuracy_interval known =
            of_comm("h100_sxm", "dgx_h100_400g", SPECTER_ALLREDUCE, bytes, far);
        struct accuracy_interval other =
            of_comm("mi300x", "mi300x_8x400g", SPECTER_ALLREDUCE, bytes, far);
        CHECK(known.known && known.beyond && !other.known);
        CHECK(accuracy_stand_in80(ACCURACY_COLLECTIVE, &other) >= known.factor80);
    }
}

/* Data that leave a node cross the links in it, too: what is known of both is not known better. */
TEST(interval_between_nodes_is_no_narrower_than_within)
{
    static const enum specter_comm_op ops[] = {SPECTER_ALLREDUCE, SPECTER_ALLGATHER,
                                               SPECTER_REDUCESCATTER};
    for (size_t g = 0; g < gpu_profile_count; g++) {
        const struct network_profile *net = network_profile_find(gpu_profiles[g].network, NULL);
        int gpus = (int)net->gpus_per_node;
        for (double bytes = 8; net->nics_per_node >= 1 && bytes < 1e11; bytes *= 8) {
            for (int o = 0; o < 3; o++) {
                struct accuracy_interval one, two;
                accuracy_interval_of_comm(&gpu_profiles[g], net, ops[o], bytes,
                                          (struct layout){gpus, 1, gpus}, &one);
                accuracy_interval_of_comm(&gpu_profiles[g], net, ops[o], bytes,
                                          (struct layout){2 * gpus, 2, gpus}, &two);
                CHECK(one.known || !two.known || gpus == 1);
                CHECK(!two.known || !one.known ||
                      (two.factor50 >= one.factor50 && two.factor80 >= one.factor80));
            }
        }
    }
}

/* Rows of two sources that are off by these factors: each source's within those of the other. */
TEST(coverage_of_two_machines)
{
    static const double off[2][4] = {{1.1, 1 / 1.1, 1.2, 1.3}, {1.05, 1.1, 1 / 1.15, 2}};
    struct measured_row rows[8];
    struct coverage cover[INTERVAL_CLASSES][SIZE_CLASSES], *nvlink = cover[INTERVAL_NVLINK];
    struct score s;
    score_init(&s);
    for (int i = 0; i < 8; i++) {
        struct row_prediction p = {.us = 10};
        rows[i] = (struct measured_row){
            .kind = MEASURED_COLLECTIVE,
            .source = i < 4 ? "one" : "two",
            .file = "made.csv",
            .gpu = gpu_profile_find("h100_sxm", NULL),
            .net = network_profile_find("dgx_h100_400g", NULL),
            .op = SPECTER_ALLREDUCE,
            .bytes = 1e6,
            .where = {8, 1, 8},
            .time_us = 10 * off[i / 4][i % 4],
        };
        score_add(&s, &rows[i], &p, false);
    }
    coverage_of(&s, cover);
    CHECK_INT((int)nvlink[SIZE_ALL].rows, 8);
    CHECK_INT((int)nvlink[SIZE_ALL].machines, 2);
    CHECK_INT((int)nvlink[SIZE_MIDDLE].rows, 8); /* all of 1 MB */
    CHECK_INT((int)nvlink[SIZE_LARGE].rows, 0);
    CHECK_INT((int)nvlink[SIZE_ALL].ops, 1 << SPECTER_ALLREDUCE);
    CHECK_INT((int)cover[INTERVAL_GEMM][SIZE_ALL].rows, 0);
    /* 1.05 1.1 1.1 1.1 1.15 1.2 1.3 2: the middle of the fourth and fifth */
    CHECK_DOUBLE(nvlink[SIZE_ALL].factor50, sqrt(1.1 * 1.15), 1e-9);
    /* "two" has a median of sqrt(1.1 x 1.15), below which two of "one" lie, and the other way round
     * 1.05 and 1.1 below sqrt(1.1 x 1.2), and 1.15 is not */
    CHECK_DOUBLE(nvlink[SIZE_ALL].inside50, 4.0 / 8, 1e-9);
    CHECK(nvlink[SIZE_ALL].inside80 > 0.5);
    score_release(&s);
}

/* Fifty rows of one machine, ten of another: each counts as much as the other, so that half of all
 * is where the first ends; the one row of a third has a tenth of that. */
TEST(coverage_counts_machines_alike)
{
    struct measured_row rows[61];
    struct coverage cover[INTERVAL_CLASSES][SIZE_CLASSES];
    struct score s;
    score_init(&s);
    for (int i = 0; i < 61; i++) {
        struct row_prediction p = {.us = 10};
        rows[i] = (struct measured_row){
            .kind = MEASURED_COLLECTIVE,
            .source = i < 60 ? "one" : "two",
            .file = "made.csv",
            .gpu = gpu_profile_find("h100_sxm", NULL),
            .net = network_profile_find(i < 50 ? "dgx_h100_400g" : "azure_ndv5", NULL),
            .op = SPECTER_ALLREDUCE,
            .bytes = 1e6,
            .where = {8, 1, 8},
            .time_us = i < 50   ? 11
                       : i < 60 ? 20
                                : 40,
        };
        score_add(&s, &rows[i], &p, false);
    }
    coverage_of(&s, cover);
    CHECK_INT((int)cover[INTERVAL_NVLINK][SIZE_ALL].machines, 3);
    CHECK_DOUBLE(cover[INTERVAL_NVLINK][SIZE_ALL].factor80, 2, 1e-9);
    CHECK(cover[INTERVAL_NVLINK][SIZE_ALL].factor50 > 1.1);
    score_release(&s);
}
