/* SPDX-License-Identifier: MIT */
#include "made_random.h"
#include "test.h"

#include "base/interval.h"

#include <string.h>

/* Builds a set from "start,end start,end ...". */
static void set(struct intervals *s, const int64_t (*pairs)[2], size_t n)
{
    intervals_init(s);
    for (size_t i = 0; i < n; i++)
        intervals_add(s, pairs[i][0], pairs[i][1]);
    intervals_merge(s);
}

static void check_set(const struct intervals *s, const int64_t (*pairs)[2], size_t n)
{
    CHECK_INT((int64_t)s->count, (int64_t)n);
    for (size_t i = 0; i < n && i < s->count; i++) {
        CHECK_INT(s->list[i].start, pairs[i][0]);
        CHECK_INT(s->list[i].end, pairs[i][1]);
    }
}

#define SET(s, ...)                                       \
    do {                                                  \
        static const int64_t pairs_[][2] = {__VA_ARGS__}; \
        set(s, pairs_, sizeof pairs_ / sizeof *pairs_);   \
    } while (0)
#define CHECK_SET(s, ...)                                     \
    do {                                                      \
        static const int64_t pairs_[][2] = {__VA_ARGS__};     \
        check_set(s, pairs_, sizeof pairs_ / sizeof *pairs_); \
    } while (0)

TEST(interval_merge_joins_what_touches)
{
    struct intervals s;
    SET(&s, {50, 60}, {10, 20}, {15, 30}, {30, 40}, {5, 5}, {9, 3}, {52, 55});
    CHECK_SET(&s, {10, 40}, {50, 60});
    CHECK_INT(intervals_length(&s), 40);
    intervals_release(&s);
}

TEST(interval_empty)
{
    struct intervals s, out;
    intervals_init(&s);
    intervals_init(&out);
    intervals_merge(&s);
    intervals_union(&out, &s, &s);
    intervals_subtract(&out, &s, &s);
    CHECK_INT(intervals_length(&out), 0);
    CHECK_INT(intervals_common(&s, &s), 0);
    intervals_release(&s);
    intervals_release(&out);
}

TEST(interval_operations)
{
    struct intervals a, b, out;
    SET(&a, {0, 10}, {20, 30}, {40, 100});
    SET(&b, {5, 25}, {30, 35}, {50, 60}, {70, 80}, {95, 200});
    intervals_init(&out);
    intervals_union(&out, &a, &b);
    CHECK_SET(&out, {0, 35}, {40, 200});
    intervals_intersect(&out, &a, &b);
    CHECK_SET(&out, {5, 10}, {20, 25}, {50, 60}, {70, 80}, {95, 100});
    CHECK_INT(intervals_common(&a, &b), intervals_length(&out));
    intervals_subtract(&out, &a, &b);
    CHECK_SET(&out, {0, 5}, {25, 30}, {40, 50}, {60, 70}, {80, 95});
    intervals_subtract(&out, &b, &a);
    CHECK_SET(&out, {10, 20}, {30, 35}, {100, 200});
    intervals_release(&a);
    intervals_release(&b);
    intervals_release(&out);
}

/* Against one bit a time unit. */
TEST(interval_operations_agree_with_bits)
{
    enum { T = 200 };
    uint64_t seed = 7;
    for (int round = 0; round < 200; round++) {
        bool bits[2][T] = {{0}};
        struct intervals s[2], out;
        int64_t both = 0, either = 0, only = 0;
        for (int k = 0; k < 2; k++) {
            intervals_init(&s[k]);
            for (int i = 0; i < 8; i++) {
                int64_t start = (int64_t)(made_random(&seed) % T);
                int64_t end = start + (int64_t)(made_random(&seed) % 30);
                end = end > T ? T : end;
                intervals_add(&s[k], start, end);
                memset(&bits[k][start], 1, (size_t)(end - start));
            }
            intervals_merge(&s[k]);
        }
        for (int t = 0; t < T; t++) {
            both += bits[0][t] && bits[1][t];
            either += bits[0][t] || bits[1][t];
            only += bits[0][t] && !bits[1][t];
        }
        intervals_init(&out);
        CHECK_INT(intervals_common(&s[0], &s[1]), both);
        intervals_union(&out, &s[0], &s[1]);
        CHECK_INT(intervals_length(&out), either);
        intervals_subtract(&out, &s[0], &s[1]);
        CHECK_INT(intervals_length(&out), only);
        for (int k = 0; k < 2; k++)
            intervals_release(&s[k]);
        intervals_release(&out);
    }
}
