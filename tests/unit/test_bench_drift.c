/* SPDX-License-Identifier: MIT
 *
 * Lines through clocks of known drift.
 */
#include "bench/drift.h"
#include "made_random.h"
#include "test.h"

#include <math.h>
#include <stdint.h>

#define MOMENTS 300

/* A clock of `ppm`, seen with an error of noise_us, that from second `turn` on has `later` more. */
static void make_clock(struct bench_drift_point *p, double ppm, double noise_us, double turn,
                       double later, uint64_t *state)
{
    for (int i = 0; i < MOMENTS; i++) {
        double s = i;
        p[i] = (struct bench_drift_point){s, 7 + ppm * s + fmax(0, s - turn) * later +
                                                 noise_us * made_noise(state)};
    }
}

TEST(drift_of_an_exact_clock)
{
    struct bench_drift_point p[MOMENTS];
    struct bench_drift_line l;
    uint64_t state = 1;
    make_clock(p, -3, 0, INFINITY, 0, &state);
    l = bench_drift_fit(p, MOMENTS, 10);
    CHECK(fabs(l.ppm + 3) < 1e-9 && fabs(l.low + 3) < 1e-6 && fabs(l.high + 3) < 1e-6);
    CHECK(fabs(l.offset_us - (7 - 3 * 149.5)) < 1e-6);
    CHECK(fabs(l.change_ppm) < 1e-6 && !l.changes);
}

TEST(drift_interval_holds_nine_times_of_ten)
{
    struct bench_drift_point p[MOMENTS];
    uint64_t state = 2;
    int inside = 0, changes = 0;
    for (int i = 0; i < 1000; i++) {
        struct bench_drift_line l;
        make_clock(p, 2.5, 5, INFINITY, 0, &state);
        l = bench_drift_fit(p, MOMENTS, 1);
        inside += l.low <= 2.5 && l.high >= 2.5;
        CHECK(fabs(l.noise_us - 5) < 1);
        changes += bench_drift_fit(p, MOMENTS, 10).changes;
    }
    CHECK(inside > 870 && inside < 930);
    CHECK_INT(changes, 0);
}

TEST(drift_that_changes_is_told_with_its_window)
{
    struct bench_drift_point p[MOMENTS];
    struct bench_drift_line l;
    uint64_t state = 3;
    make_clock(p, 1, 1, 270, 4, &state);
    l = bench_drift_fit(p, MOMENTS, 10);
    CHECK(l.changes && l.change_ppm > 3 && fabs(l.change_s - 270) < 2);
    CHECK(l.low < 1 && l.high > 1); /* the windows show that the line is none */
    CHECK(!bench_drift_fit(p, 270, 9).changes);
}

TEST(drift_of_too_few_moments_is_not_known)
{
    const struct bench_drift_point p[] = {{0, 0}, {1, 2}, {2, 4}},
                                   same[] = {{1, 0}, {1, 2}, {1, 4}};
    CHECK(isnan(bench_drift_fit(p, 2, 10).ppm));
    CHECK(isnan(bench_drift_fit(same, 3, 10).ppm));
    CHECK(isnan(bench_drift_fit(NULL, 0, 1).ppm));
    CHECK(fabs(bench_drift_fit(p, 3, 10).ppm - 2) < 1e-12);
    CHECK(!bench_drift_fit(p, 3, 10).changes);
}

TEST(drift_verdicts)
{
    CHECK_STR(bench_drift_verdict(-0.99), "excellent");
    CHECK_STR(bench_drift_verdict(1), "good");
    CHECK_STR(bench_drift_verdict(-10), "good");
    CHECK_STR(bench_drift_verdict(10.1), "investigate");
    CHECK_STR(bench_drift_verdict(NAN), "not known");
}
