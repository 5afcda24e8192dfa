/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "sim/grid.h"
#include "sim/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- jobs made by hand ---- */

#define AXES_MAX 5

struct made_axis {
    enum grid_role role;
    int size;
};

struct made_grid {
    struct made_axis axes[AXES_MAX]; /* innermost first */
    int n;
};

struct made_job {
    struct grid_input in;
    struct grid_comm *comms;
    struct grid_edge *edges;
    size_t cap_comms, cap_edges;
};

static void release(struct made_job *j)
{
    for (size_t c = 0; c < j->in.ncomms; c++) {
        free((void *)j->comms[c].ranks);
        free((void *)j->comms[c].id);
    }
    free(j->comms);
    free(j->edges);
}

static int stride_of(const struct made_grid *m, int axis)
{
    int stride = 1;
    for (int a = 0; a < axis; a++)
        stride *= m->axes[a].size;
    return stride;
}

static int world_of(const struct made_grid *m)
{
    return stride_of(m, m->n);
}

/* The members that `rank` has along these axes (bits). Borrowed until release(). */
static struct grid_comm *add_comm(struct made_job *j, const struct made_grid *m, unsigned axes,
                                  int rank, const char *name)
{
    int world = world_of(m), size = 0, *ranks = malloc((size_t)world * sizeof *ranks);
    char id[64];
    for (int r = 0; r < world; r++) {
        bool in = true;
        for (int a = 0; a < m->n; a++) {
            int stride = stride_of(m, a), n = m->axes[a].size;
            in = in && (axes & 1u << a || r / stride % n == rank / stride % n);
        }
        if (in)
            ranks[size++] = r;
    }
    snprintf(id, sizeof id, "%x@%d", axes, rank);
    ARRAY_GROW(j->comms, j->cap_comms, j->in.ncomms + 1);
    j->comms[j->in.ncomms] =
        (struct grid_comm){.id = strdup(id), .name = name, .size = size, .ranks = ranks};
    j->in.comms = j->comms;
    return &j->comms[j->in.ncomms++];
}

static void add_edge(struct made_job *j, int from, int to)
{
    ARRAY_GROW(j->edges, j->cap_edges, j->in.nedges + 1);
    j->edges[j->in.nedges++] = (struct grid_edge){from, to};
    j->in.edges = j->edges;
}

/* What groups of that role do in one step of eight layers. */
static struct grid_traffic traffic_of(enum grid_role role)
{
    struct grid_traffic did = {.control = 1};
    switch (role) {
    case GRID_TP:
        did.calls[SPECTER_ALLREDUCE] = did.placed = 32;
        did.early = 8;
        break;
    case GRID_EP:
        did.calls[SPECTER_ALLTOALL] = 16;
        break;
    case GRID_FSDP:
        did.calls[SPECTER_ALLGATHER] = 16;
        did.calls[SPECTER_REDUCESCATTER] = 8;
        did.gather_run = 8;
        break;
    case GRID_DP:
        did.calls[SPECTER_ALLREDUCE] = did.placed = 4;
        break;
    default:
        did.calls[SPECTER_SEND] = did.calls[SPECTER_RECV] = 16;
        did.fewest_sent = 1;
    }
    return did;
}

/* A pipeline sends to the next stage and back; a ring of contexts to the next only, and around. */
static void add_messages(struct made_job *j, const struct made_grid *m, int axis)
{
    int world = world_of(m), stride = stride_of(m, axis), n = m->axes[axis].size;
    for (int r = 0; r < world; r++) {
        int at = r / stride % n, next = r + stride * (at + 1 < n ? 1 : 1 - n);
        if (m->axes[axis].role == GRID_CP) {
            add_edge(j, r, next);
        } else if (at + 1 < n) {
            add_edge(j, r, next);
            add_edge(j, next, r);
        }
    }
}

/* All communicators of the axis, with what they do where `busy`. */
static void add_axis(struct made_job *j, const struct made_grid *m, int axis, bool busy,
                     const char *name)
{
    int world = world_of(m), stride = stride_of(m, axis);
    for (int r = 0; r < world; r++) {
        struct grid_comm *comm;
        if (r / stride % m->axes[axis].size != 0)
            continue;
        comm = add_comm(j, m, 1u << axis, r, name);
        if (busy)
            comm->did = traffic_of(m->axes[axis].role);
    }
    if (busy && (m->axes[axis].role == GRID_PP || m->axes[axis].role == GRID_CP))
        add_messages(j, m, axis);
}

static struct made_job make_job(const struct made_grid *m, bool busy)
{
    struct made_job j = {.in = {.world = world_of(m), .steps = 1}};
    add_comm(&j, m, (1u << m->n) - 1, 0, "")->did.control = 1;
    for (int a = 0; a < m->n; a++)
        add_axis(&j, m, a, busy, "");
    return j;
}

