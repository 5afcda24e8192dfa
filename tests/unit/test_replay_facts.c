/* SPDX-License-Identifier: MIT
 *
 * The sentences of facts that few recordings lead to, and where each of them stands.
 */
#include "report/replay_internal.h"
#include "report/replay_report.h"
#include "test.h"

#include <string.h>

#define N(value) fact_count(value)
#define X(value) fact_number(value)
#define T(value) fact_text(value)

struct example {
    enum replay_fact fact;
    const struct fact_value *values;
    const char *sentence;
};

static void check_sentences(struct replay *rep, const struct example *examples, size_t n)
{
    const char **assumed, **noted;
    for (size_t i = 0; i < n; i++)
        fact_add(rep, examples[i].fact, examples[i].values);
    assumed = replay_assumptions(rep);
    noted = replay_notes(rep);
    for (size_t i = 0; i < n; i++) {
        bool said = false;
        for (const char **s = assumed; *s != NULL; s++)
            said = said || strcmp(*s, examples[i].sentence) == 0;
        for (const char **s = noted; *s != NULL; s++)
            said = said || strcmp(*s, examples[i].sentence) == 0;
        CHECK_STR(said ? examples[i].sentence : "", examples[i].sentence);
    }
}

TEST(replay_facts_have_sentences)
{
    const struct example examples[] = {
        {FACT_GPUS_DIFFER, VALUES(T("a100_sxm")),
         "ranks ran on different GPUs: all are taken as a100_sxm"},
        {FACT_ABSENT_UNKNOWN, VALUES(N(2), N(8), T("6, 7"), T("no grid fits")),
         "2 of 8 ranks have no operations (6, 7), and which they are like is not known: no grid "
         "fits"},
        {FACT_OPTIMIZER_KEPT, NULL,
         "the optimizer's work on a shard is kept: no gradients are scattered over its ranks"},
        {FACT_PLACED_AS_HOSTS_TELL, VALUES(T("block")),
         "ranks were recorded on nodes by block, as their hosts tell"},
        {FACT_SHORTER_PART, VALUES(N(16), X(2.345), N(8), T("idling")),
         "the step at 16 GPUs is 2.3 % shorter than at 8, most of it idling"},
        {FACT_NO_EFFECT_OFF_PATH, VALUES(N(1), N(0), T("dgx_h100_400g"), N(1), N(0)),
         "network dgx_h100_400g changes nothing: communication is not on the critical path"},
        {FACT_NO_EFFECT_OFF_PATH, VALUES(N(0), N(1), T("h100_sxm"), N(0), N(1)),
         "GPU h100_sxm changes nothing: computation is not on the critical path"},
        {FACT_JITTER_LEARNED, VALUES(N(9), X(1), X(2.25), X(0.5), X(3), X(4)),
         "as its 9 iterations differ, an operation varies by 1 %, all of a rank in an iteration by "
         "2.2 %, an iteration on all ranks by 0.5 %, a transfer by 3 %, CPU time by 4 % (standard "
         "deviations)"},
        {FACT_RANKS_ALIKE, VALUES(N(4), X(1.5)),
         "ranks that do the same (4) differ by 1.5 % in all iterations; those that were not "
         "recorded differ likewise"},
        {FACT_RANKS_UNLIKE, NULL,
         "no two recorded ranks do the same: how much ranks differ in all iterations is not known, "
         "and taken as 0"},
        {FACT_SYNCS_FOUND, VALUES(N(3)),
         "3 event synchronisations name no event: each waits for the operation that ended when it "
         "returned"},
        {FACT_THREADS_APART, VALUES(N(2)),
         "2 threads overlap others: each runs on its own from its recorded offset"},
        {FACT_CAPTURED, VALUES(N(5)), "5 operations were captured into a graph: not replayed"},
        {FACT_ALLOCATIONS, VALUES(N(6)),
         "6 calls that allocate or free memory waited for the device, which became idle in them"},
        {FACT_INCONSISTENT, VALUES(N(1)), "1 collectives whose members disagree on what they are"},
        {FACT_WHOLE_REPEATS, VALUES(N(7), T("they end at other places")),
         "the whole recording is one step: the operations repeat 7 times, but are not taken for "
         "steps: they end at other places (marks tell, ProfilerStep or NVTX)"},
        {FACT_WHOLE_DOUBTED, VALUES(T("too short")), "the whole recording is one step: too short"},
        {FACT_STEPS_CUT, VALUES(N(1), N(0), N(1), N(1), N(0)),
         "the last marked step does not count: the recording ends in it"},
        {FACT_STEPS_CUT, VALUES(N(0), N(1), N(2), N(0), N(1)),
         "the last 2 marked steps do not count: the recording ends in them"},
        {FACT_OVERLAP_CHANNELS, VALUES(N(3), N(4)),
         "channels of communication: as NCCL's profiler interface counted them (3 of 4 kinds of "
         "it)"},
        {FACT_NICS_SHARED, VALUES(N(12), X(345.6)),
         "12 transfers shared a NIC of several GPUs with others, which took 346 us of their time: "
         "on the target they share its NICs"},
        {FACT_SHORTER_TRANSFER,
         VALUES(N(16), X(10), N(8), T("AllReduce"), X(26 * 0x1p20), X(1234.5), X(2000), N(1),
                T("tree"), T("LL"), N(1), N(0), T("ring"), T("Simple"), N(24), N(1)),
         "the step at 16 GPUs is 10.0 % shorter than at 8: AllReduce of 26 MiB takes 1.23 ms "
         "and not 2.00 ms, because NCCL's tuner chooses tree with LL on 1 channel in place of "
         "ring with Simple on 24 channels"},
        {FACT_SLOWER_THAN_MODEL,
         VALUES(N(0), N(1), X(1.314), T("dgx_h100_400g"), X(1.15), T("dgx_a100_200g")),
         "communication took 1.31 times the predicted time on dgx_h100_400g (80 % interval: up to "
         "1.15). dgx_a100_200g is taken to be as slow, unless --no-calibrate is given"},
        {FACT_PIPELINE, VALUES(T("1F1B, 4 stages"), X(-0.0004)),
         "the pipeline is laid out anew for more stages (1F1B, 4 stages): each between the ends "
         "does what a recorded one does; the recorded stages so laid out take as long as recorded"},
        {FACT_UNMODELLED, VALUES(X(12.34), N(0), N(3), N(1)),
         "12.3 % of traced device time has no model: operations of unknown size (3), graphs in "
         "part"},
        {FACT_RECORDED_BOUNDS_DIFFER,
         VALUES(N(1), N(BOUND_HOST), N(BOUND_COMM), N(1), N(BOUND_HOST), N(BOUND_COMPUTE),
                N(BOUNDS_TARGET)),
         "most of the recorded step is idle, of the predicted one communication, and most of the "
         "recorded critical path is the host, of the predicted one compute: on the target the "
         "parts of a step take other times"},
    };
    struct replay rep = {0};
    arena_init(&rep.arena);
    check_sentences(&rep, examples, sizeof examples / sizeof *examples);
    replay_release(&rep);
}

