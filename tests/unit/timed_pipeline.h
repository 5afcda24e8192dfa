/* SPDX-License-Identifier: MIT
 *
 * Pipelines with device times, made by running their schedule: a pass starts when the stage is free
 * and its message has come; a receive holds the stage from when it is free until the data are
 * there; a send goes on a stream of its own and moves when both ends are in it. Nothing here is
 * shared with what is tested.
 */
#ifndef SPECTER_TEST_TIMED_PIPELINE_H
#define SPECTER_TEST_TIMED_PIPELINE_H

#include "made_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMED_STAGES 8
#define TIMED_ITEMS 512

struct timed_pipeline {
    int stages, micro, steps, tp;
    bool gpipe, marked, no_backward;
    int64_t forward_ns[TIMED_STAGES], backward_ns[TIMED_STAGES];
    int64_t transfer_ns, reduce_ns; /* of a message; of gradients at the end */
    int64_t tp_ns;                  /* tp > 1: of a pass, an AllReduce at its end */
    int64_t host_late_ns;           /* every pass starts so much after it could */
};

enum timed_what { TIMED_RECV, TIMED_SEND, TIMED_PASS };

struct timed_item {
    enum timed_what what;
    int way; /* 0 activations, 1 gradients */
    int nth;
};

struct timed_stage {
    struct timed_item list[TIMED_ITEMS];
    int n, at;
    int64_t free_ns, order, begin_ns;
    int64_t ready_ns[2][64];  /* when the n-th pass of a way has ended: the send is posted */
    int64_t wanted_ns[2][64]; /* when the receive was posted */
};

static inline void timed_add(struct timed_stage *s, enum timed_what what, int way, int nth)
{
    s->list[s->n++] = (struct timed_item){what, way, nth};
}

static inline void timed_pass(struct timed_stage *s, int stage, int stages, int way, int nth)
{
    bool first = way == 0 ? stage == 0 : stage == stages - 1;
    bool last = way == 0 ? stage == stages - 1 : stage == 0;
    if (!first)
        timed_add(s, TIMED_RECV, way, nth);
    timed_add(s, TIMED_PASS, way, nth);
    if (!last)
        timed_add(s, TIMED_SEND, way, nth);
}

static inline void timed_plan(struct timed_stage *s, const struct timed_pipeline *t, int stage)
{
    int ahead = t->stages - 1 - stage, back = 0;
    s->n = s->at = 0;
    if (t->gpipe || t->no_backward || ahead > t->micro)
        ahead = t->micro;
    for (int i = 0; i < ahead; i++)
        timed_pass(s, stage, t->stages, 0, i);
    for (int i = ahead; i < t->micro; i++) {
        timed_pass(s, stage, t->stages, 0, i);
        timed_pass(s, stage, t->stages, 1, back++);
    }
    while (!t->no_backward && back < t->micro)
        timed_pass(s, stage, t->stages, 1, back++);
    for (int w = 0; w < 2; w++) {
        for (int i = 0; i < 64; i++)
            s->ready_ns[w][i] = s->wanted_ns[w][i] = -1;
    }
}

static inline struct op *timed_op(struct run *run, int rank, struct timed_stage *s, int class,
                                  int64_t start, int64_t end)
{
    struct op *op = device_op(run, rank, 1, start, start, start, end);
    op->class = (uint8_t) class;
    op->name = class == OP_GEMM ? "gemm" : "comm";
    op->id = (uint64_t)s->order++;
    return op;
}

static inline struct op *timed_coll(struct run *run, int rank, struct timed_stage *s,
                                    enum specter_comm_op which, int comm, int64_t seq,
                                    int64_t start, int64_t end)
{
    struct op *op = timed_op(run, rank, s, OP_COLL, start, end);
    device_coll(op, which, comm, seq, specter_comm_op_is_p2p(which) ? 1 << 20 : 0)->name = "comm";
    return op;
}

