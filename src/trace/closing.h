/* SPDX-License-Identifier: MIT
 *
 * The closing records of a run: what each process summed up at its end (docs/trace-format.md,
 * shutdown). Of each file the first and the last line are read, not the gigabytes between them.
 *
 *     closings_read(&run, path, &opts, take, &sums, &e)     take(&sums, &closing) for each process
 */
#ifndef SPECTER_TRACE_CLOSING_H
#define SPECTER_TRACE_CLOSING_H

#include "base/json.h"
#include "specter/trace.h"
#include "trace/run.h"

struct closing_sum {
    uint64_t count, bytes, timed; /* operations; with a device time */
    int64_t ns;                   /* of these; an interval that operations share counts once */
};

/* One operation on one communicator. */
struct closing_row {
    bool known_comm;
    uint64_t comm;   /* identity, where it is known */
    uint64_t others; /* 0: it is one; else a sum of at least so many that had no room */
    int32_t size;    /* ranks of the communicator; 0 unknown */
    enum specter_comm_op op;
    uint64_t count, bytes, timed, timed_bytes;
    uint64_t spans;         /* device intervals, of the length: */
    int64_t ns;             /* all together, */
    int64_t min_ns, max_ns; /* one of them; UNKNOWN_NS without spans */
    uint64_t hist[SPECTER_HIST_BINS];
};

/* Texts and rows are valid during the call that brings them. */
struct closing {
    const char *label, *host; /* the file; "" unknown */
    int64_t rank;             /* -1 unknown */
    uint64_t dropped, launches, skipped;
    bool stopped;           /* recording ended before the program did */
    int64_t from_ns, to_ns; /* the first begin and the last end of device work; UNKNOWN_NS: none */
    int64_t devices;        /* that worked */
    struct closing_sum kinds[SPECTER_SUM_KIND_COUNT];
    bool has_times, has_comms; /* a specter without these sums wrote it, or they had no room */
    struct closing_row *rows;  /* owned */
    size_t nrows, cap_rows;
};

/* Fills the sums from a `summary`; what a newer specter adds is passed over. false: it is damaged,
 * *error says how and *offset where. */
bool closing_parse(struct closing *c, struct json_text summary, const char **error, size_t *offset);
void closing_release(struct closing *c);

/* Reads the closing records of the traces at `path`, of several runs those of one, as run_load()
 * would choose it; by several threads, but take() is called by one at a time, in any order. The run
 * then has an id, a source, a world size and notes, and no ranks. 0, or -1 with e filled. The run
 * must be released in either case. */
int closings_read(struct run *run, const char *path, const struct load_opts *opts,
                  void (*take)(void *arg, const struct closing *c), void *arg, struct err *e);

#endif
