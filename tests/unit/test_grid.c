/* SPDX-License-Identifier: MIT
 *
 * Grids that are found.
 */
#include "test.h"

#include "made_grid.h"

/* ---- what is found ---- */

/* Megatron, DeepSpeed, HSDP and torchtitan, and orders that none of them uses. */
static const struct made_grid layouts[] = {
    {{{GRID_DP, 8}}, 1},
    {{{GRID_FSDP, 8}}, 1},
    {{{GRID_PP, 8}}, 1},
    {{{GRID_EP, 8}}, 1},
    {{{GRID_TP, 2}, {GRID_DP, 4}}, 2},
    {{{GRID_DP, 4}, {GRID_TP, 2}}, 2},
    {{{GRID_DP, 4}, {GRID_PP, 2}}, 2},
    {{{GRID_PP, 4}, {GRID_DP, 2}}, 2},
    {{{GRID_TP, 2}, {GRID_PP, 4}}, 2},
    {{{GRID_EP, 4}, {GRID_DP, 2}}, 2},
    {{{GRID_FSDP, 8}, {GRID_DP, 4}}, 2},
    {{{GRID_TP, 8}, {GRID_DP, 4}, {GRID_PP, 2}}, 3},
    {{{GRID_TP, 4}, {GRID_PP, 4}, {GRID_DP, 4}}, 3},
    {{{GRID_DP, 2}, {GRID_TP, 2}, {GRID_PP, 2}}, 3},
    {{{GRID_TP, 2}, {GRID_EP, 4}, {GRID_DP, 2}, {GRID_PP, 4}}, 4},
    {{{GRID_TP, 2}, {GRID_CP, 4}, {GRID_DP, 4}, {GRID_PP, 4}}, 4},
    {{{GRID_TP, 3}, {GRID_DP, 5}, {GRID_PP, 7}}, 3},
    {{{GRID_TP, 8}, {GRID_FSDP, 16}, {GRID_DP, 4}, {GRID_PP, 8}}, 4},
};

TEST(grid_is_found_in_any_order)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct made_job j = make_job(&layouts[i], true);
        struct grid g;
        grid_find(&g, &j.in);
        check_axes(&g, &layouts[i]);
        CHECK_STR(grid_comm_text(&g, 1), grid_role_name(layouts[i].axes[0].role));
        grid_release(&g);
        release(&j);
    }
}

/* Some ranks' members are enough, as long as they are named: every second communicator is gone. */
TEST(grid_is_found_from_half_of_the_communicators)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct made_job j = make_job(&layouts[i], true);
        struct grid g;
        size_t kept = 0;
        for (size_t c = 0; c < j.in.ncomms; c++) {
            struct grid_comm comm = j.comms[c];
            bool keep = c == 0 || comm.ranks[0] < j.in.world / 2;
            j.comms[c] = j.comms[kept];
            j.comms[kept] = comm;
            kept += keep;
        }
        size_t all = j.in.ncomms;
        j.in.ncomms = kept;
        grid_find(&g, &j.in);
        check_axes(&g, &layouts[i]);
        grid_release(&g);
        j.in.ncomms = all;
        release(&j);
    }
}

TEST(grid_coordinates)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_DP, 4}, {GRID_PP, 2}}, 3};
    struct made_job j = make_job(&m, true);
    struct grid g;
    grid_find(&g, &j.in);
    CHECK_INT(grid_coordinate(grid_axis_of(&g, GRID_TP), 13), 1);
    CHECK_INT(grid_coordinate(grid_axis_of(&g, GRID_DP), 13), 2);
    CHECK_INT(grid_coordinate(grid_axis_of(&g, GRID_PP), 13), 1);
    CHECK_STR(grid_comm_text(&g, 0), "world");
    CHECK_STR(grid_sentence(&g, &j.in),
              "tp=2 (ranks 0-1, stride 1, 32 AllReduce a step), dp=4 (ranks 0,2,..,6, stride 2, 4 "
              "AllReduce a step), pp=2 (ranks 0,8, stride 8, 16 Send and 16 Recv a step)");
    grid_release(&g);
    release(&j);
}

