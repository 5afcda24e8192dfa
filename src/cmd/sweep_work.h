/* SPDX-License-Identifier: MIT
 *
 * Replays the points of a sweep that are missing, on several threads. A thread takes a job at a
 * time: all its missing points share one replay_run(), as long as every scale is possible; where
 * one is not, halves of them do, until it stands alone and its row says why. What a row says
 * depends on nothing but its point, so that threads, shards and resuming change no byte.
 */
#ifndef SPECTER_CMD_SWEEP_WORK_H
#define SPECTER_CMD_SWEEP_WORK_H

#include "cmd/sweep_file.h"
#include "cmd/progress.h"

struct sweep_work {
    struct sweep_table *table; /* receives the rows */
    const struct run *runs;    /* the grid's traces; shared, read only */
    struct sweep_file *file;   /* receives them, too; NULL: none */
    size_t first, end;         /* the points to replay, this shard's */
    size_t threads;            /* at least 1; no more are started than there are jobs */
    struct progress_line *progress;
};

/* Until all is done, the file cannot be written (-1 with e filled), or SIGINT or SIGTERM arrives:
 * then *signal is its number, else 0, and jobs that were under way have been finished. A second
 * signal ends the program. */
int sweep_work(const struct sweep_work *work, int *signal, struct err *e);

#endif
