/* SPDX-License-Identifier: MIT
 *
 * The traces of a folder that processes still write into: which there are, and the newest part of
 * each.
 *
 *     struct trace_folder f;
 *     if (trace_folder_open(&f, "traces", e) < 0) ...
 *     if (trace_folder_poll(&f, e) < 0) ...
 *     trace_folder_close(&f);
 *
 * Only files of the folder itself are read, and of several runs there the newest. Memory is bounded
 * by FOLDER_WINDOW for all files together, and TAIL_WINDOW_MIN for each.
 */
#ifndef SPECTER_WATCH_TRACE_FOLDER_H
#define SPECTER_WATCH_TRACE_FOLDER_H

#include "base/buf.h"
#include "base/err.h"
#include "trace/jsonl.h"
#include "trace/run.h"

#include <sys/stat.h>

/* ---- one file ----
 *
 * One trace file that grows: its newest part, in memory that does not grow with it.
 *
 *     struct trace_tail t;
 *     trace_tail_init(&t, "specter_trace_rank3.jsonl", window);
 *     while (trace_tail_poll(&t, dirfd))            reads what is new
 *         trace_tail_text(&t, &text);               the lines that count now, for jsonl_read_text()
 *     trace_tail_release(&t);
 *
 * These lines are kept, as text of the format:
 *
 *   - who the process is, its communicators, and its last step marks, clock and dump records
 *   - the last lines of operations, deps and syncs: at least `window` bytes of them. Counts of
 *     untraced kernels are passed over
 *   - of older operations those that are not finished, and the newest collective of each
 *     communicator, so that a rank that has called something else since is not taken for one that
 *     did not call it
 *
 * A file of fixed size (--ring) is written in place: it is read anew where it has changed. A file
 * that was cut or replaced begins anew.
 */

#define TAIL_STEPS 128 /* step marks that are kept */

/* The newest `count` of lines of one kind, in a ring. */
struct tail_lines {
    struct buf *list; /* owned [cap] */
    size_t cap, next, count;
};

/* A line that is kept for its key: an operation's id, or a hash of a communicator. */
struct tail_kept {
    uint64_t key;
    struct buf line;
};

struct tail_table {
    struct tail_kept *list; /* owned, oldest first */
    size_t count, cap;
};

struct trace_tail {
    char *name;    /* in its folder; owned */
    size_t window; /* bytes */

    /* From its init record; known: one was read. Texts are owned; "" and -1 unknown. */
    bool known;
    char *run, *host;
    int64_t pid, mono_ns, real_ns;
    bool ring;

    uint64_t steps; /* step marks so far; of a ring those that it holds */
    bool closed;    /* with a shutdown record */
    int error;      /* errno: it cannot be opened or read; tried again at each poll; 0 */

    /* Called for each portion of bytes that is read; NULL: not wanted. */
    void (*portion)(void *arg, size_t bytes);
    void *portion_arg;

    /* where it is read */
    struct stat stat; /* as it was when it was read */
    off_t at;
    int64_t not_before_ns; /* of a ring: reading it takes time */
    bool skipping;         /* in a line that is longer than any */
    struct buf part;       /* of a line that has not ended */

    struct buf head, text, dump, end;
    struct tail_lines steps_kept, clocks;
    struct tail_table unfinished, calls;
    struct line line;
};

void trace_tail_init(struct trace_tail *t, const char *name, size_t window);
void trace_tail_release(struct trace_tail *t);

/* Reads what is new. False: there is no such file any more. */
bool trace_tail_poll(struct trace_tail *t, int dirfd);

/* Puts the lines that are kept after those in `out`, with LINE_ROOM bytes of room behind them. */
void trace_tail_text(const struct trace_tail *t, struct buf *out);

/* ---- the folder ---- */

#define FOLDER_WINDOW ((size_t)3 << 19)
#define TAIL_WINDOW_MAX ((size_t)512 << 10)
#define TAIL_WINDOW_MIN ((size_t)32 << 10)

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

/* Returns whether the file is one of the newest run. */
bool trace_folder_has(const struct trace_folder *f, const struct trace_tail *t);

#endif