/* ---- names ---- */

TEST(grid_names_win_over_operations)
{
    static const struct {
        const char *inner, *outer;
        enum grid_role is_inner, is_outer;
    } cases[] = {
        {"tp", "dp", GRID_TP, GRID_DP},
        {"TENSOR_MODEL_PARALLEL_GROUP", "PIPELINE_MODEL_PARALLEL_GROUP", GRID_TP, GRID_PP},
        {"mesh_dp_shard", "mesh_dp_replicate", GRID_FSDP, GRID_DP},
        {"CONTEXT_PARALLEL_GROUP", "EXPERT_DATA_PARALLEL_GROUP", GRID_CP, GRID_DP},
        {"EXPERT_MODEL_PARALLEL_GROUP", "pipe", GRID_EP, GRID_PP},
        {"model", "data", GRID_TP, GRID_DP},
    };
    const struct made_grid m = {{{GRID_DP, 4}, {GRID_TP, 4}}, 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_job j = {.in = {.world = 16, .steps = 1}};
        struct grid g;
        add_axis(&j, &m, 0, true, cases[i].inner);
        add_axis(&j, &m, 1, true, cases[i].outer);
        grid_find(&g, &j.in);
        CHECK_INT(g.state, GRID_FOUND);
        CHECK_INT(g.axes[0].role, cases[i].is_inner);
        CHECK_INT(g.axes[g.naxes - 1].role, cases[i].is_outer);
        CHECK_INT(g.axes[0].trust, GRID_NAMED);
        grid_release(&g);
        release(&j);
    }
}

/* ---- pipelines ---- */

/* PyTorch makes a communicator of two for each pair of neighbours; some of the pairs look like
 * groups of their own. */
TEST(grid_pipeline_of_pairs)
{
    const struct made_grid whole = {{{GRID_TP, 2}, {GRID_DP, 2}, {GRID_PP, 4}}, 3};
    struct made_job j = {.in = {.world = 16, .steps = 1}};
    struct grid g;
    add_axis(&j, &whole, 0, true, "");
    add_axis(&j, &whole, 1, true, "");
    for (int r = 0; r + 4 < 16; r++) {
        struct grid_comm *comm = add_comm(&j, &whole, 1u << 0, r, "");
        ((int *)comm->ranks)[0] = r;
        ((int *)comm->ranks)[1] = r + 4;
        comm->did = traffic_of(GRID_PP);
    }
    grid_find(&g, &j.in);
    check_axes(&g, &whole);
    CHECK_STR(grid_comm_text(&g, j.in.ncomms - 1), "part of pp");
    grid_release(&g);
    release(&j);
}

/* Messages in the communicator of the whole job. */
TEST(grid_pipeline_in_the_world)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_PP, 4}}, 2};
    struct made_job j = {.in = {.world = 8, .steps = 1}};
    struct grid g;
    add_comm(&j, &m, 3, 0, "")->did = traffic_of(GRID_PP);
    add_axis(&j, &m, 0, true, "");
    add_messages(&j, &m, 1);
    grid_find(&g, &j.in);
    check_axes(&g, &m);
    grid_release(&g);
    release(&j);
}

/* The first and the last stage share an embedding: their group is no axis. */
TEST(grid_embedding_group_is_part_of_the_pipeline)
{
    const struct made_grid m = {{{GRID_DP, 4}, {GRID_PP, 4}}, 2};
    struct made_job j = make_job(&m, true);
    struct grid g;
    for (int r = 0; r < 4; r++) {
        struct grid_comm *comm = add_comm(&j, &m, 1u << 1, r, "");
        comm->size = 2;
        ((int *)comm->ranks)[1] = r + 12;
        comm->did.calls[SPECTER_ALLREDUCE] = 1;
    }
    grid_find(&g, &j.in);
    check_axes(&g, &m);
    CHECK_STR(grid_comm_text(&g, j.in.ncomms - 1), "part of pp");
    grid_release(&g);
    release(&j);
}

/* ---- one rank of many ---- */

