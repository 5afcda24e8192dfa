/* SPDX-License-Identifier: MIT
 *
 * Measures how much GEMMs and collectives slow each other on one GPU, by the number of channels
 * that the communicator has. Each is timed alone, and beside the other: calls of the other are put
 * on a second stream first, so many that they outlast the timed ones. All four are measured in
 * turns, so that a GPU that becomes warmer slows them alike. Times are those of the slowest rank.
 *
 *     struct bench_overlap o;
 *     bench_overlap_open(&o, device, e);                      each rank
 *     bench_overlap(&o, &plan, &on, &log, &result, e);        for each communicator
 *     bench_overlap_close(&o);
 */
#ifndef SPECTER_BENCH_OVERLAP_H
#define SPECTER_BENCH_OVERLAP_H

#include "bench/collective.h"
#include "bench/gpu.h"

struct bench_overlap_gemm {
    bool memory; /* what bounds it: memory, else the multiprocessors */
    struct bench_gemm_shape shape;
};

#define BENCH_OVERLAP_GEMMS 3
extern const struct bench_overlap_gemm bench_overlap_gemms[BENCH_OVERLAP_GEMMS];

const char *bench_overlap_bound(bool memory); /* "memory-bound", "compute-bound" */

struct bench_overlap_plan {
    const enum specter_comm_op *ops; /* AllReduce, AllGather, ReduceScatter: out of place */
    size_t nops;
    uint64_t bytes; /* of the full buffer, as nccl-tests counts it */
    int channels;   /* of the communicator; 0: the library's own number */
    int repeats;
    bool (*stop)(void);     /* asked before each repetition; true: this rank wants to end */
    void (*row)(void *arg); /* called behind each row, on every rank; NULL */
    void *arg;
};

/* One of the two, alone and beside the other. */
struct bench_overlap_side {
    double alone_us, beside_us; /* of a call, the median over the repeats */
    double slowdown;            /* beside_us / alone_us */
    double spread;              /* of the slow-down: quartile distances of both times, added as
                                 * independent, over the medians */
    int calls;                  /* timed one after another */
};

struct bench_overlap_row {
    int channels; /* 0: the library's own choice */
    enum specter_comm_op op;
    uint64_t bytes;
    struct layout where;
    const struct bench_overlap_gemm *of;
    struct bench_overlap_side gemm, collective;
};

struct bench_overlap_log {
    struct bench_overlap_row *rows; /* owned */
    size_t n, cap;
};

void bench_overlap_log_release(struct bench_overlap_log *log);

/* Of the time that the two spend beside each other, the share that it saves against one after the
 * other: 1 where neither loses anything, 0 where nothing is saved. */
double bench_overlap_saved(const struct bench_overlap_row *row);

/* Time of the collective with GEMMs beside it that alone take as long as the collective does in the
 * quickest row of `log` for the same operation, over that time: 1 where neither loses anything, 2
 * as one after the other. */
double bench_overlap_together(const struct bench_overlap_log *log,
                              const struct bench_overlap_row *row);

/* The number of channels with the smallest geometric mean of bench_overlap_together() over its
 * rows, of those that have as many rows as any; of alike ones the first. -1: there are no rows. */
int bench_overlap_best(const struct bench_overlap_log *log);

#define BENCH_OVERLAP_EVENTS 4

struct bench_overlap {
    struct bench_gpu gpu; /* with the stream of the GEMMs */
    struct bench_blas blas;
    void *buffers[2]; /* of the communicator that is measured */
    size_t room;
    void *events[BENCH_OVERLAP_EVENTS];
};

int bench_overlap_open(struct bench_overlap *o, int device, struct err *e);
void bench_overlap_close(struct bench_overlap *o); /* also of one that could not be opened */

/* All ranks together. Adds the rows to log on every rank. 0; 1: a rank wanted to end early; -1 with
 * e filled: a rank failed (what was measured before is in log). A row for which a rank has too
 * little memory, or whose one side takes too long, is passed over, with a note in `result`. */
int bench_overlap(struct bench_overlap *o, const struct bench_overlap_plan *plan,
                  const struct bench_communicator *on, struct bench_overlap_log *log,
                  struct bench_result *result, struct err *e);

#endif
