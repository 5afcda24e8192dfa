/* SPDX-License-Identifier: MIT
 *
 * Competition of launches for a device. A lane is the list of launches of one host thread on one
 * device, in their order; each launch has its place there.
 *
 * Rule. A launch sees the communication that its thread launched before it, and none other: what
 * that takes of the device's ports, memory and SMs is known when the launch is timed, because a
 * launch waits for it (in real time; in virtual time they overlap). What comes later gets what
 * earlier work leaves. The order is the program's own, so the times follow from the program, not
 * from which thread ran first; and since all ranks have to launch communication in one order, no
 * circle arises. Launches of one NCCL group have no order, and do not see each other.
 *
 * A program may break that order, where the real library gets away with it. Waits that form a
 * circle last until no thread of the job has had anything to run for a while; then the one that
 * begins first in virtual time goes on without the launches that it waited for, which no later
 * launch sees.
 *
 *     emu_lane_enter(lane, now, true, &place);     by the host
 *     emu_lane_await(&place, start, ...);          by the stream's thread; then views and notes
 *     emu_lane_leave(&place);
 *
 * Any thread may call. With the real clock places are empty, and nothing competes.
 */
#ifndef EMU_LANE_H
#define EMU_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "calendar.h"
#include "export.h"

struct emu_lane;
struct emu_thread;

struct emu_place {
    struct emu_lane *lane;                       /* NULL: it competes with none */
    uint64_t before;                             /* communication with a lower ticket is seen */
    uint64_t ticket;                             /* communication's own */
    uint64_t earliest;                           /* no work of this place begins sooner */
    bool communicates;                           /* and what comes later has to wait for it */
    bool computes;                               /* a GEMM, likewise where gemm_takes_links */
    bool looks_at_gemms;                         /* communication that waits for these */
    bool overtakes;                              /* went on without what it waited for */
    struct emu_place *next, *previous;           /* of the lane: who may still look */
    struct emu_place *next_turn, *previous_turn; /* communication that is not over */
};

/* The calling thread's; made at need. */
struct emu_lane *emu_lane_of(struct emu_thread *self, int device);

enum emu_lane_kind { LANE_OTHER, LANE_COMM, LANE_GEMM };

/* `place` stays where it is until it leaves. */
EMU_API void emu_lane_enter(struct emu_lane *lane, struct emu_thread *self, uint64_t earliest,
                            enum emu_lane_kind kind, struct emu_place *place);
EMU_API void emu_lane_leave(struct emu_place *place);

/* Launches that the calling thread enters between these two have no order: an outermost group. */
EMU_API void emu_lane_group(struct emu_thread *self, bool begins);

/* Waits until what the place sees is over. The work begins at `start` and ends no sooner than
 * `least`. `ended` (may be NULL) says that there is no need any more, and makes it return false.
 * Queries of the work may look meanwhile (struct emu_waiting). */
EMU_API bool emu_lane_await(struct emu_place *place, uint64_t start, uint64_t least,
                            bool (*ended)(void *), void *argument);

/* The place's GEMM runs from `start` to `end`. */
EMU_API void emu_lane_gemm(const struct emu_place *place, uint64_t start, uint64_t end);

/* Communication that the place sees and that is not over at `start`, together; of communication
 * also what GEMMs that it sees take of its links. */
EMU_API void emu_lane_view(const struct emu_place *place, uint64_t start, struct calendar *view);

/* The number of SMs that such communication holds at t, and in *next until when. */
EMU_API unsigned emu_lane_sms(const struct emu_place *place, uint64_t t, uint64_t *next);

/* The place's communication kernel holds SMs from `start` on; returns what emu_lane_end() wants,
 * which says what it has used. NULL `used`: nothing. A place that does not communicate, or not any
 * more, holds nothing that others see: it gets NULL, and may hand it back. */
EMU_API struct emu_held *emu_lane_begin(const struct emu_place *place, uint64_t start,
                                        unsigned sms);
EMU_API void emu_lane_end(struct emu_held *held, uint64_t end, const struct calendar *used);

/* The place's communication is over: what waits for it goes on. */
EMU_API void emu_lane_pass(struct emu_place *place);

/* Questions about other processes, which libnccl answers. */
struct emu_stall {
    /* The earliest virtual start among this process's waits that have lasted; 0: none. */
    void (*publish)(uint64_t start);
    bool (*first)(uint64_t start); /* returns whether no other process published an earlier one */
    bool (*idle)(void);            /* returns whether no process has anything to run just now */
};
EMU_API void emu_lane_stalls(const struct emu_stall *stall);

#endif