/* Of its groups rank 0 knows itself alone. The grid is asked for; told, it has their members. */
TEST(grid_known_by_one_rank)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_DP, 4}, {GRID_PP, 2}}, 3};
    static const int members[3][4] = {{0, 1}, {0, 2, 4, 6}, {0, 8}};
    struct made_job j = {.in = {.world = 16, .steps = 1}};
    struct grid g;
    struct err e;
    for (int a = 0; a < 3; a++) {
        struct grid_comm *comm = add_comm(&j, &m, 1u << a, 0, "");
        int *ranks = (int *)comm->ranks;
        for (int i = 0; i < comm->size; i++)
            ranks[i] = ranks[i] == 0 ? 0 : -1;
        comm->did = traffic_of(m.axes[a].role);
    }
    grid_find(&g, &j.in);
    CHECK_INT(g.state, GRID_AMBIGUOUS);
    CHECK_INT(g.ncandidates, 1);
    CHECK_STR(g.candidates[0], "tp=2,dp=4,pp=2");
    CHECK_STR(g.problem, "too few members of its groups are known, which are of 2 ranks (tp: "
                         "AllReduce), of 4 ranks (dp: AllReduce), of 2 ranks (pp: Send)");
    grid_release(&g);
    CHECK_INT(grid_from_text(&g, &j.in, "tp=2,dp=4,pp=2", &e), 0);
    for (int a = 0; a < 3; a++) {
        for (int i = 0; g.comms[a].ranks != NULL && i < j.comms[a].size; i++)
            CHECK_INT(g.comms[a].ranks[i], members[a][i]);
        CHECK(g.comms[a].ranks != NULL);
    }
    grid_release(&g);
    CHECK_INT(grid_from_text(&g, &j.in, "dp=8,pp=2", &e), -1); /* has no 4 ranks */
    CHECK_HAS(e.msg, "of 4 ranks is none of its groups");
    CHECK_HAS(e.msg, "perhaps tp=2,dp=4,pp=2");
    grid_release(&g);
    CHECK_INT(grid_from_text(&g, &j.in, "dp=4,pp=4", &e), 0); /* stages that are neighbours are 2 */
    grid_release(&g);
    release(&j);
}

/* A sharded optimizer and the replicas beside it both look like dp: what gathers is of shards. */
TEST(grid_asked_of_shards_and_replicas)
{
    const struct made_grid m = {{{GRID_FSDP, 4}, {GRID_DP, 2}}, 2};
    for (unsigned first = 0; first < 2; first++) {
        struct made_job j = {.in = {.world = 8, .steps = 1}};
        struct grid g;
        for (unsigned a = 0; a < 2; a++) {
            unsigned axis = a ^ first;
            struct grid_comm *comm = add_comm(&j, &m, 1u << axis, 0, "");
            int *ranks = (int *)comm->ranks;
            for (int i = 0; i < comm->size; i++)
                ranks[i] = ranks[i] == 0 ? 0 : -1;
            comm->did = traffic_of(m.axes[axis].role);
            if (axis == 0)
                comm->did.calls[SPECTER_REDUCESCATTER] = comm->did.calls[SPECTER_ALLGATHER];
        }
        grid_find(&g, &j.in);
        CHECK_INT(g.ncandidates, 1);
        CHECK_STR(g.candidates[0], "fsdp=4,dp=2");
        grid_release(&g);
        release(&j);
    }
}

/* ---- borders ---- */

/* Neighbours in one communicator that send to each other, around the end or not: where each message
 * is answered at once they exchange borders, else they are stages. */
TEST(grid_borders_are_no_pipeline)
{
    for (int k = 0; k < 4; k++) {
        const bool one_way = k % 2 == 1, around = k / 2 == 1;
        const struct made_grid m = {{{one_way ? GRID_PP : GRID_DP, 8}}, 1};
        struct made_job j = {.in = {.world = 8, .steps = 1}};
        struct grid g;
        struct grid_comm *all = add_comm(&j, &m, 1, 0, "");
        all->did = traffic_of(GRID_PP);
        all->did.one_way = one_way;
        for (int r = 0; r < (around ? 8 : 7); r++) {
            add_edge(&j, r, (r + 1) % 8);
            add_edge(&j, (r + 1) % 8, r);
        }
        for (size_t i = 0; i < j.in.nedges; i++)
            j.edges[i].one_way = one_way;
        grid_find(&g, &j.in);
        check_axes(&g, &m);
        grid_release(&g);
        release(&j);
    }
}

