/* SPDX-License-Identifier: MIT
 *
 * Traces that are recorded on a node's own disk and gathered when the program has ended (`specter
 * capture --local`). Nothing is overwritten where they go, and what cannot be gathered stays where
 * it was recorded.
 *
 *     struct local_traces l;
 *     if (local_traces_begin(&l, "/local/scratch", "123.0", "/data/traces", e) < 0) ...
 *     ... the program writes into l.dir ...
 *     local_traces_gather(&l);          while it ends, once or often
 *     local_traces_end(&l, &why);
 */
#ifndef SPECTER_CMD_CAPTURE_LOCAL_H
#define SPECTER_CMD_CAPTURE_LOCAL_H

#include "base/err.h"

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

/* One file on its way. */
struct local_trace {
    char name[256];        /* in the local folder */
    int out;               /* where it goes; -1: not begun, or it cannot be */
    char out_name[256];    /* there */
    off_t copied;          /* bytes that have gone there */
    struct timespec mtime; /* of the local file when they did */
};

struct local_traces {
    char dir[PATH_MAX]; /* the folder that was made for this capture; "": none */
    char to[PATH_MAX];
    struct local_trace *list; /* owned */
    size_t count, cap;
    int error; /* errno of the last copy that failed; 0: none */
};

/* Makes a folder of this capture's own (0700) in `local`, which must exist: a disk that is not
 * mounted on this node would else be mistaken for one. 0, or -1 with e filled. To be ended by
 * local_traces_end() in either case. */
int local_traces_begin(struct local_traces *l, const char *local, const char *run, const char *to,
                       struct err *e);

/* Copies what is new since the last call. A program may go on writing meanwhile. */
void local_traces_gather(struct local_traces *l);

/* Copies what is there in full and removes the local folder; nothing is done where there is none.
 * 0, or -1 with e filled: some file stays where it was recorded; so does one that a process of the
 * program still writes. */
int local_traces_end(struct local_traces *l, struct err *e);

#endif
