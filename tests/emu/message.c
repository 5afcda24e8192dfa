/* SPDX-License-Identifier: MIT
 *
 * See message.h.
 */
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "hash.h"
#include "lane.h"
#include "settle.h"

enum progress { MESSAGE_NEW, MESSAGE_POSTED, MESSAGE_MOVING, MESSAGE_DONE };

struct moving_message {
    const struct nccl_task *task;
    enum progress state;
    struct moving_message *before; /* the one to or from the same peer in this launch, or NULL */
    uint32_t number;
    unsigned from, to, peer;
    size_t moved, bytes; /* so far, and of those that are to move */
    uint64_t end;
};

static void ring(struct ncclComm *comm, unsigned rank)
{
    struct segment_member *m = segment_member(comm->segment, rank);
    atomic_fetch_add(&m->bell, 1);
    segment_wake(&m->bell);
}

/* One launch of messages. */
struct message_set {
    struct moving_message *all;
    unsigned count;
    unsigned sharing[2]
                    [2]; /* of those that it receives, and sends; from, to another node, its own */
    const struct emu_place *place;
    uint64_t start;
    uint64_t bytes;
    struct calendar used;
};

/* Returns whether both are in one node. Then a message goes through other ports than one that
 * leaves it. */
static bool near(struct ncclComm *comm, unsigned a, unsigned b)
{
    return segment_member(comm->segment, a)->host == segment_member(comm->segment, b)->host;
}

static void post_message(struct ncclComm *comm, struct moving_message *m,
                         const struct message_set *l, uint64_t start)
{
    struct channel *c = segment_channel(comm->segment, m->from, m->to);
    size_t head = smaller(task_bytes(m->task), segment_message_head(comm->segment));
    bool sends = m->task->kind == TASK_SEND;
    struct post *post = sends ? &c->send[m->number % 2] : &c->recv[m->number % 2];
    post->start = start;
    post->bytes = task_bytes(m->task);
    post->sharing = l->sharing[sends][near(comm, m->from, m->to)];
    post->rate_max = tuning_rate(&comm->tuning, COLLECTIVE_ANY_PROTOCOL);
    launch_view(l->place, start, &post->busy);
    if (sends)
        memcpy(segment_message(comm->segment, m->from, m->to, m->number), m->task->send, head);
    atomic_store(sends ? &c->sent : &c->received, m->number + 1);
    m->state = MESSAGE_POSTED;
    ring(comm, m->peer);
}

static bool other_side_posted(struct ncclComm *comm, const struct moving_message *m)
{
    struct channel *c = segment_channel(comm->segment, m->from, m->to);
    uint32_t posts = atomic_load(m->task->kind == TASK_SEND ? &c->received : &c->sent);
    return (int32_t)(posts - m->number) > 0;
}

/* Pieces that the sender has put and the receiver not taken; less than 0: it has taken a head that
 * the sender has not counted yet. */
static int32_t pieces_there(const struct channel *c)
{
    return (int32_t)(atomic_load(&c->put) - atomic_load(&c->taken));
}

/* The place is free for the next piece, or the piece in it was counted. */
static void count_piece(struct ncclComm *comm, struct moving_message *m)
{
    struct channel *c = segment_channel(comm->segment, m->from, m->to);
    atomic_fetch_add(m->task->kind == TASK_SEND ? &c->put : &c->taken, 1);
    ring(comm, m->peer);
}

/* The head is through. Of a message whose rest moves too, it counts as the first piece. */
static void finish_message(struct ncclComm *comm, struct moving_message *m, struct calendar *used)
{
    const struct channel *c = segment_channel(comm->segment, m->from, m->to);
    const struct post *send = &c->send[m->number % 2], *recv = &c->recv[m->number % 2];
    size_t head = smaller(task_bytes(m->task), segment_message_head(comm->segment));
    m->end = settle_message(comm->segment, comm->key, m->from, m->to, m->number,
                            m->task->kind == TASK_SEND, used);
    if (m->task->kind == TASK_RECV)
        memcpy(m->task->recv, segment_message(comm->segment, m->from, m->to, m->number),
               smaller(head, (size_t)send->bytes));
    m->moved = head;
    m->bytes = smaller(smaller((size_t)send->bytes, (size_t)recv->bytes),
                       (size_t)emu_fabric()->move_bytes);
    m->state = m->moved < m->bytes ? MESSAGE_MOVING : MESSAGE_DONE;
    if (m->state == MESSAGE_MOVING)
        count_piece(comm, m);
}

/* One piece after the head, where the place is the caller's turn to use. */
static bool move_piece(struct ncclComm *comm, struct moving_message *m)
{
    const struct channel *c = segment_channel(comm->segment, m->from, m->to);
    char *place = segment_message(comm->segment, m->from, m->to, m->number);
    size_t piece = smaller(m->bytes - m->moved, segment_message_head(comm->segment));
    if (m->task->kind == TASK_SEND ? pieces_there(c) != 0 : pieces_there(c) <= 0)
        return false;
    if (m->task->kind == TASK_SEND)
        memcpy(place, (const char *)m->task->send + m->moved, piece);
    else
        memcpy((char *)m->task->recv + m->moved, place, piece);
    m->moved += piece;
    if (m->moved == m->bytes)
        m->state = MESSAGE_DONE;
    count_piece(comm, m);
    return true;
}

