/* SPDX-License-Identifier: MIT
 *
 * The conditions that a benchmark runs in, of one process or of all ranks of a job: bound to the
 * CPUs near its GPU, at a locked clock, from a temperature on, watched by NVML.
 *
 *     bench_conditions_prepare(&c, &opts, e);       before any library of a GPU is opened
 *     bench_conditions_begin(&c, &where, e);        all ranks together, as what follows
 *     bench_conditions_warm(&c, &where, e);
 *     bench_conditions_watch(&c, &where, e);
 *     ... measure ...
 *     bench_conditions_end(&c, &where, ranks, e);   c.gpus: what the GPUs were like
 *     bench_conditions_release(&c);
 *
 * Clocks are as they were once the process has ended, however it ends (bench/conditions.h).
 */
#ifndef SPECTER_CMD_BENCH_CONDITIONS_H
#define SPECTER_CMD_BENCH_CONDITIONS_H

#include "base/opt.h"
#include "bench/conditions.h"
#include "bench/gpu.h"
#include "bench/ranks.h"
#include "bench/result.h"
#include "bench/state.h"

#define BENCH_REWARM_BELOW 45 /* C: colder GPUs are warmed */
#define BENCH_REWARM_TO 48    /* C */
#define BENCH_REWARM_S 10     /* at most */

struct bench_conditions_opts {
    int64_t warmup_temp, lock_clocks; /* BENCH_NO_NUMBER: not asked for */
    bool no_numa;
};

#define BENCH_CONDITIONS_NONE                                          \
    {                                                                  \
        .warmup_temp = BENCH_NO_NUMBER, .lock_clocks = BENCH_NO_NUMBER \
    }

/* Rows of an option table; `at` is the offset of a struct bench_conditions_opts. */
/* clang-format off */
#define BENCH_CONDITIONS_ROWS(at)                                                                  \
    {"warmup-temp", 0, OPT_I64, (at) + offsetof(struct bench_conditions_opts, warmup_temp), "C",   \
     "first GEMMs until each GPU has so many degrees, at most 60 s"},                              \
    {"lock-clocks", 0, OPT_I64, (at) + offsetof(struct bench_conditions_opts, lock_clocks), "MHZ", \
     "hold the SM clock, where NVML permits it; reset at the end"},                                \
    {"no-numa", 0, OPT_FLAG, (at) + offsetof(struct bench_conditions_opts, no_numa), NULL,         \
     "do not bind processes to the CPUs near their GPU"}
/* clang-format on */

/* Where this process is. */
struct bench_conditions_where {
    struct bench_ranks *ranks; /* borrowed */
    int world, rank;
    int node_index;     /* among the job's processes of this node */
    int device;         /* the GPU, among those that this process sees */
    const char *output; /* folder for temperatures.csv; NULL: none */
};

/* The job's processes on this node, in the order of ranks. */
struct bench_neighbours {
    char (*bus_ids)[BENCH_BUS_ID]; /* owned; "": another process has that GPU, too */
    int *pids;                     /* owned */
    int count;
};

struct bench_conditions {
    const struct bench_conditions_opts *opts;
    struct bench_clocks clocks;
    struct bench_neighbours neighbours;
    bool cold_noted;    /* a GPU did not become as warm as was asked for */
    bool rewarm_failed; /* likewise noted: it is not tried again */
    struct bench_watch *watch;
    FILE *table; /* temperatures.csv */
    char table_path[4096];
    int node;                       /* of this process, counted from 0 */
    char cpus[256];                 /* that this process is bound to; "": it is not */
    int locked_MHz;                 /* of this node's GPUs; 0: they are not locked */
    struct bench_gpu_summary *gpus; /* owned: of all nodes on rank 0, else of this node */
    int ngpus;
};

/* 0, or -1 with e filled (ERR_USAGE, ERR_INPUT): a figure is out of range. */
int bench_conditions_prepare(struct bench_conditions *c, const struct bench_conditions_opts *opts,
                             struct err *e);

/* Binds and locks. 0, or -1 with e filled on all ranks. What NVML does not know or refuses
 * is a note on stderr. */
int bench_conditions_begin(struct bench_conditions *c, const struct bench_conditions_where *where,
                           struct err *e);

/* Warms, where that is asked for. Likewise. */
int bench_conditions_warm(struct bench_conditions *c, const struct bench_conditions_where *where,
                          struct err *e);

/* Begins to watch the GPUs. Likewise. */
int bench_conditions_watch(struct bench_conditions *c, const struct bench_conditions_where *where,
                           struct err *e);

/* Where a GPU has become colder than BENCH_REWARM_BELOW: GEMMs until all have BENCH_REWARM_TO, for
 * at most BENCH_REWARM_S. Where that cannot be done, one note. */
int bench_conditions_rewarm(struct bench_conditions *c, const struct bench_conditions_where *where,
                            struct err *e);

/* Driver, what connects the GPUs of this node, CPUs and locked clock, as settings of the run. */
void bench_conditions_describe(const struct bench_conditions *c, int rank, struct bench_result *r,
                               struct bench_run *run);

/* Ends the watching, and resets the clocks. ranks NULL: the others are gone. 0, or -1 with e
 * filled: temperatures.csv could not be written, or a rank has failed. Prints one note where others
 * use a GPU. */
int bench_conditions_end(struct bench_conditions *c, const struct bench_conditions_where *where,
                         struct bench_ranks *ranks, struct err *e);
void bench_conditions_release(struct bench_conditions *c); /* also where it never began */

#endif
