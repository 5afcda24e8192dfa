/* SPDX-License-Identifier: MIT
 *
 * A run in the timeline of a page: streams of its ranks, from what tracks.h draws.
 *
 *     struct run_timeline r;
 *     run_timeline_init(&r, a, STEP_NONE);
 *     run_timeline_add(&timeline, &r, &(struct timeline_part){.step = STEP_NONE, .every = 1});
 *     run_timeline_release(&r);
 */
#ifndef SPECTER_REPORT_RUN_TIMELINE_H
#define SPECTER_REPORT_RUN_TIMELINE_H

#include "analysis/analysis.h"
#include "report/page_timeline.h"
#include "trace/run_part.h"

struct run_timeline {
    const struct analysis *a;           /* borrowed */
    uint32_t only;                      /* the step alone; STEP_NONE: all */
    struct run part;                    /* that step; nranks 0: all is there */
    uint32_t **match;                   /* owned [nranks][nops]: UINT32_MAX: none */
    const struct critical_part ***path; /* owned [nranks][nops]: NULL: it is not on it */
};

/* How much of it, and from when on. */
struct timeline_part {
    uint32_t step;   /* STEP_NONE: none is known */
    size_t every;    /* one of so many ranks */
    int64_t zero_ns; /* is 0 in the timeline; where clocks of ranks cannot be compared it is the
                        first operation of each rank's step, or of the rank where that has none */
    const char *side;
    int64_t first_link; /* numbers of collectives begin with it */
};

/* only: the step that is drawn alone; STEP_NONE: all that was recorded. */
void run_timeline_init(struct run_timeline *r, const struct analysis *a, uint32_t only);
void run_timeline_release(struct run_timeline *r);
void run_timeline_add(struct page_timeline *out, const struct run_timeline *r,
                      const struct timeline_part *part);

/* When the first operation of the step begins, of all without one; 0: there is none. */
int64_t run_timeline_first(const struct analysis *a, uint32_t step);

/* The step of median length of those that count, which the critical path is of; STEP_NONE: there
 * are no several. Its length is from the end of the one before to its own, in a->step_time. */
uint32_t run_timeline_median(const struct analysis *a);

#endif
