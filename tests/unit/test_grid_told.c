/* SPDX-License-Identifier: MIT
 *
 * Grids that are told, and the growth of their axes.
 */
#include "test.h"

#include "made_grid.h"
#include "sim/scaling/scaling.h"

/* ---- what the user tells ---- */

static void check_told(struct made_job *j, const char *text, const char *wanted)
{
    struct grid g;
    struct err e = {0};
    int rc = grid_from_text(&g, &j->in, text, &e);
    if (rc == 0)
        CHECK_STR(grid_sentence(&g, &j->in), wanted);
    else
        CHECK_HAS(e.msg, wanted);
    CHECK(rc == 0 || e.code == ERR_USAGE);
    grid_release(&g);
}

TEST(grid_told)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_DP, 4}}, 2};
    struct made_job j = make_job(&m, false);
    const char *found = "tp=2 (ranks 0-1, stride 1, --parallel), dp=4 (ranks 0,2,..,6, stride 2, "
                        "--parallel)";
    check_told(&j, "tp=2,dp=4", found);
    check_told(&j, "dp=4,tp=2,pp=1", found);
    check_told(&j, "DP=4:2,tp=2:1", found);
    check_told(&j, "dp=2:1,pp=4",
               "dp=2 (ranks 0-1, stride 1, --parallel), pp=4 (ranks 0,2,..,6, "
               "stride 2, --parallel)");
    check_told(&j, "tp=2,dp=8", "that makes 16 ranks, the recorded job has 8");
    check_told(&j, "tp=8", "communicator '1@0' of 2 ranks (0, 1) is none of its groups");
    check_told(&j, "dp=2:4,tp=4", "is none of its groups");
    check_told(&j, "dp=2:3,tp=4", "no order of these axes has these strides");
    check_told(&j, "tp", "not of the form");
    check_told(&j, "tp=0", "not of the form");
    check_told(&j, "xp=8", "not of the form");
    check_told(&j, "tp=2,,dp=4", "not of the form");
    check_told(&j, "", "not of the form");
    release(&j);
}

/* Sets leave the order open: the operations decide, then the usual order. */
TEST(grid_told_keeps_what_operations_say)
{
    const struct made_grid m = {{{GRID_DP, 2}, {GRID_TP, 2}}, 2};
    struct made_job busy = make_job(&m, true), quiet = make_job(&m, false);
    check_told(&busy, "tp=2,dp=2",
               "dp=2 (ranks 0-1, stride 1, 4 AllReduce a step), tp=2 (ranks 0,2, "
               "stride 2, 32 AllReduce a step)");
    check_told(&quiet, "dp=2,tp=2",
               "tp=2 (ranks 0-1, stride 1, --parallel), dp=2 (ranks 0,2, stride 2, --parallel)");
    check_told(&quiet, "dp=2:1,tp=2",
               "dp=2 (ranks 0-1, stride 1, --parallel), tp=2 (ranks 0,2, stride 2, --parallel)");
    release(&busy);
    release(&quiet);
}

/* dp=8 of which ep=4, as Megatron counts, is ep=4 and two replicas of each expert. */
TEST(grid_told_with_experts)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_EP, 4}, {GRID_DP, 2}}, 3};
    struct made_job j = make_job(&m, true);
    struct grid g;
    CHECK_INT(grid_from_text(&g, &j.in, "tp=2,ep=4,dp=8", NULL), 0);
    check_axes(&g, &m);
    grid_release(&g);
    CHECK_INT(grid_from_text(&g, &j.in, "tp=2,ep=4,dp=2", NULL), 0);
    check_axes(&g, &m);
    grid_release(&g);
    CHECK_INT(grid_from_text(&g, &j.in, "dp=16,ep=4,tp=4", NULL), -1); /* 64 alone are 16 x 4 */
    grid_release(&g);
    release(&j);
}

/* Products that no integer holds are too many ranks, whatever is left of them. */
TEST(grid_told_with_sizes_beyond_integers)
{
    const struct grid_input in = {.world = 65537};
    struct grid g;
    struct err e;
    CHECK_INT(grid_from_text(&g, &in, "dp=131073,ep=65537,ep=65537", &e), -1);
    CHECK_HAS(e.msg, "more than 8590131201 ranks");
    grid_release(&g);
    CHECK_INT(grid_from_text(&g, &in, "ep=65537,ep=65537,dp=131073", &e), -1);
    CHECK_HAS(e.msg, "more than 4295098369 ranks");
    grid_release(&g);
}

/* The same of shards. */
TEST(grid_told_with_experts_in_shards)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_EP, 4}, {GRID_FSDP, 2}}, 3};
    struct made_job j = make_job(&m, true);
    struct grid g;
    CHECK_INT(grid_from_text(&g, &j.in, "tp=2,ep=4,fsdp=8", NULL), 0);
    check_axes(&g, &m);
    grid_release(&g);
    release(&j);
}

