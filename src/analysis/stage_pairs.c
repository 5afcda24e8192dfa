/* SPDX-License-Identifier: MIT
 *
 * Counts the messages between each two ranks, and finds which way the first of a step goes
 * (pipeline.h). stages.c makes pipelines of these pairs.
 */
#include "analysis/pipeline.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define RANK_BITS 20 /* RUN_RANKS_MAX */

/* An operation in the order of calls. */
struct stage_op {
    int64_t issued_ns;
    uint32_t op;
};

/* A message of one rank. */
struct stage_message {
    const struct op *op;
    int peer;       /* global rank */
    uint64_t epoch; /* computations that the rank called for before */
    size_t step;
};

struct messages {
    struct stage_message *list; /* owned; in the order of calls */
    size_t count, cap;
    bool computes; /* the rank's computations are in the trace */
};

int stage_message_peer(const struct run *run, const struct op *op)
{
    const struct comm *comm;
    if (op->class != OP_P2P || op->coll.comm < 0 || (size_t)op->coll.comm >= run->ncomms)
        return -1;
    comm = &run->comms[op->coll.comm];
    return op->coll.peer >= 0 && op->coll.peer < comm->size ? comm->ranks[op->coll.peer] : -1;
}

static bool is_send_or_receive(const struct op *op)
{
    return op->class == OP_P2P && (op->coll.op == SPECTER_SEND || op->coll.op == SPECTER_RECV);
}

static bool is_compute(const struct op *op)
{
    return op->class == OP_GEMM || op->class == OP_KERNEL || op->class == OP_GRAPH;
}

static int by_call(const void *pa, const void *pb)
{
    const struct stage_op *a = pa, *b = pb;
    return a->issued_ns != b->issued_ns ? ORDER(a->issued_ns, b->issued_ns) : ORDER(a->op, b->op);
}

static bool has_messages(const struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        if (is_send_or_receive(&rank->ops[i]))
            return true;
    }
    return false;
}

static void messages_of(struct messages *m, struct stage_pairs *p, const struct run *run, size_t r,
                        const struct job_steps *steps)
{
    const struct rank *rank = &run->ranks[r];
    struct stage_op *calls = array_new(rank->nops, sizeof *calls);
    size_t n = 0;
    uint64_t epoch = 0;
    for (uint32_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (is_send_or_receive(op) || is_compute(op))
            calls[n++] = (struct stage_op){op_issued_ns(op), i};
    }
    qsort(calls, n, sizeof *calls, by_call);
    for (size_t i = 0; i < n; i++) {
        const struct op *op = &rank->ops[calls[i].op];
        struct stage_message msg = {op, stage_message_peer(run, op), epoch, 0};
        if (is_compute(op)) {
            epoch++;
            continue;
        }
        p->messages++;
        p->unknown += msg.peer < 0;
        msg.step = stage_step_of(steps, r, calls[i].op);
        if (msg.peer < 0 || msg.step == STEP_NONE)
            continue;
        ARRAY_GROW(m->list, m->cap, m->count + 1);
        m->list[m->count++] = msg;
    }
    m->computes = epoch > 0;
    free(calls);
}

static struct stage_pair *pair_of(struct stage_pairs *p, const struct run *run, const struct op *op,
                                  int a, int b)
{
    int low = a < b ? a : b, high = a < b ? b : a;
    int32_t comm = run->comms[op->coll.comm].size > 2 ? op->coll.comm : STAGE_COMM_PAIRS;
    uint32_t id = idmap_add(&p->ids, (int64_t)low << RANK_BITS | high);
    uint32_t at = idmap_add(&p->keys, ((int64_t)comm + 1) << 32 | id);
    ARRAY_GROW(p->list, p->cap, (size_t)at + 1);
    if (at >= p->count) {
        p->count = (size_t)at + 1;
        p->list[at] = (struct stage_pair){.comm = comm, .low = low, .high = high};
    }
    return &p->list[at];
}

/* True for an all-to-all: to itself, or to more than two others. */
static bool is_alltoall(const struct messages *m, size_t first, size_t end, int self)
{
    int seen[2] = {-1, -1};
    for (size_t i = first; i < end; i++) {
        int peer = m->list[i].peer;
        if (peer == self)
            return true;
        if (peer == seen[0] || peer == seen[1])
            continue;
        if (seen[0] >= 0 && seen[1] >= 0)
            return true;
        seen[seen[0] >= 0] = peer;
    }
    return false;
}

/* Votes for the direction of a pair by its first messages in a step; messages both ways in one
 * launch do not vote. */
static void vote_direction(struct stage_pair *pair, const struct messages *m, size_t first,
                           size_t end, int self, const struct stage_message *msg)
{
    bool out = false, in = false, is_high = self == pair->high;
    if (pair->last_step[is_high] == msg->step + 1)
        return;
    pair->last_step[is_high] = msg->step + 1;
    for (size_t i = first; i < end; i++) {
        out = out || (m->list[i].peer == msg->peer && m->list[i].op->coll.op == SPECTER_SEND);
        in = in || (m->list[i].peer == msg->peer && m->list[i].op->coll.op == SPECTER_RECV);
    }
    if (out != in)
        pair->direction += out != is_high ? 1 : -1;
}

static void count_message(struct stage_pair *pair, const struct stage_message *msg, int self,
                          bool computes)
{
    bool is_high = self == pair->high, send = msg->op->coll.op == SPECTER_SEND;
    if (!send) {
        pair->received[!is_high]++;
        pair->flushes[is_high] += --pair->in_flight[is_high] == 0;
        return;
    }
    pair->in_flight[is_high]++;
    if (!computes || pair->last_epoch[is_high] != msg->epoch + 1)
        pair->units[is_high]++;
    pair->last_epoch[is_high] = msg->epoch + 1;
}

/* Sends count before receives: both are under way at once. */
static void add_launch(struct stage_pairs *p, const struct run *run, const struct messages *m,
                       size_t first, size_t end, int self)
{
    if (is_alltoall(m, first, end, self)) {
        p->alltoalls += end - first;
        return;
    }
    for (int receives = 0; receives < 2; receives++) {
        for (size_t i = first; i < end; i++) {
            const struct stage_message *msg = &m->list[i];
            struct stage_pair *pair = pair_of(p, run, msg->op, self, msg->peer);
            vote_direction(pair, m, first, end, self, msg);
            if ((msg->op->coll.op == SPECTER_RECV) == receives)
                count_message(pair, msg, self, m->computes);
        }
    }
}

void stage_pairs_init(struct stage_pairs *p, const struct run *run, const struct job_steps *steps)
{
    memset(p, 0, sizeof *p);
    for (size_t r = 0; r < run->nranks; r++) {
        struct messages m = {0};
        if (!has_messages(&run->ranks[r]))
            continue;
        messages_of(&m, p, run, r, steps);
        for (size_t i = 0, end; i < m.count; i = end) {
            int32_t group = m.list[i].op->coll.group;
            for (end = i + 1; end < m.count && group >= 0 && m.list[end].op->coll.group == group;
                 end++)
                ;
            add_launch(p, run, &m, i, end, run->ranks[r].rank);
        }
        free(m.list);
    }
}

void stage_pairs_release(struct stage_pairs *p)
{
    free(p->list);
    idmap_release(&p->ids);
    idmap_release(&p->keys);
}
