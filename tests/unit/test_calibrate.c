/* SPDX-License-Identifier: MIT
 *
 * Fits of the models' parameters. Rows are made by the models themselves, with parameters that a
 * fit must then find.
 */
#include "calib/calibrate.h"
#include "calib/score.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 4096

/* A table in the making. */
struct made_table {
    struct measured m;
    const char *source;
};

static void table_init(struct made_table *t)
{
    measured_init(&t->m);
    t->source = "made";
}

/* Adds what `gpu` in `net` would measure; the row names the compiled-in profiles. */
static void add(struct made_table *t, const struct gpu_profile *gpu,
                const struct network_profile *net, enum specter_comm_op op, double bytes, int ranks,
                int nodes)
{
    struct measured_row row = {.kind = MEASURED_COLLECTIVE,
                               .file = "made.csv",
                               .line = t->m.nrows + 2,
                               .source = t->source,
                               .notes = "",
                               .lib = "",
                               .op = op,
                               .bytes = bytes,
                               .where = {ranks, nodes, ranks / nodes}};
    struct row_prediction p;
    row.gpu = gpu_profile_find(gpu->name, NULL);
    row.net = network_profile_find(net->name, NULL);
    CHECK_INT(predict_row(&row, gpu, net, &p, NULL), 0);
    row.time_us = p.us;
    ARRAY_GROW(t->m.rows, t->m.cap_rows, t->m.nrows + 1);
    t->m.rows[t->m.nrows++] = row;
}

static void add_sweep(struct made_table *t, const struct gpu_profile *gpu,
                      const struct network_profile *net, int ranks, int nodes)
{
    static const enum specter_comm_op ops[] = {SPECTER_ALLREDUCE, SPECTER_ALLGATHER,
                                               SPECTER_REDUCESCATTER, SPECTER_ALLTOALL};
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        for (double bytes = 1024; bytes <= 4.3e9; bytes *= 4)
            add(t, gpu, net, ops[o], bytes, ranks, nodes);
    }
}

static void machine(const char *gpu, const char *net, struct gpu_profile *g,
                    struct network_profile *n)
{
    *g = *gpu_profile_find(gpu, NULL);
    *n = *network_profile_find(net, NULL);
}

static struct calibration_param *param(struct calibration *c, const char *name)
{
    size_t i = 0;
    while (i + 1 < c->nparams && strcmp(c->params[i].param->name, name) != 0)
        i++;
    return &c->params[i];
}

TEST(calibration_finds_the_parameters_of_a_machine)
{
    struct gpu_profile gpu;
    struct network_profile net;
    struct calibration c;
    struct fit_rows rows;
    struct made_table t;
    table_init(&t);
    machine("h100_sxm", "dgx_h100_400g", &gpu, &net);
    net.node.link_share = 0.61;
    net.node.start_us = 11;
    for (int ranks = 2; ranks <= 8; ranks *= 2)
        add_sweep(&t, &gpu, &net, ranks, 1);
    fit_rows_init(&rows, t.m.rows, t.m.nrows);
    CHECK_INT((int)rows.nrows, (int)t.m.nrows);
    calibration_init(&c, &rows);
    CHECK_INT(calibration_only(&c, "link_share", NULL), 0);
    CHECK_INT(calibration_only(&c, "start_us", NULL), 0);
    CHECK_INT(calibration_run(&c, NULL), 0);
    CHECK_DOUBLE(param(&c, "link_share")->fit.value, 0.61, 1e-2);
    CHECK_DOUBLE(param(&c, "start_us")->fit.value, 11, 1e-2);
    CHECK(!calibration_is_open(param(&c, "start_us")));
    CHECK_INT(param(&c, "hop_us")->held, CALIBRATION_NO_ROWS);
    CHECK_INT(param(&c, "step_us")->held, CALIBRATION_FIXED);
    CHECK_DOUBLE(rows.machines[0].net.node.link_share, param(&c, "link_share")->fit.value, 0);
    CHECK_DOUBLE(rows.machines[0].net.node.step_us, 0, 0); /* still its class's */
    fit_rows_release(&rows);
    measured_release(&t.m);
}

