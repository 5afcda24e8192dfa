/* SPDX-License-Identifier: MIT
 *
 * Times of hosts on rank 0's clock, and reasons of throttling as texts.
 */
#include "bench/drift.h"
#include "bench/state.h"
#include "test.h"

#include <string.h>

#define MOMENTS 30
#define BASE INT64_C(1700000000000000000)

/* Rank 1's host is `us` ahead at the first moment, and gains `ppm`. */
static void made_log(struct bench_drift_log *log, double from_s, double us, double ppm)
{
    *log = (struct bench_drift_log){.ranks = 2, .origin_ns = BASE + (int64_t)(from_s * 1e9)};
    for (int i = 0; i < MOMENTS; i++) {
        size_t at = bench_drift_log_add(log);
        for (size_t rank = 0; rank < 2; rank++) {
            log->gpu[at + rank] = (struct bench_drift_point){i, 0};
            log->host[at + rank] = (struct bench_drift_point){i, rank > 0 ? us + ppm * i : 0};
        }
    }
}

/* Before: 1000 us ahead at second 0, 2 ppm; after: 1500 us at second 100, since the clock was set.
 */
TEST(common_clock_goes_between_both_comparisons)
{
    static const int one_node[] = {0, 0}, two_nodes[] = {0, 1};
    struct bench_drift_log before, after;
    struct bench_common_clock c;
    made_log(&before, 0, 1000, 2);
    made_log(&after, 100, 1500, 2);
    bench_common_clock_init(&c, &before, NULL, two_nodes);
    CHECK_INT(bench_common_clock_ns(&c, 0, BASE), BASE);
    CHECK_INT((bench_common_clock_ns(&c, 1, BASE + 1000000) + 500) / 1000, BASE / 1000);
    bench_common_clock_release(&c);
    bench_common_clock_init(&c, &before, &after, two_nodes);
    /* from 1029 us at second 14.5 to 1529 us at second 114.5 */
    CHECK_INT((bench_common_clock_ns(&c, 1, BASE + INT64_C(64500000000)) - BASE + 500) / 1000,
              64500000 - 1279);
    CHECK_INT(bench_common_clock_ns(&c, -1, BASE), BASE);
    bench_common_clock_release(&c);
    CHECK_INT(bench_common_clock_ns(&c, 1, BASE), BASE);
    bench_common_clock_init(&c, &before, &after, one_node);
    CHECK_INT(bench_common_clock_ns(&c, 1, BASE), BASE);
    bench_common_clock_release(&c);
    bench_drift_log_release(&before);
    bench_drift_log_release(&after);
}

TEST(throttle_reasons_are_read_as_they_are_written)
{
    char text[BENCH_REASONS_MAX];
    for (long long reasons = 0; reasons < 0x200; reasons++)
        CHECK_INT(bench_reasons_parse(bench_reasons_text(reasons, text)), reasons);
    CHECK_INT(bench_reasons_parse(bench_reasons_text(-1, text)), -1);
    CHECK_INT(bench_reasons_parse(""), -1);
    CHECK_INT(bench_reasons_parse("power_cap+else"), -1);
}
