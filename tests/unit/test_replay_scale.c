/* SPDX-License-Identifier: MIT
 *
 * Replays on more GPUs than were recorded: which scales, which communicators grow, where they lie.
 */
#include "made_replay.h"

#include "grown.h"

#include <math.h>

TEST(replay_default_scales)
{
    static const int64_t gpus[] = {4, 8, 16, 32, 64, 128};
    struct made m = busy();
    struct run run;
    struct replay rep;
    made_run(&run, &m);
    if (run_replay(&rep, &run, &calibrated)) {
        CHECK_INT((int64_t)rep.nscales, 6);
        for (size_t i = 0; i < 6; i++) {
            const struct replay_scale *s = &rep.scales[i];
            struct layout where = {(int)gpus[i], i < 2 ? 1 : (int)gpus[i] / 8, i ? 8 : 4};
            struct layout four = {4, 1, 4};
            double reduce_ns = 120e3 * reduce_us("h100_sxm", "dgx_h100_400g", where) /
                               reduce_us("h100_sxm", "dgx_h100_400g", four);
            CHECK_INT(s->gpus, gpus[i]);
            CHECK_DOUBLE(s->time.span_ns, 7 * 200e3 + 6 * reduce_ns, 1e-5);
            CHECK_DOUBLE(s->efficiency, rep.scales[0].time.span_ns / s->time.span_ns, 0);
            CHECK_DOUBLE(s->speedup, (double)s->scale * s->efficiency, 0);
        }
        CHECK_DOUBLE(rep.scales[0].speedup, 1, 0);
        CHECK_DOUBLE(rep.scales[0].efficiency, 1, 0);
    }
    replay_release(&rep);
    run_release(&run);
}

/* Scale 1 is the base also where it is not asked for; the order is that of the question. */
TEST(replay_chosen_scales)
{
    static const int64_t scales[] = {64, 2};
    struct made m = busy();
    struct run run;
    struct replay rep;
    struct replay_opts opts = {.scales = scales, .nscales = 2, .calibrate = true};
    made_run(&run, &m);
    if (run_replay(&rep, &run, &opts)) {
        CHECK_INT((int64_t)rep.nscales, 2);
        CHECK_INT(rep.scales[0].gpus, 256);
        CHECK_INT(rep.scales[1].gpus, 8);
        CHECK(rep.scales[0].efficiency < rep.scales[1].efficiency);
        CHECK(rep.scales[1].efficiency < 1);
        CHECK_DOUBLE(rep.scales[1].efficiency, rep.own.span_ns / rep.scales[1].time.span_ns, 0);
    }
    replay_release(&rep);
    run_release(&run);
}

TEST(replay_scale_that_the_network_cannot_hold)
{
    static const int64_t scales[] = {1, 4}, zero[] = {0}, huge[] = {INT64_MAX};
    struct run run;
    struct replay rep;
    struct err e;
    struct replay_opts opts = target(NULL, "single_node_nvlink");
    made_run(&run, &made_default);
    if (run_replay(&rep, &run, &opts)) {
        CHECK_INT((int64_t)rep.nscales, 2);
        CHECK(says(replay_assumptions(&rep), "scales above 2 are left out"));
    }
    replay_release(&rep);
    opts.scales = scales;
    opts.nscales = 2;
    CHECK_INT(replay_run(&rep, &run, &opts, &e), -1);
    CHECK_INT(e.code, ERR_USAGE);
    CHECK_STR(e.msg, "scale 4 needs 16 GPUs, but network 'single_node_nvlink' is a single node of "
                     "8: it has no NIC");
    replay_release(&rep);
    opts.scales = zero;
    opts.nscales = 1;
    CHECK_INT(replay_run(&rep, &run, &opts, &e), -1);
    CHECK_HAS(e.msg, "the smallest is 1");
    replay_release(&rep);
    opts.scales = huge;
    CHECK_INT(replay_run(&rep, &run, &opts, &e), -1);
    CHECK_HAS(e.msg, "more than");
    replay_release(&rep);
    run_release(&run);
}

/* A communicator that names its ranks from the last to the first, which must not matter. */
static int add_comm(struct run *run, const char *id, int n, int first, int stride)
{
    return device_comm(run, id, first + (n - 1) * stride, -stride, n);
}

static void check_layout(const struct weak_scaling *g, int comm, const char *network, int64_t scale,
                         int ranks, int nodes, int per_node)
{
    const struct layout_side on = {&g->target, network_profile_find(network, NULL), scale};
    struct layout l = weak_scaling_layout(g, comm, &on);
    CHECK_INT(l.ranks, ranks);
    CHECK_INT(l.nodes, nodes);
    CHECK_INT(l.per_node, per_node);
}

