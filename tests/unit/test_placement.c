/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "grown.h"
#include "made_device.h"
#include "made_grid.h"
#include "trace_files.h"

static const struct network_profile *net8(void)
{
    return network_profile_find("dgx_h100_400g", NULL);
}

static struct placement parsed(const char *text, struct arena *arena)
{
    struct placement p;
    CHECK_INT(placement_parse(&p, text, arena, NULL), 0);
    return p;
}

/* Nodes of eight: where ranks of a job of 20 sit. */
TEST(placement_rules)
{
    static const struct {
        const char *text;
        int64_t nodes, of[4]; /* of ranks 0, 1, 9, 19 */
    } cases[] = {
        {"block", 3, {0, 0, 1, 2}},
        {"cyclic", 3, {0, 1, 0, 1}},
        {"spread=4", 5, {0, 0, 2, 4}},
        {"spread=1", 20, {0, 1, 9, 19}},
    };
    static const int64_t ranks[] = {0, 1, 9, 19};
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct placement p = parsed(cases[i].text, &arena);
        CHECK_INT(placement_nodes(&p, net8(), 20), cases[i].nodes);
        CHECK_INT(placement_check(&p, net8(), 20, NULL), 0);
        for (int k = 0; k < 4; k++)
            CHECK_INT(placement_node(&p, net8(), ranks[k], 20), cases[i].of[k]);
        for (int64_t rank = 0; rank < 20; rank++) {
            int64_t node = placement_node(&p, net8(), rank, 20), before = 0;
            for (int64_t r = 0; r < rank; r++)
                before += placement_node(&p, net8(), r, 20) == node;
            CHECK_INT(placement_slot(&p, net8(), rank, 20), before);
        }
    }
    arena_release(&arena);
}

TEST(placement_refuses)
{
    static const char *const bad[] = {"", "blocks", "spread=0", "spread=x", "spread=", "cyclic=2"};
    struct arena arena;
    struct placement p;
    struct err e;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_INT(placement_parse(&p, bad[i], &arena, &e), -1);
        CHECK_INT(e.code, ERR_USAGE);
    }
    CHECK_INT(placement_parse(&p, "file=/nonexistent", &arena, &e), -1);
    CHECK_INT(e.code, ERR_INPUT);
    p = parsed("spread=9", &arena);
    CHECK_INT(placement_check(&p, net8(), 18, &e), -1);
    CHECK_HAS(e.msg, "9 ranks a node, but a node of 'dgx_h100_400g' has 8 GPUs");
    arena_release(&arena);
}

static int read_text(struct placement *p, const char *text, struct arena *arena, struct err *e)
{
    const char *folder = make_folder();
    char how[4400];
    int rc;
    write_text(folder, "hosts", text);
    snprintf(how, sizeof how, "file=%s", file_in(folder, "hosts"));
    rc = placement_parse(p, how, arena, e);
    remove_folder(folder);
    return rc;
}

TEST(placement_lists)
{
    static const char *const good[] = {
        "a slots=2\nb slots=2\n",
        "a\na\nb\nb\n",
        "# a list\na:2\n\nb:2 # two\n",
        "3 b\n1 a\n0 a\n2 b\n",
    };
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "no host in it"},
        {"a slots=0\n", ":1: slots"},
        {"a slots=2\n0 b\n", "do not go together"},
        {"0 a\n2 b\n", "rank 1 is not in it"},
        {"0 a\n0 b\n", ":2: the rank was listed before"},
        {"a b\n", ":1: neither HOST slots=K nor RANK HOST"},
        {"a slots=2 x\n", ":1: neither"},
    };
    struct arena arena;
    struct placement p;
    struct err e;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK_INT(read_text(&p, good[i], &arena, &e), 0);
        CHECK_INT(p.count, 4);
        CHECK_INT(p.of[0] == p.of[1] && p.of[2] == p.of[3] && p.of[0] != p.of[2], 1);
        CHECK_INT(placement_check(&p, net8(), 4, &e), 0);
        CHECK_INT(placement_check(&p, net8(), 5, &e), -1);
        CHECK_HAS(e.msg, "the list holds 4 ranks of 5");
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_INT(read_text(&p, bad[i].text, &arena, &e), -1);
        CHECK_INT(e.code, ERR_INPUT);
        CHECK_HAS(e.msg, bad[i].why);
    }
    CHECK_INT(read_text(&p, "a slots=9\n", &arena, &e), 0);
    CHECK_INT(placement_check(&p, net8(), 9, &e), -1);
    CHECK_HAS(e.msg, "rank 8 is the 9th on its node, which has 8 GPUs");
    arena_release(&arena);
}

