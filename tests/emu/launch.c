/* SPDX-License-Identifier: MIT
 *
 * What a communication kernel does: meet the others, move bytes, learn when it ends.
 *
 * Bytes move through the shared memory, the first ones of each buffer only (see README.md): a rank
 * posts its head; the last one to come does the arithmetic and settles the times; all take theirs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "comm.h"
#include "hash.h"
#include "lane.h"
#include "number.h"
#include "profiler.h"
#include "settle.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t task_bytes(const struct task *t)
{
    return t->count * number_size((enum number)t->type);
}

/* Operations whose buffers hold one part a rank. */
static bool parts_sent(int op)
{
    return op == COLLECTIVE_REDUCESCATTER || op == COLLECTIVE_ALLTOALL || op == COLLECTIVE_SCATTER;
}

static bool reduces(int op)
{
    return op == COLLECTIVE_ALLREDUCE || op == COLLECTIVE_REDUCE || op == COLLECTIVE_REDUCESCATTER;
}

/* Bytes of each part that really move; whole elements of any type. */
static size_t part_head(const struct ncclComm *comm, const struct task *t)
{
    size_t head = segment_head(comm->segment);

    if (parts_sent(t->op))
        head = head / (unsigned)comm->ranks & ~(size_t)15;
    return smaller(task_bytes(t), head);
}

static void post_bytes(struct ncclComm *comm, const struct task *t, uint64_t number)
{
    char *post = segment_post(comm->segment, number, (unsigned)comm->rank);
    size_t head = part_head(comm, t), size = number_size((enum number)t->type);
    unsigned parts = parts_sent(t->op) ? (unsigned)comm->ranks : 1;

    if ((t->op == COLLECTIVE_BROADCAST || t->op == COLLECTIVE_SCATTER) && t->root != comm->rank)
        return;
    for (unsigned i = 0; i < parts; i++)
        memcpy(post + i * head, (const char *)t->send + i * task_bytes(t), head);
    if (reduces(t->op) && t->redop >= ncclNumOps)
        number_scale(post, parts * head / size, (enum number)t->type,
                     comm->premul[t->redop - ncclNumOps], 1);
}

/* By the last to come: rank after rank onto the first one's bytes. */
static void reduce_bytes(struct ncclComm *comm, const struct task *t, uint64_t number)
{
    size_t parts = parts_sent(t->op) ? (size_t)comm->ranks : 1;
    size_t count = parts * part_head(comm, t) / number_size((enum number)t->type);
    bool sums = t->redop == ncclAvg || t->redop >= ncclNumOps;
    char *result = segment_result(comm->segment, number);

    if (!reduces(t->op))
        return;
    memcpy(result, segment_post(comm->segment, number, 0), parts * part_head(comm, t));
    for (unsigned i = 1; i < (unsigned)comm->ranks; i++)
        number_combine(result, segment_post(comm->segment, number, i), count, (enum number)t->type,
                       sums ? NUMBER_SUM : (enum number_op)t->redop);
    if (t->redop == ncclAvg)
        number_scale(result, count, (enum number)t->type, 1, (unsigned)comm->ranks);
}

static void take_bytes(struct ncclComm *comm, const struct task *t, uint64_t number)
{
    struct segment *s = comm->segment;
    size_t head = part_head(comm, t), mine = (size_t)comm->rank * head;
    char *to = t->recv;

    switch (t->op) {
    case COLLECTIVE_REDUCE:
        if (t->root != comm->rank)
            break;
        /* fall through */
    case COLLECTIVE_ALLREDUCE:
        memcpy(to, segment_result(s, number), head);
        break;
    case COLLECTIVE_REDUCESCATTER:
        memcpy(to, segment_result(s, number) + mine, head);
        break;
    case COLLECTIVE_BROADCAST:
        if (t->root != comm->rank || t->send != t->recv)
            memcpy(to, segment_post(s, number, (unsigned)t->root), head);
        break;
    case COLLECTIVE_SCATTER:
        memcpy(to, segment_post(s, number, (unsigned)t->root) + mine, head);
        break;
    case COLLECTIVE_GATHER:
        if (t->root != comm->rank)
            break;
        /* fall through */
    case COLLECTIVE_ALLGATHER:
        for (unsigned i = 0; i < (unsigned)comm->ranks; i++)
            memcpy(to + i * task_bytes(t), segment_post(s, number, i), head);
        break;
    case COLLECTIVE_ALLTOALL:
        for (unsigned i = 0; i < (unsigned)comm->ranks; i++)
            memcpy(to + i * task_bytes(t), segment_post(s, number, i) + mine, head);
        break;
    }
}

