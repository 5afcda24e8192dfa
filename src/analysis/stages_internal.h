/* SPDX-License-Identifier: MIT
 *
 * For stages.c: what the ranks' messages say of each pair of ranks.
 */
#ifndef SPECTER_ANALYSIS_STAGES_INTERNAL_H
#define SPECTER_ANALYSIS_STAGES_INTERNAL_H

#include "trace/step_time.h"
#include "base/idmap.h"
#include "trace/run.h"

/* Messages of two ranks over one communicator, or over any of two ranks. Counts are of micro-
 * batches: what a rank sends without computing in between belongs to one. [0]: from low to high. */
struct stage_pair {
    int32_t family; /* communicator; FAMILY_PAIRS */
    int low, high;  /* global ranks */
    int64_t votes;  /* > 0: first messages go from low to high */
    uint64_t units[2], sent[2], received[2];
    uint64_t last_epoch[2]; /* of the sender's last one, plus 1 */
    size_t last_step[2];    /* plus 1, in which it was looked at, as seen by low, high */
    int64_t in_flight[2];   /* as seen by the sender: sent less what came back */
    uint64_t flushes[2];    /* times that this came back to 0 */
};

#define FAMILY_PAIRS (-1)

struct stage_pairs {
    struct stage_pair *list; /* owned */
    size_t count, cap;
    struct idmap ids, keys; /* of two ranks; of them with a family */
    uint64_t messages;      /* all that were seen */
    uint64_t unknown;       /* of them with an unknown other end */
    uint64_t spread;        /* of them in launches of messages to many */
};

void stage_pairs_collect(struct stage_pairs *p, const struct run *run,
                         const struct job_steps *steps);
void stage_pairs_release(struct stage_pairs *p);

#endif