/* Five sizes of one operation: a fit of all is not worth more than that of few; exact rows of a
 * machine of other links are worth it; those that scatter about what was known change nothing. */
TEST(cross_validation_fits_what_left_out_rows_gain_by)
{
    struct gpu_profile gpu;
    struct network_profile net;
    struct calibration c;
    struct cross_validation v;
    struct fit_rows rows;
    struct made_table t;
    table_init(&t);
    machine("h100_sxm", "dgx_h100_400g", &gpu, &net);
    for (int ranks = 2; ranks <= 8; ranks *= 2)
        add_sweep(&t, &gpu, &net, ranks, 1);
    for (size_t i = 0; i < t.m.nrows; i++)
        t.m.rows[i].time_us *= (uint32_t)i * 2654435761u >> 31 ? 1.1 : 1 / 1.1;
    fit_rows_init(&rows, t.m.rows, t.m.nrows);
    calibration_init(&c, &rows);
    CHECK_INT(cross_validate_run(&c, &v, NULL), 0);
    CHECK_INT(v.took[0], CALIBRATION_NONE);
    CHECK_INT((int)v.left_out.nrows, (int)rows.nrows);
    CHECK_DOUBLE(v.left_out.all.median_ape, v.before.all.median_ape, 0);
    CHECK_DOUBLE(rows.machines[0].net.node.link_share, 0, 0); /* still its class's */
    cross_validation_release(&v);
    fit_rows_release(&rows);
    measured_release(&t.m);

    table_init(&t);
    net.node.link_share = 0.5;
    for (int ranks = 2; ranks <= 8; ranks *= 2)
        add_sweep(&t, &gpu, &net, ranks, 1);
    fit_rows_init(&rows, t.m.rows, t.m.nrows);
    calibration_init(&c, &rows);
    CHECK_INT(cross_validate_run(&c, &v, NULL), 0);
    CHECK(v.took[0] >= CALIBRATION_FEW);
    CHECK(v.left_out.all.median_ape < 0.1 * v.before.all.median_ape);
    CHECK_DOUBLE(param(&c, "link_share")->fit.value, 0.5, 2e-2);
    cross_validation_release(&v);
    fit_rows_release(&rows);

    /* One curve: ranges of sizes are left out. One row: nothing can be. */
    for (size_t i = 0; i < t.m.nrows; i++)
        t.m.rows[i].where = t.m.rows[0].where;
    size_t n = 0;
    while (n < t.m.nrows && t.m.rows[n].op == t.m.rows[0].op)
        n++;
    CHECK(n >= 5);
    fit_rows_init(&rows, t.m.rows, n);
    calibration_init(&c, &rows);
    CHECK_INT(cross_validate_run(&c, &v, NULL), 0);
    CHECK_INT((int)v.left_out.nrows, (int)n);
    cross_validation_release(&v);
    fit_rows_release(&rows);
    struct err e;
    fit_rows_init(&rows, t.m.rows, 1);
    calibration_init(&c, &rows);
    CHECK_INT(cross_validate_run(&c, &v, &e), -1);
    CHECK_INT(e.code, ERR_INPUT);
    CHECK_HAS(e.msg, "1 row cannot show");
    fit_rows_release(&rows);
    measured_release(&t.m);
}

TEST(contradicting_rows_are_found)
{
    struct gpu_profile gpu;
    struct network_profile net;
    struct made_table t;
    table_init(&t);
    machine("h100_sxm", "dgx_h100_400g", &gpu, &net);
    add_sweep(&t, &gpu, &net, 8, 1);
    CHECK_DOUBLE(measured_contradiction(t.m.rows, t.m.nrows).ratio, 1, 0);
    size_t n = t.m.nrows;
    add_sweep(&t, &gpu, &net, 8, 1);
    t.m.rows[n + 2].time_us *= 3;
    struct measured_pair pair = measured_contradiction(t.m.rows, t.m.nrows);
    CHECK_DOUBLE(pair.ratio, 3, 1e-9);
    CHECK(pair.slow == &t.m.rows[n + 2] && pair.fast == &t.m.rows[2]);
    measured_release(&t.m);
}

