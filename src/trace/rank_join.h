/* SPDX-License-Identifier: MIT
 *
 * Makes files of one process one rank, which gets the operations, steps and marks of all of them. A
 * profiler that records some steps, pauses and records again writes a file for each window
 * (recordings.c tells which are of one process); the original tool may write NCCL and cuBLAS calls
 * to a file each (finish.c).
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
 * become one; graphs and groups of calls of both stay apart. Host, file and clock are those of
 * `into`, and so is a setting that both have. */
void rank_append(struct rank *into, struct rank *from);

/* Makes one rank of those that have the same number in processes[run->nranks] (no process ids:
 * recordings.c counts the processes). After the readers, before their finish(). A note says what
 * was joined, and how long nothing was recorded. */
void run_join_windows(struct run *run, const uint32_t *processes);

#endif
