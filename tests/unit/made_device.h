/* SPDX-License-Identifier: MIT
 *
 * Runs of a few operations with all their times said, for tests that count by hand. Times are
 * nanoseconds.
 */
#ifndef SPECTER_TEST_MADE_DEVICE_H
#define SPECTER_TEST_MADE_DEVICE_H

#include "analysis/analysis.h"
#include "test.h"

#include <math.h>
#include <string.h>

static inline void device_run(struct run *run, int ranks)
{
    run_init(run);
    run->format = "memory";
    run->source = "test";
    run->world_size = ranks;
    for (int r = 0; r < ranks; r++) {
        struct rank *rank = run_add_rank(run);
        rank->rank = r;
        rank->complete = true;
        rank->mono_ns = rank->real_ns = 0; /* one host, one clock */
        rank->coverage =
            COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_KERNELS | COVER_LAUNCHES | COVER_MEMORY;
    }
}

/* Runs on the device in [start, end), launched by a call in [host, host_end). */
static inline struct op *device_op(struct run *run, int rank, int stream, int64_t host,
                                   int64_t host_end, int64_t start, int64_t end)
{
    struct op *op = rank_add_op(&run->ranks[rank]);
    op->class = OP_KERNEL;
    op->name = "kernel";
    op->stream = stream;
    op->host_ns = host;
    op->host_end_ns = host_end;
    op->start_ns = start;
    op->dur_ns = end - start;
    op->timing = SPECTER_TIMING_DEVICE;
    return op;
}

static inline void device_sync_call(struct run *run, enum sync_call_kind kind, int64_t host,
                                    int64_t host_end, int stream, int64_t event)
{
    struct sync_call *sync = rank_add_sync_call(&run->ranks[0]);
    sync->kind = (uint8_t)kind;
    sync->host_ns = host;
    sync->host_end_ns = host_end;
    sync->stream = stream;
    sync->event = event;
}

static inline void device_step(struct run *run, int rank, const char *name, int64_t start,
                               int64_t end)
{
    struct step *step = rank_add_step(&run->ranks[rank]);
    step->name = intern_add(&run->names, name, strlen(name));
    step->start_ns = start;
    step->end_ns = end;
}

/* A rank that is missing is the test's own mistake. */
static inline void device_analyze(struct analysis *a, struct run *run)
{
    struct err e;
    run_finish(run);
    if (analysis_init(a, run, ANALYSIS_ALL_RANKS, &e) < 0)
        test_fail(__FILE__, __LINE__, "%s", e.msg);
}

static inline void device_done(struct analysis *a, struct run *run)
{
    analysis_release(a);
    run_release(run);
}

#endif
