/* SPDX-License-Identifier: MIT */
#include "made_random.h"
#include "test.h"

#include "sim/step/step_measure.h"
#include "trace/step_time.h"

#include <stdlib.h>
#include <string.h>

/* Symbols are letters. */
static void check_period(const char *text, size_t first, size_t period, size_t iterations)
{
    size_t n = strlen(text);
    uint64_t *symbols = calloc(n + 1, sizeof *symbols);
    struct period s;
    for (size_t i = 0; i < n; i++)
        symbols[i] = (uint64_t)text[i];
    s = period_find(symbols, n);
    CHECK_INT_OF(text, (int64_t)s.first, (int64_t)first);
    CHECK_INT_OF(text, (int64_t)s.period, (int64_t)period);
    if (s.period > 0)
        CHECK_INT_OF(text, (int64_t)(s.length / s.period), (int64_t)iterations);
    free(symbols);
}

TEST(period_plain)
{
    check_period("", 0, 0, 0);
    check_period("a", 0, 0, 0);
    check_period("abcdef", 0, 0, 0);
    check_period("abab", 0, 2, 2);
    check_period("aaaa", 0, 1, 4);
    check_period("abcabcabc", 0, 3, 3);
    check_period("abcabcab", 0, 3, 2);
}

TEST(period_behind_a_prologue_and_before_an_epilogue)
{
    check_period("xyabcabcabcabc", 2, 3, 4);
    check_period("abcabcabcabcxyz", 0, 3, 4);
    check_period("xyzabcdabcdabcdq", 3, 4, 3);
    check_period("warmupabcdefghabcdefghend", 6, 8, 2);
}

/* Layers repeat within an iteration: the iteration is what covers most. */
TEST(period_of_iterations_with_layers)
{
    check_period("iLMLMLMLMoiLMLMLMLMoiLMLMLMLMo", 0, 10, 3);
    check_period("piLLLLLLoiLLLLLLoiLLLLLLo", 1, 8, 3);
}

/* Half is not enough to speak of iterations. */
TEST(period_covers_at_least_half)
{
    check_period("qwertyuiopabababzxcvbnm", 0, 0, 0);
}

TEST(period_long_sequences)
{
    enum { N = 200000, P = 997 };
    uint64_t *symbols = calloc(N, sizeof *symbols);
    struct period s;
    for (size_t i = 0; i < N; i++)
        symbols[i] = i < 500 ? 100000 + i : i % P % 31 * 7 + (i % P == 0) * 1000;
    s = period_find(symbols, N);
    CHECK_INT((int64_t)s.period, P);
    CHECK_INT((int64_t)s.first, 500);
    CHECK_INT((int64_t)s.length, N - 500);
    for (size_t i = 0; i < N; i++)
        symbols[i] = i * i; /* nothing repeats */
    CHECK_INT((int64_t)period_find(symbols, N).period, 0);
    memset(symbols, 0, N * sizeof *symbols);
    CHECK_INT((int64_t)period_find(symbols, N).period, 1);
    free(symbols);
}

/* Every symbol after the odd one changes the period, and each such stretch reaches far left. */
TEST(period_work_is_linear)
{
    enum { N = 200000, ODD = 80000 };
    uint64_t *symbols = calloc(N, sizeof *symbols);
    struct period s;
    symbols[ODD] = 1;
    s = period_find(symbols, N);
    CHECK_INT((int64_t)s.period, 1);
    CHECK(s.compared > 0 && s.compared < 100u * N);
    free(symbols);
}

/* A period that is found repeats, and reaches to the left as far as it can. */
TEST(period_is_as_periodic_as_it_says)
{
    uint64_t seed = 7, symbols[48];
    for (int round = 0; round < 3000; round++) {
        struct period s;
        for (size_t i = 0; i < 48; i++) {
            made_state(&seed);
            symbols[i] = i >= 6 && seed >> 60 != 0 ? symbols[i - 6] : seed >> 33 & 1;
        }
        s = period_find(symbols, 48);
        for (size_t i = s.first; s.period && i + s.period < s.first + s.length; i++)
            CHECK(symbols[i] == symbols[i + s.period]);
        if (s.period && s.first > 0)
            CHECK(symbols[s.first - 1] != symbols[s.first - 1 + s.period]);
    }
}

/* ---- what one takes ---- */

#define OPS 6

/* Six operations of the given classes. */
struct six_ops {
    struct run run;
    struct rank rank;
    struct op ops[OPS];
    struct job_steps steps;
};

static void make_scene(struct six_ops *s, const uint8_t *classes)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < OPS; i++) {
        s->ops[i].class = classes[i];
        s->ops[i].name = "";
        s->ops[i].host_ns = i * 10;
    }
    s->rank.ops = s->ops;
    s->rank.nops = OPS;
    s->rank.complete = true;
    s->run.ranks = &s->rank;
    s->run.nranks = 1;
}