/* Axes of one rank stand where their role usually does: what grows from 1 then is inside the
 * pipeline.
 */
TEST(grid_told_with_axes_of_one)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_PP, 2}}, 2};
    struct made_job j = make_job(&m, true);
    struct grid g;
    CHECK_INT(grid_from_text(&g, &j.in, "ep=1,pp=2,dp=1,tp=2,cp=1", NULL), 0);
    CHECK_STR(grid_sentence(&g, &j.in), "tp=2 (ranks 0-1, stride 1, 32 AllReduce a step), pp=2 "
                                        "(ranks 0,2, stride 2, 16 Send and 16 Recv a step)");
    CHECK_INT(grid_axis_of(&g, GRID_DP)->stride, 2);
    CHECK_INT(grid_axis_of(&g, GRID_PP)->stride, 2);
    CHECK_INT(grid_axis_of(&g, GRID_PP) - grid_axis_of(&g, GRID_DP), 1);
    grid_release(&g);
    release(&j);
}

/* Two axes of one role count together, the outer one more. */
TEST(grid_place_along_two_axes)
{
    const struct made_grid m = {{{GRID_DP, 2}, {GRID_TP, 2}, {GRID_DP, 4}}, 3};
    struct made_job j = make_job(&m, false);
    struct grid g;
    CHECK_INT(grid_from_text(&g, &j.in, "dp=2:1,tp=2:2,dp=4:4", NULL), 0);
    CHECK_INT(grid_place_along(&g, GRID_DP, 0), 0);
    CHECK_INT(grid_place_along(&g, GRID_DP, 1), 1);
    CHECK_INT(grid_place_along(&g, GRID_DP, 15), 7);
    CHECK_INT(grid_place_along(&g, GRID_DP, 14), 6);
    CHECK_INT(grid_place_along(&g, GRID_TP, 15), 1);
    CHECK_INT(grid_place_along(&g, GRID_PP, 15), 0);
    grid_release(&g);
    CHECK_INT(grid_from_text(&g, &j.in, "dp=2:1,tp=2:2,dp=4:4,dp=1", NULL), 0);
    CHECK_INT(grid_axis_of(&g, GRID_DP)->size, 4);
    grid_release(&g);
    CHECK_INT(grid_from_text(&g, &j.in, "dp=2:1,tp= 2:2,dp=4:4", NULL), -1);
    grid_release(&g);
    release(&j);
}

/* A damaged trace's communicator of more ranks than there are lies nowhere, and does not grow. */
TEST(grid_of_a_communicator_beyond_the_world)
{
    const struct made_grid m = {{{GRID_DP, 4}}, 1};
    struct made_job j = make_job(&m, true);
    struct run run;
    struct grid grid;
    struct weak_scaling g;
    j.comms[0].size = 3; /* the world, as it was written */
    j.in.world = 2;
    run_of_job(&run, &j);
    grid_find(&grid, &j.in);
    weak_scaling_init(&g, &run, &grid, GRID_DP);
    CHECK(!grid.comms[0].known && !weak_scaling_grows(&g, 0));
    weak_scaling_release(&g);
    grid_release(&grid);
    run_release(&run);
    release(&j);
}

/* ---- growth ---- */

static void check_layout(const struct weak_scaling *g, size_t comm, int64_t scale, int ranks,
                         int nodes, int per_node)
{
    const struct layout_side on = {&g->target, network_profile_find("dgx_h100_400g", NULL), scale};
    struct layout l = weak_scaling_layout(g, (int)comm, &on);
    CHECK_INT(l.ranks, ranks);
    CHECK_INT(l.nodes, nodes);
    CHECK_INT(l.per_node, per_node);
}

/* tp=2, dp=2, pp=2: communicators are the world, four of tp, four of dp, four of pp. */
TEST(grow_each_axis)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_DP, 2}, {GRID_PP, 2}}, 3};
    struct made_job j = make_job(&m, true);
    struct run run;
    struct grid grid;
    struct weak_scaling g;
    run_of_job(&run, &j);
    grid_find(&grid, &j.in);
    weak_scaling_init(&g, &run, &grid, GRID_DP);
    CHECK(weak_scaling_grows(&g, 0) && !weak_scaling_grows(&g, 1) && weak_scaling_grows(&g, 5) &&
          !weak_scaling_grows(&g, 9));
    CHECK_INT(weak_scaling_rank(&g, 3, 4), 3);
    CHECK_INT(weak_scaling_rank(&g, 4, 4), 16);
    check_layout(&g, 0, 4, 32, 4, 8);
    check_layout(&g, 1, 4, 2, 1, 2);
    check_layout(&g, 5, 1, 2, 1, 2);
    check_layout(&g, 5, 4, 8, 2, 4);
    check_layout(&g, 9, 1, 2, 1, 2);
    check_layout(&g, 9, 4, 2, 2, 1); /* the stages are on nodes of their own now */
    check_layout(&g, 0, 131072, 1048576, 131072, 8);
    weak_scaling_release(&g);
    weak_scaling_init(&g, &run, &grid, GRID_TP);
    CHECK(weak_scaling_grows(&g, 0) && weak_scaling_grows(&g, 1) && !weak_scaling_grows(&g, 5));
    check_layout(&g, 1, 8, 16, 2, 8);
    check_layout(&g, 5, 8, 2, 2, 1);
    weak_scaling_release(&g);
    weak_scaling_init(&g, &run, &grid, GRID_EP);
    CHECK_HAS(g.refused, "the recorded job has no ep axis");
    weak_scaling_release(&g);
    grid_release(&grid);
    run_release(&run);
    release(&j);
}

