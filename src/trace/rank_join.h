/* SPDX-License-Identifier: MIT
 *
 * Windows of one process made one rank. A profiler that records some steps, pauses and records
 * again writes a file for each window (recordings.c tells which are of one process). The rank gets
 * the operations, steps and marks of all of them.
 *
 * Time between two windows of a process that no recording of the run covers is cut out of the times
 * of all ranks alike, so that it is part of no step and counts as no idle time, and times of
 * different ranks stay comparable. run->pauses tells where that was.
 */
#ifndef SPECTER_TRACE_RANK_JOIN_H
#define SPECTER_TRACE_RANK_JOIN_H

#include "trace/run.h"

/* The stretch of time that the rank's records cover: on the wall clock where the rank is dated,
 * which is returned; else on its own clock. UNKNOWN_NS where no record has a time. */
bool rank_extent(const struct rank *rank, int64_t *begin_ns, int64_t *end_ns);

/* Returns whether both hold the same operations: as many, with the same names, times and bytes. */
bool rank_same_work(const struct rank *a, const struct rank *b);

/* Puts what a rank holds after what `into` holds; `from` is empty then. Threads of equal ids
 * become one; graphs and groups of calls of both stay apart. */
void rank_append(struct rank *into, struct rank *from);

/* Makes the ranks with equal process numbers one each: processes[run->nranks]. After the readers,
 * before their finish(). A note says what was joined, and how long nothing was recorded. */
void run_join_windows(struct run *run, const uint32_t *processes);

/* ---- devices.c ----
 *
 * A process that drives several GPUs (ncclCommInitAll, a thread a device, one process a node) is as
 * many ranks as it has members of communicators: its trace comes apart by device. */

/* Splits the rank that was added last, when it has members of one communicator on several devices,
 * into one rank for each device that a member of any of its communicators is on, by device; else
 * leaves it. Steps need no ends yet.
 *
 * Records that name a device go to its rank, those that name another one to the first. A thread
 * that works for one device marks steps of that one; a device without steps of its own has those
 * that threads of several devices or of none marked, else those of the first device that has some.
 * Marks go to the device of their thread, or to the first. */
void devices_split(struct run *run);

#endif
