/* SPDX-License-Identifier: MIT
 *
 * The timeline on the page of a replay: one step of some ranks as it was recorded and, in a row
 * below each, as it was predicted, with the same operation of both linked.
 */
#ifndef SPECTER_REPORT_REPLAY_TIMELINE_H
#define SPECTER_REPORT_REPLAY_TIMELINE_H

#include "report/page_timeline.h"
#include "sim/replay/job.h"

struct replay_timeline {
    struct page_timeline out;
    size_t ranks, shown;          /* of the run that was simulated; with rows */
    int64_t source_ns, target_ns; /* how long the step takes in each */
    bool full;                    /* no more rows had room */
};

void replay_timeline_init(struct replay_timeline *t);
void replay_timeline_release(struct replay_timeline *t);

/* Adds the last step, while the job can tell when everything ran: after the recording was measured,
 * or (simulated) after a simulation. */
void replay_timeline_add(struct replay_timeline *t, const struct replay_job *job, bool simulated);

#endif
