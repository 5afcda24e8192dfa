/* SPDX-License-Identifier: MIT
 *
 * A made job (made_run.h) of dp replicas with tp tensor-parallel ranks each, on one stream: in an
 * iteration every rank does `segments` times a product and an AllReduce among the ranks of its
 * replica, then one AllReduce over dp.
 */
#ifndef SPECTER_TEST_MADE_TENSOR_H
#define SPECTER_TEST_MADE_TENSOR_H

#include "made_run.h"

#include <stdio.h>

struct made_tensor {
    struct made m; /* ranks: tp x dp; layers is not looked at */
    int tp, dp, segments;
};

/* One collective of the ranks first, first + stride, ... */
static inline void made_among(struct run *run, const struct made *m, struct made_rank *at, int comm,
                              int first, int stride, int n, int64_t seq)
{
    int64_t begin_ns = 0;
    for (int i = 0; i < n; i++) {
        size_t r = (size_t)(first + i * stride);
        struct op *op = made_op(run, m, &at[r], r, MADE_COMPUTE);
        device_coll(op, SPECTER_ALLREDUCE, comm, seq, 32u << 20)->dtype = SPECTER_FP16;
        begin_ns = made_max(begin_ns, op->start_ns);
    }
    for (int i = 0; i < n; i++) {
        struct rank *rank = &run->ranks[first + i * stride];
        made_end(&rank->ops[rank->nops - 1], &at[first + i * stride], begin_ns + m->reduce_ns);
    }
}

static inline int made_group(struct run *run, const char *kind, int number, int first, int stride,
                             int n)
{
    char name[32];
    int comm;
    snprintf(name, sizeof name, "%s%d", kind, number);
    comm = device_comm(run, name, first, stride, n);
    run->comms[comm].name = kind;
    return comm;
}

static inline void made_tensor_step(struct run *run, const struct made_tensor *t,
                                    struct made_rank *at, const int *tp, const int *dp, int64_t k)
{
    for (int s = 0; s < t->segments; s++) {
        for (size_t r = 0; r < run->nranks; r++)
            made_gemm(run, &t->m, &at[r], r);
        for (int j = 0; j < t->dp; j++)
            made_among(run, &t->m, at, tp[j], j * t->tp, 1, t->tp, k * t->segments + s);
    }
    for (int i = 0; i < t->tp; i++)
        made_among(run, &t->m, at, dp[i], i, t->tp, t->dp, k);
}

static inline void made_tensor_run(struct run *run, const struct made_tensor *t)
{
    struct made m = t->m;
    struct made_rank *at;
    int *tp = calloc((size_t)t->dp, sizeof *tp), *dp = calloc((size_t)t->tp, sizeof *dp);
    m.ranks = t->tp * t->dp;
    m.iterations = 0;
    made_run(run, &m);
    at = calloc((size_t)m.ranks, sizeof *at);
    for (int j = 0; j < t->dp; j++)
        tp[j] = made_group(run, "tp", j, j * t->tp, 1, t->tp);
    for (int i = 0; i < t->tp; i++)
        dp[i] = made_group(run, "dp", i, i, t->tp, t->dp);
    for (int k = 0; k < t->m.iterations; k++)
        made_tensor_step(run, t, at, tp, dp, k);
    free(at);
    free(tp);
    free(dp);
}

#endif
