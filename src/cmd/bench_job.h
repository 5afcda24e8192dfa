/* SPDX-License-Identifier: MIT
 *
 * The job of a benchmark that several GPUs take part in: its processes are started, find each
 * other, learn who shares a node with whom, and end together. bench_collective.c and bench_p2p.c
 * measure in such a job.
 *
 *     struct bench_job job = {.opts = BENCH_JOB_DEFAULTS, .arg = arg};
 *     if (bench_job_check(&job, e) < 0) ...
 *     status = bench_job_run(&job, "p2p", argc, argv, rank, e);
 *
 * bench_job_run() calls rank() in every process that is a rank, and that does:
 *
 *     if (bench_job_begin(&job, e) == 0)
 *         ... measures as rank job.place.rank ...
 *     status = bench_job_end(&job, status, e);
 */
#ifndef SPECTER_CMD_BENCH_JOB_H
#define SPECTER_CMD_BENCH_JOB_H

#include "bench/collective.h"
#include "bench/result.h"
#include "cmd/bench.h"
#include "cmd/bench_conditions.h"

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
