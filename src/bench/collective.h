/* SPDX-License-Identifier: MIT
 *
 * Times collectives of a library over sizes, and checks their results. For every operation and
 * size, out of place and, where NCCL defines it, in place:
 *
 *   - one call whose result every rank compares, element by element, with what it must be;
 *   - `warmup` calls; a barrier of all ranks;
 *   - `iters` calls one after the other, with the device's time taken between them. Where the
 *     library enqueues, the device is given other work first, so that the host is ahead and its own
 *     calls cost nothing. A call's time is the largest of all ranks.
 *
 * Sizes are those of nccl-tests (specter/trace.h).
 */
#ifndef SPECTER_BENCH_COLLECTIVE_H
#define SPECTER_BENCH_COLLECTIVE_H

#include "base/err.h"
#include "bench/backend.h"
#include "bench/result.h"
#include "specter/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_plan {
    const enum specter_comm_op *ops; /* SPECTER_SEND: sendrecv of nccl-tests */
    size_t nops;
    /* Full buffers in bytes, as nccl-tests counts them; where `elements` is set, counts of elements
     * of each rank. */
    const uint64_t *sizes;
    size_t nsizes;
    bool elements;
    enum specter_dtype dtype;
    enum specter_redop redop;
    int warmup, iters;
    bool rotate_root; /* the next rank with each call; else 0, as in nccl-tests */
    uint64_t check;   /* bytes of each rank's part that are compared; 0: none */
    /* Asked before every size; a rank that wants to end early returns true, then all do. May be
     * NULL. */
    bool (*stop)(void);
    /* On the first rank, after every row. May be NULL. */
    void (*row)(const struct bench_row *row, void *arg);
    void *row_arg;
};

struct bench_communicator {
    const struct bench_backend *backend;
    struct bench_comm
        *comm; /* NULL: this rank is not in it, and goes through the exchanges alone */
    struct bench_ranks *ranks;
    int world; /* of the job */
    int member;
    struct layout where; /* of the communicator */
};

/* Adds the rows to run, on every rank, as is every decision. 0; 1: a rank wanted to end early;
 * -1 with e filled: a rank failed (what was measured before is in run). A size for which a rank has
 * too little memory is passed over, with a note in `result`; so are, with one note, sizes of less
 * than an element of each rank. */
int bench_collective(const struct bench_plan *plan, const struct bench_communicator *on,
                     struct bench_result *result, struct bench_run *run, struct err *e);

/* Number of the plan's configurations (an operation at a size) that are less than an element of
 * each rank. */
size_t bench_plan_empty(const struct bench_plan *plan, int ranks);

/* Single operations out of place, for those who choose themselves what is measured (tune.h). All
 * ranks make the same calls. */
struct bench_meter;

/* Buffers for the plan's operations and sizes, made by `on`'s communicator; of the plan also dtype,
 * redop and check. Both are borrowed. NULL with e filled on all ranks: no memory. */
struct bench_meter *bench_meter_open(const struct bench_plan *plan,
                                     const struct bench_communicator *on, struct err *e);
void bench_meter_close(struct bench_meter *m); /* NULL is fine */

/* Sets what is measured from here on, by any communicator of the same ranks and GPU: an operation
 * of a full buffer of so many bytes, rounded down to what the operation can have: *whole. 0, 1: too
 * large for a GPU's memory, or less than an element a rank; -1 with e filled on all ranks. */
int bench_meter_size(struct bench_meter *m, enum specter_comm_op op, uint64_t bytes,
                     uint64_t *whole, struct err *e);

/* One call by `comm`, and how many elements of all ranks' results are wrong. 0, or -1 with e filled
 * on all ranks: the library refuses it. */
int bench_meter_check(struct bench_meter *m, struct bench_comm *comm, double *wrong, struct err *e);

/* Times a loop of so many calls after an untimed one, as above: *us of a call. Likewise. */
int bench_meter_time(struct bench_meter *m, struct bench_comm *comm, size_t calls, double *us,
                     struct err *e);

/* Returns whether NCCL has an in-place form of the operation. */
bool bench_op_in_place(enum specter_comm_op op);

/* The call's count argument for a full buffer of `bytes`, rounded down; 0: less than one element a
 * rank. */
uint64_t bench_op_count(enum specter_comm_op op, enum specter_dtype dtype, uint64_t bytes,
                        int ranks);

/* ---- values.c ----
 *
 * The values that ranks send in a benchmark, and those that a collective must therefore give: small
 * whole numbers that every type holds exactly, sums included, so that a right result is right to
 * the last bit.
 *
 *     struct bench_values v;
 *     bench_values_init(&v, SPECTER_BF16, SPECTER_REDOP_SUM, ranks, e);
 *     bench_values_fill(&v, rank, first, count, host);              of the send buffer
 *     bench_values_fill(&v, BENCH_REDUCED, first, count, host);     of a reduction
 *
 * Element j of rank r's send buffer is factors[(h(j) + r) mod period], h a hash: it differs from
 * rank to rank, so that data of a wrong rank are seen. A reduction over all ranks then depends on
 * h(j) mod period alone, of which all results are in a table. */

#define BENCH_LARGEST 256  /* no value or result is larger */
#define BENCH_REDUCED (-1) /* instead of a rank: reduced over all of them */

struct bench_values {
    enum specter_dtype dtype;
    size_t size; /* bytes of an element */
    uint32_t period;
    unsigned char coded[BENCH_LARGEST + 1][8]; /* each number in the type */
    uint16_t *sent, *reduced;                  /* owned; by h(j) mod period (+ rank) */
};

/* 0, or -1 with e filled (ERR_USAGE): no such check for the type or the reduction. */
int bench_values_init(struct bench_values *v, enum specter_dtype dtype, enum specter_redop redop,
                      int ranks, struct err *e);
void bench_values_release(struct bench_values *v);

/* Elements first to first + count of what `rank` sends, or of what the reduction over all ranks
 * gives (BENCH_REDUCED). `out` holds count * v->size bytes. */
void bench_values_fill(const struct bench_values *v, int rank, uint64_t first, size_t count,
                       void *out);

#endif
