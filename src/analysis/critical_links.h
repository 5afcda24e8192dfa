/* SPDX-License-Identifier: MIT
 *
 * For critical.c: what the operations of one rank wait for, and what its host did.
 */
#ifndef SPECTER_ANALYSIS_CRITICAL_LINKS_H
#define SPECTER_ANALYSIS_CRITICAL_LINKS_H

#include "trace/match.h"
#include "trace/run.h"

#define LINK_NONE UINT32_MAX
#define LINK_ANY (UINT32_MAX - 1) /* a host that waited: the trace does not tell for what */

/* A call of the host. */
struct linked_call {
    int64_t start_ns, end_ns;
    uint32_t tid;
    int32_t device, stream;
    uint32_t target; /* operation for whose end the host may have waited; LINK_NONE,
                        LINK_ANY */
    bool untimed;    /* launches work that has no times */
    bool behind;     /* it waits, and such work was launched after the target */
};

struct op_end {
    int64_t end_ns;
    uint32_t op;
};

/* By operation, [nops]; LINK_NONE where there is none, but for `late`. */
struct rank_links {
    const struct rank *rank; /* borrowed */
    uint32_t *prev;          /* owned; operation with times before it on its stream */
    uint32_t *dep;  /* owned; likewise the last to end of those whose events it waits for */
    uint32_t *late; /* owned; 1 + the match that held it up: of those launched together the
                       one whose last member came last; 0: none */
    uint32_t *call; /* owned; in `calls`: the host's that launched it */
    struct linked_call *calls; /* owned; by start */
    size_t ncalls;
    struct op_end *ends; /* owned; by end */
    size_t nends;
};

void rank_links_init(struct rank_links *l, const struct rank *rank);
void rank_links_release(struct rank_links *l);

/* The operation that ended last, not after t_ns; LINK_NONE. */
uint32_t rank_links_ended(const struct rank_links *l, int64_t t_ns);

/* Returns whether work without times was called for between two operations, on the stream of one of
 * them. `pred` LINK_NONE: since the last operation of the stream. */
bool rank_links_untimed(const struct rank_links *l, uint32_t op, uint32_t pred);

/* The last member of a match to come, and when the one before it came. */
struct last_member {
    struct match_member who;
    int64_t start_ns, second_ns;
    bool known; /* at least two have times */
    bool all;   /* all members have */
};

/* Fills late of every rank. Returns the last member of each match; the caller frees the array. */
struct last_member *links_add_matches(struct rank_links *links, const struct run *run,
                                      const struct matches *m);

#endif