/* What others take of the ports of this rank's device. */
static void view_ports(const struct emu_place *place, uint64_t start, struct calendar *view)
{
    if (emu_fabric()->contention)
        emu_lane_view(place, start, view);
    else
        calendar_reset(view, start);
}

/* One for each channel. */
static unsigned sms_of(uint64_t bytes)
{
    const struct emu_fabric *f = emu_fabric();
    uint64_t wanted = 1 + bytes / f->comm_sm_bytes;

    return (unsigned)(wanted < f->comm_sms ? wanted : f->comm_sms);
}

static void post_ask(struct ncclComm *comm, const struct task *t, uint64_t number, uint64_t start,
                     const struct emu_place *place)
{
    struct ask *ask = segment_ask(comm->segment, number, (unsigned)comm->rank);
    bool all = parts_sent(t->op) || t->op == COLLECTIVE_ALLGATHER || t->op == COLLECTIVE_GATHER;

    ask->start = start;
    ask->op = t->op;
    ask->type = (int)t->type;
    ask->redop = !reduces(t->op) ? -1 : t->redop >= ncclNumOps ? ncclNumOps : t->redop;
    ask->root = t->root;
    ask->bytes = task_bytes(t) * (all ? (unsigned)comm->ranks : 1);
    view_ports(place, start, &ask->busy);
    atomic_store(&ask->came, number + 1);
}

/* Whether somebody has ended what runs on the communicator. */
static bool is_ended(void *argument)
{
    const struct ncclComm *comm = argument;

    return atomic_load(&comm->aborted) || atomic_load(&comm->revoked);
}

/* Says who is gone of those that have not come, and fails the communicator. */
static bool peers_gone(struct ncclComm *comm, uint64_t number)
{
    for (unsigned i = 0; i < (unsigned)comm->ranks; i++) {
        if (atomic_load(&segment_ask(comm->segment, number, i)->came) == number + 1)
            continue;
        if (!segment_gone(comm->segment, i))
            continue;
        if (atomic_load(&segment_ask(comm->segment, number, i)->came) == number + 1)
            continue;
        fprintf(stderr,
                "emu: rank %d: rank %u of the communicator is gone before collective %llu\n",
                comm->rank, i, (unsigned long long)number);
        return true;
    }
    return false;
}

/* Ranks that ask for different things hang, as they do for real; this says why. */
static void settle(struct ncclComm *comm, const struct task *t, uint64_t number)
{
    struct slot *slot = segment_slot(comm->segment, number);
    unsigned who;

    if (settle_collective(comm->segment, comm->key, number, &who) != 0) {
        fprintf(stderr,
                "emu: collective %llu of a communicator: rank %u asks for something else "
                "than rank 0\n",
                (unsigned long long)number, who);
        return;
    }
    reduce_bytes(comm, t, number);
    atomic_store(&slot->arrived, 0);
    atomic_store(&slot->settled, (uint32_t)(number + 1));
    segment_wake(&slot->settled);
}

/* Returns false when the others cannot come any more. */
static bool meet(struct ncclComm *comm, const struct task *t, uint64_t number)
{
    struct slot *slot = segment_slot(comm->segment, number);
    uint32_t seen;
    bool met = true;

    if (atomic_fetch_add(&slot->arrived, 1) + 1 == (unsigned)comm->ranks)
        settle(comm, t, number);
    atomic_store(&comm->waiting, number + 1);
    while (met && (seen = atomic_load(&slot->settled)) != (uint32_t)(number + 1)) {
        segment_sleep(&slot->settled, seen);
        met = !is_ended(comm) && (atomic_load(&slot->settled) != seen || !peers_gone(comm, number));
    }
    atomic_store(&comm->waiting, 0);
    return met;
}

static bool run_collective(struct ncclComm *comm, const struct task *t,
                           const struct emu_place *place, uint64_t start, uint64_t *end)
{
    uint64_t number = comm->collectives++;
    const struct ask *ask = segment_ask(comm->segment, number, (unsigned)comm->rank);
    struct emu_held *held;
    bool met;

    post_bytes(comm, t, number);
    post_ask(comm, t, number, start, place);
    held = emu_lane_begin(place, start, sms_of(ask->bytes));
    met = meet(comm, t, number);
    if (met) {
        take_bytes(comm, t, number);
        *end = ask->end;
    }
    emu_lane_end(held, *end, met ? &ask->used : NULL);
    return met;
}

/* ---- messages ---- */

enum progress { MESSAGE_NEW, MESSAGE_POSTED, MESSAGE_DONE };

