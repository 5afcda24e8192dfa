/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/device.h"

#include <string.h>

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define ORIGIN (50 * SECOND)

/* A base whose bracket is +-`half` around host time `host`, from the origin. */
static void place(struct device_timeline *t, uint32_t number, int64_t dev_ns, int64_t host,
                  int64_t half)
{
    t->origin_ns = ORIGIN;
    t->placed = number;
    t->bases[number] =
        (struct base){.lo = ORIGIN + host - half, .hi = ORIGIN + host + half, .dev_ns = dev_ns};
}

/* Until the rate is known, a moment may be off by the bracket, by what events resolve (0.5 us), and
 * by 100 in a million of its distance. */
TEST(tracer_timeline_allows_for_unknown_drift)
{
    static struct device_timeline t;
    memset(&t, 0, sizeof t);
    place(&t, 1, 10 * MS, 12 * MS, 3000);
    CHECK_INT(timeline_host_at_least(&t, 10 * MS), 12 * MS - 3500);
    CHECK_INT(timeline_host_at_least(&t, 1010 * MS), 1012 * MS - 3500 - 100000);
    CHECK_INT(timeline_host_at_least(&t, 0), 2 * MS - 3500 - 1000);
}

/* Two bases tell how fast the clocks part: here by 20 us in 4 s. */
TEST(tracer_timeline_follows_the_drift)
{
    static struct device_timeline t;
    memset(&t, 0, sizeof t);
    place(&t, 1, 0, 2 * MS, 3000);
    place(&t, 2, 4 * SECOND, 4 * SECOND + 2 * MS + 20000, 1500);
    CHECK_INT(timeline_host_at_least(&t, 4 * SECOND), 4 * SECOND + 2 * MS + 20000 - 2000);
    CHECK_INT(timeline_host_at_least(&t, 6 * SECOND),
              6 * SECOND + 2 * MS + 30000 - 2000 - (3500 + 2000) / 2);
}
