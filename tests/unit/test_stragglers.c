/* SPDX-License-Identifier: MIT
 *
 * Hand-counted late ranks; times are nanoseconds.
 */
#include "made_analysis.h"

static void made(struct run *run, int ranks)
{
    device_run_on(run, ranks, "", COVER_NCCL | COVER_KERNELS | COVER_LAUNCHES);
    device_comm(run, "world", 0, 1, ranks);
    run_comm(run, "pair", 4, 2);
}

static void add(struct run *run, int rank, int comm, int64_t seq, int64_t start, int64_t end)
{
    struct op *op = device_at(run, rank, start, end);
    device_coll(op, SPECTER_ALLREDUCE, comm, seq, 64);
}

static void kernel(struct run *run, int rank, int64_t start, int64_t end)
{
    device_at(run, rank, start, end);
}

static void step(struct run *run, int64_t start, int64_t end)
{
    for (size_t r = 0; r < run->nranks; r++)
        device_step(run, (int)r, "s", start, end);
}

/* All leave the first collective at 100. Rank 3 computes up to 500, and rank 2 waits for it in the
 * pair's, from 200 on; then rank 2 computes 100, and is last in the world's at 620. */
static void add_chain(struct run *run, int64_t seq, int64_t t)
{
    static const int64_t arrive[] = {200, 210, 620, 560};
    for (int r = 0; r < 4; r++)
        add(run, r, 0, 2 * seq, t, t + 100);
    kernel(run, 0, t + 100, t + 200);
    kernel(run, 1, t + 100, t + 200);
    kernel(run, 2, t + 100, t + 200);
    kernel(run, 3, t + 100, t + 500);
    add(run, 2, 1, seq, t + 200, t + 520);
    add(run, 3, 1, seq, t + 500, t + 520);
    kernel(run, 2, t + 520, t + 620);
    kernel(run, 3, t + 520, t + 560);
    for (int r = 0; r < 4; r++)
        add(run, r, 0, 2 * seq + 1, t + arrive[r], t + 640);
}

static void analyze(struct analysis *a, struct run *run)
{
    struct err e;
    CHECK_INT(analysis_init(a, run, ANALYSIS_ALL_RANKS, &e), 0);
}

TEST(stragglers_victim_and_origin)
{
    struct run run;
    struct analysis a;
    made(&run, 4);
    add_chain(&run, 0, 0);
    analyze(&a, &run);
    const struct arrival *x = a.stragglers.arrivals;
    CHECK_INT((int64_t)x[2].collectives, 3);
    CHECK_INT((int64_t)x[2].last, 1);
    CHECK_DOUBLE(x[2].late_ns, 420, 0);
    CHECK_DOUBLE(x[2].caused_ns, (420 + 410 + 60) / 3.0, 1e-12);
    CHECK_DOUBLE(x[2].worst_ns, (420 + 410 + 60) / 3.0, 1e-12);
    CHECK_INT(a.comm.matches.list[x[2].worst].seq, 1);
    /* against rank 1, which is the second of 200, 210, 560 */
    CHECK_INT((int64_t)x[2].explained, 1);
    CHECK_DOUBLE(x[2].why_ns[LATE_compute], 200 - 100, 0);
    CHECK_DOUBLE(x[2].why_ns[LATE_waiting], 300, 0);
    CHECK_DOUBLE(x[2].why_ns[LATE_moving], 20, 0);
    CHECK_DOUBLE(x[2].why_ns[LATE_idle], -10, 0);
    CHECK_DOUBLE(x[2].passed_ns, x[2].caused_ns, 0);
    CHECK_DOUBLE(x[2].origin_ns, 0, 0);
    CHECK_DOUBLE(x[3].caused_ns, 300, 0);
    CHECK_DOUBLE(x[3].origin_ns, 300 + x[2].caused_ns, 1e-12);
    /* the pair's first; before it, both left the world's */
    CHECK_INT((int64_t)x[3].explained, 1);
    CHECK_DOUBLE(x[3].why_ns[LATE_compute], 400 - 100, 0);
    CHECK_DOUBLE(x[3].why_ns[LATE_idle], 0, 0);
    CHECK_DOUBLE(a.stragglers.caused_ns, 300 + x[2].caused_ns, 1e-12);
    CHECK_INT((int64_t)a.stragglers.steps, 0);
    device_done(&a, &run);
}

TEST(stragglers_finding_names_the_origin)
{
    struct run run;
    struct analysis a;
    struct findings f;
    const char *text;
    made(&run, 4);
    for (int k = 0; k < 3; k++) {
        add_chain(&run, k, 1000 * k);
        step(&run, 1000 * k, 1000 * k + 700);
    }
    analyze(&a, &run);
    /* not from the pair's of the chain before: the world's in between brought both together */
    CHECK_INT((int64_t)a.stragglers.arrivals[3].explained, 3);
    CHECK_DOUBLE(a.stragglers.arrivals[3].why_ns[LATE_compute], 3 * (400 - 100), 0);
    CHECK_INT((int64_t)a.stragglers.steps, 3);
    CHECK_INT((int64_t)a.stragglers.arrivals[3].top_steps, 3);
    CHECK_INT((int64_t)a.stragglers.arrivals[2].top_steps, 0);
    findings_init(&f, &a);
    text = finding_text(&f, "straggler");
    CHECK_HAS(text, "rank 3 starts last in 3 of its 9 collectives");
    CHECK_HAS(text, "300 ns on average, 900 ns in all");
    CHECK_HAS(text, "With ranks that are late because they waited for it, it causes 1.79 us.");
    CHECK_HAS(text, "100 % of all waiting");
    CHECK_HAS(text, "Before that it computes 300 ns longer than the median rank");
    CHECK_HAS(text, "It is the worst straggler in 3 of 3 steps.");
    findings_release(&f);
    device_done(&a, &run);
}

