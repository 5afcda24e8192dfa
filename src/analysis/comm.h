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

#include "analysis/coll_timing.h"
#include "base/interval.h"
#include "trace/match.h"
#include "trace/run.h"

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

#endif