/* A send waits for the pass before it, on the stream of passes. */
static inline void timed_event(struct run *run, int rank, const struct timed_stage *s, int stream)
{
    int64_t at_ns = s->begin_ns + s->order;
    device_sync_call(run, rank, SYNC_CALL_RECORD, 1, stream, at_ns - 2, at_ns - 2);
    device_sync_call(run, rank, SYNC_CALL_WAIT, stream, stream, at_ns - 1, at_ns - 1);
}

static inline void timed_message(struct run *run, const struct timed_pipeline *t,
                                 struct timed_stage *s, int stage, struct timed_item item, int step,
                                 int64_t start, int64_t end)
{
    bool send = item.what == TIMED_SEND;
    for (int k = 0; send && k < t->tp; k++)
        timed_event(run, stage * t->tp + k, s, 2 + item.way);
    for (int k = 0; k < t->tp; k++) {
        struct op *op = timed_coll(run, stage * t->tp + k, s, send ? SPECTER_SEND : SPECTER_RECV, k,
                                   (int64_t)step * t->micro + item.nth, start, end);
        op->coll.peer = stage + ((item.way == 0) == send ? 1 : -1);
        op->stream = send ? 2 + item.way : 1;
    }
}

static inline void timed_work(struct run *run, const struct timed_pipeline *t,
                              struct timed_stage *s, int stage, struct timed_item item)
{
    int64_t dur = item.way == 0 ? t->forward_ns[stage] : t->backward_ns[stage];
    int64_t start = s->free_ns + t->host_late_ns;
    for (int k = 0; k < t->tp; k++) {
        int rank = stage * t->tp + k;
        timed_op(run, rank, s, OP_GEMM, start, start + dur - t->tp_ns);
        if (t->tp_ns > 0)
            timed_coll(run, rank, s, SPECTER_ALLREDUCE, t->tp + stage,
                       (int64_t)run->ranks[rank].nops + 1, start + dur - t->tp_ns, start + dur);
    }
    s->free_ns = start + dur;
    s->ready_ns[item.way][item.nth] = s->free_ns;
}

/* Where an item is in the order of calls: each has room for all its operations. */
static inline int64_t timed_place(const struct timed_stage *s, struct timed_item item)
{
    for (int i = 0; i < s->n; i++) {
        const struct timed_item *x = &s->list[i];
        if (x->what == item.what && x->way == item.way && x->nth == item.nth)
            return 16 * (int64_t)i;
    }
    return -1;
}

/* One item of a stage; false: what it needs of the other end is not known yet. */
static inline bool timed_go(struct run *run, const struct timed_pipeline *t,
                            struct timed_stage *all, int stage, int step)
{
    struct timed_stage *s = &all[stage], *other;
    struct timed_item item = s->list[s->at];
    int64_t ready, moves;
    s->order = timed_place(s, item);
    if (item.what == TIMED_PASS) {
        timed_work(run, t, s, stage, item);
    } else if (item.what == TIMED_RECV) {
        other = &all[stage + (item.way == 0 ? -1 : 1)];
        s->wanted_ns[item.way][item.nth] = s->free_ns;
        ready = other->ready_ns[item.way][item.nth];
        if (ready < 0)
            return false;
        moves = ready > s->free_ns ? ready : s->free_ns;
        timed_message(run, t, s, stage, item, step, s->free_ns, moves + t->transfer_ns);
        item.what = TIMED_SEND;
        other->order = timed_place(other, item);
        timed_message(run, t, other, stage + (item.way == 0 ? -1 : 1), item, step, ready,
                      moves + t->transfer_ns);
        s->free_ns = moves + t->transfer_ns;
    }
    s->at++; /* a send is recorded with its receive */
    return true;
}

static inline int timed_by_host(const void *pa, const void *pb)
{
    const struct sync_call *a = pa, *b = pb;
    return (a->host_ns > b->host_ns) - (a->host_ns < b->host_ns);
}

