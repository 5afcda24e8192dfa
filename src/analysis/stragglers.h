/* SPDX-License-Identifier: MIT
 *
 * Who comes late to the collectives of a run, and how long the others wait for it.
 *
 *   late      of a member: its own start - earliest start (clocks must agree)
 */
#ifndef SPECTER_ANALYSIS_STRAGGLERS_H
#define SPECTER_ANALYSIS_STRAGGLERS_H

#include "trace/match.h"
#include "trace/run.h"

/* How a rank arrives at the collectives it shares with others. */
struct arrival {
    uint64_t collectives; /* with the start of this rank and of another one */
    uint64_t last;        /* times it started after every other member */
    double late_ns;       /* sum over them of its start - earliest start */
    double caused_ns;     /* sum over those where it was last: mean wait of the others for it */
};

struct stragglers {
    struct arrival *arrivals; /* owned [run->nranks]; all zero unless run->clock_aligned */
};

/* `m`: the matches of the run. */
void stragglers_make(struct stragglers *s, const struct run *run, const struct matches *m);
void stragglers_release(struct stragglers *s);

#endif