TEST(calibration_tells_what_rows_leave_open)
{
    struct gpu_profile gpu;
    struct network_profile net;
    struct calibration c;
    struct fit_rows rows;
    struct made_table t;
    char text[128];
    struct err e;
    table_init(&t);
    machine("h100_sxm", "dgx_h100_400g", &gpu, &net);
    for (int i = 0; i < 20; i++) /* one size only */
        add(&t, &gpu, &net, SPECTER_ALLREDUCE, 1e9, 8, 1);
    fit_rows_init(&rows, t.m.rows, t.m.nrows);
    calibration_init(&c, &rows);
    CHECK_INT(calibration_run(&c, NULL), 0);
    CHECK(calibration_is_open(param(&c, "start_us")));
    CHECK_INT(calibration_fix(&c, "start_us", NULL), 0);
    CHECK_INT(param(&c, "start_us")->held, CALIBRATION_FIXED);
    CHECK_INT(calibration_only(&c, "nonsense", &e), -1);
    CHECK_INT(e.code, ERR_USAGE);
    CHECK_INT(calibration_only(&c, "nic_share", &e), -1);
    CHECK_HAS(e.msg, "no row");
    CHECK(calibration_advice(&rows.machines[0], PARAMS_NODE, 0, text, sizeof text));
    CHECK_HAS(text, "KiB by");
    fit_rows_release(&rows);
    measured_release(&t.m);
}

TEST(calibration_of_one_row_and_of_contradictions)
{
    struct gpu_profile gpu;
    struct network_profile net;
    struct calibration c;
    struct fit_rows rows;
    struct made_table t;
    table_init(&t);
    machine("h100_sxm", "dgx_h100_400g", &gpu, &net);
    add(&t, &gpu, &net, SPECTER_ALLREDUCE, 1e9, 8, 1);
    fit_rows_init(&rows, t.m.rows, 1);
    calibration_init(&c, &rows);
    CHECK_INT(calibration_only(&c, "link_share", NULL), 0);
    CHECK_INT(calibration_run(&c, NULL), 0);
    CHECK(calibration_is_open(param(&c, "link_share"))); /* nothing to see scatter by */
    fit_rows_release(&rows);

    for (int i = 0; i < 9; i++)
        add(&t, &gpu, &net, SPECTER_ALLREDUCE, 1e9, 8, 1);
    for (size_t i = 0; i < 10; i++)
        t.m.rows[i].time_us *= i % 2 ? 100 : 0.01;
    fit_rows_init(&rows, t.m.rows, t.m.nrows);
    calibration_init(&c, &rows);
    CHECK_INT(calibration_only(&c, "link_share", NULL), 0);
    CHECK_INT(calibration_run(&c, NULL), 0);
    CHECK(isfinite(param(&c, "link_share")->fit.value));
    CHECK(param(&c, "link_share")->fit.verdict != FIT_DETERMINED);
    fit_rows_release(&rows);
    measured_release(&t.m);
}

TEST(fit_rows_know_their_group)
{
    struct gpu_profile gpu;
    struct network_profile net;
    struct fit_rows rows;
    struct made_table t;
    table_init(&t);
    machine("h100_sxm", "dgx_h100_400g", &gpu, &net);
    add(&t, &gpu, &net, SPECTER_ALLREDUCE, 1e6, 8, 1);
    add(&t, &gpu, &net, SPECTER_ALLREDUCE, 1e6, 16, 2);
    machine("gb200", "gb200_nvl72", &gpu, &net);
    add(&t, &gpu, &net, SPECTER_ALLREDUCE, 1e6, 72, 18);
    add(&t, &gpu, &net, SPECTER_ALLREDUCE, 1e6, 144, 36);
    fit_rows_init(&rows, t.m.rows, t.m.nrows);
    CHECK_INT(rows.rows[0].group, PARAMS_NODE);
    CHECK_INT(rows.rows[1].group, PARAMS_NET);
    CHECK_INT(rows.rows[2].group, PARAMS_NODE); /* one NVLink domain */
    CHECK_INT(rows.rows[3].group, PARAMS_NET);
    CHECK_INT((int)rows.nmachines, 2);
    fit_rows_release(&rows);
    measured_release(&t.m);
}