struct message {
    const struct task *task;
    enum progress state;
    struct message *before; /* the one to or from the same peer in this launch, or NULL */
    uint32_t number;
    unsigned from, to, peer;
    uint64_t end;
};

static void ring(struct ncclComm *comm, unsigned rank)
{
    struct member *m = segment_member(comm->segment, rank);

    atomic_fetch_add(&m->bell, 1);
    segment_wake(&m->bell);
}

/* One launch of messages. */
struct messages {
    struct message *all;
    unsigned count;
    unsigned sharing[2]; /* of those that it receives, and sends */
    const struct emu_place *place;
    uint64_t start;
    struct calendar used;
};

static void post_message(struct ncclComm *comm, struct message *m, const struct messages *l,
                         uint64_t start)
{
    struct channel *c = segment_channel(comm->segment, m->from, m->to);
    size_t head = smaller(task_bytes(m->task), segment_message_head(comm->segment));
    bool sends = m->task->kind == TASK_SEND;
    struct post *post = sends ? &c->send[m->number % 2] : &c->recv[m->number % 2];

    post->start = start;
    post->bytes = task_bytes(m->task);
    post->sharing = l->sharing[sends];
    view_ports(l->place, start, &post->busy);
    if (sends)
        memcpy(segment_message(comm->segment, m->from, m->to, m->number), m->task->send, head);
    atomic_store(sends ? &c->sent : &c->received, m->number + 1);
    m->state = MESSAGE_POSTED;
    ring(comm, m->peer);
}

static bool other_side_posted(struct ncclComm *comm, const struct message *m)
{
    struct channel *c = segment_channel(comm->segment, m->from, m->to);
    uint32_t posts = atomic_load(m->task->kind == TASK_SEND ? &c->received : &c->sent);

    return (int32_t)(posts - m->number) > 0;
}

static void finish_message(struct ncclComm *comm, struct message *m, struct calendar *used)
{
    const struct channel *c = segment_channel(comm->segment, m->from, m->to);
    size_t head = smaller(task_bytes(m->task), segment_message_head(comm->segment));

    m->end = settle_message(comm->segment, comm->key, m->from, m->to, m->number,
                            m->task->kind == TASK_SEND, used);
    if (m->task->kind == TASK_RECV)
        memcpy(m->task->recv, segment_message(comm->segment, m->from, m->to, m->number),
               smaller(head, (size_t)c->send[m->number % 2].bytes));
    m->state = MESSAGE_DONE;
}

/* One step of one message; returns whether there was one. */
static bool advance(struct ncclComm *comm, struct message *m, struct messages *l)
{
    if (m->state == MESSAGE_NEW && (!m->before || m->before->state == MESSAGE_DONE)) {
        bool later = m->before && m->before->end > l->start;

        post_message(comm, m, l, later ? m->before->end : l->start);
        return true;
    }
    if (m->state == MESSAGE_POSTED && other_side_posted(comm, m)) {
        finish_message(comm, m, &l->used);
        return true;
    }
    return false;
}

static void prepare_messages(struct ncclComm *comm, struct messages *l)
{
    for (unsigned i = 0; i < l->count; i++) {
        struct message *m = &l->all[i];
        bool sends = m->task->kind == TASK_SEND;

        m->peer = (unsigned)m->task->root;
        m->from = sends ? (unsigned)comm->rank : m->peer;
        m->to = sends ? m->peer : (unsigned)comm->rank;
        m->number = sends ? comm->sent[m->peer]++ : comm->received[m->peer]++;
        l->sharing[sends] += m->peer != (unsigned)comm->rank;
        for (unsigned j = 0; j < i; j++)
            if (l->all[j].peer == m->peer && l->all[j].task->kind == m->task->kind)
                m->before = &l->all[j];
    }
}

/* The first message that waits for its peer. */
static const struct message *pending(const struct messages *l)
{
    for (unsigned i = 0; i < l->count; i++)
        if (l->all[i].state == MESSAGE_POSTED)
            return &l->all[i];
    return NULL;
}

/* Sleeps until something of a peer's comes. Returns false when nothing did because the peer is
 * gone; whether it had come before that is for the caller to look. */
static bool wait_for_bell(struct ncclComm *comm, unsigned peer, uint32_t seen)
{
    struct member *self = segment_member(comm->segment, (unsigned)comm->rank);

    atomic_store(&comm->waiting_peer, peer + 1);
    segment_sleep(&self->bell, seen);
    atomic_store(&comm->waiting_peer, 0);
    return atomic_load(&self->bell) != seen || !segment_gone(comm->segment, peer);
}

