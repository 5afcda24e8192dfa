/* SPDX-License-Identifier: MIT
 *
 * When communication ends: the only place that knows both what ranks brought and the fabric's
 * links. Today each operation is settled by itself, when its last member has come. Contention
 * between operations needs one order of all of them by virtual time; it can be brought in here
 * without a change to the callers, which wait for the answer as they do now.
 */
#ifndef EMU_SETTLE_H
#define EMU_SETTLE_H

#include "segment.h"

/* All members' asks of a collective are in: fills their ends. Returns -1 where they differ in what
 * they ask for, with the rank that differs from rank 0 in *who. */
int settle_collective(struct segment *s, uint64_t key, uint64_t number, unsigned *who);

/* The end of message `number` from one rank to another; both sides compute the same. */
uint64_t settle_message(struct segment *s, uint64_t key, unsigned from, unsigned to,
                        uint32_t number);

#endif