static const struct fitted_class *class_of(const struct fitted_classes *c, enum param_group group,
                                           const char *key)
{
    for (size_t i = 0; i < c->nrows; i++) {
        if (c->rows[i].group == group && strcmp(c->rows[i].key, key) == 0)
            return &c->rows[i];
    }
    return NULL;
}

static double value_of(const struct fitted_class *c, const char *name)
{
    for (size_t k = 0; c != NULL && k < param_tables[c->group].count; k++) {
        if (strcmp(param_tables[c->group].params[k].name, name) == 0)
            return c->values[k];
    }
    return NAN;
}

/* A machine with the parameters of "any" but for two, whatever its class has just now. */
static void add_like_any(struct made_table *t, const char *gpu_name, const char *net_name,
                         double link_share, double start_us)
{
    const struct gpu_profile no_gpu = {.name = "none"};
    const struct network_profile no_net = {.name = "none"};
    struct gpu_profile gpu;
    struct network_profile net;
    machine(gpu_name, net_name, &gpu, &net);
    net.node = params_node(&no_gpu, &no_net);
    net.node.link_share = link_share;
    net.node.start_us = start_us;
    add_sweep(t, &gpu, &net, 2, 1);
    add_sweep(t, &gpu, &net, 8, 1);
}

/* Two machines of nvswitch that differ in how much of the link is payload, one on PCIe. */
static void add_three(struct made_table *t)
{
    add_like_any(t, "h100_sxm", "dgx_h100_400g", 0.85, 6);
    add_like_any(t, "a100_sxm", "dgx_a100_200g", 0.6, 6);
    add_like_any(t, "l40s", "l40s_pcie4", 0.7, 3);
}

TEST(classes_have_values_of_their_own_where_they_differ)
{
    struct fitted_classes c;
    struct fit_rows rows;
    struct made_table t;
    char *text = NULL;
    size_t size = 0;
    FILE *out;
    table_init(&t);
    add_three(&t);
    fit_rows_init(&rows, t.m.rows, t.m.nrows);
    CHECK_INT(classes_fit(&c, &rows, &(struct classes_opts){0}, NULL), 0);
    CHECK_DOUBLE(value_of(class_of(&c, PARAMS_NODE, "hopper/nvswitch"), "link_share"), 0.85, 0.05);
    CHECK_DOUBLE(value_of(class_of(&c, PARAMS_NODE, "ampere/nvswitch"), "link_share"), 0.6, 0.05);
    CHECK(class_of(&c, PARAMS_NODE, "ada/pcie") == NULL); /* any/pcie is the same */
    CHECK(class_of(&c, PARAMS_NODE, "any/pcie") != NULL);
    CHECK(class_of(&c, PARAMS_NET, "any") != NULL);
    CHECK_DOUBLE(class_of(&c, PARAMS_NET, "any")->range.rows, 0, 0);
    CHECK(classes_parameters(&c) > 0 && classes_parameters(&c) < 40);

    out = open_memstream(&text, &size);
    classes_write(&c, out);
    fclose(out);
    CHECK_HAS(text, "\nNODE(\"hopper/nvswitch\", RANGE(.rows = 96");
    CHECK_HAS(text, "\nGEMM(\"any\", RANGE(.rows = 0),");
    free(text);
    classes_release(&c);
    fit_rows_release(&rows);
    measured_release(&t.m);
}

/* AllReduces of few bytes and one number of ranks determine only start + 14 steps: both must become
 * shorter, not one of them alone. */