static void check_axes(const struct grid *g, const struct made_grid *m)
{
    int seen = 0;
    CHECK_INT(g->state, GRID_FOUND);
    for (int a = 0; a < g->naxes; a++) {
        if (g->axes[a].size == 1)
            continue;
        CHECK_STR(grid_role_name(g->axes[a].role), grid_role_name(m->axes[seen].role));
        CHECK_INT(g->axes[a].size, m->axes[seen].size);
        CHECK_INT(g->axes[a].stride, stride_of(m, seen));
        if (++seen == m->n)
            break;
    }
    CHECK_INT(seen, m->n);
}

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
        CHECK_STR(grid_comm_words(&g, 1), grid_role_name(layouts[i].axes[0].role));
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
    CHECK_STR(grid_comm_words(&g, 0), "world");
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
        CHECK_INT(g.axes[1].role, cases[i].is_outer);
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
    CHECK_STR(grid_comm_words(&g, j.in.ncomms - 1), "part of pp");
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
    CHECK_STR(grid_comm_words(&g, j.in.ncomms - 1), "part of pp");
    grid_release(&g);
    release(&j);
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
    CHECK_STR(grid_comm_words(&g, j.in.ncomms - 1), "dp x ep");
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
    CHECK_STR(grid_comm_words(&g, 0), "ep");
    CHECK_STR(grid_comm_words(&g, 1), "dp x ep");
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
    CHECK_INT(grid_tell(&g, &j.in, "tp=2,dp=6", NULL), 0);
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

/* Two that reduce as often as each other, nobody knows when. */
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
    CHECK_STR(grid_comm_words(&g, 0), "dp");
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
    CHECK_STR(grid_comm_words(&g, 0), "dp x tp");
    CHECK_STR(grid_comm_words(&g, 1), "tp");
    CHECK_STR(grid_comm_words(&g, 2), "dp");
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

/* ---- what the user tells ---- */

static void check_told(struct made_job *j, const char *text, const char *wanted)
{
    struct grid g;
    struct err e = {0};
    int rc = grid_tell(&g, &j->in, text, &e);
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
    CHECK_INT(grid_tell(&g, &j.in, "tp=2,ep=4,dp=8", NULL), 0);
    check_axes(&g, &m);
    grid_release(&g);
    CHECK_INT(grid_tell(&g, &j.in, "tp=2,ep=4,dp=2", NULL), 0);
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
    CHECK_INT(grid_tell(&g, &j.in, "ep=1,pp=2,dp=1,tp=2,cp=1", NULL), 0);
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
    CHECK_INT(grid_tell(&g, &j.in, "dp=2:1,tp=2:2,dp=4:4", NULL), 0);
    CHECK_INT(grid_place_along(&g, GRID_DP, 0), 0);
    CHECK_INT(grid_place_along(&g, GRID_DP, 1), 1);
    CHECK_INT(grid_place_along(&g, GRID_DP, 15), 7);
    CHECK_INT(grid_place_along(&g, GRID_DP, 14), 6);
    CHECK_INT(grid_place_along(&g, GRID_TP, 15), 1);
    CHECK_INT(grid_place_along(&g, GRID_PP, 15), 0);
    grid_release(&g);
    CHECK_INT(grid_tell(&g, &j.in, "dp=2:1,tp=2:2,dp=4:4,dp=1", NULL), 0);
    CHECK_INT(grid_axis_of(&g, GRID_DP)->size, 4);
    grid_release(&g);
    CHECK_INT(grid_tell(&g, &j.in, "dp=2:1,tp= 2:2,dp=4:4", NULL), -1);
    grid_release(&g);
    release(&j);
}

/* A run with the communicators of a made job. */
static void make_run(struct run *run, const struct made_job *j)
{
    run_init(run);
    run->world_size = j->in.world;
    for (size_t c = 0; c < j->in.ncomms; c++) {
        int at = run_comm(run, j->comms[c].id, strlen(j->comms[c].id), j->comms[c].size);
        memcpy(run->comms[at].ranks, j->comms[c].ranks,
               (size_t)j->comms[c].size * sizeof *j->comms[c].ranks);
    }
}

/* A damaged trace's communicator of more ranks than there are lies nowhere, and does not grow. */
TEST(grid_of_a_communicator_beyond_the_world)
{
    const struct made_grid m = {{{GRID_DP, 4}}, 1};
    struct made_job j = make_job(&m, true);
    struct run run;
    struct grid grid;
    struct growth g;
    j.comms[0].size = 3; /* the world, as it was written */
    j.in.world = 2;
    make_run(&run, &j);
    grid_find(&grid, &j.in);
    growth_make(&g, &run, &grid, GRID_DP);
    CHECK(!grid.comms[0].known && !growth_grows(&g, 0));
    growth_release(&g);
    grid_release(&grid);
    run_release(&run);
    release(&j);
}