/* ---- experts ---- */

/* Dense gradients over dp x ep, those of experts over dp; all-to-alls made of messages. */
TEST(grid_experts_within_data)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_EP, 4}, {GRID_DP, 4}}, 3};
    struct made_job j = {.in = {.world = 32, .steps = 1}};
    struct grid g;
    for (int a = 0; a < 3; a++)
        add_axis(&j, &m, a, true, "");
    for (size_t c = 0; c < j.in.ncomms; c++) {
        struct grid_comm *comm = &j.comms[c];
        if (comm->did.calls[SPECTER_ALLTOALL] == 0)
            continue;
        comm->did = (struct grid_traffic){.to_itself = true, .fewest_sent = 4};
        comm->did.calls[SPECTER_SEND] = comm->did.calls[SPECTER_RECV] = 64;
    }
    add_comm(&j, &m, 6, 0, "")->did = traffic_of(GRID_DP);
    add_comm(&j, &m, 6, 1, "")->did = traffic_of(GRID_DP);
    grid_find(&g, &j.in);
    check_axes(&g, &m);
    CHECK_STR(grid_comm_text(&g, j.in.ncomms - 1), "dp x ep");
    grid_release(&g);
    release(&j);
}

/* Without data parallelism beside the experts, dense gradients make an axis of one: it can grow. */
TEST(grid_experts_are_all_data)
{
    const struct made_grid m = {{{GRID_EP, 8}}, 1};
    struct made_job j = {.in = {.world = 8, .steps = 1}};
    struct grid g;
    add_comm(&j, &m, 1, 0, "")->did = traffic_of(GRID_EP);
    add_comm(&j, &m, 1, 0, "")->did = traffic_of(GRID_DP);
    grid_find(&g, &j.in);
    check_axes(&g, &m);
    CHECK_STR(grid_comm_text(&g, 0), "ep");
    CHECK_STR(grid_comm_text(&g, 1), "dp x ep");
    CHECK_INT(grid_axis_of(&g, GRID_DP)->size, 1);
    grid_release(&g);
    release(&j);
}

/* ---- shards ---- */

TEST(grid_tells_shards_from_sequence_parallelism)
{
    static const struct {
        uint64_t gathers, scatters;
        uint32_t run;
        enum grid_role role;
    } cases[] = {
        {16, 8, 8, GRID_FSDP}, /* gathered for both passes */
        {15, 8, 8, GRID_FSDP}, /* the last layer's kept */
        {4, 4, 4, GRID_DP},    /* a sharded optimizer */
        {48, 32, 2, GRID_TP},  /* activations, gathered twice in the backward pass */
        {32, 32, 1, GRID_TP},
    };
    const struct made_grid m = {{{GRID_TP, 4}, {GRID_PP, 2}}, 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_job j = {.in = {.world = 8, .steps = 1}};
        struct grid g;
        add_axis(&j, &m, 0, false, "");
        add_axis(&j, &m, 1, true, "");
        for (size_t c = 0; c < 2; c++) {
            j.comms[c].did.calls[SPECTER_ALLGATHER] = cases[i].gathers;
            j.comms[c].did.calls[SPECTER_REDUCESCATTER] = cases[i].scatters;
            j.comms[c].did.gather_run = cases[i].run;
        }
        grid_find(&g, &j.in);
        CHECK_STR(grid_role_name(g.axes[0].role), grid_role_name(cases[i].role));
        grid_release(&g);
        release(&j);
    }
}

/* Groups that a framework makes and never uses (of a node, of leaders) do not shape the grid, even
 * where they cross it. */
