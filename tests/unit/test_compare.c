/* SPDX-License-Identifier: MIT */
#include "base/stats.h"
#include "made_random.h"
#include "test.h"

#include <math.h>

/* n times around 1 ms; each holds `memory` of the deviation of the one before. */
static struct time_series made(uint64_t *seed, size_t n, double noise, double memory, double factor)
{
    struct time_series s = {0};
    double off = 0;
    for (size_t i = 0; i < n; i++) {
        off = memory * off + sqrt(1 - memory * memory) * noise * made_noise(seed);
        time_series_add(&s, 1e6 * factor * exp(off));
    }
    return s;
}

/* Returns how often in 1,000 tries the interval of 95 % holds the true ratio. */
static double held(size_t na, size_t nb, double memory, double factor)
{
    uint64_t seed = 7;
    int inside = 0;
    for (int i = 0; i < 1000; i++) {
        struct time_series a = made(&seed, na, 0.02, memory, 1);
        struct time_series b = made(&seed, nb, 0.05, memory, factor);
        struct sample_test t;
        sample_test(&t, &a, &b, 0.95);
        inside += t.low <= factor && factor <= t.high;
        time_series_release(&a);
        time_series_release(&b);
    }
    return inside / 1000.0;
}

TEST(sample_test_holds_what_it_says)
{
    CHECK(fabs(held(5, 5, 0, 1.1) - 0.95) < 0.03);
    CHECK(fabs(held(40, 10, 0, 0.9) - 0.95) < 0.03);
    CHECK(held(100, 100, 0.6, 1) > 0.9); /* 0.75 if each step counted as one */
    CHECK(held(3, 3, 0, 1) > 0.93);
}

TEST(sample_test_of_too_little)
{
    struct time_series none = {0}, one = {0}, two = {0};
    struct sample_test t;
    time_series_add(&one, 100);
    time_series_add(&two, 200);
    time_series_add(&two, 200);
    sample_test(&t, &none, &two, 0.95);
    CHECK(isnan(t.ratio) && isnan(t.low));
    sample_test(&t, &one, &two, 0.95);
    CHECK_DOUBLE(t.ratio, 2, 1e-12);
    CHECK(isnan(t.low) && isnan(t.high));
    time_series_add(&one, 0); /* no logarithm */
    sample_test(&t, &one, &two, 0.95);
    CHECK_DOUBLE(t.ratio, 4, 1e-12);
    CHECK(isnan(t.low));
    time_series_release(&one);
    time_series_release(&two);
}

TEST(two_groups_are_seen)
{
    uint64_t seed = 3;
    struct time_series one = made(&seed, 60, 0.02, 0, 1), two = {0};
    for (int i = 0; i < 40; i++)
        time_series_add(&two, (i % 3 == 0 ? 1.3e6 : 1e6) * exp(0.01 * made_noise(&seed)));
    CHECK(!time_series_has_two_groups(&one));
    CHECK(time_series_has_two_groups(&two));
    time_series_release(&one);
    time_series_release(&two);
}
