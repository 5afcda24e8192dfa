/* SPDX-License-Identifier: MIT
 *
 * The measurements of a benchmark, in one form whatever wrote them: `specter bench collective`
 * fills it, and the readers of nccl-tests' text and JSON and of profile_*.txt do (bench/read.h).
 * Everything that prints or judges measured collectives starts here.
 *
 *     struct bench_result result;
 *     bench_result_init(&result);
 *     struct bench_run *run = bench_run_add(&result);
 *     run->gpu = arena_strdup(&result.arena, "NVIDIA H100 80GB HBM3");
 *     struct bench_row *row = bench_row_add(run);
 *     row->op = SPECTER_ALLREDUCE;
 *     row->bytes = 1 << 20;
 *     row->time_us = 35.2;
 *     bench_row_rates(row);
 *     ...
 *     bench_result_release(&result);
 *
 * A result holds runs, a run is one start of a benchmark: one set of GPUs and settings, many rows.
 * A row is one operation at one size. What is not known: NULL or "" for texts, 0 for numbers that
 * cannot be 0, NAN for the others, the enum's COUNT (UNKNOWN, NONE) for enums.
 *
 * Bytes, counts and rates follow nccl-tests (include/specter/trace.h): bytes is the full buffer S,
 * count x size for AllReduce, Broadcast, Reduce and messages, ranks x count x size for the others;
 * algbw = S / time, busbw = algbw x specter_comm_op_bus_factor(); GB/s are 1e9 bytes a second.
 *
 * Texts of files are kept by bench_keep(), which makes them safe for a terminal. Texts, samples and
 * hosts live in the result's arena; rows, runs and notes are freed with it.
 */
#ifndef SPECTER_BENCH_RESULT_H
#define SPECTER_BENCH_RESULT_H

#include "base/arena.h"
#include "model/cost.h"
#include "specter/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_row {
    size_t line;             /* of the file that it was read from; 0: measured by us */
    enum specter_comm_op op; /* SPECTER_COMM_OP_COUNT: not known, or none of ours (run->program) */
    enum specter_dtype dtype;
    enum specter_redop redop;
    int root;             /* -1: the operation has none */
    uint64_t bytes;       /* S */
    uint64_t count;       /* the call's own count argument, of elements */
    struct layout where;  /* ranks, nodes, most ranks of a node */
    bool in_place;        /* send and receive buffer are one */
    double time_us;       /* of one call: mean over the loop, largest of all ranks */
    double min_us;        /* the statistics of single iterations: NAN where only loops were timed */
    double median_us;     /* */
    double p99_us;        /* */
    double cv;            /* standard deviation / mean: 0.02 is 2 % */
    const double *sample; /* us, each iteration in its order; NULL */
    size_t nsamples;
    double celsius;                /* of the warmest GPU after it; NAN: not known */
    double algbw_GBps, busbw_GBps; /* as the benchmark printed them */
    double wrong; /* elements whose value is wrong, of all ranks; NAN: not checked */
};

/* An environment variable, a library's own note or an option, as the benchmark ran with it. */
struct bench_setting {
    const char *name, *value;
};

/* Paths that NCCL names with NCCL_DEBUG=INFO, in lines, of all ranks whose output is in the log.
 */
struct bench_paths {
    size_t p2p, host;    /* between GPUs of a node: directly; through host memory (SHM) */
    size_t net, gdr;     /* between nodes: all; those with GPUDirect RDMA */
    int nics;            /* that one rank uses; 0: not told */
    const char *network; /* "IB", "Socket"; "" */
};

struct bench_run {
    const char *file;      /* that it was read from; "": measured by us */
    size_t line;           /* where it begins in it */
    const char *program;   /* "all_reduce_perf" */
    const char *backend;   /* "nccl", "rccl", "gloo", "mpi" */
    const char *library;   /* "NCCL 2.27.3" */
    const char *gpu;       /* as the driver names it; the first one where they differ */
    const char *other_gpu; /* one that is of another name */
    struct layout where;   /* of the job */
    struct bench_paths paths;
    const char **hosts; /* of the ranks, each name once; owned */
    size_t nhosts, cap_hosts;
    struct bench_setting *settings; /* owned */
    size_t nsettings, cap_settings;
    struct bench_row *rows; /* owned; in the order of measuring */
    size_t nrows, cap_rows;
};

struct bench_result {
    struct arena arena;
    struct bench_run *runs; /* owned */
    size_t nruns, cap_runs;
    const char **notes; /* owned: what was passed over of a file that is usable, "FILE:LINE: ..." */
    size_t nnotes, cap_notes;
    bool damaged; /* one of them is a row that should be there: the rest stands */
};

void bench_result_init(struct bench_result *r);
void bench_result_release(struct bench_result *r);

/* A copy of a text from outside, without control bytes, cut at 512 bytes. */
const char *bench_keep(struct bench_result *r, const char *text, size_t len);

/* One more, with nothing known. The pointer is good until the next one is added. */
struct bench_run *bench_run_add(struct bench_result *r);
struct bench_row *bench_row_add(struct bench_run *run);

/* Adds a host unless it is there. Returns its index. */
size_t bench_host_add(struct bench_result *r, struct bench_run *run, const char *name, size_t len);

/* Adds a setting, or gives one of that name its new value. */
void bench_setting_add(struct bench_result *r, struct bench_run *run, const char *name,
                       const char *value);
const char *bench_setting(const struct bench_run *run, const char *name); /* NULL: not there */

/* Returns whether an environment variable is one that a communication library reads: of a job's
 * environment only those are kept. */
bool bench_is_library_setting(const char *name, size_t len);

/* Adds "FILE:LINE: text"; file "": only the text. */
void bench_note(struct bench_result *r, const char *file, size_t line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Sets algbw_GBps and busbw_GBps from bytes, time_us and where.ranks; NAN where they are not known.
 */
void bench_row_rates(struct bench_row *row);

#endif