TEST(classes_share_what_rows_determine_together)
{
    static const char *const machines[][2] = {{"a100_sxm", "dgx_a100_200g"},
                                              {"b200_sxm", "dgx_b200_400g"},
                                              {"h100_sxm", "dgx_h100_400g"}};
    static const char *const shared[] = {"start_us", "step_us"};
    const struct gpu_profile no_gpu = {.name = "none"};
    const struct network_profile no_net = {.name = "none"};
    struct fitted_classes c;
    struct fit_rows rows;
    struct made_table t;
    table_init(&t);
    for (int i = 0; i < 3; i++) {
        bool small = i == 2;
        struct gpu_profile gpu;
        struct network_profile net;
        machine(machines[i][0], machines[i][1], &gpu, &net);
        net.node = params_node(&no_gpu, &no_net);
        net.node.start_us = small ? 6 : 9;
        net.node.step_us = small ? 1 : 2;
        for (double bytes = 8; small && bytes <= 1024; bytes *= 2)
            add(&t, &gpu, &net, SPECTER_ALLREDUCE, bytes, 8, 1);
        for (int ranks = 2; !small && ranks <= 8; ranks *= 2)
            add_sweep(&t, &gpu, &net, ranks, 1);
    }
    fit_rows_init(&rows, t.m.rows, t.m.nrows);
    CHECK_INT(classes_fit(&c, &rows, &(struct classes_opts){0}, NULL), 0);
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        double wide = value_of(class_of(&c, PARAMS_NODE, "any"), shared[i]);
        double own = value_of(class_of(&c, PARAMS_NODE, "hopper/nvswitch"), shared[i]);
        printf("# %s: %g, of the wider class %g\n", shared[i], own, wide);
        CHECK(own < 0.95 * wide);
    }
    classes_release(&c);
    fit_rows_release(&rows);
    measured_release(&t.m);
}

TEST(classes_do_not_see_what_is_left_out)
{
    struct fitted_classes c;
    struct fit_rows rows;
    struct made_table t;
    bool *leave_out;
    double with_slow, without;
    table_init(&t);
    add_three(&t);
    for (size_t i = 0; i < t.m.nrows; i++) {
        if (strcmp(t.m.rows[i].gpu->name, "a100_sxm") == 0)
            t.m.rows[i].time_us *= 3;
    }
    fit_rows_init(&rows, t.m.rows, t.m.nrows);
    leave_out = calloc(rows.nrows, sizeof *leave_out);
    CHECK_INT(classes_fit(&c, &rows, &(struct classes_opts){0}, NULL), 0);
    with_slow = value_of(class_of(&c, PARAMS_NODE, "any/nvswitch"), "link_share");
    classes_release(&c);
    for (size_t i = 0; i < rows.nrows; i++)
        leave_out[i] = strcmp(rows.rows[i].row->gpu->name, "a100_sxm") == 0;
    CHECK_INT(classes_fit(&c, &rows, &(struct classes_opts){.leave_out = leave_out}, NULL), 0);
    without = value_of(class_of(&c, PARAMS_NODE, "any/nvswitch"), "link_share");
    CHECK_DOUBLE(without, 0.85, 0.02);
    CHECK(with_slow < 0.8);
    CHECK(class_of(&c, PARAMS_NODE, "ampere/nvswitch") == NULL);
    classes_release(&c);
    free(leave_out);
    fit_rows_release(&rows);
    measured_release(&t.m);
}

TEST(leave_one_out_predicts_each_row_once)
{
    struct made_table t;
    struct score s;
    size_t folds;
    table_init(&t);
    add_three(&t);
    score_init(&s);
    CHECK_INT(loo_score(&s, &t.m, LOO_GPU, &folds, NULL), 0);
    CHECK_INT((int)folds, 3);
    CHECK_INT((int)s.nrows, (int)t.m.nrows);
    score_release(&s);

    for (size_t i = 0; i < t.m.nrows; i += 2) /* a second source for every machine */
        t.m.rows[i].source = "other";
    score_init(&s);
    CHECK_INT(loo_score(&s, &t.m, LOO_SOURCE, &folds, NULL), 0);
    CHECK_INT((int)folds, 6);
    CHECK_INT((int)s.nrows, (int)t.m.nrows);
    score_finish(&s);
    CHECK(s.all.median_ape < 0.03); /* what is left of each machine is enough to know it */
    score_release(&s);
    CHECK_INT(loo_parse("gpu"), LOO_GPU);
    CHECK_INT(loo_parse("rank"), LOO_NONE);
    measured_release(&t.m);
}
