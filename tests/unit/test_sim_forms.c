/* SPDX-License-Identifier: MIT
 *
 * The engine against closed forms, to the last nanosecond, for 1 to 1,024 of whatever there are
 * many of.
 */
#include "test.h"

#include "sim/engine/sim.h"

#include <stdlib.h>

#define MANY 1024

/* 1 to 8, 15 to 17, 31 to 33, ... 1024 */
static uint32_t next_size(uint32_t n)
{
    bool around = n < 8 || (n & (n + 1)) == 0 || (n & (n - 1)) == 0;
    if (around)
        return n + 1;
    return 2 * (n - 1) - 1;
}

static int64_t end_of(const struct sim *s, uint32_t item)
{
    return sim_span(s, item).end_ns;
}

/* n layers of compute, each with a collective after it, on two ranks: on the stream of the layers,
 * or on one of its own. The last collective. */
static struct sim *layers(uint32_t n, int64_t compute_ns, int64_t comm_ns, bool overlap,
                          uint32_t *last)
{
    struct sim *s = sim_new();
    for (uint32_t k = 0; k < n; k++)
        sim_add_transfer(s, comm_ns);
    for (int r = 0; r < 2; r++) {
        uint32_t device = sim_add_device(s), compute = sim_add_stream(s, device);
        uint32_t comm = overlap ? sim_add_stream(s, device) : compute;
        sim_add_host(s, 0);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t event = sim_add_event(s);
            sim_work(s, compute, compute_ns);
            sim_record(s, compute, event);
            sim_wait(s, comm, event);
            *last = sim_join(s, comm);
            sim_join_transfer(s, k);
        }
    }
    CHECK_INT(sim_run(s), 0);
    return s;
}

TEST(sim_form_of_layers)
{
    for (uint32_t n = 1; n <= MANY; n = next_size(n)) {
        uint32_t last;
        struct sim *s = layers(n, 700, 300, false, &last);
        CHECK_INT(end_of(s, last), n * INT64_C(1000));
        sim_free(s);
        s = layers(n, 700, 300, true, &last); /* computation hides all but the last */
        CHECK_INT(end_of(s, last), n * INT64_C(700) + 300);
        sim_free(s);
        s = layers(n, 300, 700, true, &last); /* the other way round */
        CHECK_INT(end_of(s, last), n * INT64_C(700) + 300);
        sim_free(s);
    }
}

/* n ranks and three steps; rank k % n is late by 40 in step k. */
TEST(sim_form_of_a_straggler)
{
    for (uint32_t n = 1; n <= MANY; n = next_size(n)) {
        struct sim *s = sim_new();
        uint32_t last = 0;
        for (int k = 0; k < 3; k++)
            sim_add_transfer(s, 70);
        for (uint32_t r = 0; r < n; r++) {
            uint32_t stream = sim_add_stream(s, sim_add_device(s));
            sim_add_host(s, 0);
            for (uint32_t k = 0; k < 3; k++) {
                sim_work(s, stream, r == k % n ? 140 : 100);
                last = sim_join(s, stream);
                sim_join_transfer(s, k);
            }
        }
        CHECK_INT(sim_run(s), 0);
        CHECK_INT(end_of(s, last), 3 * (140 + 70));
        sim_free(s);
    }
}

struct pipeline_case {
    struct sim *s;
    uint32_t p, m; /* stages, micro-batches */
};

/* Stage i, one direction: receives each micro-batch from its neighbour, works, sends it on. */
static void pass(struct pipeline_case *q, uint32_t stream, uint32_t from, uint32_t to,
                 int64_t work_ns, uint32_t *items)
{
    for (uint32_t k = 0; k < q->m; k++) {
        if (from != SIM_NONE) {
            sim_join(q->s, stream);
            sim_join_transfer(q->s, from * q->m + k);
        }
        items[k] = sim_work(q->s, stream, work_ns);
        if (to != SIM_NONE) {
            sim_join(q->s, stream);
            sim_join_transfer(q->s, to * q->m + k);
        }
    }
}

/* All forward, then all backward (a flush): p stages, m micro-batches, transfers of no time. */
static void check_pipeline(uint32_t p, uint32_t m)
{
    enum { FORWARD = 30, BACKWARD = 50 };
    struct pipeline_case q = {sim_new(), p, m};
    uint32_t *items = calloc((size_t)2 * p * m, sizeof *items);
    int64_t total_ns = (m + p - 1) * INT64_C(80), busy_ns = 0, end_ns = 0;
    for (uint32_t t = 0; t < 2 * (p - 1) * m; t++)
        sim_add_transfer(q.s, 0);
    for (uint32_t i = 0; i < p; i++) {
        uint32_t stream = sim_add_stream(q.s, sim_add_device(q.s));
        uint32_t before = i > 0 ? i - 1 : SIM_NONE, behind = i + 1 < p ? i : SIM_NONE;
        sim_add_host(q.s, 0);
        pass(&q, stream, before, behind, FORWARD, &items[2 * i * m]);
        pass(&q, stream, behind != SIM_NONE ? p - 1 + i : SIM_NONE,
             before != SIM_NONE ? p - 1 + before : SIM_NONE, BACKWARD, &items[(2 * i + 1) * m]);
    }
    CHECK_INT(sim_run(q.s), 0);
    for (uint32_t i = 0; i < 2 * p * m; i++) {
        struct sim_span span = sim_span(q.s, items[i]);
        busy_ns += span.end_ns - span.start_ns;
        end_ns = span.end_ns > end_ns ? span.end_ns : end_ns;
    }
    CHECK_INT(end_ns, total_ns);
    /* bubble = (p - 1) / (m + p - 1) of the time of all stages */
    CHECK_INT((p * total_ns - busy_ns) * (m + p - 1), p * total_ns * (p - 1));
    free(items);
    sim_free(q.s);
}

