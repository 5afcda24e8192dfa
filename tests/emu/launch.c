/* SPDX-License-Identifier: MIT
 *
 * Runs a communication kernel: it waits for the other members, moves bytes, and learns when it
 * ends.
 *
 * Bytes move through the shared memory, the first ones of each buffer only (see README.md): a rank
 * posts its head; the last one to come does the arithmetic and settles the times; all take theirs.
 */
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "listen.h"
#include "message.h"
#include "profiler.h"
#include "settle.h"

/* Operations whose buffers hold one part a rank. */
static bool parts_sent(int op)
{
    return op == COLLECTIVE_REDUCESCATTER || op == COLLECTIVE_ALLTOALL || op == COLLECTIVE_SCATTER;
}

static bool reduces(int op)
{
    return op == COLLECTIVE_ALLREDUCE || op == COLLECTIVE_REDUCE || op == COLLECTIVE_REDUCESCATTER;
}

/* A piece of each part, which goes through the shared memory at once. */
struct piece {
    size_t offset, bytes; /* whole elements of any type */
};

/* The piece at an offset; nothing where no more moves. */
static struct piece piece_at(const struct ncclComm *comm, const struct nccl_task *t, size_t offset)
{
    size_t most = segment_head(comm->segment), all = task_bytes(t);
    if (parts_sent(t->op))
        most = most / (unsigned)comm->ranks & ~(size_t)15;
    if (offset >= all || (offset && offset >= emu_fabric()->move_bytes))
        return (struct piece){offset, 0};
    return (struct piece){offset, smaller(all - offset, most)};
}

static void post_bytes(struct ncclComm *comm, const struct nccl_task *t, uint64_t number,
                       struct piece piece)
{
    char *post = segment_post(comm->segment, number, (unsigned)comm->rank);
    size_t head = piece.bytes, size = number_size((enum number)t->type);
    unsigned parts = parts_sent(t->op) ? (unsigned)comm->ranks : 1;
    if ((t->op == COLLECTIVE_BROADCAST || t->op == COLLECTIVE_SCATTER) && t->root != comm->rank)
        return;
    for (unsigned i = 0; i < parts; i++)
        memcpy(post + i * head, (const char *)t->send + i * task_bytes(t) + piece.offset, head);
    if (reduces(t->op) && t->redop >= ncclNumOps)
        number_scale(post, parts * head / size, (enum number)t->type,
                     comm->premul[t->redop - ncclNumOps].factor, 1);
}

/* By the last to come: rank after rank onto the first one's bytes. */
static void reduce_bytes(struct ncclComm *comm, const struct nccl_task *t, uint64_t number,
                         struct piece piece)
{
    size_t parts = parts_sent(t->op) ? (size_t)comm->ranks : 1;
    size_t count = parts * piece.bytes / number_size((enum number)t->type);
    bool sums = t->redop == ncclAvg || t->redop >= ncclNumOps;
    char *result = segment_result(comm->segment, number);
    if (!reduces(t->op))
        return;
    memcpy(result, segment_post(comm->segment, number, 0), parts * piece.bytes);
    for (unsigned i = 1; i < (unsigned)comm->ranks; i++)
        number_combine(result, segment_post(comm->segment, number, i), count, (enum number)t->type,
                       sums ? NUMBER_SUM : (enum number_op)t->redop);
    if (t->redop == ncclAvg)
        number_scale(result, count, (enum number)t->type, 1, (unsigned)comm->ranks);
}

