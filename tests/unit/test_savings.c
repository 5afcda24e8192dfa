/* SPDX-License-Identifier: MIT
 *
 * The time that a step saves when one thing is remedied, in a job of two ranks with a known answer.
 */
#include "test.h"

#include "compare/savings.h"
#include "made_device.h"

#define STEPS 6
#define CALL_NS 1000
#define FAST_NS 400000 /* what the ranks compute in a step, */
#define SLOW_NS 600000
#define SUM_NS 100000  /* how long the AllReduce after it moves data, */
#define SMALL_NS 50000 /* and another one beside the computation of the next step */
#define STEP_NS (SLOW_NS + SUM_NS)
#define LARGE (64 << 20)
#define SMALL (1 << 20)

/* Rank 1 computes for longer, so that rank 0 waits for it; the host is a step ahead. */
static void make_job(struct run *run)
{
    device_run_on(run, 2, MADE_H100, COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_KERNELS);
    device_comm(run, "w", 0, 1, 2);
    device_comm(run, "x", 0, 1, 2);
    for (int r = 0; r < 2; r++) {
        for (int64_t i = 0; i < STEPS; i++) {
            const int64_t start_ns = (i + 1) * STEP_NS,
                          host_ns = start_ns - STEP_NS + 100 * CALL_NS;
            const int64_t done_ns = start_ns + (r == 1 ? SLOW_NS : FAST_NS);
            struct op *op = device_op(run, r, 1, host_ns, host_ns + CALL_NS, start_ns, done_ns);
            struct step *step = rank_add_step(&run->ranks[r]);
            op->device = 0;
            device_coll(device_op(run, r, 2, host_ns + CALL_NS, host_ns + 2 * CALL_NS, start_ns,
                                  start_ns + SMALL_NS),
                        SPECTER_ALLREDUCE, 1, i, SMALL);
            device_coll(device_op(run, r, 1, host_ns + 2 * CALL_NS, host_ns + 3 * CALL_NS, done_ns,
                                  start_ns + STEP_NS),
                        SPECTER_ALLREDUCE, 0, i, LARGE);
            *step = (struct step){.start_ns = host_ns, .end_ns = host_ns + STEP_NS, .name = "step"};
        }
    }
    run_finish(run);
}

static double saves(struct savings *m, struct remedy what)
{
    struct err e;
    double saves_ns = -1;
    CHECK_INT(savings_of(m, &what, &saves_ns, &e), 0);
    return saves_ns;
}

TEST(savings_alone)
{
    struct run run;
    struct analysis a;
    struct savings *m;
    struct err e;
    struct remedy row = {.kind = REMEDY_COLLECTIVE,
                         .op = SPECTER_ALLREDUCE,
                         .bytes = LARGE,
                         .comm_size = 2,
                         .factor = 0.5};
    struct remedy group = {
        .kind = REMEDY_GROUP, .op = SPECTER_ALLREDUCE, .bytes = LARGE, .comm = 0, .factor = 0.2};
    make_job(&run);
    CHECK_INT(analysis_init(&a, &run, ANALYSIS_ALL_RANKS, &e), 0);
    m = savings_new(&a, &e);
    CHECK(m != NULL);
    CHECK_DOUBLE(saves(m, (struct remedy){.kind = REMEDY_COMM}), SUM_NS, 5000);
    CHECK_DOUBLE(saves(m, (struct remedy){.kind = REMEDY_RANK, .rank = 1}), SLOW_NS - FAST_NS,
                 5000);
    CHECK_DOUBLE(saves(m, (struct remedy){.kind = REMEDY_RANK, .rank = 0}), 0, 0);
    CHECK_DOUBLE(saves(m, (struct remedy){.kind = REMEDY_COPIES}), 0, 0);
    CHECK_DOUBLE(saves(m, row), SUM_NS / 2, 1000);
    row.bytes = SMALL; /* hidden behind the computation */
    CHECK_DOUBLE(saves(m, row), 0, 0);
    CHECK_DOUBLE(saves(m, group), 0.8 * SUM_NS, 1000);
    group.comm = 1;
    CHECK_DOUBLE(saves(m, group), 0, 0);
    savings_free(m);
    analysis_release(&a);
    run_release(&run);
}

#define GAP_NS 100000
#define KERNEL_NS 10000

