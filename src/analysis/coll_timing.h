/* SPDX-License-Identifier: MIT
 *
 * How the members of one collective, or both ends of a message, came together in time: who was
 * first, who last, how long the data moved once all were there.
 *
 * Starts and ends of different ranks are compared only where their clocks agree: all timed members
 * are of one clock domain, or the run is aligned (run->clock_aligned). What must be compared is
 * UNKNOWN_NS or NAN otherwise, and with fewer than two timed members.
 */
#ifndef SPECTER_ANALYSIS_COLL_TIMING_H
#define SPECTER_ANALYSIS_COLL_TIMING_H

#include "trace/match.h"
#include "trace/step_time.h"
#include "trace/run.h"

#define RANK_UNKNOWN UINT32_MAX

struct coll_timing {
    int64_t first_start_ns; /* of the members; of the first timed one where clocks do not agree */
    int64_t last_start_ns, first_end_ns, last_end_ns;
    uint32_t first_rank, last_rank; /* who started first, and last: index into run->ranks;
                                       RANK_UNKNOWN: not known, or several at the same time */
    double arrive_wait_ns;          /* mean over members of last_start - own start; NAN */
    double wait_max_ns; /* longest - shortest duration of a member; NAN with fewer than two */
    bool two_sided;     /* a message: [from_ns, to_ns) is seen from both ends */
    int64_t moved_ns;   /* a message: how long its data moved; UNKNOWN_NS */
    int64_t from_ns,
        to_ns; /* a message: when its data moved, see coll_timing_of_message(); UNKNOWN_NS */
};

/* Times a match, or one record alone (n = 1). */
void coll_timing_init(struct coll_timing *m, const struct run *run,
                      const struct match_member *members, uint32_t n);

/* Sets moved_ns, from_ns and to_ns of a message. Its time, by what is known:
 *
 *   clocks agree   last start to last end: a send's kernel may end before all has arrived, and both
 *                  wait for the later one. A send that ended before its receive began had left its
 *                  data in NCCL's buffers: its own time, as the receive then only empties these
 *   they do not    the shorter duration, up to the end of the receive
 *   one end only   its duration, which may hold waiting
 *
 * Where the trace holds durations without starts, the shorter one, and no from_ns.
 */
void coll_timing_of_message(struct coll_timing *m, const struct run *run,
                            const struct match_member *members, uint32_t n);

/* The step of the job (trace/step_time.h) to which a rank's operation belongs; STEP_NONE: to none
 * that counts, or the whole recording is one. */
uint32_t op_step(const struct job_steps *job, size_t rank, size_t op);

/* Number of steps that count; 0 where the whole recording is one. */
uint32_t counted_steps(const struct job_steps *job);

/* The name of the step in the rank's mark; "" without one. Borrowed from the run. */
const char *op_step_name(const struct job_steps *job, const struct run *run, size_t rank,
                         uint32_t step);

#endif
