/* SPDX-License-Identifier: MIT
 *
 * For hang.c: what each rank called, by communicator and number; and whether the members of a
 * communicator called the same things.
 */
#ifndef SPECTER_ANALYSIS_HANG_CALLS_H
#define SPECTER_ANALYSIS_HANG_CALLS_H

#include "trace/run.h"

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

/* What the rank called, as far as it has numbers. in_order: of messages only those that have not
 * finished, numbered from 0 for each pair of ranks and direction, where the trace has lost what
 * came before. Messages of a pair end in order, so the first that has not is the same on both ends,
 * but for one that its sender has finished and its receiver has not. */
void calls_made(struct calls_made *c, const struct rank *rank, bool in_order);
void calls_made_release(struct calls_made *c);
const struct numbered_call *calls_find(const struct calls_made *c,
                                       const struct numbered_call *key); /* NULL */

/* The call that this operation is; false when it is no communication or has no number. */
bool calls_of_op(const struct calls_made *c, const struct rank *rank, uint32_t op,
                 struct numbered_call *call);

/* Returns whether the rank made a later call of this kind, numbered behind this one. */
bool calls_later(const struct calls_made *c, const struct numbered_call *key);

/* The collectives of a communicator, list[*first .. *end). */
void calls_of_comm(const struct calls_made *c, int32_t comm, size_t *first, size_t *end);

/* False where two calls differ in what must be equal on all members, as far as the trace tells. */
bool calls_equal(const struct op *a, const struct op *b);

/* How a member's calls differ from those of the majority of its communicator. */
enum call_fault { CALL_SAME, CALL_SKIPPED, CALL_EXTRA, CALL_OTHER, CALL_TIED };

struct call_verdict {
    enum call_fault fault;
    int64_t seq;   /* the first number at which it differs */
    int64_t first; /* SKIPPED: the majority's calls first..seq are alike */
    uint32_t op;   /* what the member called there */
    bool tied;     /* there is no majority */
};

/* Compares the collectives of the members (n of them, ranks[i] with calls[i]) up to number `seq`:
 * the last CALLS_COMPARED of them, fewer where members are many, so that memory stays bounded.
 * verdicts: [n]. A fault needs a majority: with a tie, both sides are TIED, unless only one of them
 * fits the other's next calls. */
#define CALLS_COMPARED 4096
void calls_compare(struct call_verdict *verdicts, const struct rank *const *ranks,
                   const struct calls_made *const *calls, size_t n, int32_t comm, int64_t seq);

#endif
