/* SPDX-License-Identifier: MIT
 *
 * Laws of scale over made grids: odd worlds, each axis, every placement.
 */
#include "test.h"

#include "../unit/made_grid.h"
#include "../unit/made_run.h"
#include "sim/scaling/scaling.h"
#include "sim/replay/replay.h"

#include <stdlib.h>

static const struct made_grid grids[] = {
    {{{GRID_DP, 3}}, 1},
    {{{GRID_TP, 2}, {GRID_DP, 3}}, 2},
    {{{GRID_TP, 3}, {GRID_DP, 2}, {GRID_PP, 2}}, 3},
    {{{GRID_TP, 5}, {GRID_EP, 2}, {GRID_DP, 10}, {GRID_PP, 10}}, 4},
};

static const struct network_profile *net8(void)
{
    return network_profile_find("dgx_h100_400g", NULL);
}

/* Members are counted once over nodes in order, once one by one: the same comes out. */
static void check_comm(struct weak_scaling *g, int c, int64_t scale, const struct placement *list)
{
    const struct placement block = {.kind = PLACE_BLOCK};
    struct layout a, b;
    a = weak_scaling_layout(g, c, &(struct layout_side){&block, net8(), scale});
    b = weak_scaling_layout(g, c, &(struct layout_side){list, net8(), scale});
    CHECK_INT(a.ranks, b.ranks);
    CHECK_INT(a.nodes, b.nodes);
    CHECK_INT(a.per_node, b.per_node);
    CHECK_INT(a.ranks, g->run->comms[c].size * (weak_scaling_grows(g, c) ? scale : 1));
    CHECK(a.per_node <= 8 && (int64_t)a.nodes * a.per_node >= a.ranks);
}

static void check_axis(struct weak_scaling *g)
{
    static const int64_t scales[] = {1, 2, 3, 8};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        int64_t world = g->world * scales[i];
        int *of = calloc((size_t)world, sizeof *of);
        struct placement list = {.kind = PLACE_LISTED, .of = of, .count = world};
        for (int r = 0; r < world; r++)
            of[r] = r / 8;
        CHECK_INT(placement_check(&list, net8(), world, NULL), 0);
        for (size_t c = 0; c < g->run->ncomms; c++)
            check_comm(g, (int)c, scales[i], &list);
        free(of);
    }
}

TEST(law_members_sit_where_they_are_counted)
{
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        struct made_job j = make_job(&grids[i], true);
        struct run run;
        struct grid grid;
        run_of_job(&run, &j);
        grid_find(&grid, &j.in);
        for (int a = 0; a < grids[i].n; a++) {
            struct weak_scaling g;
            weak_scaling_init(&g, &run, &grid, grids[i].axes[a].role);
            CHECK(g.axis >= 0);
            check_axis(&g);
            weak_scaling_release(&g);
        }
        grid_release(&grid);
        run_release(&run);
        release(&j);
    }
}

/* Ranks keep apart, and each is of the kind that it was made from. */
TEST(law_ranks_of_a_grown_job)
{
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        struct made_job j = make_job(&grids[i], true);
        struct run run = {.ncomms = 0};
        struct grid grid;
        grid_find(&grid, &j.in);
        for (int a = 0; a < grids[i].n; a++) {
            struct weak_scaling g;
            weak_scaling_init(&g, &run, &grid, grids[i].axes[a].role);
            for (int r = 0; r < g.world; r++) {
                CHECK_INT(weak_scaling_kind(&g, weak_scaling_rank(&g, r, 7), 7), r);
                CHECK(r == 0 || weak_scaling_rank(&g, r, 7) > weak_scaling_rank(&g, r - 1, 7));
            }
            weak_scaling_release(&g);
        }
        grid_release(&grid);
        release(&j);
    }
}

/* Weak scaling by data-parallel ranks on full nodes does not make an iteration shorter, but for the
 * little by which the way that NCCL changes to may be better than the one before. With one or two
 * ranks a node more ranks can be faster: NCCL changes from rings to trees where its tuner's
 * estimate says so, not where that is faster. The estimate takes trees between nodes for slower
 * than they are priced here (it keeps a part of their bandwidth in reserve), so that it stays with
 * rings for too long: their steps grow with the nodes, those of the trees that come next with the
 * logarithm. `predict collective --op all_reduce --bytes 4M --ranks 8,16 --gpus-per-node 1` shows
 * it. */
TEST(law_weak_scaling_never_gets_faster)
{
    static const int64_t scales[] = {1, 2, 4, 16, 1024, 1 << 16, 1 << 18};
    static const int worlds[] = {4, 8, 16, 24};
    for (int i = 0; i < 4; i++) {
        struct replay_opts opts = {.scales = scales, .nscales = 7, .calibrate = true};
        struct made m = made_default;
        struct run run;
        struct replay rep;
        m.ranks = worlds[i];
        made_run(&run, &m);
        CHECK_INT(replay_run(&rep, &run, &opts, NULL), 0);
        for (size_t k = 1; k < rep.nscales; k++)
            CHECK(rep.scales[k].time.span_ns >= rep.scales[k - 1].time.span_ns * 0.995);
        replay_release(&rep);
        run_release(&run);
    }
}