TEST(grid_ignores_groups_that_do_nothing)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_DP, 6}}, 2};
    const struct made_grid nodes = {{{GRID_DP, 4}, {GRID_DP, 3}}, 2};
    const struct made_grid across = {{{GRID_DP, 3}, {GRID_DP, 4}}, 2};
    struct made_job j = make_job(&m, true);
    struct grid g;
    add_axis(&j, &nodes, 0, false, "");
    add_axis(&j, &across, 0, false, "");
    grid_find(&g, &j.in);
    check_axes(&g, &m);
    grid_release(&g);
    CHECK_INT(grid_from_text(&g, &j.in, "tp=2,dp=6", NULL), 0);
    check_axes(&g, &m);
    grid_release(&g);
    release(&j);
}

/* ---- what is not known ---- */

TEST(grid_ambiguous_without_operations)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_DP, 2}}, 2};
    struct made_job j = make_job(&m, false);
    struct grid g;
    grid_find(&g, &j.in);
    CHECK_INT(g.state, GRID_AMBIGUOUS);
    CHECK_INT(g.ncandidates, 2);
    CHECK_STR(g.candidates[0], "tp=2:1,dp=2:2");
    CHECK_STR(g.candidates[1], "dp=2:1,tp=2:2");
    grid_release(&g);
    release(&j);
}

/* Two groups that reduce equally often, at unknown places of the step. */
TEST(grid_ambiguous_with_equal_operations)
{
    const struct made_grid m = {{{GRID_DP, 2}, {GRID_DP, 4}}, 2};
    struct made_job j = make_job(&m, true);
    struct grid g;
    for (size_t c = 0; c < j.in.ncomms; c++)
        j.comms[c].did.placed = 0;
    grid_find(&g, &j.in);
    CHECK_INT(g.state, GRID_AMBIGUOUS);
    CHECK_STR(g.candidates[0], "tp=2,dp=4");
    CHECK_STR(g.candidates[1], "dp=2,tp=4");
    grid_release(&g);
    release(&j);
}

TEST(grid_of_sets_that_cross)
{
    const struct made_grid pairs = {{{GRID_TP, 2}, {GRID_DP, 3}}, 2};
    const struct made_grid triples = {{{GRID_TP, 3}, {GRID_DP, 2}}, 2};
    struct made_job j = {.in = {.world = 6, .steps = 1}};
    struct grid g;
    add_axis(&j, &pairs, 0, true, "");
    add_axis(&j, &triples, 0, true, "");
    grid_find(&g, &j.in);
    CHECK_INT(g.state, GRID_NONE);
    CHECK_HAS(g.problem, "cannot be of one grid");
    grid_release(&g);
    release(&j);
}

TEST(grid_of_one_rank)
{
    const struct made_grid m = {{{GRID_DP, 1}}, 1};
    struct made_job j = {.in = {.world = 1, .steps = 1}};
    struct grid g;
    grid_find(&g, &j.in);
    CHECK_INT(g.state, GRID_FOUND);
    CHECK_STR(grid_sentence(&g, &j.in), "dp=1");
    grid_release(&g);
    add_comm(&j, &m, 1, 0, "")->did = traffic_of(GRID_DP);
    grid_find(&g, &j.in);
    CHECK_STR(grid_comm_text(&g, 0), "dp");
    grid_release(&g);
    release(&j);
}

/* Replicas that a recording does not have are numbered as frameworks do: inside the stages of a
 * pipeline, outside all else. */
