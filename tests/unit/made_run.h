/* SPDX-License-Identifier: MIT
 *
 * Recordings made in memory, by recurrences that share nothing with the simulator: data-parallel
 * training of a few layers, with device times as a tracer would see them (a collective's recorded
 * time includes the wait for the last rank).
 */
#ifndef SPECTER_TEST_MADE_RUN_H
#define SPECTER_TEST_MADE_RUN_H

#include "made_device.h"
#include "made_random.h"

#include <stdlib.h>

enum { MADE_COMPUTE = 1, MADE_COMM = 2 }; /* streams */

struct made {
    int ranks, iterations, layers;
    int64_t gemm_ns, reduce_ns; /* what they truly take */
    int64_t call_ns, gap_ns;    /* CPU: a call, and between two calls */
    int64_t latency_ns;         /* launch to start on an idle stream */
    int64_t late_ns;            /* the last rank's GEMMs take so much more */
    int64_t load_ppm;           /* what a collective takes of a GEMM beside it, waiting or not */
    bool overlap;               /* collectives on a stream of their own */
    bool sync;                  /* the host awaits the device after each iteration */
    const char *gpu;
};

static const struct made made_default = {
    .ranks = 4,
    .iterations = 5,
    .layers = 6,
    .gemm_ns = 200000,
    .reduce_ns = 120000,
    .call_ns = 4000,
    .gap_ns = 2000,
    .latency_ns = 3000,
    .overlap = true,
    .sync = true,
    .gpu = MADE_H100,
};

#define MADE_RECENT 8

struct made_rank {
    int64_t host_ns, free_ns[3]; /* clock of the host, of each stream */
    uint64_t ids;
    int64_t begun_ns[MADE_RECENT], ended_ns[MADE_RECENT]; /* of its part in the last collectives */
    unsigned reduced;                                     /* how many */
};

static inline int64_t made_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline struct op *made_op(struct run *run, const struct made *m, struct made_rank *at,
                                 size_t r, int stream)
{
    int64_t host_ns = at->host_ns + m->gap_ns, start_ns;
    struct op *op;
    at->host_ns = host_ns + m->call_ns;
    start_ns = made_max(host_ns + m->latency_ns, at->free_ns[stream]);
    op = device_op(run, (int)r, stream, host_ns, at->host_ns, start_ns, start_ns);
    op->id = at->ids++;
    return op;
}

static inline void made_end(struct op *op, struct made_rank *at, int64_t end_ns)
{
    op->dur_ns = end_ns - op->start_ns;
    at->free_ns[op->stream] = end_ns;
}

/* When work of so many ns that starts at t_ns ends: beside a collective it goes slower. One
 * transfer at a time, in order. */
static inline int64_t made_slowed(const struct made *m, const struct made_rank *at, int64_t t_ns,
                                  int64_t work_ns)
{
    double t = (double)t_ns, left = (double)work_ns, rate = 1 - (double)m->load_ppm / 1e6;
    unsigned first = at->reduced > MADE_RECENT ? at->reduced - MADE_RECENT : 0;
    for (unsigned i = first; i < at->reduced; i++) {
        double begin = (double)at->begun_ns[i % MADE_RECENT];
        double end = (double)at->ended_ns[i % MADE_RECENT];
        if (end <= t)
            continue;
        if (begin > t && begin - t >= left)
            break;
        if (begin > t) {
            left -= begin - t;
            t = begin;
        }
        if ((end - t) * rate >= left)
            return (int64_t)(t + left / rate + 0.999999);
        left -= (end - t) * rate;
        t = end;
    }
    return (int64_t)(t + left + 0.999999);
}

static inline void made_gemm(struct run *run, const struct made *m, struct made_rank *at, size_t r)
{
    struct op *op = made_op(run, m, at, r, MADE_COMPUTE);
    bool late = (int)r == m->ranks - 1;
    device_gemm(op, SPECTER_FP16, 4096, 4096, 4096);
    made_end(op, at, made_slowed(m, at, op->start_ns, m->gemm_ns + (late ? m->late_ns : 0)));
}