static bool peer_lost(struct ncclComm *comm, unsigned peer)
{
    fprintf(stderr, "emu: rank %d: rank %u of the communicator is gone before a message\n",
            comm->rank, peer);
    return false;
}

static bool wait_for_message(struct ncclComm *comm, const struct message *m, uint32_t seen)
{
    bool there = wait_for_bell(comm, m->peer, seen);

    if (is_ended(comm))
        return false;
    return there || other_side_posted(comm, m) || peer_lost(comm, m->peer);
}

/* Until all are done. Returns false when a peer cannot come any more. */
static bool exchange(struct ncclComm *comm, struct messages *l)
{
    struct member *self = segment_member(comm->segment, (unsigned)comm->rank);
    unsigned done = 0;

    while (done < l->count) {
        uint32_t seen = atomic_load(&self->bell);
        bool moved = false;

        done = 0;
        for (unsigned i = 0; i < l->count; i++) {
            moved |= advance(comm, &l->all[i], l);
            done += l->all[i].state == MESSAGE_DONE;
        }
        if (!moved && done < l->count && !wait_for_message(comm, pending(l), seen))
            return false;
    }
    return true;
}

static bool run_messages(struct ncclComm *comm, struct messages *l, uint64_t *end)
{
    struct emu_held *held;
    uint64_t bytes = 0;
    bool met;

    prepare_messages(comm, l);
    for (unsigned i = 0; i < l->count; i++)
        bytes += task_bytes(l->all[i].task);
    calendar_reset(&l->used, l->start);
    held = emu_lane_begin(l->place, l->start, sms_of(bytes));
    met = exchange(comm, l);
    for (unsigned i = 0; i < l->count && met; i++)
        if (l->all[i].end > *end)
            *end = l->all[i].end;
    emu_lane_end(held, *end, met ? &l->used : NULL);
    return met;
}

/* ---- one-sided ---- */

/* No byte of a put is moved: only the signal behind it, when the bytes would be there. */
static void post_signal(struct ncclComm *comm, const struct task *t, const struct emu_place *place,
                        uint64_t start, uint64_t *end)
{
    unsigned from = (unsigned)comm->rank, to = (unsigned)t->root;
    struct channel *c = segment_channel(comm->segment, from, to);
    uint32_t number = atomic_load(&c->signals);
    uint64_t pair = (uint64_t)from << 32 | to;
    struct calendar busy;
    const struct collective_message m = {
        .start = start,
        .bytes = task_bytes(t),
        .near =
            segment_member(comm->segment, from)->node == segment_member(comm->segment, to)->node,
        .sharing = 1,
        .key = emu_hash(emu_hash(comm->key, pair), number),
        .from = &busy,
    };

    view_ports(place, start, &busy);
    *end = collective_message(emu_fabric(), &m, true, NULL);
    c->signal_at[number % SEGMENT_SIGNALS] = *end;
    atomic_store(&c->signals, number + 1);
    ring(comm, to);
}

static bool await_signals(struct ncclComm *comm, const struct task *t, uint64_t start,
                          uint64_t *end)
{
    struct member *self = segment_member(comm->segment, (unsigned)comm->rank);
    struct channel *c = segment_channel(comm->segment, (unsigned)t->root, (unsigned)comm->rank);
    uint32_t wanted = comm->awaited[t->root] + (uint32_t)t->count;
    uint64_t at;

    for (;;) {
        uint32_t seen = atomic_load(&self->bell);

        if ((int32_t)(atomic_load(&c->signals) - wanted) >= 0)
            break;
        if (!wait_for_bell(comm, (unsigned)t->root, seen) &&
            (int32_t)(atomic_load(&c->signals) - wanted) < 0)
            return peer_lost(comm, (unsigned)t->root);
        if (is_ended(comm))
            return false;
    }
    comm->awaited[t->root] = wanted;
    at = c->signal_at[(wanted - 1) % SEGMENT_SIGNALS];
    *end = at > start ? at : start;
    return true;
}

static bool run_one_sided(struct ncclComm *comm, const struct task *t,
                          const struct emu_place *place, uint64_t start, uint64_t *end)
{
    if (t->kind == TASK_AWAIT)
        return await_signals(comm, t, start, end);
    post_signal(comm, t, place, start, end);
    return true;
}

/* ---- launches ---- */

static uint64_t issue_launch(void *data)
{
    struct ncclComm *comm = ((struct launch *)data)->comm;
    uint64_t ticket;

    pthread_mutex_lock(&comm->lock);
    ticket = comm->tickets++;
    atomic_fetch_add(&segment_member(comm->segment, (unsigned)comm->rank)->issued, 1);
    pthread_mutex_unlock(&comm->lock);
    return ticket;
}