/* The host calls once in GAP_NS, and the device idles until then. */
TEST(savings_host)
{
    struct run run;
    struct analysis a;
    struct savings *m;
    struct err e;
    device_run_on(&run, 1, MADE_H100, COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_KERNELS);
    for (int64_t i = 0; i < STEPS; i++) {
        const int64_t host_ns = i * GAP_NS, start_ns = host_ns + 4 * CALL_NS;
        device_op(&run, 0, 1, host_ns, host_ns + CALL_NS, start_ns, start_ns + KERNEL_NS);
        *rank_add_step(&run.ranks[0]) =
            (struct step){.start_ns = host_ns, .end_ns = host_ns + GAP_NS, .name = "step"};
    }
    run_finish(&run);
    CHECK_INT(analysis_init(&a, &run, ANALYSIS_ALL_RANKS, &e), 0);
    m = savings_new(&a, &e);
    CHECK(m != NULL);
    CHECK_DOUBLE(saves(m, (struct remedy){.kind = REMEDY_HOST}), GAP_NS - KERNEL_NS, 100);
    CHECK_DOUBLE(saves(m, (struct remedy){.kind = REMEDY_COMM}), 0, 0);
    savings_free(m);
    analysis_release(&a);
    run_release(&run);
}

#define COMPUTE_NS 400000
#define ROOT_NS 100000 /* what the root of a Broadcast takes, */
#define FILL_NS 60000  /* and how much later the other rank has the data */

/* Each step ends with a small AllReduce, for which the root waits. Without transfers nothing is
 * left of a Broadcast: neither its time nor its fill. */
TEST(savings_of_broadcasts)
{
    const int64_t step_ns = COMPUTE_NS + ROOT_NS + FILL_NS + SMALL_NS;
    struct run run;
    struct analysis a;
    struct savings *m;
    struct err e;
    struct remedy row = {.kind = REMEDY_COLLECTIVE,
                         .op = SPECTER_BROADCAST,
                         .bytes = SMALL,
                         .comm_size = 2,
                         .factor = 0.5};
    device_run_on(&run, 2, MADE_H100, COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_KERNELS);
    device_comm(&run, "w", 0, 1, 2);
    for (int r = 0; r < 2; r++) {
        rank_add_member(&run.ranks[r], 0, r, 0);
        for (int64_t i = 0; i < STEPS; i++) {
            const int64_t start_ns = (i + 1) * step_ns, host_ns = start_ns - step_ns;
            const int64_t sent_ns = start_ns + COMPUTE_NS + ROOT_NS + (r == 1 ? FILL_NS : 0);
            struct op *op =
                device_op(&run, r, 1, host_ns, host_ns + CALL_NS, start_ns, start_ns + COMPUTE_NS);
            op->device = 0;
            op = device_coll(device_op(&run, r, 1, host_ns + CALL_NS, host_ns + 2 * CALL_NS,
                                       start_ns + COMPUTE_NS, sent_ns),
                             SPECTER_BROADCAST, 0, 2 * i, SMALL);
            op->coll.peer = 0;
            device_coll(device_op(&run, r, 1, host_ns + 2 * CALL_NS, host_ns + 3 * CALL_NS, sent_ns,
                                  start_ns + step_ns),
                        SPECTER_ALLREDUCE, 0, 2 * i + 1, SMALL);
            *rank_add_step(&run.ranks[r]) =
                (struct step){.start_ns = host_ns, .end_ns = host_ns + step_ns, .name = "step"};
        }
    }
    run_finish(&run);
    CHECK_INT(analysis_init(&a, &run, ANALYSIS_ALL_RANKS, &e), 0);
    m = savings_new(&a, &e);
    CHECK(m != NULL);
    CHECK_DOUBLE(saves(m, (struct remedy){.kind = REMEDY_COMM}), ROOT_NS + FILL_NS + SMALL_NS,
                 5000);
    CHECK_DOUBLE(saves(m, row), (ROOT_NS + FILL_NS) / 2, 1000);
    savings_free(m);
    analysis_release(&a);
    run_release(&run);
}

/* A run that cannot be simulated gives an error. */
TEST(savings_without_times)
{
    struct run run;
    struct analysis a;
    struct err e;
    make_job(&run);
    for (int r = 0; r < 2; r++) {
        for (size_t i = 0; i < run.ranks[r].nops; i++)
            run.ranks[r].ops[i].timing = SPECTER_TIMING_HOST;
    }
    CHECK_INT(analysis_init(&a, &run, ANALYSIS_ALL_RANKS, &e), 0);
    CHECK(savings_new(&a, &e) == NULL);
    CHECK_STR(e.msg, "it has no device times");
    analysis_release(&a);
    run_release(&run);
}
