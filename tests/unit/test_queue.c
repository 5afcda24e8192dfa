/* SPDX-License-Identifier: MIT
 *
 * Launches and queues, counted by hand.
 */
#include "made_analysis.h"
#include "made_random.h"

/* Calls [0,2) [4,6) [10,16) [40,40+60000), starts 5 9 30 41, ends 9 30 40 141000; the fifth was
 * launched before the trace began, the sixth starts before its call. */
TEST(launch_delays_and_calls)
{
    struct run run;
    struct analysis a;
    const struct launch_row *row;
    device_run(&run, 1);
    device_op(&run, 0, 1, 0, 2, 5, 9);
    device_op(&run, 0, 1, 4, 6, 9, 30);
    device_op(&run, 0, 1, 10, 16, 30, 34); /* 4 ns of work, 6 of its call */
    device_op(&run, 0, 1, 40, 60040, 200000, 300000);
    device_op(&run, 0, 1, UNKNOWN_NS, UNKNOWN_NS, 400000, 400010);
    device_op(&run, 0, 2, 7, 8, 7, 9);       /* of another stream: before the call returns */
    device_op(&run, 0, 2, 100, 102, 90, 95); /* before its call, which cannot be */
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.launches.count, 2);
    row = &a.launches.list[0];
    CHECK_INT((int64_t)row->ops, 5);
    CHECK_INT((int64_t)row->launched, 4);
    CHECK_DOUBLE(row->delay.min, 3, 0); /* 3 3 14 139960 */
    CHECK_DOUBLE(row->delay.median, 8.5, 0);
    CHECK_DOUBLE(row->delay.p95, 139960, 0);
    CHECK_DOUBLE(row->delay.max, 139960, 0);
    CHECK_DOUBLE(row->call.median, 4, 0); /* 2 2 6 60000 */
    CHECK_DOUBLE(row->call.mean, 60010 / 4., 1e-12);
    CHECK_INT((int64_t)row->long_calls, 1);
    CHECK_INT((int64_t)row->long_delays, 1);
    CHECK_INT((int64_t)row->short_ops, 1);
    row = &a.launches.list[1];
    CHECK_INT(row->stream, 2);
    CHECK_DOUBLE(row->delay.min, 0, 0);
    CHECK_DOUBLE(row->delay.max, 0, 0);
    CHECK(isnan(row->delay.std));
    device_done(&a, &run);
}

/* Waiting [0,5) [4,9) [10,30): depth 1 in [0,4), 2 in [4,5), 1 in [5,9), 0 in [9,10), 1 in [10,30):
 * 30 in all, 4 + 2 + 4 + 20 = 30 together. Outstanding [0,9) [4,30) [10,34): 9 + 26 + 24 in 34. */
TEST(queue_depths)
{
    struct run run;
    struct analysis a;
    const struct queue_row *row;
    device_run(&run, 1);
    device_op(&run, 0, 1, 0, 2, 5, 9);
    device_op(&run, 0, 1, 4, 6, 9, 30);
    device_op(&run, 0, 1, 10, 16, 30, 34);
    device_op(&run, 0, 1, UNKNOWN_NS, UNKNOWN_NS, 34, 40); /* launched before the trace began */
    device_op(&run, 0, 2, 12, 13, 11, 14);                 /* starts before its call: no wait */
    device_analyze(&a, &run);
    row = &a.queues.list[0];
    CHECK_INT((int64_t)row->ops, 4);
    CHECK_INT((int64_t)row->unlaunched, 1);
    CHECK_INT((int64_t)row->early, 0);
    CHECK_INT((int64_t)row->waiting.max, 2);
    CHECK_INT(row->waiting.window_ns, 30);
    CHECK_DOUBLE(row->waiting.mean, 1, 1e-12);
    CHECK_INT(row->waiting.empty_ns, 1);
    CHECK_INT(row->waiting.full_ns, 0);
    CHECK_INT((int64_t)row->outstanding.max, 2);
    CHECK_INT(row->outstanding.window_ns, 34);
    CHECK_DOUBLE(row->outstanding.mean, 59 / 34., 1e-12);
    CHECK_INT(row->outstanding.empty_ns, 0);
    row = &a.queues.list[1];
    CHECK_INT((int64_t)row->early, 1);
    CHECK_INT((int64_t)row->waiting.max, 0);
    CHECK_INT((int64_t)row->outstanding.max, 1);
    CHECK_DOUBLE(row->outstanding.mean, 1, 0);
    CHECK(isnan(row->waiting.mean)); /* no time to divide by */
    device_done(&a, &run);
}

/* 1500 launches, one a nanosecond; from 2000 on one starts every 10 ns. It is full from the 1024th
 * launch (1023) until the start that leaves 1023 of them: the 477th, 2000 + 4760. */
TEST(queue_is_full)
{
    struct run run;
    struct analysis a;
    device_run(&run, 1);
    for (int i = 0; i < 1500; i++)
        device_op(&run, 0, 1, i, i + 1, 2000 + 10 * i, 2010 + 10 * i);
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.queues.list[0].waiting.max, 1500);
    CHECK_INT(a.queues.list[0].waiting.full_ns, 2000 + 4760 - 1023);
    device_done(&a, &run);
}

TEST(sample_of_few_and_of_many)
{
    static const int64_t far = (int64_t)1 << 61;
    struct sample s = {0};
    struct sample_stats st;
    uint64_t seed = 1;
    sample_measure(&s, &st);
    CHECK(isnan(st.mean) && isnan(st.p95) && isnan(st.min));
    sample_add(&s, 7);
    sample_measure(&s, &st);
    CHECK_DOUBLE(st.p95, 7, 0);
    CHECK_DOUBLE(st.median, 7, 0);
    CHECK(isnan(st.std));
    sample_add(&s, 3);
    sample_measure(&s, &st);
    CHECK_DOUBLE(st.p95, 7, 0); /* of two the larger: no value below covers 95 % */
    CHECK_DOUBLE(st.median, 5, 0);
    CHECK_DOUBLE(st.std, sqrt(8), 1e-12);
    CHECK_DOUBLE(sample_cv(&st), sqrt(8) / 5, 1e-12);
    sample_reset(&s);
    for (int i = 20; i > 0; i--)
        sample_add(&s, i);
    sample_measure(&s, &st);
    CHECK_DOUBLE(st.p95, 19, 0);
    CHECK_DOUBLE(st.median, 10.5, 0);
    sample_reset(&s);
    for (int i = 0; i < 5000; i++) { /* so many are sorted digit by digit */
        made_state(&seed);
        sample_add(&s, (int64_t)(seed >> 1) % far - far / 2);
    }
    sample_add(&s, -far);
    sample_add(&s, far);
    sample_measure(&s, &st);
    CHECK_INT((int64_t)s.count, 5002);
    for (size_t i = 1; i < s.count; i++)
        CHECK(s.list[i - 1] <= s.list[i]);
    CHECK_DOUBLE(st.min, (double)-far, 0);
    CHECK_DOUBLE(st.max, (double)far, 0);
    sample_release(&s);
}
