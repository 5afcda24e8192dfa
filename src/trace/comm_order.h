/* SPDX-License-Identifier: MIT
 *
 * Identifies collectives by their order, where a trace does not name them: traces of profilers name
 * no sequence numbers, and old ones no communicators. One set of rules for all of them.
 */
#ifndef SPECTER_TRACE_COMM_ORDER_H
#define SPECTER_TRACE_COMM_ORDER_H

#include "trace/run.h"

/* A collective without a communicator takes the one that all others of its stream have; where a
 * stream has none, the i-th stream with collectives is taken to be the same communicator on every
 * rank, of `size` ranks (0 unknown), and a note says what the traces do not name ("process
 * groups"). Kernels of no library (custom all-reduce) are never recorded and stand between those of
 * libraries in no order: they have communicators of their own, by stream. Messages (Send, Recv) are
 * never guessed into one. */
void order_name_lanes(struct run *run, struct rank *rank, int64_t size, const char *unnamed);

/* Returns whether the communicator was made so, or is none (-1). */
#define ORDER_GUESSED "stream order " /* its id begins with */
bool order_is_guessed(const struct run *run, int comm);

/* Numbers the rank's communication in the order of its ops: collectives by communicator, messages
 * by communicator, peer and direction. */
void order_number(struct rank *rank);

/* Numbers the messages alone, once their other ends are known. */
void order_number_messages(struct rank *rank);

/* Notes what the traces of all ranks do not tell of their work, in place of what it noted before.
 */
void order_note_gaps(struct run *run);

/* Collectives that are matched by their order alone: a rank that left one out, or whose trace
 * begins or ends elsewhere, must not shift all that follow.
 *
 * For the communicators that `by_order` [run->ncomms] names, whose collectives are numbered from 0
 * in the order of the ranks' ops: sets their numbers to those of the pattern, and one of its own
 * where the pattern has none. A note says who differs and from where on. */
void order_resync(struct run *run, const bool *by_order);

#endif
