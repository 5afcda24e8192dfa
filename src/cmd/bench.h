/* SPDX-License-Identifier: MIT
 *
 * specter bench: what its kinds have in common. Each kind is one file with its options and its run
 * function, and one line in bench.c:
 *
 *     bench_collective.c   collective: times of a library's collectives
 *     bench_gemm.c         gemm: times of GEMMs
 *     bench_state.c        state: what NVML says of GPUs
 *     bench_p2p.c          p2p: times of messages between any two GPUs
 *     bench_drift.c        drift: clocks of GPUs and hosts against each other
 *     bench_overlap.c      overlap: what GEMMs and collectives lose to each other
 *     bench_tune.c         tune: settings that are faster than NCCL's own choice
 *     bench_report.c       report: logs of nccl-tests beside what the models expect; folders
 *                          of links
 *
 * Below: the processes that measure together, and the temperature, clocks and CPUs that they
 * measure at.
 */
#ifndef SPECTER_CMD_BENCH_H
#define SPECTER_CMD_BENCH_H

#include "base/err.h"
#include "base/opt.h"
#include "bench/collective.h"
#include "bench/gpu.h"
#include "bench/ranks.h"
#include "bench/result.h"
#include "bench/state.h"
#include "cmd/cmd.h"

#include <stdio.h>

struct bench_checks;
struct bench_p2p_report;
struct bench_target;
struct cJSON;

#define BENCH_NO_NUMBER INT64_MIN /* not given, and no number that an option accepts */

/* Rows of options that most kinds have. --html is for a `const char *html`. */
#define BENCH_HTML_ROW(offset)                                                    \
    {                                                                             \
        "html", 0, OPT_STR, offset, "FILE", "write curves and checks as one page" \
    }

/* The row of --fail-on, for option tables that hold a `const char *fail_on`. */
#define BENCH_FAIL_ON_ROW(offset)                                                              \
    {                                                                                          \
        "fail-on", 0, OPT_STR, offset, "EXPR", "exit 1 when it holds: failed>0, slow>0, cv>5%" \
    }

extern const struct cmd_kind bench_collectives, bench_drifts, bench_gemms, bench_overlaps,
    bench_p2ps, bench_report, bench_states, bench_tunes;

#define BENCH_PATH_MAX 4096 /* bytes of a result file's path */

/* ---- what is known of links, for the user ---- */

/* Shows what `specter bench p2p` has measured or `specter bench report` has read: checks, text,
 * JSON, a page. */
struct bench_p2p_show {
    const char *json, *html, *fail_on; /* as the options; NULL: not given */
    bool full;
    const char *folder; /* whose temperatures.csv the page has; "": none */
};

/* The profiles that links are held against: as the options name them, else those of the GPU of that
 * name and of its usual network; gpu NULL where neither is known. 0, or -1 with e filled. */
int bench_p2p_target(const char *gpu, const char *network, const char *device, struct arena *a,
                     struct bench_target *out, struct err *e);

/* Fills *checks, which r has from then on; r->links are known. 0, or -1 with e
 * filled: something cannot be written, or (ERR_NO) a condition of --fail-on holds. */
int bench_p2p_show(struct bench_p2p_report *r, struct bench_checks *checks,
                   const struct bench_p2p_show *show, struct err *e);

/* ---- bench_job.c ----
 *
 * The job of a benchmark that several GPUs take part in: its processes are started, find each
 * other, learn who shares a node with whom, and end together. bench_collective.c, bench_p2p.c,
 * bench_drift.c, bench_overlap.c and bench_tune.c measure in such a job. And the conditions that
 * any benchmark runs in.
 *
 *     struct bench_job job = {.opts = BENCH_JOB_DEFAULTS, .arg = arg};
 *     if (bench_job_check(&job, e) < 0) ...
 *     status = bench_job_run(&job, "p2p", argc, argv, rank, e);
 *
 * bench_job_run() calls rank() in every process that is a rank, and that does:
 *
 *     if (bench_job_begin(&job, e) == 0)
 *         ... measures as rank job.place.rank ...
 *     status = bench_job_end(&job, status, e); */

/* ---- bench_conditions.c ----
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
 * Clocks are as they were once the process has ended, however it ends (bench/state.h). */

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

/* ---- bench_job.c ---- */

/* Options that all such kinds have: rows for their tables, `_at` the offset of the struct. */
struct bench_job_opts {
    const char *backend, *lib;
    int64_t gpus, port; /* BENCH_NO_NUMBER: not given */
    double timeout;
};

#define BENCH_JOB_DEFAULTS                                                                 \
    {                                                                                      \
        .backend = "nccl", .gpus = BENCH_NO_NUMBER, .port = BENCH_NO_NUMBER, .timeout = 60 \
    }

