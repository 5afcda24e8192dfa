/* SPDX-License-Identifier: MIT
 *
 * The figures of a race, and which of NCCL's settings there are.
 */
#include "base/stats.h"
#include "bench/samples.h"
#include "bench/tune.h"
#include "made_random.h"
#include "test.h"

#include <math.h>

TEST(student_as_in_tables)
{
    static const struct {
        double level, t;
        size_t freedom;
    } known[] = {
        {0.90, 6.3138, 1}, {0.95, 12.7062, 1}, {0.90, 2.9200, 2},   {0.95, 4.3027, 2},
        {0.99, 5.8409, 3}, {0.95, 2.7764, 4},  {0.999, 8.6103, 4},  {0.95, 2.2622, 9},
        {0.99, 3.2498, 9}, {0.95, 2.0227, 39}, {0.90, 1.6577, 120},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK(fabs(student_t(known[i].level, known[i].freedom) - known[i].t) < 1e-4);
}

/* Of 2,000 races about 5 % of the intervals miss the truth, whatever the noise. */
TEST(intervals_hold_what_they_say)
{
    static const double spread[] = {0.001, 0.05, 0.5};
    uint64_t state = 1;
    for (size_t k = 0; k < sizeof spread / sizeof *spread; k++) {
        int missed = 0;
        for (int i = 0; i < 2000; i++) {
            struct bench_ratios r = {0};
            struct bench_ratio in;
            for (int n = 0; n < 10; n++)
                bench_ratios_add(&r, 1.3 * exp(spread[k] * made_noise(&state)));
            in = bench_ratios_interval(&r, 0.95);
            CHECK_INT(in.rounds, 10);
            missed += in.low > 1.3 || in.high < 1.3;
        }
        CHECK(missed > 70 && missed < 135);
    }
}

TEST(one_round_says_nothing)
{
    struct bench_ratios r = {0};
    struct bench_ratio in;
    bench_ratios_add(&r, 2);
    in = bench_ratios_interval(&r, 0.95);
    CHECK(fabs(in.ratio - 2) < 1e-12);
    CHECK(in.low <= 0 && isinf(in.high));
}

TEST(settings_that_nccl_has)
{
    const struct layout one = {8, 1, 8}, two = {16, 2, 8}, single = {4, 4, 1};
    CHECK(bench_tune_pair(SPECTER_ALLREDUCE, "tree", "LL128", one));
    CHECK(!bench_tune_pair(SPECTER_ALLGATHER, "tree", "LL", one));
    CHECK(bench_tune_pair(SPECTER_BROADCAST, "ring", "LL", one));
    CHECK(!bench_tune_pair(SPECTER_REDUCE, "nvls", "Simple", one));
    CHECK(bench_tune_pair(SPECTER_ALLGATHER, "nvls", "Simple", one));
    CHECK(!bench_tune_pair(SPECTER_ALLREDUCE, "nvls", "LL", one));
    CHECK(!bench_tune_pair(SPECTER_ALLREDUCE, "nvls_tree", "Simple", one));
    CHECK(bench_tune_pair(SPECTER_ALLREDUCE, "nvls_tree", "Simple", two));
    CHECK(!bench_tune_pair(SPECTER_ALLREDUCE, "pat", "Simple", single));
    CHECK(bench_tune_pair(SPECTER_REDUCESCATTER, "pat", "Simple", single));
    CHECK(!bench_tune_pair(SPECTER_REDUCESCATTER, "pat", "Simple", two));
    CHECK(!bench_tune_pair(SPECTER_ALLREDUCE, "collnet_chain", "Simple", two));
}