TEST(grid_puts_new_replicas_inside_a_pipeline)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_PP, 4}}, 2};
    struct made_job j = make_job(&m, true);
    struct grid g;
    for (int alone = 0; alone < 2; alone++) {
        grid_find(&g, &j.in);
        check_axes(&g, &m);
        CHECK_INT(grid_axis_of(&g, GRID_DP)->size, 1);
        CHECK_INT(grid_axis_of(&g, GRID_DP)->stride, 2);
        for (size_t c = 1; c < j.in.ncomms; c++) {
            const int size = j.comms[c].size;
            CHECK_STR(grid_comm_text(&g, c), size == 1 ? "dp" : size == 2 ? "tp" : "pp");
        }
        grid_release(&g);
        for (int r = 0; alone == 0 && r < 8; r++)
            add_comm(&j, &m, 0, r, "")->did = traffic_of(GRID_DP);
    }
    CHECK_INT(grid_from_text(&g, &j.in, "tp=2,pp=4,dp=1", NULL), 0);
    CHECK_INT(grid_axis_of(&g, GRID_DP)->stride, 2);
    grid_release(&g);
    CHECK_INT(grid_from_text(&g, &j.in, "tp=2,pp=4,dp=1:8", NULL), 0);
    CHECK_INT(grid_axis_of(&g, GRID_DP)->stride, 8);
    grid_release(&g);
    release(&j);
}

/* Tensor parallelism over the whole job: gradients are reduced by each rank alone. */
TEST(grid_of_a_tensor_parallel_job)
{
    const struct made_grid m = {{{GRID_TP, 4}}, 1};
    struct made_job j = make_job(&m, true);
    struct grid g;
    for (int r = 0; r < 4; r++) {
        struct grid_traffic *did = &add_comm(&j, &m, 0, r, "")->did;
        *did = traffic_of(GRID_DP);
        did->calls[SPECTER_ALLREDUCE] = did->placed = 40;
        did->early = 1; /* of so many it tells nothing */
    }
    grid_find(&g, &j.in);
    check_axes(&g, &m);
    CHECK_STR(grid_comm_text(&g, 0), "dp x tp");
    CHECK_STR(grid_comm_text(&g, 1), "tp");
    CHECK_STR(grid_comm_text(&g, 2), "dp");
    grid_release(&g);
    release(&j);
}

/* A parameter server hands out what it knows and sums up what comes: its one group says so. */
TEST(grid_of_a_parameter_server)
{
    const struct made_grid m = {{{GRID_DP, 8}}, 1};
    struct made_job j = make_job(&m, false);
    struct grid g;
    for (size_t c = 0; c < j.in.ncomms; c++) {
        struct grid_traffic *did = &j.comms[c].did;
        *did = (struct grid_traffic){.control = 1};
        did->calls[SPECTER_BROADCAST] = did->calls[SPECTER_REDUCE] = 6;
    }
    grid_find(&g, &j.in);
    check_axes(&g, &m);
    CHECK(strstr(g.axes[0].why, "nothing") == NULL);
    grid_release(&g);
    release(&j);
}

/* ---- members that are not written ---- */

/* Two of each are enough where their distance tells the others. */
TEST(grid_from_two_members_of_each)
{
    const struct made_grid m = {{{GRID_TP, 4}, {GRID_DP, 4}, {GRID_PP, 4}}, 3};
    struct made_job j = make_job(&m, true);
    struct grid g;
    j.in.nedges = 0;
    for (size_t c = 1; c < j.in.ncomms; c++) {
        for (int i = 2; i < j.comms[c].size; i++)
            ((int *)j.comms[c].ranks)[i] = -1;
    }
    grid_find(&g, &j.in);
    check_axes(&g, &m);
    grid_release(&g);
    release(&j);
}

/* One rank wrote where it is in groups of 2 and 4: rank 5 is the second of its pair and the third
 * of its four in one order only; rank 0 is the first in any. */
TEST(grid_from_the_places_of_one_rank)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_DP, 4}}, 2};
    for (int rank = 0; rank <= 5; rank += 5) {
        struct made_job j = {.in = {.world = 8, .steps = 1}};
        struct grid g;
        for (unsigned a = 0; a < 2; a++) {
            struct grid_comm *comm = add_comm(&j, &m, 1u << a, rank, "");
            comm->did = traffic_of(m.axes[a].role);
            for (int i = 0; i < comm->size; i++)
                ((int *)comm->ranks)[i] = comm->ranks[i] == rank ? rank : -1;
        }
        grid_find(&g, &j.in);
        if (rank == 5)
            check_axes(&g, &m);
        else
            CHECK_INT(g.state, GRID_AMBIGUOUS);
        grid_release(&g);
        release(&j);
    }
}