/* One step of one message; returns whether there was one. */
static bool advance(struct ncclComm *comm, struct moving_message *m, struct message_set *l)
{
    if (m->state == MESSAGE_NEW && (m->before == NULL || m->before->state == MESSAGE_DONE)) {
        bool later = m->before != NULL && m->before->end > l->start;
        post_message(comm, m, l, later ? m->before->end : l->start);
        return true;
    }
    if (m->state == MESSAGE_POSTED && other_side_posted(comm, m)) {
        finish_message(comm, m, &l->used);
        return true;
    }
    return m->state == MESSAGE_MOVING && move_piece(comm, m);
}

static void prepare_message(struct ncclComm *comm, struct message_set *l, const struct nccl_task *t)
{
    struct moving_message *m = &l->all[l->count];
    bool sends = t->kind == TASK_SEND;
    m->task = t;
    m->peer = (unsigned)t->root;
    m->from = sends ? (unsigned)comm->rank : m->peer;
    m->to = sends ? m->peer : (unsigned)comm->rank;
    m->number = sends ? comm->sent[m->peer]++ : comm->received[m->peer]++;
    l->sharing[sends][near(comm, m->from, m->to)] += m->peer != (unsigned)comm->rank;
    l->bytes += task_bytes(t);
    for (unsigned j = 0; j < l->count; j++)
        if (l->all[j].peer == m->peer && l->all[j].task->kind == t->kind)
            m->before = &l->all[j];
    l->count++;
}

/* The first message that waits for its peer. */
static const struct moving_message *pending(const struct message_set *l)
{
    for (unsigned i = 0; i < l->count; i++)
        if (l->all[i].state == MESSAGE_POSTED || l->all[i].state == MESSAGE_MOVING)
            return &l->all[i];
    return NULL;
}

/* Sleeps until something of a peer's comes. Returns false when nothing did because the peer is
 * gone; whether it had come before that is for the caller to look. */
static bool wait_for_bell(struct ncclComm *comm, unsigned peer, uint32_t seen)
{
    struct segment_member *self = segment_member(comm->segment, (unsigned)comm->rank);
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

static bool wait_for_message(struct ncclComm *comm, const struct moving_message *m, uint32_t seen)
{
    bool there = wait_for_bell(comm, m->peer, seen);
    if (launch_ended(comm))
        return false;
    if (there || (m->state == MESSAGE_POSTED && other_side_posted(comm, m)))
        return true;
    return peer_lost(comm, m->peer);
}

/* Until all are done. Returns false when a peer cannot come any more. */
static bool exchange(struct ncclComm *comm, struct message_set *l)
{
    struct segment_member *self = segment_member(comm->segment, (unsigned)comm->rank);
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

bool message_run(struct ncclComm *comm, const struct nccl_launch *launch,
                 const struct emu_place *place, uint64_t start, uint64_t *end)
{
    struct message_set l = {.all = emu_alloc(launch->count * sizeof *l.all), .place = place};
    struct emu_held *held;
    bool met;
    for (unsigned i = 0; i < launch->count; i++)
        if (launch->tasks[i].kind == TASK_SEND || launch->tasks[i].kind == TASK_RECV)
            prepare_message(comm, &l, &launch->tasks[i]);
    l.start = start;
    calendar_reset(&l.used, start);
    held = emu_lane_begin(place, start, tuning_channels(&comm->tuning, l.bytes));
    met = exchange(comm, &l);
    for (unsigned i = 0; i < l.count && met; i++)
        if (l.all[i].end > *end)
            *end = l.all[i].end;
    emu_lane_end(held, *end, met ? &l.used : NULL);
    free(l.all);
    return met;
}

/* ---- one-sided ---- */

/* No byte of a put is moved: only the signal after it, when the bytes would be there. */
static void post_signal(struct ncclComm *comm, const struct nccl_task *t,
                        const struct emu_place *place, uint64_t start, uint64_t *end)
{
    unsigned from = (unsigned)comm->rank, to = (unsigned)t->root;
    struct channel *c = segment_channel(comm->segment, from, to);
    uint32_t number = atomic_load(&c->signals);
    uint64_t pair = (uint64_t)from << 32 | to;
    struct calendar busy;
    const struct collective_message m = {
        .start = start,
        .bytes = task_bytes(t),
        .near = near(comm, from, to),
        .from_gpu = segment_member(comm->segment, from)->gpu,
        .to_gpu = segment_member(comm->segment, to)->gpu,
        .sharing = 1,
        .rate_max = tuning_rate(&comm->tuning, COLLECTIVE_ANY_PROTOCOL),
        .key = emu_hash(emu_hash(comm->key, pair), number),
        .from = &busy,
    };
    launch_view(place, start, &busy);
    *end = collective_message(emu_fabric(), &m, true, NULL);
    c->signal_at[number % SEGMENT_SIGNALS] = *end;
    atomic_store(&c->signals, number + 1);
    ring(comm, to);
}

static bool await_signals(struct ncclComm *comm, const struct nccl_task *t, uint64_t start,
                          uint64_t *end)
{
    struct segment_member *self = segment_member(comm->segment, (unsigned)comm->rank);
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
        if (launch_ended(comm))
            return false;
    }
    comm->awaited[t->root] = wanted;
    at = c->signal_at[(wanted - 1) % SEGMENT_SIGNALS];
    *end = at > start ? at : start;
    return true;
}

bool message_one_sided(struct ncclComm *comm, const struct nccl_task *t,
                       const struct emu_place *place, uint64_t start, uint64_t *end)
{
    if (t->kind == TASK_AWAIT)
        return await_signals(comm, t, start, end);
    post_signal(comm, t, place, start, end);
    return true;
}
