/* SPDX-License-Identifier: MIT
 *
 * The values that ranks send in a benchmark, against sums made one by one; statistics against
 * values counted by hand.
 */
#include "bench/collective.h"
#include "bench/samples.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* Each type's numbers, decoded here bit by bit. */
static double decode(enum specter_dtype type, const unsigned char *bytes)
{
    unsigned fraction = type == SPECTER_FP16      ? 10
                        : type == SPECTER_BF16    ? 7
                        : type == SPECTER_FP8E4M3 ? 3
                                                  : 2;
    int bias = type == SPECTER_FP16      ? 15
               : type == SPECTER_BF16    ? 127
               : type == SPECTER_FP8E4M3 ? 7
                                         : 15;
    uint64_t whole = 0;
    float single;
    double wide;
    memcpy(&whole, bytes, specter_dtype_bits(type) / 8);
    switch (type) {
    case SPECTER_FP64:
        memcpy(&wide, bytes, sizeof wide);
        return wide;
    case SPECTER_FP32:
        memcpy(&single, bytes, sizeof single);
        return (double)single;
    case SPECTER_FP16:
    case SPECTER_BF16:
    case SPECTER_FP8E4M3:
    case SPECTER_FP8E5M2:
        if (whole == 0)
            return 0;
        return ldexp(1 + (double)(whole & ((1u << fraction) - 1)) / (1u << fraction),
                     (int)(whole >> fraction) - bias);
    default:
        return (double)whole;
    }
}

static double combine(enum specter_redop redop, double a, double b)
{
    switch (redop) {
    case SPECTER_REDOP_PROD:
        return a * b;
    case SPECTER_REDOP_MAX:
        return a > b ? a : b;
    case SPECTER_REDOP_MIN:
        return a < b ? a : b;
    default:
        return a + b;
    }
}

static void check_reduction(enum specter_dtype type, enum specter_redop redop, int ranks)
{
    enum { N = 64 };
    const uint64_t first = 12345;
    struct bench_values v;
    struct err e = {0};
    unsigned char sent[N * 8], reduced[N * 8];
    double want[N];
    CHECK_INT(bench_values_init(&v, type, redop, ranks, &e), 0);
    for (int r = 0; r < ranks; r++) {
        bench_values_fill(&v, r, first, N, sent);
        for (int i = 0; i < N; i++) {
            double value = decode(type, sent + (size_t)i * v.size);
            want[i] = r == 0 ? value : combine(redop, want[i], value);
        }
    }
    bench_values_fill(&v, BENCH_REDUCED, first, N, reduced);
    for (int i = 0; i < N; i++) {
        double got = decode(type, reduced + (size_t)i * v.size);
        if (got != want[i])
            test_fail(__FILE__, __LINE__, "%s, redop %d, %d ranks: element %d is %g, not %g",
                      specter_dtype_name(type), (int)redop, ranks, i, got, want[i]);
    }
    bench_values_release(&v);
}

TEST(bench_values_reduce_exactly)
{
    static const int ranks[] = {1, 2, 3, 8, 17, 256, 257, 1024};
    for (enum specter_dtype type = 0; type < SPECTER_TF32; type++) {
        for (enum specter_redop redop = SPECTER_REDOP_SUM; redop <= SPECTER_REDOP_MIN; redop++) {
            for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
                check_reduction(type, redop, ranks[i]);
        }
    }
}

/* Data of a neighbour, of another place and of nothing at all differ from what is expected. */
TEST(bench_values_tell_ranks_apart)
{
    enum { N = 4096 };
    static float mine[N], other[N], moved[N];
    struct bench_values v;
    struct err e = {0};
    int same_rank = 0, same_place = 0;
    CHECK_INT(bench_values_init(&v, SPECTER_FP32, SPECTER_REDOP_NONE, 8, &e), 0);
    bench_values_fill(&v, 3, 0, N, mine);
    bench_values_fill(&v, 4, 0, N, other);
    bench_values_fill(&v, 3, 1, N, moved);
    for (int i = 0; i < N; i++) {
        same_rank += mine[i] == other[i];
        same_place += mine[i] == moved[i];
    }
    CHECK_INT(same_rank, 0);
    CHECK(same_place < N / 64);
    bench_values_release(&v);
}

TEST(bench_values_refuse)
{
    struct bench_values v;
    struct err e = {0};
    CHECK_INT(bench_values_init(&v, SPECTER_FP32, SPECTER_REDOP_AVG, 8, &e), -1);
    CHECK_HAS(e.msg, "'avg'");
    CHECK_INT(bench_values_init(&v, SPECTER_FP4, SPECTER_REDOP_SUM, 8, &e), -1);
    CHECK_HAS(e.msg, "fp4");
}

/* 1..5: deviation sqrt(2.5), quartiles 2 and 4. */
TEST(bench_stats_by_hand)
{
    const double values[] = {5, 1, 4, 2, 3}, one[] = {7};
    struct bench_stats s;
    bench_stats_of(values, 5, &s);
    CHECK_DOUBLE(s.min, 1, 0);
    CHECK_DOUBLE(s.max, 5, 0);
    CHECK_DOUBLE(s.mean, 3, 1e-12);
    CHECK_DOUBLE(s.median, 3, 1e-12);
    CHECK_DOUBLE(s.p99, 4.96, 1e-12);
    CHECK_DOUBLE(s.cv, sqrt(2.5) / 3, 1e-12);
    CHECK_DOUBLE(s.spread, 2.0 / 3, 1e-12);
    bench_stats_of(one, 1, &s);
    CHECK_DOUBLE(s.p99, 7, 0);
    CHECK_DOUBLE(s.cv, 0, 0);
    bench_stats_of(one, 0, &s);
    CHECK(isnan(s.median));
}

TEST(correlation_of_known_values)
{
    /* By hand: means 3 and 4; sums of products 10, 10 and 8. */
    const double x[] = {1, 2, 3, 4, 5}, y[] = {2, 4, 3, 6, 5}, same[] = {7, 7, 7, 7, 7};
    struct bench_correlation c = bench_correlate(x, y, 5);
    CHECK_DOUBLE(c.r, 0.8, 1e-12);
    CHECK_DOUBLE(c.slope, 0.8, 1e-12);
    CHECK_DOUBLE(c.low, tanh(atanh(0.8) - 1.959964 / sqrt(2)), 1e-12);
    CHECK(!bench_correlation_is_clear(&c)); /* so few values */
    CHECK(isnan(bench_correlate(x, same, 5).r));
    CHECK(isnan(bench_correlate(x, y, 3).r));
}

TEST(correlation_is_clear_when_there_are_many_values)
{
    double x[200], up[200], none[200];
    struct bench_correlation c;
    for (int i = 0; i < 200; i++) {
        x[i] = 40 + i % 20;
        none[i] = 1 + 0.01 * (i / 20 % 2);
        up[i] = none[i] + 0.002 * x[i];
    }
    c = bench_correlate(x, up, 200);
    CHECK(bench_correlation_is_clear(&c) && c.r > 0.9);
    CHECK_DOUBLE(c.slope, 0.002, 1e-9);
    c = bench_correlate(x, none, 200);
    CHECK(!bench_correlation_is_clear(&c));
}