/* Messages have numbers of their own: the first may be sent long after the second collective. */
TEST(stragglers_messages_are_no_collective_before)
{
    struct run run;
    struct analysis a;
    made(&run, 2);
    for (int r = 0; r < 2; r++) {
        add(&run, r, 0, 0, 0, 100);
        kernel(&run, r, 100, r == 0 ? 200 : 500);
        add(&run, r, 0, 1, r == 0 ? 200 : 500, 520);
        for (int k = 0; k < 5; k++)
            device_coll(device_at(&run, r, 600 + 100 * k, 650 + 100 * k),
                        r == 0 ? SPECTER_SEND : SPECTER_RECV, 0, k, 64)
                ->coll.peer = 1 - r;
    }
    analyze(&a, &run);
    const struct arrival *x = &a.stragglers.arrivals[1];
    CHECK_INT((int64_t)x->last, 1);
    CHECK_INT((int64_t)x->explained, 1);
    CHECK_DOUBLE(x->why_ns[LATE_compute], 400 - 100, 0);
    device_done(&a, &run);
}

/* Both leave the world's at 340, but rank 1 still computes what it fell behind with: the time from
 * the pair's before is what counts. Late by 160 = 300 more computing - 100 waiting - 40 moving. */
TEST(stragglers_that_compute_beside_are_not_together)
{
    struct run run;
    struct analysis a;
    made(&run, 2);
    for (int r = 0; r < 2; r++) {
        add(&run, r, 1, 0, 0, 100);
        kernel(&run, r, 100, r == 0 ? 200 : 500);
        add(&run, r, 0, 0, r == 0 ? 200 : 300, 340);
        add(&run, r, 1, 1, r == 0 ? 340 : 500, 600);
    }
    analyze(&a, &run);
    const struct arrival *x = &a.stragglers.arrivals[1];
    CHECK_INT((int64_t)x->last, 2);
    /* the world's: 100 late, computes as long; the pair's as above */
    CHECK_DOUBLE(x->why_ns[LATE_compute], (200 - 100) + (400 - 100), 0);
    CHECK_DOUBLE(x->why_ns[LATE_waiting], -100, 0);
    CHECK_DOUBLE(x->why_ns[LATE_moving], -40, 0);
    CHECK_DOUBLE(x->why_ns[LATE_idle], 0, 0);
    device_done(&a, &run);
}

/* Ranks that take turns: each is the top of its own step. */
TEST(stragglers_that_rotate)
{
    struct run run;
    struct analysis a;
    made(&run, 3);
    for (int k = 0; k < 6; k++) {
        for (int r = 0; r < 3; r++)
            add(&run, r, 0, k, 1000 * k + (r == k % 3 ? 90 + 10 * r : 0), 1000 * k + 200);
        step(&run, 1000 * k, 1000 * k + 500);
    }
    analyze(&a, &run);
    CHECK_INT((int64_t)a.stragglers.steps, 6);
    for (int r = 0; r < 3; r++) {
        const struct arrival *x = &a.stragglers.arrivals[r];
        CHECK_INT((int64_t)x->top_steps, 2);
        CHECK_INT((int64_t)x->last, 2);
        CHECK_DOUBLE(x->caused_ns, 2 * (90 + 10 * r), 1e-12);
        CHECK_DOUBLE(x->passed_ns, 0, 0);
    }
    device_done(&a, &run);
}

/* 60 ns between hosts whose clocks are good to 100 are nothing; on one host they are. */
TEST(stragglers_and_what_clocks_tell)
{
    for (int hosts = 1; hosts <= 2; hosts++) {
        struct run run;
        struct analysis a;
        made(&run, 2);
        run.ranks[1].domain = hosts - 1;
        run.clock_residual_ns = 100;
        add(&run, 0, 0, 0, 0, 500);
        add(&run, 1, 0, 0, 60, 500);
        add(&run, 0, 0, 1, 1000, 1500);
        add(&run, 1, 0, 1, 1160, 1500);
        analyze(&a, &run);
        CHECK_INT((int64_t)a.stragglers.arrivals[1].last, hosts == 1 ? 2 : 1);
        CHECK_DOUBLE(a.stragglers.arrivals[1].caused_ns, hosts == 1 ? 220 : 160, 0);
        device_done(&a, &run);
    }
}

TEST(stragglers_why_by_hand)
{
    struct late_activity sets;
    struct intervals wait;
    struct run run;
    double parts[LATE_CAUSE_COUNT] = {0};
    made(&run, 1);
    kernel(&run, 0, 0, 100);
    add(&run, 0, 0, 0, 50, 250); /* waits up to 200: not beside the kernel */
    kernel(&run, 0, 300, 400);
    intervals_init(&wait);
    intervals_add(&wait, 50, 200);
    intervals_merge(&wait);
    late_activity_init(&sets, &run.ranks[0], &wait);
    late_activity_add(&sets, 60, 320, 2, parts);
    CHECK_DOUBLE(parts[LATE_compute], 2 * (40 + 20), 0);
    CHECK_DOUBLE(parts[LATE_waiting], 2 * 100, 0);
    CHECK_DOUBLE(parts[LATE_moving], 2 * 50, 0);
    CHECK_DOUBLE(parts[LATE_idle], 2 * 50, 0);
    late_activity_add(&sets, 320, 320, 1, parts);
    CHECK_DOUBLE(parts[LATE_compute], 120, 0);
    late_activity_release(&sets);
    intervals_release(&wait);
    run_release(&run);
}