static inline int timed_by_start(const void *pa, const void *pb)
{
    const struct op *a = pa, *b = pb;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* The host calls in the order of the schedule, long before the device gets there. */
static inline void timed_order(struct rank *rank, size_t from, int64_t begin_ns)
{
    qsort(&rank->ops[from], rank->nops - from, sizeof *rank->ops, timed_by_start);
    for (size_t i = from; i < rank->nops; i++)
        rank->ops[i].host_ns = rank->ops[i].host_end_ns = begin_ns + (int64_t)rank->ops[i].id;
}

static inline void timed_reduce(struct run *run, const struct timed_pipeline *t,
                                struct timed_stage *s, int stage, int step)
{
    s->order = 16 * (int64_t)s->n;
    for (int k = 0; k < t->tp && t->reduce_ns > 0; k++) {
        int rank = stage * t->tp + k;
        timed_coll(run, rank, s, SPECTER_ALLREDUCE, t->tp + t->stages + rank, step, s->free_ns,
                   s->free_ns + t->reduce_ns);
    }
}

static inline void timed_step(struct run *run, const struct timed_pipeline *t,
                              struct timed_stage *all, int step)
{
    int64_t begin = 0;
    size_t from[TIMED_STAGES * 2];
    bool going = true;
    for (int s = 0; s < t->stages; s++) {
        begin = all[s].free_ns > begin ? all[s].free_ns : begin;
        timed_plan(&all[s], t, s);
    }
    begin += step == 0 ? 1000000 : t->reduce_ns;
    for (int r = 0; r < t->stages * t->tp; r++) {
        from[r] = run->ranks[r].nops;
        if (t->marked) {
            struct step *mark = rank_add_step(&run->ranks[r]);
            *mark = (struct step){begin, INT64_MAX / 4, "step", 0, false};
            if (step > 0)
                mark[-1].end_ns = begin;
        }
    }
    for (int s = 0; s < t->stages; s++)
        all[s].free_ns = all[s].begin_ns = begin;
    while (going) {
        going = false;
        for (int s = 0; s < t->stages; s++) {
            while (all[s].at < all[s].n && timed_go(run, t, all, s, step))
                going = true;
        }
    }
    for (int s = 0; s < t->stages; s++)
        timed_reduce(run, t, &all[s], s, step);
    for (int r = 0; r < t->stages * t->tp; r++)
        timed_order(&run->ranks[r], from[r], begin);
}

static inline void timed_comm(struct run *run, int nth, int size, int first, int stride)
{
    char id[32];
    snprintf(id, sizeof id, "comm%d", nth);
    device_comm(run, id, first, stride, size);
}

/* Communicators: one a chain, one a stage, one a rank. */
static inline void timed_run(struct run *run, const struct timed_pipeline *t)
{
    struct timed_stage *all = calloc(TIMED_STAGES, sizeof *all);
    device_run_on(run, t->stages * t->tp, "",
                  COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_KERNELS | COVER_LAUNCHES);
    for (int k = 0; k < t->tp; k++)
        timed_comm(run, k, t->stages, k, t->tp);
    for (int s = 0; s < t->stages; s++)
        timed_comm(run, t->tp + s, t->tp, s * t->tp, 1);
    for (int r = 0; r < run->world_size; r++)
        timed_comm(run, t->tp + t->stages + r, 1, r, 1);
    for (int k = 0; k < t->steps; k++)
        timed_step(run, t, all, k);
    for (int r = 0; r < run->world_size; r++) {
        struct rank *rank = &run->ranks[r];
        for (size_t i = 0; i < rank->nops && rank->nsteps > 0; i++) {
            struct step *last = &rank->steps[rank->nsteps - 1];
            if (i == 0)
                last->end_ns = last->start_ns;
            if (rank->ops[i].host_ns >= last->end_ns)
                last->end_ns = rank->ops[i].host_ns + 1;
        }
        if (run->ranks[r].nsync_calls > 0)
            qsort(run->ranks[r].sync_calls, run->ranks[r].nsync_calls, sizeof(struct sync_call),
                  timed_by_host);
    }
    free(all);
}

#endif