/* A peer's launch cannot start before its clock, unless it is already issued. */
static bool peer_later(struct ncclComm *comm, unsigned peer, uint64_t t)
{
    struct member *m = segment_member(comm->segment, peer);

    return atomic_load(&m->clock) > t && atomic_load(&m->issued) == atomic_load(&m->completed);
}

static bool certainly_later(void *argument, uint64_t t)
{
    struct ncclComm *comm = argument;
    uint64_t collective = atomic_load(&comm->waiting), peer = atomic_load(&comm->waiting_peer);

    if (peer)
        return peer_later(comm, (unsigned)peer - 1, t);
    if (!collective)
        return false;
    for (unsigned i = 0; i < (unsigned)comm->ranks; i++)
        if (peer_later(comm, i, t) &&
            atomic_load(&segment_ask(comm->segment, collective - 1, i)->came) != collective)
            return true;
    return false;
}

static bool all_idle(void *argument)
{
    return segment_idle(((struct ncclComm *)argument)->segment);
}

static bool run_tasks(struct ncclComm *comm, const struct launch *l, struct emu_place *place,
                      uint64_t start, uint64_t *end)
{
    struct messages messages = {.all = emu_alloc(l->count * sizeof(*messages.all)), .place = place};
    bool met = true;

    *end = start;
    for (unsigned i = 0; i < l->count && met; i++) {
        if (l->tasks[i].kind == TASK_COLLECTIVE)
            met = run_collective(comm, &l->tasks[i], place, *end, end);
        else if (l->tasks[i].kind == TASK_PUT || l->tasks[i].kind == TASK_AWAIT)
            met = run_one_sided(comm, &l->tasks[i], place, *end, end);
        else
            messages.all[messages.count++].task = &l->tasks[i];
    }
    messages.start = *end;
    if (messages.count < l->count)
        emu_lane_pass(place); /* messages beside collectives are waited for by nobody */
    if (met && messages.count)
        met = run_messages(comm, &messages, end);
    free(messages.all);
    return met;
}

static bool is_answered(const struct launch *l, const struct task *t)
{
    for (unsigned i = 0; i < l->count; i++)
        if (l->tasks[i].root == t->root && l->tasks[i].kind != t->kind)
            return true;
    return false;
}

/* Collectives, and messages both ways with each peer: what all that take part in come to as one.
 * A message one way may be awaited long before its sender can send it, so nobody waits for it. */
static bool communicates(const void *data)
{
    const struct launch *l = data;

    for (unsigned i = 0; i < l->count; i++)
        if (l->tasks[i].kind == TASK_COLLECTIVE)
            return true;
    for (unsigned i = 0; i < l->count; i++)
        if (l->tasks[i].kind > TASK_RECV || !is_answered(l, &l->tasks[i]))
            return false;
    return true;
}

static uint64_t run_launch(void *data, const struct emu_turn *turn, CUresult *error)
{
    struct launch *l = data;
    struct ncclComm *comm = l->comm;
    const struct emu_waiting waiting = {certainly_later, all_idle, comm};
    uint64_t start = turn->start, end = start;
    bool met;

    emu_set_waiting(&waiting);
    pthread_mutex_lock(&comm->lock);
    while (comm->serving != turn->token)
        pthread_cond_wait(&comm->turn, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
    if (start < comm->last_end)
        start = comm->last_end;
    if (l->captured)
        profiler_launch(l);
    met = !atomic_load(&comm->revoked) && !atomic_load(&comm->error) &&
          emu_lane_await(turn->place, start, is_ended, comm) &&
          run_tasks(comm, l, turn->place, start, &end);
    if (!met && atomic_load(&comm->revoked)) {
        end = start > comm->revoked_at ? start : comm->revoked_at;
    } else if (!met) {
        atomic_store(&comm->error, ncclRemoteError);
        *error = CUDA_ERROR_LAUNCH_FAILED;
    }
    profiler_kernels(l, start, *error ? 0 : end);
    emu_set_waiting(NULL);
    pthread_mutex_lock(&comm->lock);
    comm->last_end = end;
    comm->serving++;
    atomic_fetch_add(&segment_member(comm->segment, (unsigned)comm->rank)->completed, 1);
    pthread_cond_broadcast(&comm->turn);
    pthread_mutex_unlock(&comm->lock);
    return end;
}

static void release_launch(void *data)
{
    struct launch *l = data;

    comm_unref(l->comm);
    free(l->tasks);
    free(l);
}

const struct emu_kind launch_kind = {"nccl", issue_launch, run_launch, release_launch,
                                     communicates};
