/* SPDX-License-Identifier: MIT
 *
 * What a replay says of jitter and injected faults.
 */
#include "sim/replay/notes.h"

static void note_learned(struct replay *rep, const struct jitter *v)
{
    if (v->iterations < JITTER_STEPS_MIN) {
        replay_note(rep, false,
                    "variation cannot be learned from %u iteration%s (%d are needed): none is "
                    "assumed (--jitter PCT gives it)",
                    v->iterations, v->iterations == 1 ? "" : "s", JITTER_STEPS_MIN);
        return;
    }
    replay_assume(rep,
                  "as its %u iterations differ, an operation varies by %.2g %%, all of a rank in "
                  "an iteration by %.2g %%, an iteration on all ranks by %.2g %%, a transfer by "
                  "%.2g %%, CPU time by %.2g %% (standard deviations)",
                  v->iterations, 100 * v->work, 100 * v->step, 100 * v->iteration,
                  100 * v->transfer, 100 * v->host);
    if (v->alike > 1)
        replay_assume(rep,
                      "ranks that do the same (%u) differ by %.2g %% in all iterations; those "
                      "that were not recorded differ likewise",
                      v->alike, 100 * v->rank);
    else
        replay_assume(rep, "no two recorded ranks do the same: how much ranks differ in all "
                           "iterations is not known, and taken as 0");
}

void note_variation(struct replay *rep, const struct whatif_opts *opts)
{
    rep->topic = TOPIC_VARIATION;
    if (opts->jitter == JITTER_GIVEN)
        replay_assume(rep,
                      "every operation of a rank alone varies by %.3g %% (--jitter), "
                      "transfers and hosts do not",
                      100 * opts->cv);
    else
        note_learned(rep, &rep->variation);
}

size_t note_absent_faults(struct replay *rep, const struct whatif *v, int64_t gpus)
{
    size_t absent = 0;
    for (size_t i = 0; i < v->opts.nfaults; i++) {
        if (v->placed[i])
            continue;
        replay_note(rep, false, "'%s' is not in the job of %lld GPUs", v->opts.faults[i].text,
                    (long long)gpus);
        absent++;
    }
    return absent;
}

void note_faults(struct replay *rep, const struct retarget *faulty, double fault_free_ns,
                 double fault_ns)
{
    int64_t gpus = faulty->scale * rep->world;
    bool one_node = placement_nodes(&faulty->growth->target, rep->to.network, gpus) == 1;
    bool links = faulty->slow_link != NULL;
    rep->topic = TOPIC_VARIATION;
    if (fault_ns > fault_free_ns) {
        replay_assume(rep, "%lld GPUs: the injected fault adds %.1f %% to the step",
                      (long long)gpus, 100 * (fault_ns / fault_free_ns - 1));
    } else if (links && faulty->slowed == 0) {
        replay_note(rep, false, "%lld GPUs: slow links change nothing: %s", (long long)gpus,
                    one_node
                        ? "the job sits on one node"
                        : "no communicator of the ranks beside them has members on other nodes");
    } else {
        replay_note(
            rep, false,
            "%lld GPUs: the injected fault changes nothing: it is not on the critical path, "
            "others are waited for longer",
            (long long)gpus);
    }
}
