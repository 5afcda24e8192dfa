/* SPDX-License-Identifier: MIT
 *
 * The temperature of a GPU under work, and its clock by that. A GPU that draws P watts tends to
 * idle_celsius + hot_gpu + thermal_K_per_W * (P - idle_W) with the time constant thermal_s: a
 * first-order law, so what single pieces of work add can be summed. At throttle_celsius and above,
 * the SM clock is throttle_clock of what it was, and so is the power.
 *
 * Work sees how warm the GPU is at its start from what its own stream has done, and from what the
 * program had waited for when it launched it. Both follow from the program, so two runs agree. Work
 * on streams without a waiting host warms the GPU that NVML shows, but does not slow others.
 *
 *     op->pace = emu_pace(device, stream, &s->heat);          the host, at the launch
 *     turn.clock = emu_pace_clock(&op->pace, start);          the stream's thread
 *     emu_pace_worked(&op->pace, load, clock, start, end);
 *     emu_heat_seen(device, stream, &op->heat);               the host, when it has waited
 */
#ifndef EMU_HEAT_H
#define EMU_HEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "export.h"

/* The heat that work has left at a moment; each part decays with a time constant of its own. */
struct emu_heat {
    uint64_t at;
    double rise;  /* K above the idle GPU */
    double watts; /* above idle_W, averaged as NVML does: about a second */
    double busy;  /* share of the time, averaged */
};

/* Work that draws so much from `start` to `end`. */
void emu_heat_add(struct emu_heat *h, uint64_t start, uint64_t end, double watts);
/* Returns the heat that is left at t, or at h->at where that is later. */
struct emu_heat emu_heat_at(const struct emu_heat *h, uint64_t t);
void emu_heat_sum(struct emu_heat *sum, const struct emu_heat *other);

/* Of a GPU by its number in the machine, where work has left so much. */
double emu_heat_celsius(unsigned gpu, double rise);

/* Classes of work by the power that they draw while they run. */
enum emu_load { EMU_LOAD_NONE, EMU_LOAD_GEMM, EMU_LOAD_KERNEL, EMU_LOAD_COMM };

/* State of the GPU at a launch. */
struct emu_pace {
    int device;
    bool throttles;         /* the GPU could become so hot */
    bool counts;            /* its heat is followed: it could, or NVML is used */
    unsigned lock_MHz;      /* the clock that NVML has locked, or 0 */
    struct emu_heat around; /* of other streams, as far as the program had waited for them */
    struct emu_heat *own;   /* of its stream; only the stream's thread looks at it */
};

struct emu_pace emu_pace(int device, unsigned stream, struct emu_heat *own);
double emu_pace_clock(const struct emu_pace *pace, uint64_t start); /* share of sm_clock_MHz */
void emu_pace_worked(const struct emu_pace *pace, enum emu_load load, double clock, uint64_t start,
                     uint64_t end);

/* The program has waited for all that has left this on a stream. */
void emu_heat_seen(int device, unsigned stream, const struct emu_heat *heat);

#endif