/* An ambiguous grid is refused for every scale but 1, with the options that would settle it. */
TEST(grow_refuses_an_ambiguous_grid)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_DP, 2}}, 2};
    struct made_job j = make_job(&m, false);
    const struct network_profile *net = network_profile_find("dgx_h100_400g", NULL);
    struct run run;
    struct grid grid;
    struct weak_scaling g;
    struct err e;
    run_of_job(&run, &j);
    grid_find(&grid, &j.in);
    weak_scaling_init(&g, &run, &grid, GRID_DP);
    CHECK_INT(weak_scaling_check(&g, net, 1, &e), 0);
    CHECK_INT(weak_scaling_check(&g, net, 2, &e), -1);
    CHECK_HAS(e.msg, "--parallel tp=2:1,dp=2:2 or --parallel dp=2:1,tp=2:2");
    weak_scaling_release(&g);
    grid_release(&grid);
    run_release(&run);
    release(&j);
}

/* Shards shrink with the axis over which gradients are scattered, and with no other. */
TEST(grow_shrinks_shards)
{
    static const struct {
        uint64_t scattered, reduced;
        enum grid_role grow;
        bool shards;
    } cases[] = {
        {8000, 0, GRID_FSDP, true},     {8000, 2000, GRID_FSDP, true},
        {8000, 9000, GRID_FSDP, false}, {8000, 0, GRID_DP, false}, /* replicas of shards */
        {8000, 0, GRID_TP, false},      {0, 9000, GRID_FSDP, false},
    };
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_FSDP, 4}, {GRID_DP, 2}}, 3};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_job j = make_job(&m, true);
        struct run run;
        struct grid grid;
        struct weak_scaling g;
        for (size_t c = 0; c < j.in.ncomms; c++) {
            struct grid_traffic *did = &j.comms[c].did;
            if (j.comms[c].size != 4)
                continue;
            did->bytes[SPECTER_REDUCESCATTER] = cases[i].scattered;
            did->bytes[SPECTER_ALLREDUCE] = cases[i].reduced;
        }
        run_of_job(&run, &j);
        grid_find(&grid, &j.in);
        weak_scaling_init(&g, &run, &grid, cases[i].grow);
        CHECK_INT(g.axis, (int)(cases[i].grow == GRID_TP ? 0 : cases[i].grow == GRID_FSDP ? 1 : 2));
        CHECK_INT(weak_scaling_shards(&g), cases[i].shards);
        weak_scaling_release(&g);
        grid_release(&grid);
        run_release(&run);
        release(&j);
    }
}

TEST(grow_knows_exchanges_of_messages)
{
    const struct made_grid m = {{{GRID_EP, 4}, {GRID_DP, 2}}, 2};
    struct made_job j = make_job(&m, true);
    struct run run;
    struct grid grid;
    struct weak_scaling g;
    struct op *message;
    run_of_job(&run, &j);
    grid_find(&grid, &j.in);
    weak_scaling_init(&g, &run, &grid, GRID_EP);
    CHECK(g.refused == NULL && !weak_scaling_alltoalls(&g));
    weak_scaling_release(&g);
    grid_release(&grid);
    for (size_t c = 1; c < 3; c++) {
        j.comms[c].did = (struct grid_traffic){.to_itself = true};
        j.comms[c].did.calls[SPECTER_SEND] = 64;
    }
    grid_find(&grid, &j.in);
    weak_scaling_init(&g, &run, &grid, GRID_EP);
    CHECK(g.refused == NULL && weak_scaling_alltoalls(&g));
    weak_scaling_release(&g);
    run_add_rank(&run);
    message = rank_add_op(&run.ranks[0]);
    message->class = OP_P2P;
    message->coll.op = SPECTER_SEND;
    message->coll.comm = 1;
    message->coll.group = -1;
    weak_scaling_init(&g, &run, &grid, GRID_EP);
    CHECK_HAS(g.refused, "are messages without a group");
    weak_scaling_release(&g);
    grid_release(&grid);
    run_release(&run);
    release(&j);
}
