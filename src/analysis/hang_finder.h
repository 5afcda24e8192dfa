/* SPDX-License-Identifier: MIT
 *
 * The search behind hangs_find(), shared by the files hang_*.c: what each rank called and where its
 * streams have stopped, the operations in which ranks wait, and what keeps these from their end.
 * hang.c runs the steps in this order and makes a struct hang of each root:
 *
 *     finder_init()           hang_wait.c    who waits in which operation
 *     finder_find_faults()    hang_fault.c   which members did not call it, or what they wait for
 *     finder_find_roots()     hang_root.c    where it began; asks hang_peers.c
 */
#ifndef SPECTER_ANALYSIS_HANG_FINDER_H
#define SPECTER_ANALYSIS_HANG_FINDER_H

#include "analysis/hang.h"
#include "analysis/time_breakdown.h"

#define NONE UINT32_MAX

/* ---- what streams and calls tell ---- */

#define HEAD_NONE UINT32_MAX

/* The oldest unfinished operation of a stream that has made no progress for long. */
struct stream_head {
    uint32_t op; /* index into the rank's ops; of a group, the first issued */
    int32_t device, stream;
    int64_t begin_ns; /* since when */
    uint32_t behind;  /* it waits for an event behind this other head; HEAD_NONE: it may run */
};

struct heads {
    struct stream_head *list; /* owned */
    size_t count, cap;
    int64_t last_ns; /* the last moment that the rank's trace tells of; UNKNOWN_NS */
};

enum call_kind { CALL_COLLECTIVE, CALL_SEND, CALL_RECV };

/* One call of a rank. `peer` is a comm rank, -1 of collectives. */
struct numbered_call {
    int64_t seq;
    int32_t comm, peer;
    uint32_t op;  /* index into the rank's ops */
    uint8_t kind; /* enum call_kind */
};

struct calls_made {
    struct numbered_call *list; /* owned; by comm, kind, peer, seq */
    size_t count, cap;
    bool in_order; /* messages: see calls_made() */
};

/* The difference of a member's calls from those of the majority of its communicator. */
enum call_fault { CALL_SAME, CALL_SKIPPED, CALL_EXTRA, CALL_OTHER, CALL_TIED };

struct call_verdict {
    enum call_fault fault;
    int64_t seq;   /* the first number at which it differs */
    int64_t first; /* SKIPPED: the majority's calls first..seq are alike */
    uint32_t op;   /* what the member called there */
    bool tied;     /* there is no majority */
};

/* ---- the search ---- */

/* A rank that is in an operation. Sorted, all that are in one operation lie side by side. */
struct waiter {
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
    int32_t shared; /* the communicator whose other members tell so; -1 */
    bool elsewhere; /* the rank is named in another operation, where its fault began */
};

/* An operation in which ranks wait. */
struct wait_node {
    size_t first, count; /* of waiters */
    size_t first_fault, nfaults;
    size_t first_edge, nedges; /* in out */
    uint32_t root;             /* the node that it follows from, or itself; NONE: not known yet */
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
    struct call_verdict *verdicts; /* filled by calls_compare() */
};

/* Tells whether the comm ranks of a communicator equal the global ranks of its members. */
enum ranks_global { RANKS_NOT_CHECKED, RANKS_GLOBAL, RANKS_RENUMBERED };

struct hang_finder {
    const struct run *run;
    struct heads *heads;     /* [nranks] */
    int64_t *domain_end;     /* by clock domain: the last moment that any trace of it tells of */
    int64_t undated_end;     /* the same of traces that do not say when they were written */
    int64_t deadline_ns;     /* when the first time-out of what those have not finished is over */
    bool in_order;           /* messages of undated traces: see calls_made() */
    struct calls_made *made; /* [nranks] */
    struct waiter *waiters;  /* by operation, rank */
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
    uint8_t *ranks_global;  /* [ncomms] enum ranks_global */
    struct arena arena;
};

