/* SPDX-License-Identifier: MIT
 *
 * Recordings of pipelines made in memory, one rank a stage: hosts that take no time, messages that
 * take none, so that an iteration of p balanced stages takes (m + p - 1) (forward + backward) +
 * optimizer. The order of passes is written out here once more, by what each stage knows, not by
 * the schedule's own tables.
 */
#ifndef SPECTER_TEST_MADE_PIPELINE_H
#define SPECTER_TEST_MADE_PIPELINE_H

#include "made_device.h"

#include <string.h>

struct made_pipeline {
    int stages, micro, iterations;
    int64_t forward_ns, backward_ns, optimizer_ns;
    bool gpipe, apart; /* apart: each message on its own, and on a stream of its kind */
    bool embedding; /* a kernel before the first stage's forward passes, and after backward ones */
    bool head;      /* a product in the middle of the last stage's passes */
    bool odd_product; /* a product that only the first stage has */
};

static const struct made_pipeline pipeline_default = {
    .stages = 4,
    .micro = 8,
    .iterations = 4,
    .forward_ns = 200000,
    .backward_ns = 400000,
    .optimizer_ns = 150000,
};

struct pipeline_maker {
    const struct made_pipeline *m;
    struct run *run;
    struct rank *rank;
    int stage, comm, group; /* a rank's number is its stage's */
    int64_t host_ns, seq[4];
};

static inline struct op *pipeline_op(struct pipeline_maker *p, enum op_class class, int64_t dur_ns)
{
    ++p->host_ns;
    struct op *op =
        device_op(p->run, p->stage, 1, p->host_ns, p->host_ns, p->host_ns, p->host_ns + dur_ns);
    op->class = (uint8_t) class;
    op->id = p->rank->nops;
    return op;
}

static inline void pipeline_gemm(struct pipeline_maker *p, uint32_t m, uint32_t n, uint32_t k,
                                 int64_t dur_ns)
{
    device_gemm(pipeline_op(p, OP_GEMM, dur_ns), SPECTER_BF16, m, n, k);
}

static inline void pipeline_sync_call(struct pipeline_maker *p, enum sync_call_kind kind,
                                      int stream, int event)
{
    ++p->host_ns;
    device_sync_call(p->run, p->stage, kind, stream, event, p->host_ns, p->host_ns);
}

/* `to` waits for what is on `from`. */
static inline void pipeline_order(struct pipeline_maker *p, int from, int to)
{
    if (!p->m->apart)
        return;
    pipeline_sync_call(p, SYNC_CALL_RECORD, from, 8 * from + to);
    pipeline_sync_call(p, SYNC_CALL_WAIT, to, 8 * from + to);
}

/* way: 0 activations, 1 gradients; out or in. */
static inline void pipeline_message(struct pipeline_maker *p, int way, bool out)
{
    int peer = p->stage + ((way == 0) == out ? 1 : -1), stream = 2 + 2 * way + out;
    struct op *op;
    if (peer < 0 || peer >= p->m->stages)
        return;
    if (out)
        pipeline_order(p, 1, stream);
    op = pipeline_op(p, OP_P2P, 0);
    device_coll(op, out ? SPECTER_SEND : SPECTER_RECV, p->comm, p->seq[2 * way + out]++, 1 << 20);
    op->stream = p->m->apart ? stream : 1;
    op->dtype = SPECTER_BF16;
    op->coll.peer = peer;
    op->coll.group = p->group;
    if (!out)
        pipeline_order(p, stream, 1);
}

static inline void pipeline_exchange(struct pipeline_maker *p, int way, bool out, int way2,
                                     bool out2)
{
    p->group++;
    pipeline_message(p, way, out);
    if (way2 < 0)
        return;
    p->group += p->m->apart;
    pipeline_message(p, way2, out2);
}

static inline void pipeline_kernel(struct pipeline_maker *p, const char *name, int64_t dur_ns)
{
    pipeline_op(p, OP_KERNEL, dur_ns)->name = name;
}

static inline void pipeline_forward(struct pipeline_maker *p)
{
    if (p->m->embedding && p->stage == 0)
        pipeline_kernel(p, "embedding_elementwise", 0);
    if (p->m->odd_product && p->stage == 0)
        pipeline_gemm(p, 512, 512, 64, 0);
    pipeline_gemm(p, 1024, 4096, 2048, p->m->forward_ns);
}

static inline void pipeline_backward(struct pipeline_maker *p)
{
    if (p->m->head && p->stage == p->m->stages - 1)
        pipeline_gemm(p, 32000, 4096, 1024, 0);
    pipeline_gemm(p, 2048, 4096, 1024, p->m->backward_ns / 2);
    pipeline_gemm(p, 1024, 2048, 4096, p->m->backward_ns - p->m->backward_ns / 2);
    if (p->m->embedding && p->stage == 0)
        pipeline_kernel(p, "embedding_backward_elementwise", 0);
}

static inline void pipeline_1f1b(struct pipeline_maker *p)
{
    int m = p->m->micro, behind = p->m->stages - 1 - p->stage, done = 0;
    int ahead = behind < m ? behind : m;
    for (int i = 0; i < m + ahead; i++) {
        bool forward = i < m, backward = i >= ahead && done < m;
        if (forward && (i < ahead || i == ahead))
            pipeline_exchange(p, 0, false, -1, false);
        if (forward)
            pipeline_forward(p);
        if (forward && backward)
            pipeline_exchange(p, 0, true, 1, false);
        else if (forward)
            pipeline_exchange(p, 0, true, -1, false);
        else
            pipeline_exchange(p, 1, false, -1, false);
        if (!backward)
            continue;
        pipeline_backward(p);
        done++;
        if (i + 1 < m)
            pipeline_exchange(p, 1, true, 0, false);
        else
            pipeline_exchange(p, 1, true, -1, false);
    }
}

static inline void pipeline_gpipe(struct pipeline_maker *p)
{
    for (int i = 0; i < p->m->micro; i++) {
        pipeline_exchange(p, 0, false, -1, false);
        pipeline_forward(p);
        pipeline_exchange(p, 0, true, -1, false);
    }
    for (int i = 0; i < p->m->micro; i++) {
        pipeline_exchange(p, 1, false, -1, false);
        pipeline_backward(p);
        pipeline_exchange(p, 1, true, -1, false);
    }
}

static inline void pipeline_iteration(struct pipeline_maker *p)
{
    struct step *step = rank_add_step(p->rank);
    step->start_ns = p->host_ns + 1;
    step->name = "step";
    pipeline_kernel(p, "zero_fillfunctor", 0);
    if (p->m->gpipe)
        pipeline_gpipe(p);
    else
        pipeline_1f1b(p);
    pipeline_kernel(p, "fused_adam", p->m->optimizer_ns);
    step = &p->rank->steps[p->rank->nsteps - 1];
    step->end_ns = p->host_ns + 1;
}

static inline void made_pipeline(struct run *run, const struct made_pipeline *m)
{
    struct pipeline_maker p = {.m = m, .run = run};
    device_run_on(run, m->stages, MADE_H100, COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_KERNELS);
    p.comm = device_comm(run, "stages", 0, 1, m->stages);
    run->comms[p.comm].name = "pp";
    for (int s = 0; s < m->stages; s++) {
        p.rank = &run->ranks[s];
        p.stage = s;
        p.host_ns = p.group = 0;
        memset(p.seq, 0, sizeof p.seq);
        for (int k = 0; k < m->iterations; k++)
            pipeline_iteration(&p);
    }
}

#endif
