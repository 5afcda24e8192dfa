/* SPDX-License-Identifier: MIT
 *
 * The traces of a folder that processes still write into: which there are, and the newest part of
 * each (trace_tail.h) as one run.
 *
 *     struct trace_folder f;
 *     if (trace_folder_open(&f, "traces", e) < 0) ...
 *     trace_folder_poll(&f);
 *     trace_folder_run(&f, &run);          run is to be released in any case
 *     trace_folder_close(&f);
 *
 * Only files of the folder itself are read, and of several runs there the newest. Memory is bounded
 * by FOLDER_WINDOW for all files together, and TAIL_WINDOW_MIN for each.
 */
#ifndef SPECTER_WATCH_TRACE_FOLDER_H
#define SPECTER_WATCH_TRACE_FOLDER_H

#include "base/err.h"
#include "trace/run.h"
#include "watch/trace_tail.h"

#define FOLDER_WINDOW ((size_t)3 << 19)
#define TAIL_WINDOW_MAX ((size_t)512 << 10)
#define TAIL_WINDOW_MIN ((size_t)32 << 10)

/* A tracer writes a clock record every four seconds. */
#define FOLDER_QUIET_S 6

struct trace_folder {
    const char *path; /* borrowed */
    int dirfd;
    char host[256];
    struct trace_tail *list; /* owned, by name */
    size_t count, cap;
    const char *run;   /* the newest run; "" none yet. Borrowed from a file of the list */
    size_t other_runs; /* files of older ones */

    /* Called while a look reads: bytes, of how many. NULL: not wanted. */
    void (*progress)(void *arg, uint64_t done, uint64_t total);
    void *progress_arg;
    uint64_t done, total; /* of this look */
};

/* 0, or -1 with e filled: there is no such folder. To be closed in either case. */
int trace_folder_open(struct trace_folder *f, const char *path, struct err *e);
void trace_folder_close(struct trace_folder *f);

/* Finds new files and reads what is new. 0, or -1 with e filled: the folder is gone. */
int trace_folder_poll(struct trace_folder *f, struct err *e);

/* Whether the file is one of the newest run. */
bool trace_folder_has(const struct trace_folder *f, const struct trace_tail *t);

/* What is kept of the newest run, finished. False: nothing yet. */
bool trace_folder_run(const struct trace_folder *f, struct run *run);

/* The file that a rank of that run was read from. */
const struct trace_tail *trace_folder_tail(const struct trace_folder *f, const struct rank *rank);

/* Whether the process of a file has ended: with its closing record; or without one, where it is no
 * process of this machine any more and its file has not been written for FOLDER_QUIET_S. */
bool trace_folder_ended(const struct trace_folder *f, const struct trace_tail *t);

#endif