static void take_bytes(struct ncclComm *comm, const struct nccl_task *t, uint64_t number,
                       struct piece piece)
{
    struct segment *s = comm->segment;
    size_t head = piece.bytes, mine = (size_t)comm->rank * head;
    char *to = t->recv != NULL ? (char *)t->recv + piece.offset : NULL;
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

void launch_view(const struct emu_place *place, uint64_t start, struct calendar *view)
{
    if (emu_fabric()->contention)
        emu_lane_view(place, start, view);
    else
        calendar_reset(view, start);
}

/* The whole buffer: what all ranks bring or take, where a call counts a part. */
static uint64_t full_bytes(const struct nccl_task *t)
{
    bool all = parts_sent(t->op) || t->op == COLLECTIVE_ALLGATHER || t->op == COLLECTIVE_GATHER;
    return task_bytes(t) * (all ? (unsigned)t->comm->ranks : 1);
}

ncclResult_t launch_choose(const struct nccl_task *t, struct run_method *choice)
{
    struct ncclComm *comm = t->comm;
    unsigned nodes = atomic_load(&comm->nodes);
    if (!nodes) {
        for (unsigned i = 0; i < (unsigned)comm->ranks; i++)
            nodes += segment_node(comm->segment, i) == i;
        atomic_store(&comm->nodes, nodes);
    }
    return tuning_choose(&comm->tuning, (enum collective_op)t->op, (unsigned)comm->ranks, nodes,
                         full_bytes(t), choice);
}

static void post_ask(struct ncclComm *comm, const struct nccl_task *t, uint64_t number,
                     uint64_t start, const struct emu_place *place)
{
    struct ask *ask = segment_ask(comm->segment, number, (unsigned)comm->rank);
    struct run_method choice;
    launch_choose(t, &choice); /* it was accepted when it was called for */
    ask->start = start;
    ask->op = t->op;
    ask->type = (int)t->type;
    ask->redop = !reduces(t->op) ? -1 : t->redop >= ncclNumOps ? ncclNumOps : t->redop;
    ask->root = t->root;
    ask->bytes = full_bytes(t);
    ask->algorithm = (int)choice.algorithm;
    ask->protocol = (int)choice.protocol;
    ask->rate_max = choice.rate_max;
    launch_view(place, start, &ask->busy);
    atomic_store(&ask->came, number + 1);
}

bool launch_ended(void *argument)
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
static void settle(struct ncclComm *comm, const struct nccl_task *t, uint64_t number)
{
    struct arrival_slot *slot = segment_slot(comm->segment, number);
    unsigned who;
    if (settle_collective(comm->segment, comm->key, number, &who) != 0) {
        fprintf(stderr,
                "emu: collective %llu of a communicator: rank %u asks for something else "
                "than rank 0\n",
                (unsigned long long)number, who);
        return;
    }
    reduce_bytes(comm, t, number, piece_at(comm, t, 0));
    atomic_store(&slot->arrived, 0);
    atomic_store(&slot->settled, (uint32_t)(number + 1));
    segment_wake(&slot->settled);
}

/* Returns false when the others cannot come any more. */
static bool meet(struct ncclComm *comm, const struct nccl_task *t, uint64_t number)
{
    struct arrival_slot *slot = segment_slot(comm->segment, number);
    uint32_t seen;
    bool met = true;
    if (atomic_fetch_add(&slot->arrived, 1) + 1 == (unsigned)comm->ranks)
        settle(comm, t, number);
    atomic_store(&comm->waiting, number + 1);
    while (met && (seen = atomic_load(&slot->settled)) != (uint32_t)(number + 1)) {
        segment_sleep(&slot->settled, seen);
        met = !launch_ended(comm) &&
              (atomic_load(&slot->settled) != seen || !peers_gone(comm, number));
    }
    atomic_store(&comm->waiting, 0);
    return met;
}

/* All members of a collective come here as often; the last one that comes reduces a piece, if there
 * is one. Returns false when the others cannot come any more. */
static bool gather(struct ncclComm *comm, const struct nccl_task *t, uint64_t number,
                   const struct piece *piece)
{
    struct arrival_slot *slot = segment_slot(comm->segment, number);
    uint32_t turn = atomic_load(&slot->turn);
    if (atomic_fetch_add(&slot->gathered, 1) + 1 == (unsigned)comm->ranks) {
        if (piece != NULL)
            reduce_bytes(comm, t, number, *piece);
        atomic_store(&slot->gathered, 0);
        atomic_fetch_add(&slot->turn, 1);
        segment_wake(&slot->turn);
    }
    while (atomic_load(&slot->turn) == turn) {
        segment_sleep(&slot->turn, turn);
        for (unsigned i = 0; i < (unsigned)comm->ranks; i++)
            if (atomic_load(&slot->turn) == turn &&
                (launch_ended(comm) || segment_gone(comm->segment, i)))
                return false;
    }
    return true;
}

/* Moves the bytes after the head, piece after piece. A rank puts the next piece only when all
 * others have read the last one. */
static bool move_rest(struct ncclComm *comm, const struct nccl_task *t, uint64_t number)
{
    struct piece piece = piece_at(comm, t, piece_at(comm, t, 0).bytes);
    bool met = true;
    for (; piece.bytes && met; piece = piece_at(comm, t, piece.offset + piece.bytes)) {
        met = gather(comm, t, number, NULL);
        if (!met)
            break;
        post_bytes(comm, t, number, piece);
        met = gather(comm, t, number, &piece);
        if (met)
            take_bytes(comm, t, number, piece);
    }
    return met;
}

static bool run_collective(struct ncclComm *comm, const struct nccl_task *t,
                           const struct emu_place *place, uint64_t start, uint64_t *end)
{
    uint64_t number = comm->collectives++;
    const struct ask *ask = segment_ask(comm->segment, number, (unsigned)comm->rank);
    struct emu_held *held;
    bool met;
    post_bytes(comm, t, number, piece_at(comm, t, 0));
    post_ask(comm, t, number, start, place);
    held = emu_lane_begin(place, start, tuning_channels(&comm->tuning, ask->bytes));
    met = meet(comm, t, number);
    if (met) {
        *end = ask->end;
        take_bytes(comm, t, number, piece_at(comm, t, 0));
        met = move_rest(comm, t, number);
    }
    emu_lane_end(held, *end, met ? &ask->used : NULL);
    return met;
}

/* ---- launches ---- */

static uint64_t issue_launch(void *data)
{
    struct ncclComm *comm = ((struct nccl_launch *)data)->comm;
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
    struct segment_member *m = segment_member(comm->segment, peer);
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

static bool run_tasks(struct ncclComm *comm, const struct nccl_launch *l, struct emu_place *place,
                      uint64_t start, uint64_t *end)
{
    unsigned messages = 0;
    bool met = true;
    *end = start;
    for (unsigned i = 0; i < l->count && met; i++) {
        const struct nccl_task *t = &l->tasks[i];
        if (t->kind == TASK_COLLECTIVE)
            met = run_collective(comm, t, place, *end, end);
        else if (t->kind == TASK_PUT || t->kind == TASK_AWAIT)
            met = message_one_sided(comm, t, place, *end, end);
        else
            messages++;
    }
    if (messages < l->count)
        emu_lane_pass(place); /* no launch waits for messages beside collectives */
    return met && (!messages || message_run(comm, l, place, *end, end));
}

static bool is_answered(const struct nccl_launch *l, const struct nccl_task *t)
{
    for (unsigned i = 0; i < l->count; i++)
        if (l->tasks[i].root == t->root && l->tasks[i].kind != t->kind)
            return true;
    return false;
}

/* Returns whether later work waits for the launch: for collectives, and for messages both ways with
 * each peer, which all their members reach together. A message one way may be awaited long before
 * its sender can send it, so no work waits for it. */
static bool communicates(const void *data)
{
    const struct nccl_launch *l = data;
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
    struct nccl_launch *l = data;
    struct ncclComm *comm = l->comm;
    const struct emu_waiting waiting = {certainly_later, all_idle, comm, NULL};
    uint64_t start = turn->start, end = start;
    bool met;
    emu_set_waiting(&waiting);
    pthread_mutex_lock(&comm->lock);
    while (comm->serving != turn->token)
        pthread_cond_wait(&comm->turn, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
    if (start < comm->last_end)
        start = comm->last_end;
    *turn->begun = start;
    if (l->captured)
        profiler_launch(l);
    met =
        emu_lane_await(turn->place, start, start + emu_fabric()->collective_ns, launch_ended, comm);
    emu_set_waiting(&waiting);
    met = met && !launch_ended(comm) && !atomic_load(&comm->error) &&
          run_tasks(comm, l, turn->place, start, &end);
    if (!met && atomic_load(&comm->revoked)) {
        end = start > comm->revoked_at ? start : comm->revoked_at;
    } else if (!met && atomic_load(&comm->aborted) && !atomic_load(&comm->error)) {
        end = start; /* the kernel leaves, and the device is well */
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
    struct nccl_launch *l = data;
    comm_unref(l->comm);
    free(l->tasks);
    free(l);
}

/* ---- what it is called ---- */

static const char *const type_names[] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                         "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
static const char *const redop_names[] = {"Sum", "Prod", "MinMax", "MinMax", "SumPostDiv"};

/* Returns whether the program forces a tree: only then a launch has the name of NCCL's kernel for
 * trees, as those of the stand-in's own choice go by one name. */
static bool runs_forced_tree(const struct nccl_task *t)
{
    struct run_method choice;
    return t->op == COLLECTIVE_ALLREDUCE && !tuning_is_free(&t->comm->tuning) &&
           launch_choose(t, &choice) == ncclSuccess && choice.algorithm == COLLECTIVE_TREE;
}

/* As NCCL names its kernels; messages of all sorts go by one. */
static void name_launch(const struct nccl_task *t, char *name, size_t size)
{
    static const char *const plain[] = {
        [COLLECTIVE_BROADCAST] = "Broadcast_RING_LL", [COLLECTIVE_ALLGATHER] = "AllGather_RING_LL"};
    static const char *const reducing[] = {[COLLECTIVE_ALLREDUCE] = "AllReduce",
                                           [COLLECTIVE_REDUCE] = "Reduce",
                                           [COLLECTIVE_REDUCESCATTER] = "ReduceScatter"};
    const char *redop = t->redop <= ncclAvg ? redop_names[t->redop] : "PreMulSum";

    if (t->kind == TASK_COLLECTIVE && reduces(t->op))
        snprintf(name, size, "ncclDevKernel_%s_%s_%s_%s_LL(ncclDevKernelArgsStorage<4096ul>)",
                 reducing[t->op], redop, type_names[t->type],
                 runs_forced_tree(t) ? "TREE" : "RING");
    else
        snprintf(name, size, "ncclDevKernel_%s(ncclDevKernelArgsStorage<4096ul>)",
                 t->kind == TASK_COLLECTIVE &&
                         (t->op == COLLECTIVE_BROADCAST || t->op == COLLECTIVE_ALLGATHER)
                     ? plain[t->op]
                     : "SendRecv");
}

static void describe_launch(const void *data, struct emu_description *what)
{
    const struct nccl_launch *l = data;
    const struct tuning *tuning = &l->comm->tuning;
    uint64_t bytes = 0;
    char name[128];
    for (unsigned i = 0; i < l->count; i++)
        bytes += task_bytes(&l->tasks[i]);
    name_launch(&l->tasks[0], name, sizeof name);
    *what = (struct emu_description){.type = EMU_KERNEL,
                                     .name = emu_keep_name(name),
                                     .launch = "cuLaunchKernelEx",
                                     .grid = {tuning_channels(tuning, bytes), 1, 1},
                                     .block = {tuning->threads ? tuning->threads + 32 : 544, 1, 1},
                                     .shared_bytes = 82240};
}

const struct emu_kind launch_kind = {.name = "nccl",
                                     .issue = issue_launch,
                                     .run = run_launch,
                                     .release = release_launch,
                                     .communicates = communicates,
                                     .describe = describe_launch,
                                     .load = EMU_LOAD_COMM};