/* ---- growth ---- */

static void check_layout(const struct growth *g, size_t comm, int64_t scale, int ranks, int nodes,
                         int per_node)
{
    struct layout l =
        growth_layout(g, (int)comm, network_profile_find("dgx_h100_400g", NULL), scale);
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
    struct growth g;
    make_run(&run, &j);
    grid_find(&grid, &j.in);
    growth_make(&g, &run, &grid, GRID_DP);
    CHECK(growth_grows(&g, 0) && !growth_grows(&g, 1) && growth_grows(&g, 5) &&
          !growth_grows(&g, 9));
    CHECK(growth_moves(&g, 9) && !growth_moves(&g, 1));
    CHECK_INT(growth_rank(&g, 3, 4), 3);
    CHECK_INT(growth_rank(&g, 4, 4), 16);
    check_layout(&g, 0, 4, 32, 4, 8);
    check_layout(&g, 1, 4, 2, 1, 2);
    check_layout(&g, 5, 1, 2, 1, 2);
    check_layout(&g, 5, 4, 8, 2, 4);
    check_layout(&g, 9, 1, 2, 1, 2);
    check_layout(&g, 9, 4, 2, 2, 1); /* the stages are on nodes of their own now */
    check_layout(&g, 0, 131072, 1048576, 131072, 8);
    growth_release(&g);
    growth_make(&g, &run, &grid, GRID_TP);
    CHECK(growth_grows(&g, 0) && growth_grows(&g, 1) && !growth_grows(&g, 5) &&
          growth_moves(&g, 5));
    check_layout(&g, 1, 8, 16, 2, 8);
    check_layout(&g, 5, 8, 2, 2, 1);
    growth_release(&g);
    growth_make(&g, &run, &grid, GRID_PP);
    CHECK(g.refused != NULL && strstr(g.refused, "stages") != NULL);
    growth_release(&g);
    growth_make(&g, &run, &grid, GRID_EP);
    CHECK_HAS(g.refused, "the recorded job has no ep axis");
    growth_release(&g);
    grid_release(&grid);
    run_release(&run);
    release(&j);
}

/* What is not known is refused for every scale but 1, with what could be said instead. */
TEST(grow_refuses_an_ambiguous_grid)
{
    const struct made_grid m = {{{GRID_TP, 2}, {GRID_DP, 2}}, 2};
    struct made_job j = make_job(&m, false);
    const struct network_profile *net = network_profile_find("dgx_h100_400g", NULL);
    struct run run;
    struct grid grid;
    struct growth g;
    struct err e;
    make_run(&run, &j);
    grid_find(&grid, &j.in);
    growth_make(&g, &run, &grid, GRID_DP);
    CHECK_INT(growth_check(&g, net, 1, &e), 0);
    CHECK_INT(growth_check(&g, net, 2, &e), -1);
    CHECK_HAS(e.msg, "--parallel tp=2:1,dp=2:2 or --parallel dp=2:1,tp=2:2");
    growth_release(&g);
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
        struct growth g;
        for (size_t c = 0; c < j.in.ncomms; c++) {
            struct grid_traffic *did = &j.comms[c].did;
            if (j.comms[c].size != 4)
                continue;
            did->bytes[SPECTER_REDUCESCATTER] = cases[i].scattered;
            did->bytes[SPECTER_ALLREDUCE] = cases[i].reduced;
        }
        make_run(&run, &j);
        grid_find(&grid, &j.in);
        growth_make(&g, &run, &grid, cases[i].grow);
        CHECK_INT(g.axis, (int)(cases[i].grow == GRID_TP ? 0 : cases[i].grow == GRID_FSDP ? 1 : 2));
        CHECK_INT(growth_shards(&g), cases[i].shards);
        growth_release(&g);
        grid_release(&grid);
        run_release(&run);
        release(&j);
    }
}

TEST(grow_refuses_exchanges_of_messages)
{
    const struct made_grid m = {{{GRID_EP, 4}, {GRID_DP, 2}}, 2};
    struct made_job j = make_job(&m, true);
    struct run run;
    struct grid grid;
    struct growth g;
    make_run(&run, &j);
    grid_find(&grid, &j.in);
    growth_make(&g, &run, &grid, GRID_EP);
    CHECK(g.refused == NULL);
    growth_release(&g);
    grid_release(&grid);
    for (size_t c = 1; c < 3; c++) {
        j.comms[c].did = (struct grid_traffic){.to_itself = true};
        j.comms[c].did.calls[SPECTER_SEND] = 64;
    }
    grid_find(&grid, &j.in);
    growth_make(&g, &run, &grid, GRID_EP);
    CHECK_HAS(g.refused, "are messages");
    growth_release(&g);
    grid_release(&grid);
    run_release(&run);
    release(&j);
}
