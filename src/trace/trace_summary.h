/* SPDX-License-Identifier: MIT
 *
 * The first and last lines of the trace files of one run; gigabytes in between are not read. For
 * the line that ends `specter capture`, for `capture --local`, `doctor` and `dump`; `watch` asks
 * which names may be traces. Every other command loads the run.
 */
#ifndef SPECTER_TRACE_TRACE_SUMMARY_H
#define SPECTER_TRACE_TRACE_SUMMARY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The files that belong to the run. */
struct trace_summary_run {
    const char *id;   /* what capture asked the tracer to call it */
    const char *host; /* a launcher may call it otherwise (Slurm's job and step, torchrun's id): */
    int64_t since_ns; /* then what began on this host since this wall-clock time belongs to it, */
    const char *others; /* unless its id starts with this: the run of another capture */
};

#define TRACE_SUMMARY_NAMED 3

struct trace_summary {
    size_t files;
    size_t open;           /* of them without a closing record: killed, or still running */
    struct buf open_names; /* of up to TRACE_SUMMARY_NAMED of these */
    uint64_t ops;          /* at least, when files are open: what their last lines tell */
    uint64_t dropped;      /* of the closed ones */
    struct buf unseen;     /* what they say they could not see: a line "kind path" each, once */
};

/* Returns whether a file of this name may be one that the tracer writes. */
bool trace_has_name(const char *name);

/* The data of a process in one file; texts are owned by the caller's arena. */
struct trace_head {
    const char *name, *run, *host;
    int64_t rank, pid; /* -1 unknown */
    int64_t real_ns;   /* by the wall clock; 0 unknown */
    bool ring;         /* a flight recording */
    bool closed;       /* with a closing record */
};

struct trace_heads {
    struct trace_head *list; /* owned */
    size_t count, cap;
};

/* All files here that are named like a trace and begin with an init record, by name. 0, or -1 with
 * e filled. The list must be freed in either case. */
int trace_heads(struct trace_heads *heads, const char *dir, struct arena *arena, struct err *e);

/* run NULL: every file. 0, or -1 with e filled when the directory cannot be read. g must be
 * released in either case. */
int trace_summary_read(struct trace_summary *g, const char *dir,
                       const struct trace_summary_run *run, struct err *e);
void trace_summary_release(struct trace_summary *g);

#endif
