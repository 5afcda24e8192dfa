/* SPDX-License-Identifier: MIT
 *
 * Communication over all ranks: every collective, and every send with its receive, as one instance;
 * who waited in it. Who came last: stragglers.h.
 *
 *   transfer  shortest duration over the members: the time without a wait for a straggler
 *   wait      of a member: its own duration - transfer
 *
 * Operations launched as one group share the group's start and duration; an instance in a group
 * therefore has the time of the whole group, and the bytes that moved in that time are those of the
 * whole group.
 */
#ifndef SPECTER_ANALYSIS_COMM_H
#define SPECTER_ANALYSIS_COMM_H

#include "base/interval.h"
#include "trace/match.h"
#include "trace/run.h"
#include "trace/step_time.h"

#define RANK_UNKNOWN UINT32_MAX

/* Times of the members of one collective, or of both ends of a message: who came first, who last,
 * how long the data moved once all were there.
 *
 * Starts and ends of different ranks are compared only where their clocks agree: all timed members
 * are of one clock domain, or the run is aligned (run->clock_aligned). What must be compared is
 * UNKNOWN_NS or NAN otherwise, and with fewer than two timed members. */
struct coll_timing {
    int64_t first_start_ns; /* of the members; of the first timed one where clocks do not agree */
    int64_t last_start_ns, first_end_ns, last_end_ns;
    uint32_t first_rank, last_rank; /* who started first, and last: index into run->ranks;
                                       RANK_UNKNOWN: not known, or several at the same time */
    double arrive_wait_ns;          /* mean over members of last_start - own start; NAN */
    double wait_max_ns; /* longest - shortest duration of a member; NAN with fewer than two */
    bool two_sided;     /* a message: [from_ns, to_ns) is seen from both ends */
    /* A message: how long its data moved, and when (coll_timing_of_message()); UNKNOWN_NS. */
    int64_t moved_ns, from_ns, to_ns;
    uint32_t clock_rank; /* from_ns and to_ns are on its clock; index into run->ranks */
};

struct comm_instance {
    uint8_t op;    /* enum specter_comm_op; SPECTER_SEND for a pair */
    uint8_t dtype; /* enum specter_dtype */
    bool p2p;
    bool to_itself;        /* a message that no link carries */
    bool matched;          /* named by communicator and number; else one rank's record of it */
    bool bytes_known;      /* else bytes is 0 */
    bool consistent;       /* see struct match */
    uint64_t bytes;        /* full buffer S */
    int32_t comm;          /* index into run->comms; -1 unknown */
    int comm_size;         /* 0 unknown */
    int64_t seq;           /* seq or p2p_seq; -1 unknown */
    bool grouped;          /* launched together with other communication */
    uint32_t group_ops;    /* so many of the rank that gives the time; 1 when alone */
    uint64_t moved_bytes;  /* in transfer_ns: own bytes, or those of the group when all of it is the
                              same operation on the same communicator, without what ranks send to
                              themselves; 0 unknown, or nothing */
    uint32_t members;      /* found in the trace; comm_size (2 for a pair) when complete */
    uint32_t timed;        /* of them with device times */
    uint32_t sized;        /* of them whose bytes are known */
    double sent, sent_max; /* sum and largest of the members' bytes, which differ in AlltoAllv */
    int64_t transfer_ns;   /* UNKNOWN_NS when timed is 0 */
    double wait_ns;        /* mean over the timed members; NAN with fewer than two */
    struct match_member first; /* of the members */
    struct coll_timing timing;
    const struct comm_detail *detail; /* what NCCL's profiler said of the first member that it spoke
                                         of; NULL. Borrowed from the run */
};

struct comm_study {
    const struct run *run;      /* borrowed */
    struct matches matches;     /* owned: what the instances were made of */
    struct comm_instance *list; /* owned */
    size_t count, cap;
    struct intervals *wait; /* owned [run->nranks], merged: the rank had arrived, others had not */
    bool *wait_known;       /* owned [run->nranks]: the rank was matched with another one */
    uint64_t incomplete, inconsistent, unnumbered; /* see trace/match.h */
};

void comm_study_init(struct comm_study *s, const struct run *run);
void comm_study_release(struct comm_study *s);

/* The name of a communicator; "" none. */
const char *comm_group_name(const struct run *run, int32_t comm);

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
