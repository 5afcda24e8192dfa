/* SPDX-License-Identifier: MIT
 *
 * A running capture at one moment: where each rank is, how long its steps take, how fast its
 * collectives run, and which rank is blocked. Computed from the newest part of each trace
 * (trace_folder.c) by what `analyze` computes the same with: communication (analysis/comm_rows.h),
 * hangs (analysis/hang.h), steps that repeat (trace/step_time.h).
 *
 *     struct watch w;
 *     watch_init(&w, &folder);
 *     for (size_t i = 0; i < w.nranks; i++)
 *         use(&w.ranks[i]);
 *     watch_release(&w);
 */
#ifndef SPECTER_WATCH_WATCH_H
#define SPECTER_WATCH_WATCH_H

#include <sys/stat.h>

#include "analysis/comm_rows.h"
#include "analysis/hang.h"
#include "base/buf.h"
#include "base/err.h"
#include "trace/jsonl.h"
#include "trace/run.h"

/* ---- trace_folder.c ----
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
 * by FOLDER_WINDOW for all files together, and TAIL_WINDOW_MIN for each. */

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

#define WATCH_STEPS 100      /* lengths of steps that the median is of, at most */
#define WATCH_TREND_MIN 20   /* lengths; of fewer no trend is told */
#define WATCH_TREND 0.02     /* a smaller change is noise, */
#define WATCH_TREND_ERRORS 3 /* and so is one of fewer standard errors */

/* X(id, name): what a rank does. A later one hides an earlier one. */
#define WATCH_STATES(X)   \
    X(RUNS, "runs")       \
    X(WAITS, "waits")     \
    X(BLOCKED, "BLOCKED") \
    X(ENDED, "ended")     \
    X(LOST, "lost")

enum watch_state {
#define X(id, name) WATCH_##id,
    WATCH_STATES(X)
#undef X
        WATCH_STATE_COUNT
};

/* The lengths of a rank's last steps: between marks, else of steps that repeat in what is kept. */
struct watch_steps {
    size_t count;     /* lengths */
    double median_ns; /* NAN without one */
    double change;    /* median of the newer half / that of the older one - 1; NAN: too few */
    bool steady;      /* change is known and within noise: no trend */
};

struct watch_rank {
    const struct rank *rank;       /* borrowed from the run */
    const struct trace_tail *file; /* borrowed from the folder */
    int64_t step; /* marks so far; -1: the program sets none, or a ring lost them */
    struct watch_steps steps;
    const struct op *last; /* called last; of a rank that waits, the oldest unfinished; NULL none */
    int64_t age_ns;        /* since it was called; UNKNOWN_NS */
    double skew_ns;        /* mean over its collectives of its start - earliest start; NAN */
    enum watch_state state;
};

struct watch {
    struct run run;           /* the newest part of it */
    bool has_traces;          /* false: nothing was recorded yet, and nothing below is known */
    bool ended;               /* every process has */
    int64_t wall_ns;          /* of this refresh, by the wall clock */
    int64_t since_ns;         /* since the first process began, by that clock */
    struct watch_rank *ranks; /* owned [nranks], as in the run */
    size_t nranks;
    const struct watch_rank *slowest; /* the rank whose steps take longest; NULL: none has any */
    int64_t step;                     /* the highest; -1 */
    int64_t still_ns; /* how long ago any rank that has not ended called anything; UNKNOWN_NS */
    struct machine machine;
    struct node_map node_map;
    struct comm_study comm;
    struct comm_rows rows; /* by operation, size and communicator */
    struct hangs hangs;
};

const char *watch_state_name(enum watch_state state);

void watch_init(struct watch *w, const struct trace_folder *folder);
void watch_release(struct watch *w);

/* Fills `s` from lengths in the order of time. */
void watch_steps_measure(struct watch_steps *s, const int64_t *lengths, size_t n);

/* ---- conditions ----
 *
 * Conditions (base/condition.h) for `watch --once --fail-on`. X(name, kind, "what is lacking",
 * help) */
#define WATCH_VALUES(X)                                                           \
    X(hangs, COUNT, "communication", "communication that does not end (a count)") \
    X(step_ms, TIME, "steps", "median step of the slowest rank, in ms")           \
    X(still_ms, TIME, "operations", "time since any rank called anything, in ms") \
    X(of_model, SHARE, "collective that can be compared with the model",          \
      "lowest share of the bandwidth that the model expects")

/* As fail_on_check() and fail_on_apply() of analysis/fail_on.h. */
int watch_fail_on_check(const char *expr, struct err *e);
int watch_fail_on_apply(const char *expr, const struct watch *w, struct err *e);

#endif