/* A run of `world` ranks whose hosts follow from their numbers. */
static struct run run_on(int world, const char *const *hosts, int nhosts, bool cyclic)
{
    struct run run;
    device_run(&run, world);
    for (int r = 0; r < world; r++)
        run.ranks[r].host = hosts[cyclic ? r % nhosts : r / (world / nhosts)];
    return run;
}

TEST(placement_of_a_recording)
{
    static const char *const hosts[] = {"n7", "n3", "n5", "n1"};
    static const char *const twice[] = {"n7", "n3", "n7", "n1"};
    static const struct {
        const char *const *hosts;
        int world, nhosts;
        bool cyclic, told;
        const char *words;
    } cases[] = {
        {hosts, 32, 4, false, true, "block"},
        {hosts, 16, 4, false, true, "blocks of 4 a node"},
        {hosts, 16, 2, true, true, "cyclic"},
        {hosts, 8, 4, true, true, "cyclic, 2 a node"},
        {hosts, 8, 1, false, false, "block"},
        {hosts, 64, 4, false, false, "block"}, /* 16 on a node of 8 */
        {twice, 8, 4, false, true, "as listed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run = run_on(cases[i].world, cases[i].hosts, cases[i].nhosts, cases[i].cyclic);
        struct arena arena;
        struct placement p;
        const char *why;
        arena_init(&arena);
        CHECK_INT(placement_of_hosts(&p, &run, cases[i].world, net8(), &arena, &why),
                  cases[i].told);
        CHECK_STR(placement_text(&p, &arena), cases[i].words);
        CHECK_INT(why != NULL, cases[i].world == 64);
        run.ranks[1].host = "";
        CHECK(!placement_of_hosts(&p, &run, cases[i].world, net8(), &arena, &why));
        arena_release(&arena);
        run_release(&run);
    }
}

static void check_layout(const struct weak_scaling *g, int comm, int64_t scale, struct layout want)
{
    struct layout l =
        weak_scaling_layout(g, comm, &(struct layout_side){&g->target, net8(), scale});
    CHECK_INT(l.ranks, want.ranks);
    CHECK_INT(l.nodes, want.nodes);
    CHECK_INT(l.per_node, want.per_node);
}

/* tp=2, dp=4: pairs share a node in blocks and never when ranks are dealt out one by one. */
TEST(placement_of_grown_communicators)
{
    struct run run;
    struct grown to;
    struct arena arena;
    int pair, data;
    arena_init(&arena);
    device_run(&run, 8);
    pair = device_comm(&run, "pair", 0, 1, 2);
    data = device_comm(&run, "data", 0, 2, 4);
    run.comms[pair].name = "tp";
    run.comms[data].name = "dp";
    grown_init(&to, &run);
    check_layout(&to.g, pair, 4, (struct layout){2, 1, 2});
    check_layout(&to.g, data, 4, (struct layout){16, 4, 4});
    to.g.target = parsed("cyclic", &arena);
    check_layout(&to.g, pair, 4, (struct layout){2, 2, 1});
    check_layout(&to.g, data, 4, (struct layout){16, 2, 8});
    to.g.target = parsed("spread=2", &arena);
    check_layout(&to.g, pair, 4, (struct layout){2, 1, 2});
    check_layout(&to.g, data, 4, (struct layout){16, 16, 1});
    to.g.target = parsed("cyclic", &arena);
    check_layout(&to.g, data, 1 << 17, (struct layout){1 << 19, 1 << 16, 8});
    grown_release(&to);
    arena_release(&arena);
    run_release(&run);
}

TEST(growth_to_so_many_gpus)
{
    const struct made_grid m = {{{GRID_TP, 3}, {GRID_DP, 4}}, 2};
    static const int64_t sizes[] = {12, 24, 12000}, odd[] = {100}, small[] = {6};
    struct made_job j = make_job(&m, true);
    struct grid grid;
    struct weak_scaling g;
    struct run run = {.ncomms = 0};
    int64_t scales[3];
    struct err e;
    grid_find(&grid, &j.in);
    weak_scaling_init(&g, &run, &grid, GRID_DP);
    CHECK_INT(weak_scaling_scales(&g, sizes, 3, scales, &e), 0);
    CHECK_INT(scales[0], 1);
    CHECK_INT(scales[1], 2);
    CHECK_INT(scales[2], 1000);
    CHECK_INT(weak_scaling_scales(&g, odd, 1, scales, &e), -1);
    CHECK_HAS(e.msg, "not a multiple of the recorded job's 12; the nearest are 96 and 108");
    CHECK_INT(weak_scaling_scales(&g, small, 1, scales, &e), -1);
    CHECK_HAS(e.msg, "12, which is the smallest");
    weak_scaling_release(&g);
    grid_release(&grid);
    release(&j);
}
