/* SPDX-License-Identifier: MIT
 *
 * Inside hang.c: ranks, the operations in which they wait, and what keeps these from their end.
 * hang_wait.c finds who waits, hang_fault.c what is wrong with each operation, hang_peers.c which
 * of its members is at fault, hang_root.c where what follows begins, hang.c says it.
 */
#ifndef SPECTER_ANALYSIS_HANG_FINDER_H
#define SPECTER_ANALYSIS_HANG_FINDER_H

#include "analysis/hang.h"
#include "base/order.h"
#include "analysis/hang_calls.h"
#include "analysis/hang_heads.h"

#define NONE UINT32_MAX

/* A rank that is in an operation. Sorted, all that are in one operation lie side by side. */
struct blocked_rank {
    int64_t seq;
    int32_t comm, sender, receiver; /* comm ranks; -1 for a collective */
    uint32_t rank, op;              /* index into run->ranks, its ops */
    uint32_t head;                  /* of the rank; HEAD_NONE: the trace does not show its end */
    uint32_t node;
    int64_t begin_ns;
};

/* Something that is wrong with one rank, in one operation. */
struct fault {
    enum hang_cause cause;
    int rank; /* global */
    int64_t seq, first;
    const struct op *instead;
    int32_t shared; /* the communicator whose other members tell so (hang_order.h); -1 */
    bool elsewhere; /* the rank is named in another operation, where its fault began */
};

/* An operation in which ranks wait. */
struct wait_node {
    size_t first, count; /* of waiters */
    size_t first_fault, nfaults;
    size_t first_edge, nedges; /* in out */
    uint32_t root;             /* node to whose account it goes; NONE */
    uint32_t rival;            /* of a circle, where it may have begun as well; NONE */
    size_t ended;              /* members that have finished it */
    bool opaque;               /* one rank is several members: nothing can be said */
    bool unsure;  /* a message: its other end may have finished it, and not be missing */
    bool assumed; /* its edges are to what its members called before: streams are not known */
};

/* `from` does not go on because of `to`. */
struct edge {
    uint32_t from, to;
};

/* The traced members of a communicator, for calls_compare(). */
struct members {
    int32_t comm; /* -1: of none yet */
    size_t n;
    const struct rank **ranks; /* [n], like all of these in the arena */
    const struct calls_made **made;
    uint32_t *index;
    struct call_verdict *verdicts; /* room for them */
};

/* Whether the numbers of a communicator are those of its members, as far as asked so far. */
enum numbered { NUMBERED_NOT_ASKED, NUMBERED_AS_MEMBERS, NUMBERED_OTHERWISE };

struct hang_finder {
    const struct run *run;
    struct heads *heads;     /* [nranks] */
    int64_t *domain_end;     /* by clock domain: the last moment that any trace of it tells of */
    int64_t undated_end;     /* the same of traces that do not say when they were written */
    int64_t deadline_ns;     /* when the first time-out of what those have not finished is over */
    bool in_order;           /* messages of undated traces: see calls_made() */
    struct calls_made *made; /* [nranks] */
    struct blocked_rank *waiters; /* by operation, rank */
    size_t nwaiters, cap_waiters;
    uint32_t *by_rank;  /* [nwaiters] indices of waiters, by rank */
    size_t *rank_first; /* [nranks + 1] where a rank begins in by_rank */
    struct wait_node *nodes;
    size_t nnodes, cap_nodes;
    struct fault *faults;
    size_t nfaults, cap_faults;
    struct edge *edges; /* once all are known: by target */
    size_t nedges, cap_edges;
    struct edge *out;       /* [nedges] the same by source; nodes tell where theirs begin */
    struct members members; /* of the communicator that was looked at last */
    uint8_t *numbered;      /* [ncomms] enum numbered */
    struct arena arena;
};

/* Index of a global rank; NONE when it has no trace, or one that records nothing. */
uint32_t finder_rank(const struct hang_finder *f, int number);

/* The rank's place in the communicator; NULL. */
const struct membership *finder_member(const struct hang_finder *f, uint32_t rank, int32_t comm);

/* Returns the rank's call under that key; NULL. */
const struct op *finder_op(const struct hang_finder *f, uint32_t rank,
                           const struct numbered_call *key);

/* The last moment that any trace of the rank's machine tells of; of undated ones, any of them. */
int64_t finder_end(const struct hang_finder *f, uint32_t rank);

/* Global rank of a member. Where a communicator is the whole job, members that no trace names have
 * their own numbers, as long as those that are named do; -1 not known. */
int finder_number(struct hang_finder *f, int32_t comm, int member);

/* Lists who waits: the rank's heads, with the operations of their groups; and where no end of an
 * operation is seen, the ranks ahead of a traced member of the communicator. */
void finder_add_heads(struct hang_finder *f, uint32_t rank);
bool finder_may_be_uneven(const struct rank *rank);
void finder_add_uneven(struct hang_finder *f, int32_t comm);

/* Groups the waiters, all of whom are known, by operation. */
void finder_make_nodes(struct hang_finder *f);
void finder_index(struct hang_finder *f);
bool finder_waits(const struct hang_finder *f, uint32_t rank,
                  uint32_t head); /* in one, at this head */
const struct blocked_rank *finder_waiter(const struct hang_finder *f, const struct wait_node *node,
                                         uint32_t rank);

/* Faults and edges of all operations; then the root of each; then each rank is named in one. */
void finder_look(struct hang_finder *f);
void finder_roots(struct hang_finder *f);
void finder_merge(struct hang_finder *f);

/* Finds the member at fault in operations that lead to no root yet, or whose members do not call
 * the same, as far as other communicators of the members tell (hang_order.h). */
void finder_ask_peers(struct hang_finder *f);

/* Returns whether, behind an operation without a fault, a member called something else than the
 * others. Hosts run ahead of their devices, and where one left a call out, its next ones stand in
 * another order, so that devices wait for each other before they come to it. */
bool finder_look_ahead(struct hang_finder *f, uint32_t node);

/* The surest thing that is wrong; CIRCLE and ALL_CALLED say that nothing is by itself. */
enum hang_cause finder_cause(const struct hang_finder *f, const struct wait_node *node);

#endif
