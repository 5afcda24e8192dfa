/* SPDX-License-Identifier: MIT
 *
 * Waits inside collectives, as recorded and as they came out of a simulation on the hardware of the
 * recording. A member's wait is what it spends in a collective beyond the member that spends least:
 * the last one to come. No recorded wait is an input of a replay, so that waits tell how well it
 * understands who is late.
 */
#ifndef SPECTER_SIM_STEP_WAITS_H
#define SPECTER_SIM_STEP_WAITS_H

#include "sim/program/program.h"

/* A collective in which members waited for less than this, on average, is not compared: that is the
 * scatter of links, not lateness. */
#define WAITS_LEAST_NS 1000

struct waits {
    uint64_t collectives; /* compared: all members recorded with a time, with waits as above */
    double recorded_ns, replayed_ns; /* of all their members together */
    double median_off;               /* median over them of |replayed - recorded| / recorded; 0 */
};

/* Of one rank: what it waits in all collectives that are compared. */
struct rank_waits {
    double recorded_ns, replayed_ns;
};

/* p has run under its measured costs. `ranks`, one a rank of the run, is filled. */
void waits_compare(struct waits *out, struct rank_waits *ranks, const struct program *p);

#endif
