/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "sim/whatif/whatif.h"

#include <math.h>

/* Phi(z) = erfc(-z / sqrt 2) / 2 shares nothing with the approximation of its inverse. */
TEST(whatif_normal_quantile_inverts_phi)
{
    for (double z = -8; z <= 8; z += 0.03125) {
        double p = erfc(-z / sqrt(2)) / 2;
        if (p < 1 - 1e-9)
            CHECK_DOUBLE(random_quantile_of_normal(p) + 10, z + 10, 1e-7);
    }
}

static double phi(double z)
{
    return erfc(-z / sqrt(2)) / 2;
}

/* E max of n standard normals = integral of 1 - Phi^n on the right, less that of Phi^n on the left;
 * the mean of random_latest() over u is the same number. 1/sqrt(pi) for two, 3/(2 sqrt(pi)) for
 * three; others from tables of normal order statistics (Harter 1961). */
TEST(whatif_latest_of_n_normals_has_the_known_mean)
{
    static const struct {
        double n, mean;
    } known[] = {{1, 0},        {2, 0.56419},   {3, 0.84628},    {4, 1.02938}, {8, 1.42360},
                 {10, 1.53875}, {100, 2.50759}, {1000, 3.24144}, {4096, NAN}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double sum = 0, exact = 0;
        int steps = 200000;
        for (int k = 0; k < steps; k++)
            sum += random_latest((k + 0.5) / steps, known[i].n);
        for (double z = 0.0005; z < 12; z += 0.001)
            exact += 0.001 * (1 - pow(phi(z), known[i].n) - pow(phi(-z), known[i].n));
        CHECK_DOUBLE(sum / steps + 1, exact + 1, 1e-4);
        if (!isnan(known[i].mean))
            CHECK_DOUBLE(exact + 1, known[i].mean + 1, 1e-4);
    }
}

TEST(whatif_latest_grows_with_the_number)
{
    for (double u = 0.01; u < 1; u += 0.07) {
        double before = random_latest(u, 0.5);
        CHECK_DOUBLE(random_latest(u, 1) + 10, random_quantile_of_normal(u) + 10, 1e-8);
        for (double n = 1; n < 1e7; n *= 3) {
            CHECK(random_latest(u, n) > before);
            before = random_latest(u, n);
        }
    }
}

TEST(whatif_draws_are_normal_and_independent)
{
    double sum = 0, square = 0, beside = 0, last = 0;
    int n = 100000;
    for (int i = 0; i < n; i++) {
        double z = random_normal(random_key(random_key(7, 3), (uint64_t)i));
        sum += z;
        square += z * z;
        beside += z * last;
        last = z;
    }
    CHECK(fabs(sum / n) < 4 / sqrt(n));
    CHECK(fabs(square / n - 1) < 4 * sqrt(2.0 / n));
    CHECK(fabs(beside / n) < 4 / sqrt(n));
    CHECK(random_key(random_key(1, 2), 3) != random_key(random_key(1, 3), 2));
    CHECK(random_uniform(0) > 0 && random_uniform(UINT64_MAX) < 1);
    CHECK(random_uniform(UINT64_C(0xCF9A04AFFA6BADC0)) < 1); /* the key with the largest hash */
}

TEST(whatif_factor_keeps_the_mean)
{
    double sum = 0, square = 0;
    int steps = 100000;
    for (int k = 0; k < steps; k++) {
        double f = random_factor(random_quantile_of_normal((k + 0.5) / steps), 0.3);
        sum += f;
        square += f * f;
    }
    CHECK_DOUBLE(sum / steps, 1, 1e-4);
    CHECK_DOUBLE(square / steps - 1, 0.09, 1e-3);
    CHECK_DOUBLE(random_factor(1.5, 0), 1, 0);
}