static struct iteration_time measure(struct six_ops *s, const struct sim_span *spans, int64_t begin,
                                     int64_t end)
{
    struct rank_timeline when = {.spans = spans, .begin_ns = begin, .end_ns = end};
    struct step_bounds b;
    struct step_window w = {0};
    struct iteration_time t;
    iteration_bounds(&b, &s->steps.ranks[0], OPS, &when);
    steps_window(&w, &s->steps, &b, 1);
    iteration_measure(&t, &w, &s->rank, &when);
    return t;
}

/* Kernel 10-40, collective 30-70, copy 60-90, then two overlapping kernels 100-120, 110-130, and
 * one without a time. */
TEST(iteration_whole_trace)
{
    static const uint8_t classes[OPS] = {OP_KERNEL, OP_COLL, OP_MEMORY, OP_GEMM, OP_KERNEL, OP_P2P};
    static const struct sim_span spans[OPS] = {{10, 40},   {30, 70},   {60, 90},
                                               {100, 120}, {110, 130}, {UNKNOWN_NS, UNKNOWN_NS}};
    struct six_ops s;
    struct iteration_time t;
    make_scene(&s, classes);
    job_steps_find(&s.steps, &s.run);
    CHECK_INT(s.steps.source, STEPS_WHOLE);
    CHECK_INT(s.steps.count, 1);
    t = measure(&s, spans, 0, 150);
    CHECK_DOUBLE(t.span_ns, 150, 0);
    CHECK_DOUBLE(t.compute_ns, 60, 0);
    CHECK_DOUBLE(t.comm_ns, 40, 0);
    CHECK_DOUBLE(t.exposed_comm_ns, 30, 0);
    CHECK_DOUBLE(t.memory_ns, 30, 0);
    CHECK_DOUBLE(t.exposed_memory_ns, 20, 0);
    CHECK_DOUBLE(t.idle_ns, 40, 0);
    t = measure(&s, spans, 0, 50); /* the device ends after the host */
    CHECK_DOUBLE(t.span_ns, 130, 0);
    job_steps_release(&s.steps);
}

/* Every moment has one cause, the first that is true of it: kernel 10-30, one collective 20-60 that
 * moves from 40 on, a message of the pipeline 50-90 that moves from 80 on, a copy 65-70, counted
 * kernels 25-35, no launch 90-100, another stream 95-110, and nothing known to 120. */
TEST(iteration_causes_add_up)
{
    static const uint8_t classes[OPS] = {OP_KERNEL, OP_COLL,   OP_P2P,
                                         OP_MEMORY, OP_KERNEL, OP_KERNEL};
    static const struct sim_span none = {UNKNOWN_NS, UNKNOWN_NS};
    const struct sim_span spans[OPS] = {{10, 30}, {20, 60}, {50, 90}, {65, 70}, none, none};
    const struct movement still = {none, false, false};
    const struct movement moves[OPS] = {
        still, {{40, 60}, false, false}, {{80, 90}, true, false}, still, still, still};
    const struct untraced_slice beside[] = {{{25, 35}, SLICE_UNTRACED},
                                            {{0, 10}, SLICE_HOST_BOUND},
                                            {{90, 100}, SLICE_HOST_BOUND},
                                            {{95, 110}, SLICE_STREAM_WAIT}};
    struct rank_timeline when = {spans, 0, 120, moves, beside, 4, NULL};
    struct iteration_time t;
    struct six_ops s;
    make_scene(&s, classes);
    job_steps_find(&s.steps, &s.run);
    iteration_measure(&t, &(struct step_window){.end_ns = 120, .steps = 1}, &s.rank, &when);
    CHECK_DOUBLE(t.span_ns, 120, 0);
    CHECK_DOUBLE(t.compute_ns, 20, 0);
    CHECK_DOUBLE(t.untraced_ns, 5, 0);      /* 30-35 */
    CHECK_DOUBLE(t.comm_ns, 70, 0);         /* 20-90 */
    CHECK_DOUBLE(t.exposed_comm_ns, 35, 0); /* 35-60, 80-90 */
    CHECK_DOUBLE(t.comm_wait_ns, 5, 0);     /* 35-40 */
    CHECK_DOUBLE(t.memory_ns, 5, 0);
    CHECK_DOUBLE(t.exposed_memory_ns, 5, 0);
    CHECK_DOUBLE(t.bubble_ns, 15, 0); /* 60-65, 70-80 */
    CHECK_DOUBLE(t.host_bound_ns, 20, 0);
    CHECK_DOUBLE(t.stream_wait_ns, 10, 0); /* 100-110 */
    CHECK_DOUBLE(t.other_idle_ns, 10, 0);
    CHECK_DOUBLE(t.idle_ns, 55, 0);
    job_steps_release(&s.steps);
}

/* A collective 20-60 that waits until 40 for ranks that were not recorded, beside a kernel 10-30:
 * the wait is a part of its own. */
