/* SPDX-License-Identifier: MIT */
#include "calib/score.h"
#include "base/stats.h"
#include "test.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

TEST(stats_quantiles_are_those_of_numpy)
{
    static const double four[] = {4, 1, 3, 2}, one[] = {7};
    CHECK_DOUBLE(stats_quantile(four, 4, 0.5), 2.5, 1e-12);
    CHECK_DOUBLE(stats_quantile(four, 4, 0.9), 3.7, 1e-12);
    CHECK_DOUBLE(stats_quantile(four, 4, 0), 1, 0);
    CHECK_DOUBLE(stats_quantile(four, 4, 1), 4, 0);
    CHECK_DOUBLE(stats_quantile(one, 1, 0.9), 7, 0);
    CHECK(isnan(stats_quantile(one, 0, 0.5)));
    CHECK_DOUBLE(stats_mean(four, 4), 2.5, 1e-12);
    CHECK(isnan(stats_mean(four, 0)));
}

TEST(stats_weights_move_the_quantile)
{
    static const double values[] = {3, 1, 2}, alike[] = {1, 1, 1}, heavy[] = {0, 0, 5};
    static const double four[] = {4, 1, 3, 2}, halves[] = {0.5, 0.5, 0.5, 0.5};
    static const double pair[] = {10, 20}, three_to_one[] = {3, 1};
    CHECK_DOUBLE(stats_weighted_quantile(values, alike, 3, 0.5), 2, 1e-12);
    CHECK_DOUBLE(stats_weighted_quantile(values, heavy, 3, 0.5), 2, 1e-12);
    CHECK_DOUBLE(stats_weighted_quantile(four, halves, 4, 0.5), 2.5, 1e-12);
    /* 10 stands at 3/8, 20 at 7/8: the middle is a quarter of the way. */
    CHECK_DOUBLE(stats_weighted_quantile(pair, three_to_one, 2, 0.5), 12.5, 1e-12);
    CHECK_DOUBLE(stats_weighted_quantile(pair, three_to_one, 2, 1), 20, 0);
    CHECK_DOUBLE(stats_weighted_quantile(pair, three_to_one, 2, 0), 10, 0);
    CHECK(isnan(stats_weighted_quantile(pair, alike, 0, 0.5)));
}

/* Rows of 100 us, predicted with these errors: four of one source, one of another. */
static const struct {
    const char *source;
    double bytes, error;
} made[] = {
    {"A", 8, 0.1}, {"A", 65535, -0.2}, {"A", 65536, 0.3}, {"A", 1 << 20, -0.4}, {"B", 1 << 26, 1},
};

static void make_rows(struct measured_row rows[COUNT(made)], struct score *s)
{
    score_init(s);
    for (size_t i = 0; i < COUNT(made); i++) {
        const struct row_prediction p = {.us = 100 * (1 + made[i].error), .algo = "", .proto = ""};
        rows[i] = (struct measured_row){
            .kind = MEASURED_COLLECTIVE,
            .file = "t.csv",
            .line = i + 2,
            .source = made[i].source,
            .gpu = gpu_profile_find("h100_sxm", NULL),
            .net = network_profile_find("dgx_h100_400g", NULL),
            .time_us = 100,
            .op = i % 2 == 0 ? SPECTER_ALLREDUCE : SPECTER_ALLGATHER,
            .bytes = made[i].bytes,
            .where = {i == 0 ? 16 : 2, 1, 2},
        };
        score_add(s, &rows[i], &p, i == 0);
    }
    score_finish(s);
}

static const struct score_group *find(const struct score *s, const char *by, const char *key)
{
    static const struct score_group none;
    for (size_t i = 0; i < s->ngroups; i++) {
        if (strcmp(s->groups[i].by, by) == 0 && strcmp(s->groups[i].key, key) == 0)
            return &s->groups[i];
    }
    return &none;
}

