/* SPDX-License-Identifier: MIT
 *
 * For hang.c: what each rank called, by communicator and number; and whether the members of a
 * communicator called the same things.
 */
#ifndef SPECTER_ANALYSIS_HANG_CALLS_H
#define SPECTER_ANALYSIS_HANG_CALLS_H

#include "trace/run.h"

enum call_way { CALL_COLLECTIVE, CALL_SEND, CALL_RECV };

/* One call of a rank. `peer` is a comm rank, -1 of collectives. */
struct call {
    int64_t seq;
    int32_t comm, peer;
    uint32_t op; /* index into the rank's ops */
    uint8_t way; /* enum call_way */
};

struct calls_made {
    struct call *list; /* owned; by comm, way, peer, seq */
    size_t count, cap;
};

/* False when the operation is no communication or has no number. */
bool call_of(struct call *call, const struct rank *rank, uint32_t op);

void calls_made(struct calls_made *c, const struct rank *rank);
void calls_made_release(struct calls_made *c);
const struct call *calls_find(const struct calls_made *c, const struct call *key); /* NULL */

/* The collectives of a communicator, list[*first .. *end). */
void calls_of_comm(const struct calls_made *c, int32_t comm, size_t *first, size_t *end);

/* What a member did differently from the majority of its communicator. */
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