TEST(iteration_absent_waits)
{
    static const uint8_t classes[OPS] = {OP_KERNEL, OP_COLL,   OP_P2P,
                                         OP_MEMORY, OP_KERNEL, OP_KERNEL};
    static const struct sim_span none = {UNKNOWN_NS, UNKNOWN_NS};
    const struct sim_span spans[OPS] = {{10, 30}, {20, 60}, none, none, none, none};
    const struct movement still = {none, false, false};
    const struct movement moves[OPS] = {still, {{40, 60}, false, true}, still, still, still, still};
    struct rank_timeline when = {spans, 0, 60, moves, NULL, 0, NULL};
    struct iteration_time t;
    struct six_ops s;
    make_scene(&s, classes);
    job_steps_find(&s.steps, &s.run);
    iteration_measure(&t, &(struct step_window){.end_ns = 60, .steps = 1}, &s.rank, &when);
    CHECK_DOUBLE(t.compute_ns, 20, 0);
    CHECK_DOUBLE(t.absent_wait_ns, 10, 0); /* 30-40 */
    CHECK_DOUBLE(t.exposed_comm_ns, 20, 0);
    CHECK_DOUBLE(t.comm_ns, 40, 0);
    CHECK_DOUBLE(t.other_idle_ns, 10, 0);
    job_steps_release(&s.steps);
}

/* A host that takes 20 from step to step and waits for nothing. In the first step the device falls
 * behind, to 60, and catches up in the others: their ends lie 5 apart, which no step takes. */
TEST(iteration_backlog_of_the_first)
{
    static const uint8_t classes[OPS] = {OP_KERNEL, OP_COLL,   OP_KERNEL,
                                         OP_COLL,   OP_KERNEL, OP_COLL};
    static const struct sim_span spans[OPS] = {{0, 30},  {30, 60}, {60, 62},
                                               {62, 65}, {65, 67}, {67, 70}};
    static const int64_t launched[OPS] = {0, 10, 20, 30, 40, 50};
    struct rank_timeline when = {.spans = spans, .begin_ns = 0, .end_ns = 60, .launched = launched};
    struct step steps[3] = {
        {-5, 20, "a", 0, false}, {20, 40, "b", 0, false}, {40, 55, "c", 0, false}};
    struct step_bounds b;
    struct step_window w;
    struct six_ops s;
    make_scene(&s, classes);
    s.rank.steps = steps;
    s.rank.nsteps = 3;
    job_steps_find(&s.steps, &s.run);
    CHECK_INT(s.steps.count, 3);
    iteration_bounds(&b, &s.steps.ranks[0], OPS, &when);
    steps_window(&w, &s.steps, &b, 1);
    CHECK_INT(w.end_ns - w.start_ns, 40);
    when.launched = NULL;
    iteration_bounds(&b, &s.steps.ranks[0], OPS, &when);
    steps_window(&w, &s.steps, &b, 1);
    CHECK_INT(w.end_ns - w.start_ns, 10);
    job_steps_release(&s.steps);
}

/* Three marked steps of two operations each; what the first one holds is left out. */
TEST(iteration_steps)
{
    static const uint8_t classes[OPS] = {OP_KERNEL, OP_COLL,   OP_KERNEL,
                                         OP_COLL,   OP_KERNEL, OP_COLL};
    static const struct sim_span spans[OPS] = {{0, 500},    {400, 700},   {700, 800},
                                               {750, 1000}, {1000, 1100}, {1050, 1300}};
    struct step steps[3] = {
        {-5, 20, "a", 0, false}, {20, 40, "b", 0, false}, {40, 55, "c", 0, false}};
    struct six_ops s;
    struct iteration_time t;
    make_scene(&s, classes);
    s.rank.steps = steps;
    s.rank.nsteps = 3;
    job_steps_find(&s.steps, &s.run);
    CHECK_INT(s.steps.source, STEPS_MARKED);
    CHECK_INT(s.steps.count, 3);
    CHECK_INT(s.steps.ranks[0].of[1], 0);
    CHECK_INT(s.steps.ranks[0].of[2], 1);
    t = measure(&s, spans, 0, 0);
    CHECK_DOUBLE(t.span_ns, 300, 0); /* 700 to 1300 */
    CHECK_DOUBLE(t.compute_ns, 100, 0);
    CHECK_DOUBLE(t.comm_ns, 250, 0);
    CHECK_DOUBLE(t.exposed_comm_ns, 200, 0);
    CHECK_DOUBLE(t.idle_ns, 0, 0);
    job_steps_release(&s.steps);
}

/* A step that issued nothing is a step; the last operation came after all of them. */
TEST(iteration_empty_steps)
{
    static const uint8_t classes[OPS] = {0};
    struct step steps[4] = {{0, 15, "a", 0, false},
                            {15, 19, "b", 0, false},
                            {19, 25, "c", 0, false},
                            {25, 45, "d", 0, false}};
    struct six_ops s;
    make_scene(&s, classes);
    s.rank.steps = steps;
    s.rank.nsteps = 4;
    job_steps_find(&s.steps, &s.run);
    CHECK_INT(s.steps.count, 4);
    CHECK_INT(s.steps.ranks[0].of[0], 0);
    CHECK_INT(s.steps.ranks[0].of[2], 2);
    CHECK_INT(s.steps.ranks[0].of[3], 3);
    CHECK_INT(s.steps.ranks[0].of[5], STEP_NONE);
    job_steps_release(&s.steps);
}