/* ---- hang_wait.c: who waits ---- */

/* Lists the operations in which ranks wait. False: nothing in the traces can show a wait.
 * To be released in either case. */
bool finder_init(struct hang_finder *f, const struct run *run);
void finder_release(struct hang_finder *f);

/* The head of the operation's stream, where it is unfinished; HEAD_NONE. The head may be the
 * operation itself, or of one group with it. */
uint32_t heads_of_op(const struct heads *h, const struct op *op);

/* Index of a global rank; NONE when it has no trace, or one that records nothing. */
uint32_t finder_rank(const struct hang_finder *f, int number);

/* The last moment that any trace of the rank's machine tells of; of undated ones, any of them. */
int64_t finder_end_ns(const struct hang_finder *f, uint32_t rank);

/* The entry of the rank among those that wait in the operation; NULL: it does not. */
const struct waiter *finder_waiter(const struct hang_finder *f, const struct wait_node *node,
                                   uint32_t rank);

/* ---- hang_calls.c: what each rank called ---- */

/* Lists the calls of the rank that have numbers. in_order: of messages only those that have not
 * finished, numbered from 0 for each pair of ranks and direction, where the trace has lost what
 * came before. Messages of a pair end in order, so the first that has not is the same on both ends,
 * but for one that its sender has finished and its receiver has not. */
void calls_made(struct calls_made *c, const struct rank *rank, bool in_order);
const struct numbered_call *calls_find(const struct calls_made *c,
                                       const struct numbered_call *key); /* NULL */

/* The call that this operation is; false when it is no communication or has no number. */
bool calls_of_op(const struct calls_made *c, const struct rank *rank, uint32_t op,
                 struct numbered_call *call);

/* Returns whether the rank made a later call of this kind, numbered after this one. */
bool calls_later(const struct calls_made *c, const struct numbered_call *key);

/* The collectives of a communicator, list[*first .. *end). */
void calls_of_comm(const struct calls_made *c, int32_t comm, size_t *first, size_t *end);

/* False where two calls differ in what must be equal on all members, as far as the trace tells. */
bool calls_equal(const struct op *a, const struct op *b);

/* Compares the collectives of the members up to number `seq`, and fills their verdicts: the last
 * CALLS_COMPARED of them, fewer where members are many, so that memory stays bounded. A fault needs
 * a majority: with a tie, both sides are TIED, unless only one of them fits the other's next
 * calls. */
#define CALLS_COMPARED 4096
void calls_compare(const struct members *of, int64_t seq);

/* Returns the rank's call under that key; NULL. */
const struct op *finder_op(const struct hang_finder *f, uint32_t rank,
                           const struct numbered_call *key);

/* ---- hang_fault.c: what keeps an operation from its end ---- */

/* Finds the faults and edges of all operations. */
void finder_find_faults(struct hang_finder *f);

/* Global rank of a member. Where a communicator is the whole job, members that no trace names have
 * their own numbers, as long as those that are named do; -1 not known. */
int finder_rank_of_member(struct hang_finder *f, int32_t comm, int member);

/* Returns whether, after an operation without a fault, a member called something else than the
 * others. Hosts run ahead of their devices, and where one left a call out, its next ones stand in
 * another order, so that devices wait for each other before they come to it. */
bool finder_differs_later(struct hang_finder *f, uint32_t node);

/* ---- hang_peers.c: which of its members is at fault ---- */

/* Finds the member at fault in operations that lead to no root yet, or whose members do not call
 * the same, as far as other communicators of the members tell. */
void finder_ask_peers(struct hang_finder *f);

/* ---- hang_root.c: where what follows begins ---- */

/* Finds the root of each operation, then leaves each rank with one operation that names it. */
void finder_find_roots(struct hang_finder *f);

/* Returns the surest fault of the operation; CIRCLE, ALL_CALLED: nothing is wrong with it alone. */
enum hang_cause finder_cause(const struct hang_finder *f, const struct wait_node *node);

#endif
