/* SPDX-License-Identifier: MIT
 *
 * Copies, kernels that are only counted, and graphs, as analysis adds them up.
 */
#include "test.h"

#include "analysis/work.h"
#include "made_device.h"

#include <string.h>

static struct op *add_op(struct run *run, uint8_t class, const char *name, int64_t start_ns,
                         int64_t dur_ns)
{
    struct op *op = device_op(run, 0, -1, UNKNOWN_NS, UNKNOWN_NS, start_ns, start_ns + dur_ns);
    op->class = class;
    op->name = name;
    return op;
}

static struct rank *open_rank(struct run *run)
{
    device_run(run, 1);
    return &run->ranks[0];
}

TEST(other_work_copies_by_kind)
{
    static const char h2d[] = "h2d", d2h[] = "d2h";
    struct run run;
    struct other_work x;
    struct rank *rank = open_rank(&run);
    add_op(&run, OP_KERNEL, "k", 100, 100);
    add_op(&run, OP_COLL, "c", 200, 50);
    add_op(&run, OP_MEMORY, h2d, 150, 200)->bytes = 1000; /* 100 of it alone, until 350 */
    add_op(&run, OP_MEMORY, h2d, 340, 20)->bytes = 100;   /* 10 of it beside the other one */
    add_op(&run, OP_MEMORY, d2h, 110, 30)->bytes = 7;     /* after the kernel */
    struct op *small = add_op(&run, OP_MEMORY, h2d, 0, 5);
    small->bytes = 3;
    small->timing = SPECTER_TIMING_HOST;
    add_op(&run, OP_MEMORY, h2d, 0, 5)->timing = SPECTER_TIMING_CAPTURED;
    add_op(&run, OP_MEMORY, d2h, 120, 1)->flags = OP_BYTES_UNKNOWN; /* no rank's speed is known */
    other_work_init(&x);
    other_work_add_rank(&x, rank);
    other_work_add_rank(&x, rank);
    other_work_finish(&x);
    CHECK_INT(x.ncopies, 2);
    CHECK_STR(x.copies[0].kind, "h2d");
    CHECK_INT(x.copies[0].count, 6);
    CHECK_INT(x.copies[0].timed, 4);
    CHECK_INT(x.copies[0].bytes, 2206);
    CHECK_INT(x.copies[0].timed_bytes, 2200);
    CHECK_INT(x.copies[0].total_ns, 440);
    CHECK_INT(x.copies[0].exposed_ns, 220);
    CHECK_INT(x.copies[1].exposed_ns, 0);
    CHECK_INT(x.copies[0].sized, 6);
    CHECK_DOUBLE(x.copies[0].sized_ns, 440, 0);
    CHECK_DOUBLE(x.copies[0].max_GBps, 5, 0); /* 1000 bytes in 200 ns, 100 in 20 */
    CHECK_INT(x.copies[1].count, 4);
    CHECK_INT(x.copies[1].sized, 2);
    CHECK_DOUBLE(x.copies[1].sized_ns, 60, 0);
    CHECK_DOUBLE(x.copies[1].total_ns, 62, 0);
    other_work_release(&x);
    run_release(&run);
}

/* Of a hostile trace: each is possible, their sums are not. */
TEST(other_work_sums_that_leave_their_range)
{
    static const char h2d[] = "h2d";
    struct run run;
    struct other_work x;
    struct rank *rank = open_rank(&run);
    enum { RANKS = 4000 };
    add_op(&run, OP_MEMORY, h2d, 0, RUN_DUR_MAX)->bytes = UINT64_MAX / 2;
    struct op *graph = add_op(&run, OP_GRAPH, "graph", 0, RUN_DUR_MAX);
    graph->graph = 1;
    graph->graph_launch.op_count = UINT64_MAX / 2;
    other_work_init(&x);
    for (int i = 0; i < RANKS; i++)
        other_work_add_rank(&x, rank);
    other_work_finish(&x);
    CHECK_INT(x.ncopies, 1);
    CHECK(x.copies[0].bytes == UINT64_MAX);
    CHECK(x.copies[0].timed_bytes == UINT64_MAX);
    CHECK_DOUBLE(x.copies[0].total_ns, RANKS * (double)RUN_DUR_MAX, 1e-9);
    CHECK_INT(x.ngraphs, 1);
    if (x.ngraphs == 1) {
        CHECK_DOUBLE(x.graphs[0].total_ns, RANKS * (double)RUN_DUR_MAX, 1e-9);
        CHECK(x.graphs[0].ops == UINT64_MAX);
    }
    other_work_release(&x);
    run_release(&run);
}