#define BENCH_JOB_AT(_at, _field) ((_at) + offsetof(struct bench_job_opts, _field))

/* clang-format off */
#define BENCH_JOB_LIBRARY_ROWS(_at)                                                          \
    {"backend", 0, OPT_STR, BENCH_JOB_AT(_at, backend), "NAME",                              \
     "nccl, rccl, ncclx, gloo or mpi; default nccl"},                                        \
    {"lib", 0, OPT_STR, BENCH_JOB_AT(_at, lib), "PATH", "the library, with NCCL's interface"}, \
    {"gpus", 0, OPT_I64, BENCH_JOB_AT(_at, gpus), "N",                                       \
     "processes to start, one a GPU; default: all GPUs"}

#define BENCH_JOB_RANKS_ROWS(_at)                                                            \
    {"timeout", 0, OPT_DOUBLE, BENCH_JOB_AT(_at, timeout), "S",                              \
     "seconds to wait for a rank, or for a call that waits for ranks; default 60"},                                              \
    {"port", 0, OPT_I64, BENCH_JOB_AT(_at, port), "N",                                       \
     "of rank 0; default MASTER_PORT, else 29500"}
/* clang-format on */

struct bench_job {
    struct bench_job_opts opts;
    bool gpus_only; /* set by a kind that has no use for backends without GPUs */
    const struct bench_backend *backend;
    struct bench_place place;
    struct bench_ranks *ranks;       /* owned; NULL: not joined */
    struct bench_members members;    /* of a communicator of all ranks; for the kind to narrow */
    int node_index, nodes, per_node; /* this rank's place on its node; of the job */
    int *node_of;                    /* owned; by rank, nodes counted from 0 */
    struct bench_result result;      /* hosts, settings, notes; rows are the kind's */
    struct bench_run *run;           /* of result */
    struct bench_calls *calls;       /* owned */
    /* Set by the kind: writes what was measured, on rank 0, where a call of the library does not
     * return and the process ends. As `rank` of bench_job_run() it gets arg. */
    int (*keep)(void *arg, struct err *e);
    void *arg;
};

/* Checks the options and the environment. 0, or -1 with e filled. */
int bench_job_check(struct bench_job *j, struct err *e);

/* Starts one process a GPU and waits for them; where this process is a rank, calls `rank`. `kind`
 * is the name of the kind; argv is as parsing options left it. Returns the exit status; e is filled
 * where none was measured. */
int bench_job_run(struct bench_job *j, const char *kind, int argc, char **argv,
                  int (*rank)(void *arg, struct err *e), struct err *e);

/* Waits for the other ranks, and learns their places. From here on SIGINT, SIGTERM and SIGHUP only
 * make bench_job_stop() true. 0, or -1 with e filled; bench_job_end() follows in any case. */
int bench_job_begin(struct bench_job *j, struct err *e);
bool bench_job_stop(void);

/* A communicator of all ranks, and its description in j->run. 0, or -1 with e filled; to be closed
 * by the backend. */
int bench_job_open(struct bench_job *j, struct bench_communicator *on, struct err *e);

/* Texts of the library, the GPU and what changes the library's choices, into j->run. */
void bench_job_describe(struct bench_job *j, const struct bench_comm *comm, struct layout where);

/* Waits until all have come here, and leaves them. Returns the exit status, which is `status`
 * unless rank 0 learns only now that another rank failed. Of an error, one rank keeps the message
 * in e. */
int bench_job_end(struct bench_job *j, int status, struct err *e);

/* Calls `measure` in the conditions that were asked for, and watches the GPUs meanwhile; backends
 * without GPUs have none. output: folder for temperatures.csv; NULL: none. As `measure` returns, or
 * -1 with e filled. */
int bench_job_in_conditions(struct bench_job *j, struct bench_conditions *c, const char *output,
                            int (*measure)(void *arg, struct err *e), void *arg, struct err *e);

/* --op: a list of operations, all of them in the list `known`, into ops; at most `max`. 0, or -1
 * with e filled. */
int bench_ops_parse(const char *list, const char *known, enum specter_comm_op *ops, size_t max,
                    size_t *n, struct err *e);

/* --bytes and --factor: the sizes, owned by the caller. 0, or -1 with e filled. */
int bench_sizes_parse(const char *text, double factor, uint64_t **sizes, size_t *n, struct err *e);

/* 0, or -1 with e filled: `value` of an option is not between the two. */
int bench_check_range(const char *option, int64_t value, int64_t least, int64_t most,
                      struct err *e);

#endif