TEST(score_of_all_rows)
{
    struct measured_row rows[COUNT(made)];
    struct score s;
    make_rows(rows, &s);
    CHECK_INT((int64_t)s.all.n, 5);
    CHECK_DOUBLE(s.all.median_ape, 0.3, 1e-12);
    CHECK_DOUBLE(s.all.mean_ape, 0.4, 1e-12);
    CHECK_DOUBLE(s.all.p90_ape, 0.76, 1e-12);
    CHECK_DOUBLE(s.all.bias, 0.1, 1e-12);
    CHECK_DOUBLE(s.all.within_25, 0.4, 1e-12);
    CHECK_INT((int64_t)s.noutside, 1);
    CHECK_INT((int64_t)s.rows[0].row->line, 6); /* the worst */
    CHECK_INT((int64_t)s.rows[4].row->line, 2);
    score_release(&s);
}

TEST(score_sources_weigh_the_same)
{
    struct measured_row rows[COUNT(made)];
    struct score s;
    make_rows(rows, &s);
    CHECK_INT((int64_t)s.nsources, 2);
    CHECK_DOUBLE(s.source_weighted.mean_ape, (0.25 + 1) / 2, 1e-12);
    CHECK_DOUBLE(s.source_weighted.within_25, (0.5 + 0) / 2, 1e-12);
    /* Weights 1/4 each and 1: 0.4 stands at 7/16 of the total, 1 at 3/4. */
    CHECK_DOUBLE(s.source_weighted.median_ape, 0.4 + 0.6 * (1. / 16) / (5. / 16), 1e-12);
    score_release(&s);
}

TEST(score_groups)
{
    struct measured_row rows[COUNT(made)];
    struct score s;
    make_rows(rows, &s);
    CHECK_INT((int64_t)find(&s, "size", "<64 KiB")->stats.n, 2);
    CHECK_DOUBLE(find(&s, "size", "<64 KiB")->stats.median_ape, 0.15, 1e-12);
    CHECK_DOUBLE(find(&s, "size", "<64 KiB")->stats.bias, -0.05, 1e-12);
    CHECK_INT((int64_t)find(&s, "size", "64 KiB-1 MiB")->stats.n, 1);
    CHECK_INT((int64_t)find(&s, "size", "1-64 MiB")->stats.n, 1);
    CHECK_INT((int64_t)find(&s, "size", ">=64 MiB")->stats.n, 1);
    CHECK_INT((int64_t)find(&s, "collective", "AllReduce")->stats.n, 3);
    CHECK_INT((int64_t)find(&s, "source", "B")->stats.n, 1);
    CHECK_INT((int64_t)find(&s, "gpu", "h100_sxm")->stats.n, 5);
    CHECK_INT((int64_t)find(&s, "ranks", "16")->stats.n, 1);
    CHECK_INT((int64_t)find(&s, "kind", "collective")->stats.n, 5);
    CHECK(find(&s, "ranks", "2") < find(&s, "ranks", "16")); /* by number, not by letter */
    CHECK(find(&s, "m", "m 1-16")->by == NULL);
    score_release(&s);
}

TEST(score_of_nothing)
{
    struct score s;
    score_init(&s);
    score_finish(&s);
    CHECK_INT((int64_t)s.all.n, 0);
    CHECK(isnan(s.all.median_ape) && isnan(s.source_weighted.mean_ape));
    CHECK_INT((int64_t)s.ngroups, 0);
    score_release(&s);
}

TEST(used_params_count_what_is_shared_once)
{
    struct network_profile own = *network_profile_find("dgx_h100_400g", NULL);
    struct measured_row rows[COUNT(made)];
    struct score s;
    struct used_params u = {0};
    size_t node = param_tables[PARAMS_NODE].count, net = param_tables[PARAMS_NET].count;
    make_rows(rows, &s);
    for (size_t i = 0; i < COUNT(made); i++)
        used_params_add(&u, &rows[i]);
    CHECK_INT((int64_t)u.count, (int64_t)node);
    rows[2].where.nodes = 2;
    used_params_add(&u, &rows[2]);
    CHECK_INT((int64_t)u.count, (int64_t)(node + net));
    *param_at(&own.node, &param_tables[PARAMS_NODE].params[0]) = 3;
    rows[1].net = &own;
    used_params_add(&u, &rows[1]);
    CHECK_INT((int64_t)u.count, (int64_t)(node + net + 1));
    used_params_sort(&u);
    CHECK_INT(u.list[u.count - 1].group, PARAMS_NET);
    used_params_release(&u);
    score_release(&s);
}
