/* SPDX-License-Identifier: MIT
 *
 * What a replay says of jitter and injected faults.
 */
#include "sim/replay/notes.h"

static void say_learned(struct replay *rep, const struct variation *v)
{
    if (v->iterations < VARY_ITERATIONS_MIN) {
        replay_note(rep, false,
                    "variation cannot be learned from %u iteration%s (%d are needed): none is "
                    "assumed (--jitter PCT gives it)",
                    v->iterations, v->iterations == 1 ? "" : "s", VARY_ITERATIONS_MIN);
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

void say_variation(struct replay *rep, const struct vary_opts *opts)
{
    rep->topic = TOPIC_VARIATION;
    if (opts->jitter == JITTER_GIVEN)
        replay_assume(rep,
                      "every operation of a rank alone varies by %.3g %% (--jitter), "
                      "transfers and hosts do not",
                      100 * opts->cv);
    else
        say_learned(rep, &rep->variation);
}

size_t say_absent_faults(struct replay *rep, const struct vary_job *v, int64_t gpus)
{
    size_t absent = 0;
    for (size_t i = 0; i < v->opts.nfaults; i++) {
        if (v->placed[i])
            continue;
        replay_note(rep, false, "'%s' is not in the job of %lld GPUs",
                    v->opts.faults[i].text, (long long)gpus);
        absent++;
    }
    return absent;
}

void say_faults(struct replay *rep, const struct retarget *faulty, double sound_ns, double wrong_ns)
{
    int64_t gpus = faulty->scale * rep->world;
    bool one_node = placement_nodes(&faulty->growth->target, rep->to.network, gpus) == 1;
    bool links = faulty->slow_link != NULL;
    rep->topic = TOPIC_VARIATION;
    if (wrong_ns > sound_ns) {
        replay_assume(rep, "%lld GPUs: what is wrong makes the iteration %.1f %% longer",
                      (long long)gpus, 100 * (wrong_ns / sound_ns - 1));
    } else if (links && faulty->slowed == 0) {
        replay_note(rep, false, "%lld GPUs: slow links change nothing: %s", (long long)gpus,
                    one_node
                        ? "the job sits on one node"
                        : "no communicator of the ranks beside them has members on other nodes");
    } else {
        replay_note(rep, false,
                    "%lld GPUs: what is wrong changes nothing: it is not on the critical path, "
                    "others are waited for longer",
                    (long long)gpus);
    }
}
