/* SPDX-License-Identifier: MIT
 *
 * The cause of a hang: the communication that waits, for whom, followed to where it begins.
 *
 *     struct hangs h;
 *     hangs_find(&h, &run);
 *     for (size_t i = 0; i < h.count; i++)
 *         use(&h.list[i]);
 *     hangs_release(&h);
 *
 * An operation hangs when it was called HANG_NS before the last moment that the rank's trace tells
 * of and its stream has not moved for HANG_STILL_NS: it is not finished (timing none), is the
 * oldest such on its stream, and it started, or became the oldest, that long before. A trace
 * without a shutdown record tells of HANG_NS after the call of every operation that it holds as not
 * finished, because only such are written (docs/trace-format.md), but for those that were called
 * before a dump, which holds all that is under way. So a job that is killed or dumped while it
 * runs, however deep its queues, does not hang. Where the end of operations was not observed
 * (timing host, unknown), a rank hangs in a collective that another rank, which has a trace, did
 * not call within HANG_NS.
 *
 * Of a trace that does not say when it was written (rank->undated) everything unfinished that is
 * the oldest on its stream is looked at. A call that differs, or a circle, is a hang however young
 * it is. Else, unless the newest time of all such traces lies HANG_NS behind: where all members
 * have called it, or it has no number, it was under way and no hang; where some have not, a
 * possible one.
 *
 * Each rank waits for members that have not come; of each of these it is seen where it waits
 * itself. What waits for no other is a cause, what leads there only follows. A rank that is missing
 * in several operations is named in the first of them alone; the others follow from it. Where a
 * trace does not tell in which order streams run, what all members have called and has not ended is
 * taken to wait for what they called before it and has not ended either.
 */
#ifndef SPECTER_ANALYSIS_HANG_H
#define SPECTER_ANALYSIS_HANG_H

#include "base/arena.h"
#include "trace/run.h"

#define HANG_NS INT64_C(1000000000)
#define HANG_STILL_NS (HANG_NS / 2)

/* X(id, name, what is wrong with the ranks that are named), the surest first. */
#define HANG_CAUSES(X)                                                                            \
    X(SKIPPED, "skipped", "left one call out: from there on its calls are the others' next ones") \
    X(EXTRA, "extra", "made a call that the others did not make")                                 \
    X(OTHER, "other", "called something else under this number")                                  \
    X(DIFFER, "differ", "called different things, and no majority says which is right")           \
    X(NOT_CALLED, "not_called", "did not call it, and waits in nothing else")                     \
    X(UNFINISHED, "unfinished", "have not finished what other members have finished")             \
    X(BEHIND, "behind", "called it, but its stream does not get there")                           \
    X(NO_TRACE, "no_trace", "recorded nothing, so that nothing is known")                         \
    X(CIRCLE, "circle", "did not call it, and waits itself for a rank that waits here")           \
    X(ALL_CALLED, "all_called", "no rank: all have called it, and it does not end")               \
    X(WORK, "work", "has device work that does not end, or communication without a number")

enum hang_cause {
#define X(id, name, what) HANG_##id,
    HANG_CAUSES(X)
#undef X
        HANG_CAUSE_COUNT
};

struct hang {
    enum hang_cause cause;
    int32_t comm;             /* index into run->comms; -1 for WORK */
    int64_t seq;              /* collective: its number; message: its p2p_seq; -1 for WORK */
    int64_t first;            /* SKIPPED: the calls first..seq are alike, it was one of them;
                                 else seq */
    const struct op *op;      /* as those who wait called it, of a message that differs as its
                                 receiver did; borrowed from the run */
    int sender, receiver;     /* global ranks of a message; -1 */
    const int *ranks;         /* [nranks] at fault, as the cause says; in the arena */
    size_t nranks;            /* 0 for ALL_CALLED */
    bool undecided;           /* one of these ranks is at fault, and the traces do not tell which */
    const struct op *instead; /* what the first of them called in place of it, or waits in, or
                                 called last; NULL: nothing */
    int missing;              /* of a CIRCLE with two such ranks, the one that has not called it;
                                 the other one has not called `instead`; else -1 */
    int32_t shared;       /* the communicator whose other members show which rank is at fault, as
                             all but it are in step there; -1 */
    size_t waiting;       /* ranks that wait in it, those at fault apart */
    int one_waiting;      /* the lowest of them */
    int64_t waited_ns;    /* the longest of them, until its trace ends */
    int64_t timed_out_ns; /* the same until the first time-out of any operation of such traces
                             is over, which is when PyTorch's watchdog writes them; UNKNOWN_NS */
    int64_t timeout_ns;   /* of the operation, where the trace has it; UNKNOWN_NS */
    int64_t instead_ns;   /* of a rank that waits in nothing: how long before the newest time it
                             called `instead`; UNKNOWN_NS */
    size_t finished;      /* members that have finished it */
    size_t followers;     /* other operations in which ranks wait because of it */
    bool at_least;        /* nothing says when the traces end: they waited so long at least */
    bool possible;        /* the traces do not show that a rank has waited for HANG_NS, or show
                             that those at fault called something else within it, and not that
                             a time-out was over */
};

struct hangs {
    struct hang *list; /* owned; the one with most waiting ranks first, then the longest */
    size_t count, cap;
    size_t under_way;   /* operations of which no more is known than that they had not ended, */
    struct hang oldest; /* and the first of them: ALL_CALLED, or WORK */
    int *undumped;      /* ranks without a dump that must take part where others wait; owned */
    size_t nundumped;
    struct arena arena;
};

const char *hang_cause_name(enum hang_cause cause);

/* Returns whether the trace shows that the time-out of the operation was over. */
bool hang_expired(const struct hang *hang);

/* The run must outlive h, which is to be released in any case. */
void hangs_find(struct hangs *h, const struct run *run);
void hangs_release(struct hangs *h);

#endif
