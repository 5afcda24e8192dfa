/* SPDX-License-Identifier: MIT
 *
 * What is assumed of computation beside communication, of ports that communicators share, and of
 * the host.
 */
#include "sim/replay/notes.h"

#include <math.h>

#define NEXT_TO_NOTHING 0.005 /* of an iteration */

static const char *const bound_text[OVERLAP_BOUNDS] = {
    [OVERLAP_SM] = "GEMMs",
    [OVERLAP_MEMORY] = "memory-bound kernels",
    [OVERLAP_BOTH] = "kernels bound by both SMs and memory",
};

static void note_shown(struct replay *rep, const struct overlap *o)
{
    for (int b = 0; b < OVERLAP_BOUNDS; b++) {
        const struct overlap_shown *s = &o->shown[b];
        if (s->pairs >= OVERLAP_PAIRS_MIN)
            replay_assume(
                rep,
                "%s overlapped by communication take %.1f %% longer, as the recording shows "
                "(%llu that also ran without it): %.2f times what channels and traffic predict%s",
                bound_text[b], 100 * s->longer, (unsigned long long)s->pairs, s->seen,
                s->seen > s->factor
                    ? arena_printf(&rep->arena,
                                   ", of which at most x %g counts as the effect of communication",
                                   OVERLAP_FACTOR_MAX)
                    : "");
    }
}

/* Notes figures of profiles: of the source where the recording shows nothing, of the target where
 * it is another GPU. */
static void note_profile(struct replay *rep, const struct overlap *o)
{
    for (int b = 0; b < OVERLAP_BOUNDS; b++) {
        const struct overlap_shown *s = &o->shown[b];
        bool target;
        double factor = overlap_factor(o, &rep->from, &rep->to, (enum overlap_bound)b, &target);
        if (s->from_profile && s->factor > 0)
            replay_assume(
                rep,
                "%s overlapped by communication: the recording does not show their slow-down; "
                "profile %s has %.2f times what channels and traffic predict",
                bound_text[b], rep->from.gpu->name, s->factor);
        if (target)
            replay_assume(rep,
                          "%s overlapped by communication on the target: %.2f times what channels "
                          "and traffic predict, by profile %s",
                          bound_text[b], factor, rep->to.gpu->name);
    }
}

/* No slowdown is put in where none is known to have been taken out. */
static void note_not_shown(struct replay *rep, const struct overlap *o)
{
    uint64_t untold = 0;
    for (int b = 0; b < OVERLAP_BOUNDS; b++)
        untold += o->shown[b].factor > 0 ? 0 : o->shown[b].untold;
    if (untold > 0 && !rep->same_hardware)
        replay_assume(
            rep,
            "communication overlapped %llu kernels, of which too few also ran without it to show "
            "a slow-down: none is assumed on the target",
            (unsigned long long)untold);
}

static void note_transfers(struct replay *rep, const struct overlap *o)
{
    if (o->contended > 0)
        replay_assume(
            rep,
            "%llu transfers shared a NIC of several GPUs with others, which took %.0f us of their "
            "time: on the target they share its NICs",
            (unsigned long long)o->contended, (double)o->shared_ns / 1e3);
    if (o->queued > 0)
        replay_assume(rep,
                      "%llu transfers took more than 4 times what others of their communicator do: "
                      "%.0f us of that are waits in a queue, and are kept",
                      (unsigned long long)o->queued, (double)o->queued_ns / 1e3);
}

void note_overlap(struct replay *rep, const struct overlap *o)
{
    rep->topic = TOPIC_OVERLAP;
    if (o->beside > 0) {
        replay_assume(rep,
                      "overlap slowed %llu kernels by %.0f us; on the target NCCL's channels take "
                      "SMs from GEMMs, and memory bandwidth from other kernels",
                      (unsigned long long)o->beside, (double)o->taken_ns / 1e3);
        note_shown(rep, o);
        if (o->counted > 0)
            replay_assume(rep,
                          "channels of communication: as NCCL's profiler interface counted them "
                          "(%u of %u kinds of it)",
                          o->counted, o->transfers);
    }
    note_profile(rep, o);
    note_not_shown(rep, o);
    note_transfers(rep, o);
    if (rep->host_speed != 1)
        replay_assume(rep, "CPU time takes 1 / %g of what was recorded (--host-speed)",
                      rep->host_speed);
}

void note_host_speed(struct replay *rep, const struct iteration_time *target)
{
    const struct iteration_time *own = &rep->own;
    if (rep->host_speed == 1 || !rep->same_hardware || !rep->calibrate ||
        fabs(target->span_ns - own->span_ns) > NEXT_TO_NOTHING * own->span_ns)
        return;
    replay_note(rep, false,
                "other CPUs change next to nothing: the device waits for the host for %.1f %% of "
                "the iteration",
                100 * own->host_bound_ns / own->span_ns);
}
