/* SPDX-License-Identifier: MIT
 *
 * The same collective on every rank: (communicator, sequence number) names one instance; a Send and
 * its Recv pair up by (communicator, both ends, p2p_seq). Analysis and replay both start from here.
 *
 *     struct matches m;
 *     matches_init(&m, &run);
 *     for (size_t i = 0; i < m.count; i++)
 *         for (uint32_t k = 0; k < m.list[i].nmembers; k++)
 *             use(run.ranks[m.members[m.list[i].first + k].rank]...);
 *     matches_release(&m);
 */
#ifndef SPECTER_TRACE_MATCH_H
#define SPECTER_TRACE_MATCH_H

#include "trace/run.h"

struct match_member {
    uint32_t rank; /* index into run->ranks */
    uint32_t op;   /* index into that rank's ops */
};

/* One collective (members by rank), or one send with its receive (the send first). */
struct match {
    int32_t comm;
    int64_t seq; /* seq or p2p_seq */
    uint8_t op;  /* enum specter_comm_op; SPECTER_SEND for a pair */
    uint8_t dtype;
    bool consistent;     /* all members that know them agree on operation, bytes (AlltoAllv apart)
                            and type, and none appears twice */
    uint32_t nmembers;   /* found */
    uint32_t expected;   /* comm size; 2 for a pair */
    uint64_t bytes;      /* of the first member that knows; 0 */
    size_t first;        /* members[first .. first + nmembers) */
    int64_t transfer_ns; /* shortest duration over members: what remains when no member waits for a
                            late member; UNKNOWN_NS when none is timed (op_timed) */
};

struct matches {
    struct match *list; /* owned, by comm, then seq */
    size_t count;
    struct match_member *members; /* owned */
    size_t nmembers;
    uint64_t incomplete; /* fewer members than expected */
    uint64_t inconsistent;
    uint64_t unnumbered; /* communication ops without comm, seq or peer: in no match */
};

/* The stand-ins of ranks without operations: a message to one of these is received by its stand-in,
 * in whichever communicator that one talks to the sender's like. */
struct match_standins {
    const int *rank; /* [world] by global rank; a rank stands for itself */
    int world;
    const int *comm; /* [run->ncomms] equal for communicators that are alike */
};

/* Groups of N sends and N receives stay N pairs. Never fails; needs a finished run. */
void matches_init(struct matches *m, const struct run *run);

/* The same, with messages between ranks that stand for others; NULL: none do. */
void matches_make_filled(struct matches *m, const struct run *run,
                         const struct match_standins *standins);
void matches_release(struct matches *m);

#endif