/* Eight ranks: tensor-parallel pairs, data-parallel groups of four with stride 2, the world. */
TEST(replay_growth_rules_and_layouts)
{
    struct run run;
    struct grown to;
    const struct weak_scaling *g = &to.g;
    int world, pair, data, alone, unknown;
    device_run(&run, 8);
    world = add_comm(&run, "world", 8, 0, 1);
    pair = add_comm(&run, "tp", 2, 2, 1);
    data = add_comm(&run, "dp", 4, 1, 2);
    alone = add_comm(&run, "one", 1, 3, 1);
    unknown = run_comm(&run, "unknown", 7, 3);
    run.comms[pair].name = "tp";
    run.comms[data].name = "dp";
    grown_init(&to, &run);
    CHECK(weak_scaling_grows(g, world));
    CHECK(!weak_scaling_grows(g, pair));
    CHECK(weak_scaling_grows(g, data));
    CHECK(!weak_scaling_grows(g, alone));
    CHECK(!weak_scaling_grows(g, unknown));
    check_layout(g, world, "dgx_h100_400g", 1, 8, 1, 8);
    check_layout(g, world, "dgx_h100_400g", 131072, 1048576, 131072, 8);
    check_layout(g, pair, "dgx_h100_400g", 64, 2, 1, 2);
    check_layout(g, data, "dgx_h100_400g", 1, 4, 1, 4);
    check_layout(g, data, "dgx_h100_400g", 3, 12, 3, 4);
    check_layout(g, data, "consumer_pcie", 2, 8, 8, 1);
    check_layout(g, pair, "consumer_pcie", 2, 2, 1, 2);
    check_layout(g, unknown, "dgx_h100_400g", 8, 3, 1, 3);
    grown_release(&to);
    run_release(&run);
}

/* Six ranks a replica do not fill nodes of eight evenly: 4 replicas fill 3 nodes. */
TEST(replay_growth_of_uneven_replicas)
{
    struct run run;
    struct grown to;
    int world, data;
    device_run(&run, 6);
    world = add_comm(&run, "world", 6, 0, 1);
    data = add_comm(&run, "data", 2, 1, 3);
    add_comm(&run, "tensor", 3, 0, 1);
    run.comms[data].name = "dp";
    run.comms[data + 1].name = "tp";
    grown_init(&to, &run);
    check_layout(&to.g, world, "dgx_h100_400g", 2, 12, 2, 8);
    check_layout(&to.g, world, "dgx_h100_400g", 4, 24, 3, 8);
    check_layout(&to.g, world, "dgx_h100_400g", 4000, 24000, 3000, 8);
    check_layout(&to.g, data, "dgx_h100_400g", 2, 4, 2, 3); /* 1 4 7 | 10 */
    check_layout(&to.g, data, "dgx_h100_400g", 4, 8, 3, 3); /* 1 4 7 | 10 13 | 16 19 22 */
    check_layout(&to.g, data, "dgx_h100_400g", 4001, 8002, 3001, 3);
    grown_release(&to);
    run_release(&run);
}

/* Alone in the world is the whole world: its AllReduce becomes one of all replicas, at the time of
 * the model, as the recorded one moved nothing. */
TEST(replay_scale_of_one_gpu)
{
    static const int64_t scales[] = {1, 8};
    struct made m = busy();
    struct run run;
    struct replay rep;
    struct replay_opts opts = {.scales = scales, .nscales = 2, .calibrate = true};
    struct layout eight = {8, 1, 8};
    m.ranks = 1;
    m.reduce_ns = 9000;
    made_run(&run, &m);
    if (run_replay(&rep, &run, &opts)) {
        CHECK_DOUBLE(rep.scales[0].time.span_ns, 7 * 200e3 + 6 * 9e3, 0);
        CHECK_DOUBLE(rep.scales[1].time.span_ns,
                     7 * 200e3 + 6e3 * reduce_us("h100_sxm", "dgx_h100_400g", eight), 1e-5);
        CHECK(rep.scales[1].efficiency < 1);
        CHECK(says(replay_assumptions(&rep),
                   "a communicator of 1 rank that grows takes the model's time"));
        CHECK(!says(replay_notes(&rep), "every scale takes the time of scale 1"));
    }
    replay_release(&rep);
    run_release(&run);
}

/* One communicator is all there is at the only scale asked for: nothing to warn of. */
TEST(replay_at_scale_1_needs_no_growth)
{
    static const int64_t one[] = {1};
    struct made m = busy();
    struct run run;
    struct replay rep;
    struct replay_opts opts = {.scales = one, .nscales = 1, .calibrate = true};
    made_run(&run, &m);
    run.world_size = 8;
    if (run_replay(&rep, &run, &opts))
        CHECK(!says(replay_notes(&rep), "every scale takes the time of scale 1"));
    replay_release(&rep);
    run_release(&run);
}

/* Communicators of ranks that keep together do not grow: no scaling is told, and why. */
TEST(replay_scale_of_tensor_parallel_only)
{
    struct replay_opts known = calibrated, asked = calibrated;
    int64_t scale = 32;
    struct made m = busy();
    struct run run;
    struct replay rep;
    m.gpu = ""; /* has a note of its own, which must not come first */
    known.gpu = asked.gpu = gpu_profile_find("h100_sxm", NULL);
    made_run(&run, &m);
    run.world_size = 8;
    if (run_replay(&rep, &run, &known)) {
        CHECK(
            says(replay_assumptions(&rep), "communicators of tp (1, of 4 ranks) keep their size"));
        CHECK(says(replay_assumptions(&rep),
                   "scales above 1 are left out: no communicator that was used "
                   "spans dp, which grows"));
        CHECK_INT(rep.nscales, 1);
    }
    replay_release(&rep);
    asked.scales = &scale;
    asked.nscales = 1;
    if (run_replay(&rep, &run, &asked)) {
        const char **notes = replay_notes(&rep);
        CHECK_HAS(notes[0], "every scale takes the time of scale 1");
        CHECK(notes[1] != NULL);
        CHECK(isnan(rep.scales[0].speedup) && isnan(rep.scales[0].efficiency));
        CHECK(isnan(rep.scales[0].error.share));
        CHECK_INT(rep.scales[0].gpus, 256);
    }
    replay_release(&rep);
    run_release(&run);
}
