/* SPDX-License-Identifier: MIT
 *
 * What is assumed of computation beside communication, of ports that communicators share, and of
 * the host.
 */
#include "sim/say.h"

#include <math.h>

#define NEXT_TO_NOTHING 0.005 /* of an iteration */

static const char *const bound_words[OVERLAP_BOUNDS] = {
    [OVERLAP_SM] = "products",
    [OVERLAP_MEMORY] = "kernels bound by memory",
    [OVERLAP_BOTH] = "kernels bound by both multiprocessors and memory",
};

static void say_shown(struct replay *rep, const struct overlap *o)
{
    for (int b = 0; b < OVERLAP_BOUNDS; b++) {
        const struct overlap_shown *s = &o->shown[b];
        if (s->pairs >= OVERLAP_PAIRS_MIN)
            replay_assume(rep,
                          "%s beside communication take %.1f %% longer, as the recording shows "
                          "(%llu that also ran away from it): x %.2f what channels and traffic say",
                          bound_words[b], 100 * s->longer, (unsigned long long)s->pairs, s->factor);
    }
}

void say_overlap(struct replay *rep, const struct overlap *o)
{
    if (o->beside > 0) {
        replay_assume(rep,
                      "communication beside %llu kernels took %.0f us of their time; on the "
                      "target it takes from products the multiprocessors that its channels hold, "
                      "from other kernels memory bandwidth",
                      (unsigned long long)o->beside, (double)o->taken_ns / 1e3);
        say_shown(rep, o);
        if (o->counted > 0)
            replay_assume(rep,
                          "channels of communication: as NCCL's profiler interface counted them "
                          "(%u of %u kinds of it)",
                          o->counted, o->transfers);
    }
    if (o->contended > 0)
        replay_assume(
            rep,
            "%llu transfers shared a port or NIC with others, which took %.0f us of their "
            "time: on the target they share its ports",
            (unsigned long long)o->contended, (double)o->shared_ns / 1e3);
    if (rep->host_speed != 1)
        replay_assume(rep, "CPU time takes 1 / %g of what was recorded (--host-speed)",
                      rep->host_speed);
}

void say_host_speed(struct replay *rep, const struct iteration_time *target)
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