TEST(replay_facts_stand_by_subject)
{
    struct replay rep = {0};
    const char **texts;
    arena_init(&rep.arena);
    fact_add(&rep, FACT_TRANSFERS, NULL); /* of the recording: after the target's */
    fact_add_loss(&rep, true, FACT_TAKEN_AS_0, VALUES(N(2)));
    fact_add(&rep, FACT_TARGET_GPU_RECORDED, VALUES(T("h100\nsxm")));
    fact_add(&rep, FACT_UNSCALED, VALUES(T("it has 1 rank")));
    fact_add(&rep, FACT_REPLAY_OFF, VALUES(X(1), X(2), N(0), N(0), N(0), N(0)));
    texts = replay_assumptions(&rep);
    CHECK_STR(texts[0], "target GPU h100?sxm: that of the recording (--gpu)");
    CHECK_HAS(texts[1], "a transfer takes");
    CHECK(texts[2] == NULL);
    texts = replay_notes(&rep);
    CHECK_HAS(texts[0], "is replayed; the recording does not show why");
    CHECK_HAS(texts[1], "without speed-up and efficiency: it has 1 rank");
    CHECK_STR(texts[2], "2 operations have neither a time nor a model: taken as 0");
    CHECK(texts[3] == NULL);
    texts = replay_losses(&rep, &rep.arena);
    CHECK_STR(texts[0], "2 operations have neither a time nor a model: taken as 0");
    CHECK(texts[1] == NULL);
    replay_release(&rep);
}
