/* SPDX-License-Identifier: MIT
 *
 * When communication ends, from what its members brought: their starts, and what operations that
 * each of them had launched before take of its ports (lane.h). That is all that an operation can
 * see of others, so it is settled by itself as soon as all is there.
 */
#ifndef EMU_SETTLE_H
#define EMU_SETTLE_H

#include "segment.h"

/* All members' asks of a collective are in: fills their ends and what they used. Returns -1 where
 * they differ in what they ask for, with the rank that differs from rank 0 in *who. */
int settle_collective(struct segment *s, uint64_t key, uint64_t number, unsigned *who);

/* The end of message `number` from one rank to another; both sides compute the same. Adds what it
 * takes of the sender's port, or of the receiver's, to `used`. */
uint64_t settle_message(struct segment *s, uint64_t key, unsigned from, unsigned to,
                        uint32_t number, bool sends, struct calendar *used);

#endif