TEST(sim_form_of_a_pipeline)
{
    for (uint32_t n = 1; n <= MANY; n = next_size(n)) {
        check_pipeline(n, 1);
        check_pipeline(n, 5);
        check_pipeline(1, n);
        check_pipeline(7, n);
    }
    check_pipeline(64, 128);
}

/* Every rank sends to its right and receives from its left, in one group a step. */
TEST(sim_form_of_a_ring)
{
    for (uint32_t n = 2; n <= MANY; n = next_size(n)) {
        uint32_t steps = n <= 65 ? n - 1 : 4, last = 0;
        struct sim *s = sim_new();
        for (uint32_t t = 0; t < n * steps; t++)
            sim_add_transfer(s, 90);
        for (uint32_t r = 0; r < n; r++) {
            uint32_t stream = sim_add_stream(s, sim_add_device(s));
            sim_add_host(s, 0);
            for (uint32_t k = 0; k < steps; k++) {
                last = sim_join(s, stream);
                sim_join_transfer(s, k * n + r);
                sim_join_transfer(s, k * n + (r + n - 1) % n);
            }
        }
        CHECK_INT(sim_run(s), 0);
        CHECK_INT(end_of(s, last), steps * INT64_C(90));
        sim_free(s);
    }
}

/* n works, faster launched than done: the host is never more than the queue ahead. */
TEST(sim_form_of_a_launch_queue)
{
    for (uint32_t depth = 1; depth <= MANY; depth = next_size(depth)) {
        enum { WORKS = 1500, WORK = 90, CPU = 7 };
        struct sim *s = sim_new();
        uint32_t stream = sim_add_stream(s, sim_add_device(s)), last = 0, mark;
        int64_t full_ns = (WORKS - depth) * INT64_C(90), free_ns = (WORKS - 1) * INT64_C(7);
        sim_set_queue_depth(s, depth);
        sim_add_host(s, 0);
        for (int i = 0; i < WORKS; i++) {
            last = sim_work(s, stream, WORK);
            if (i + 1 < WORKS)
                sim_cpu(s, CPU);
        }
        mark = sim_mark(s);
        CHECK_INT(sim_run(s), 0);
        CHECK_INT(end_of(s, last), WORKS * INT64_C(90));
        CHECK_INT(sim_mark_time(s, mark), full_ns > free_ns ? full_ns : free_ns);
        sim_set_queue_depth(s, 0);
        CHECK_INT(sim_run(s), 0);
        CHECK_INT(sim_mark_time(s, mark), free_ns);
        sim_free(s);
    }
}

/* k transfers that need all of a link take together what they take one after the other. Begun at
 * different times they end at fractions of a nanosecond, and each end may be late by one. */
static void check_link(uint32_t k, int64_t apart_ns, int64_t late_ns)
{
    const int64_t cost_ns = 15 * (int64_t)k;
    struct sim *s = sim_new();
    uint32_t link = sim_add_link(s);
    int64_t end_ns = 0;
    for (uint32_t t = 0; t < k; t++) {
        sim_use_link(s, sim_add_transfer(s, cost_ns), link, 1000000);
        sim_add_host(s, t * apart_ns);
        sim_join(s, sim_add_stream(s, sim_add_device(s)));
        sim_join_transfer(s, t);
    }
    CHECK_INT(sim_run(s), 0);
    for (uint32_t t = 0; t < k; t++) {
        struct sim_span span = sim_transfer_span(s, t);
        end_ns = span.end_ns > end_ns ? span.end_ns : end_ns;
    }
    CHECK(end_ns >= cost_ns * k);
    CHECK(end_ns <= cost_ns * k + late_ns);
    sim_free(s);
}

TEST(sim_form_of_a_shared_link)
{
    for (uint32_t k = 1; k <= MANY; k = next_size(k)) {
        check_link(k, 0, 0);
        check_link(k, 13, k);
    }
}

/* x % of the SMs are taken for 40 us of the n-th of n works: it loses x % of 40 us. */
TEST(sim_form_of_a_load)
{
    for (uint32_t percent = 0; percent <= 95; percent++) {
        uint32_t n = 1 + percent % 7, work = 0;
        struct sim *s = sim_new();
        uint32_t device = sim_add_device(s), compute = sim_add_stream(s, device);
        uint32_t comm = sim_add_stream(s, device), t = sim_add_transfer(s, 40000);
        sim_add_host(s, 0);
        for (uint32_t i = 0; i < n; i++) {
            work = sim_work(s, compute, 100000);
            sim_set_need(s, work, 1000000, 0);
        }
        sim_add_host(s, (n - 1) * INT64_C(100000) + 1234);
        sim_join(s, comm);
        sim_join_transfer(s, t);
        sim_set_load(s, t, percent * 10000, 500000);
        CHECK_INT(sim_run(s), 0);
        CHECK_INT(sim_slowed(s, work), percent * INT64_C(400));
        CHECK_INT(end_of(s, work), n * INT64_C(100000) + percent * INT64_C(400));
        sim_free(s);
    }
}