static inline struct sync_call *made_sync_call(struct run *run, const struct made *m,
                                               struct made_rank *at, size_t r,
                                               enum sync_call_kind kind, int stream, int64_t event)
{
    int64_t host_ns = at->host_ns + m->gap_ns;
    at->host_ns = host_ns + m->call_ns;
    return device_sync_call(run, (int)r, kind, stream, event, host_ns, at->host_ns);
}

/* `from` is recorded, `to` waits for it. */
static inline void made_depend(struct run *run, const struct made *m, struct made_rank *at,
                               size_t r, int from, int to)
{
    made_sync_call(run, m, at, r, SYNC_CALL_RECORD, from, from);
    made_sync_call(run, m, at, r, SYNC_CALL_WAIT, to, from);
    at->free_ns[to] = made_max(at->free_ns[to], at->free_ns[from]);
}

/* The ranks' operations are added in the same order, so that the last of each are one collective.
 */
static inline void made_reduce(struct run *run, const struct made *m, struct made_rank *at,
                               int64_t seq)
{
    int64_t begin_ns = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        int stream = m->overlap ? MADE_COMM : MADE_COMPUTE;
        struct op *op;
        if (m->overlap)
            made_depend(run, m, &at[r], r, MADE_COMPUTE, MADE_COMM);
        op = made_op(run, m, &at[r], r, stream);
        device_coll(op, SPECTER_ALLREDUCE, 0, seq, 32u << 20)->dtype = SPECTER_FP16;
        begin_ns = made_max(begin_ns, op->start_ns);
    }
    for (size_t r = 0; r < run->nranks; r++) {
        unsigned nth = at[r].reduced++ % MADE_RECENT;
        struct op *op = &run->ranks[r].ops[run->ranks[r].nops - 1];
        at[r].begun_ns[nth] = op->start_ns; /* it waits on its multiprocessors */
        at[r].ended_ns[nth] = begin_ns + m->reduce_ns;
        made_end(op, &at[r], begin_ns + m->reduce_ns);
    }
}

static inline void made_iteration(struct run *run, const struct made *m, struct made_rank *at,
                                  int64_t k)
{
    for (int l = 0; l < m->layers; l++) {
        for (size_t r = 0; r < run->nranks; r++)
            made_gemm(run, m, &at[r], r);
        made_reduce(run, m, at, k * m->layers + l);
    }
    for (size_t r = 0; r < run->nranks; r++) {
        struct sync_call *sync_call;
        if (m->overlap)
            made_depend(run, m, &at[r], r, MADE_COMM, MADE_COMPUTE);
        made_gemm(run, m, &at[r], r);
        if (!m->sync)
            continue;
        sync_call = made_sync_call(run, m, &at[r], r, SYNC_CALL_DEVICE, -1, -1);
        sync_call->host_end_ns =
            made_max(sync_call->host_end_ns, at[r].free_ns[MADE_COMPUTE] + m->call_ns);
        at[r].host_ns = sync_call->host_end_ns;
    }
}

static inline void made_run(struct run *run, const struct made *m)
{
    struct made_rank *at = calloc((size_t)m->ranks, sizeof *at);
    device_run_on(run, m->ranks, m->gpu, COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_LAUNCHES);
    device_comm(run, "world", 0, 1, m->ranks);
    for (int k = 0; k < m->iterations; k++)
        made_iteration(run, m, at, k);
    free(at);
}

static inline int made_by_start(const void *pa, const void *pb)
{
    const struct op *a = pa, *b = pb;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Every device start becomes nonsense, and the operations are ordered by it, as a reader would. */
static inline void made_scramble(struct run *run, uint64_t seed)
{
    for (size_t r = 0; r < run->nranks; r++) {
        struct rank *rank = &run->ranks[r];
        for (size_t i = 0; i < rank->nops; i++)
            rank->ops[i].start_ns = (int64_t)(made_random(&seed) % 1000000000u);
        qsort(rank->ops, rank->nops, sizeof *rank->ops, made_by_start);
    }
}

#endif