TEST(other_work_copies_of_many_kinds)
{
    static char names[OTHER_WORK_COPY_KINDS + 10];
    struct run run;
    struct other_work x;
    struct rank *rank = open_rank(&run);
    for (size_t i = 0; i < sizeof names; i++)
        add_op(&run, OP_MEMORY, &names[i], (int64_t)(100 * i), 10);
    other_work_init(&x);
    other_work_add_rank(&x, rank);
    other_work_finish(&x);
    CHECK_INT(x.ncopies, OTHER_WORK_COPY_KINDS);
    CHECK_STR(x.copies[0].kind, "other kinds");
    CHECK_INT(x.copies[0].count, 11);
    CHECK_INT(x.copies[0].exposed_ns, 110);
    other_work_release(&x);
    run_release(&run);
}

static void add_launches(struct rank *rank, int64_t t_ns, uint64_t n, int64_t gap_ns, int32_t graph)
{
    struct launches *l = rank_add_launches(rank);
    l->host_ns = t_ns;
    l->count = n;
    l->classes[SPECTER_KERNEL_ELEMENTWISE] = n;
    l->max_gap_ns = gap_ns;
    l->graph = graph;
}

TEST(other_work_launches_by_step)
{
    struct run run;
    struct other_work x;
    struct rank *rank = open_rank(&run);
    for (int i = 1; i <= 2; i++)
        device_step(&run, 0, "step", 1000 * i, 1000 * i + 900);
    add_launches(rank, 10, 5, UNKNOWN_NS, -1); /* before the first */
    add_launches(rank, 1000, 30, 70, -1);
    add_launches(rank, 1100, 100, 900, 4); /* captured */
    add_launches(rank, 1950, 7, 20, -1);   /* between */
    add_launches(rank, 2100, 10, 20, -1);
    other_work_init(&x);
    other_work_add_rank(&x, rank);
    other_work_finish(&x);
    CHECK_INT(x.launches.count, 52);
    CHECK_INT(x.launches.in_steps, 40);
    CHECK_INT(x.launches.steps, 2);
    CHECK_INT(x.launches.in_steps_of[SPECTER_KERNEL_ELEMENTWISE], 40);
    CHECK_INT(x.launches.max_gap_ns, 70);
    other_work_release(&x);
    run_release(&run);
}

TEST(other_work_graphs_and_what_is_in_them)
{
    struct run run;
    struct other_work x;
    struct rank *rank = open_rank(&run);
    for (int i = 0; i < 3; i++) {
        struct op *op = add_op(&run, i < 2 ? OP_COLL : OP_GEMM, "c", 0, 0);
        op->start_ns = op->dur_ns = UNKNOWN_NS;
        op->timing = SPECTER_TIMING_CAPTURED;
        op->graph = 4;
        op->bytes = 100;
    }
    add_launches(rank, 10, 9, 5, 4);
    for (int i = 0; i < 3; i++) {
        struct op *op = add_op(&run, OP_GRAPH, "graph", 100 * i, 10 + i);
        op->graph = i < 2 ? 4 : 5;
        op->graph_launch.op_count = i < 2 ? 3 : 1;
    }
    other_work_init(&x);
    other_work_add_rank(&x, rank);
    other_work_finish(&x);
    CHECK_INT(x.ngraphs, 2);
    CHECK_INT(x.graphs[0].graph, 4);
    CHECK_INT(x.graphs[0].count, 2);
    CHECK_INT(x.graphs[0].total_ns, 21);
    CHECK_INT(x.graphs[0].ops, 6);
    CHECK_INT(x.graphs[0].comms, 4);
    CHECK_INT(x.graphs[0].comm_bytes, 400);
    CHECK_INT(x.graphs[0].kernels, 18);
    CHECK_INT(x.graphs[1].ops, 1);
    CHECK_INT(x.graphs[1].comms, 0);
    other_work_release(&x);
    run_release(&run);
}
