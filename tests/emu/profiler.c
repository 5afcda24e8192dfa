/* SPDX-License-Identifier: MIT
 *
 * See profiler.h. Layouts are given as offsets, worked out by hand from the headers that NCCL
 * publishes for plugins, so that a slip in the tracer's declarations does not repeat itself here.
 */
#include "profiler.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "fabric.h"
#include "launch.h"
#include "number.h"

enum { GROUP = 1, COLL = 2, P2P = 4, KERNEL = 64, KERNEL_STOP = 22 };

#define EVENT_BYTES 160
#define ABSENT 0

/* Offsets into an event, by version. */
static const struct event_layout {
    struct {
        unsigned function, send, recv, count, root, type, channels, algo, proto;
    } coll;
    struct {
        unsigned function, buffer, type, count, peer, channels;
    } p2p;
    unsigned kernel_time;
} layouts[] = {
    {{0}, {0}, 0},
    {{48, 56, 64, 72, 80, 84, 104, 106, 107}, {40, 48, 56, 64, 72, ABSENT}, ABSENT},
    {{48, 56, 64, 72, 80, 88, 104, 112, 120}, {40, 48, 56, 64, 72, ABSENT}, ABSENT},
    {{48, 56, 64, 72, 80, 88, 96, 104, 112}, {40, 48, 56, 64, 72, ABSENT}, ABSENT},
    {{32, 40, 48, 56, 64, 72, 80, 88, 96}, {24, 32, 40, 48, 56, 60}, 32},
    {{32, 40, 48, 56, 64, 72, 80, 88, 96}, {24, 32, 40, 48, 56, 60}, 32},
    {{32, 40, 48, 56, 64, 72, 80, 88, 96}, {24, 32, 40, 48, 56, 60}, 32},
};

#define NEWEST ((int)(sizeof layouts / sizeof *layouts) - 1)

struct profiler_table {
    const char *name;
    void (*init)(void);
    int (*start)(void *context, void **event, void *what);
    int (*stop)(void *event);
    int (*record)(void *event, int state, void *args);
    int (*finalize)(void *context);
};

typedef int (*init_v1)(void **, int *);
typedef int (*init_v4)(void **, int *, const char *, uint64_t, int, int, int, void (*)(void));
typedef int (*init_v5)(void **, uint64_t, int *, const char *, int, int, int, void (*)(void));

static const struct profiler_table *table;
static int version;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_plugin(void)
{
    const char *path = secure_getenv("NCCL_PROFILER_PLUGIN");
    const char *newest = secure_getenv("EMU_PROFILER");
    void *library = path != NULL && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    version = newest != NULL ? atoi(newest) : 5;
    if (version > NEWEST)
        version = NEWEST;
    for (; library != NULL && table == NULL && version > 0; version -= table == NULL) {
        char name[32];
        snprintf(name, sizeof name, "ncclProfiler_v%d", version);
        table = dlsym(library, name);
    }
}

uint64_t profiler_hash(const ncclUniqueId *id)
{
    uint64_t h = 5381;
    for (size_t i = 0; i < sizeof id->internal; i++)
        h = ((h << 5) + h) ^ (uint64_t)(int64_t)(signed char)id->internal[i];
    return h;
}

static int nodes_of(struct ncclComm *comm)
{
    int nodes = (int)atomic_load(&comm->nodes); /* of a split one */
    if (nodes > 0)
        return nodes;
    for (unsigned i = 0; i < (unsigned)comm->ranks; i++)
        nodes += segment_node(comm->segment, i) == i;
    return nodes;
}

void profiler_begin(struct ncclComm *comm)
{
    int nodes = nodes_of(comm);
    pthread_once(&once, open_plugin);
    if (table == NULL)
        return;
    if (version < 4)
        ((init_v1)table->init)(&comm->profiler, &comm->profiled);
    else if (version == 4)
        ((init_v4)table->init)(&comm->profiler, &comm->profiled, NULL, comm->hash, nodes,
                               comm->ranks, comm->rank, NULL);
    else
        ((init_v5)table->init)(&comm->profiler, comm->hash, &comm->profiled, NULL, nodes,
                               comm->ranks, comm->rank, NULL);
}

void profiler_end(struct ncclComm *comm)
{
    if (table != NULL && comm->profiler != NULL)
        table->finalize(comm->profiler);
    comm->profiler = NULL;
    comm->profiled = 0;
}

/* ---- events ---- */

struct event_bytes {
    _Alignas(8) char bytes[EVENT_BYTES];
};

static void put(struct event_bytes *e, unsigned at, const void *value, size_t size)
{
    if (at != ABSENT)
        memcpy(e->bytes + at, value, size);
}

#define PUT(_event, _at, _type, _value) put(_event, _at, &(_type){_value}, sizeof(_type))

/* A number up to version 1, a word from version 2 on. */
static void put_word(struct event_bytes *e, unsigned at, int number, const char *word)
{
    if (version == 1)
        PUT(e, at, uint8_t, (uint8_t)number);
    else
        PUT(e, at, const char *, word);
}

static struct event_bytes new_event(int type, const struct ncclComm *comm)
{
    struct event_bytes e = {{0}};
    if (version < 5) {
        memset(e.bytes, 0x5a, 8); /* the type is one byte, and NCCL does not clear the rest */
        e.bytes[0] = (char)type;
    } else {
        memcpy(e.bytes, &(uint64_t){(uint64_t)type}, 8);
    }
    memcpy(e.bytes + 16, &comm->rank, sizeof comm->rank);
    return e;
}

static const struct {
    const char *name;
    int number; /* ncclFunc_t */
} functions[] = {
    [COLLECTIVE_ALLREDUCE] = {"AllReduce", 4},         [COLLECTIVE_REDUCE] = {"Reduce", 1},
    [COLLECTIVE_BROADCAST] = {"Broadcast", 0},         [COLLECTIVE_ALLGATHER] = {"AllGather", 2},
    [COLLECTIVE_REDUCESCATTER] = {"ReduceScatter", 3},
};

static const char *const types[] = {
    "ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",   "ncclInt64",      "ncclUint64",
    "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2",
};

static bool is_small(const struct nccl_task *t)
{
    return t->count * number_size((enum number)t->type) <= emu_fabric()->tree_bytes;
}

/* Where nothing is forced and the fabric does not say what is chosen, numbers that are only
 * plausible. */
static uint8_t channels_of(const struct nccl_task *t)
{
    const struct emu_fabric *f = emu_fabric();
    if (!tuning_is_free(&t->comm->tuning) || f->ll_bytes || f->ll128_bytes)
        return (uint8_t)tuning_channels(&t->comm->tuning, task_bytes(t));
    return is_small(t) ? 2 : 8;
}

/* By their numbers. */
static const char *const algorithms[] = {"TREE", "RING"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};

/* Sets the numbers by which the profiler is told of an operation's algorithm and protocol. */
static void numbers_of(const struct nccl_task *t, int *algorithm, int *protocol)
{
    struct run_method choice = {COLLECTIVE_RING, COLLECTIVE_ANY_PROTOCOL, 0};
    launch_choose(t, &choice);
    *algorithm = (int)choice.algorithm - COLLECTIVE_TREE;
    *protocol = (int)choice.protocol - COLLECTIVE_LL;
    if (choice.protocol == COLLECTIVE_ANY_PROTOCOL)
        *protocol = is_small(t) ? 0 : 2;
}

static void *start_coll(struct ncclComm *comm, const struct nccl_task *t)
{
    const struct event_layout *l = &layouts[version];
    struct event_bytes e = new_event(COLL, comm);
    bool in_bytes = t->op == COLLECTIVE_ALLGATHER || t->op == COLLECTIVE_BROADCAST;
    size_t size = in_bytes ? number_size((enum number)t->type) : 1;
    void *handle = NULL;
    int algorithm, protocol;
    numbers_of(t, &algorithm, &protocol);
    put_word(&e, l->coll.function, functions[t->op].number, functions[t->op].name);
    PUT(&e, l->coll.send, const void *, t->send);
    PUT(&e, l->coll.recv, void *, t->recv);
    PUT(&e, l->coll.count, size_t, t->count * size);
    PUT(&e, l->coll.root, int, t->root);
    put_word(&e, l->coll.type, in_bytes ? ncclInt8 : t->type, types[in_bytes ? 0 : t->type]);
    PUT(&e, l->coll.channels, uint8_t, channels_of(t));
    put_word(&e, l->coll.algo, algorithm, algorithms[algorithm]);
    put_word(&e, l->coll.proto, protocol, protocols[protocol]);
    table->start(comm->profiler, &handle, &e);
    return handle;
}

static void *start_message(struct ncclComm *comm, bool sends, const void *buffer, size_t count,
                           ncclDataType_t type, int peer, uint8_t channels)
{
    const struct event_layout *l = &layouts[version];
    struct event_bytes e = new_event(P2P, comm);
    void *handle = NULL;
    put_word(&e, l->p2p.function, sends ? 6 : 7, sends ? "Send" : "Recv");
    PUT(&e, l->p2p.buffer, const void *, buffer);
    put_word(&e, l->p2p.type, type, types[type]);
    PUT(&e, l->p2p.count, size_t, count);
    PUT(&e, l->p2p.peer, int, peer);
    PUT(&e, l->p2p.channels, uint8_t, channels);
    table->start(comm->profiler, &handle, &e);
    return handle;
}

static void tell_alltoall(struct ncclComm *comm, const struct nccl_task *t)
{
    size_t part = t->count * number_size((enum number)t->type);
    for (int peer = 0; peer < comm->ranks; peer++) {
        const char *send = (const char *)t->send + (size_t)peer * part;
        const char *recv = (const char *)t->recv + (size_t)peer * part;
        table->stop(start_message(comm, true, send, t->count, t->type, peer, 0));
        table->stop(start_message(comm, false, recv, t->count, t->type, peer, 0));
    }
}

static void start_task(struct ncclComm *comm, struct nccl_task *t)
{
    t->event = NULL;
    if (t->kind != TASK_COLLECTIVE)
        t->event =
            start_message(comm, t->kind == TASK_SEND, t->kind == TASK_SEND ? t->send : t->recv,
                          t->count, t->type, t->root, channels_of(t));
    else if (t->op == COLLECTIVE_ALLTOALL)
        tell_alltoall(comm, t);
    else if (comm->ranks > 1)
        t->event = start_coll(comm, t);
}

void profiler_launch(struct nccl_launch *l)
{
    struct ncclComm *comm = l->comm;
    struct event_bytes e = new_event(GROUP, comm);
    void *group = NULL;
    if (table == NULL || !(comm->profiled & (COLL | P2P)))
        return;
    table->start(comm->profiler, &group, &e);
    for (unsigned i = l->count; i-- > 0;)
        start_task(comm, &l->tasks[i]);
    for (unsigned i = 0; i < l->count; i++)
        if (l->tasks[i].event != NULL)
            table->stop(l->tasks[i].event);
    if (group != NULL)
        table->stop(group);
}

static void *launch_main(void *l)
{
    profiler_launch(l);
    return NULL;
}

void profiler_launch_elsewhere(struct nccl_launch *l)
{
    pthread_t thread;
    if (table != NULL && pthread_create(&thread, NULL, launch_main, l) == 0)
        pthread_join(thread, NULL);
}

/* Channels start a little after one another, and end so. */
static void tell_kernel(struct ncclComm *comm, void *parent, uint8_t channel, uint64_t start,
                        uint64_t end)
{
    struct event_bytes e = new_event(KERNEL, comm);
    void *handle = NULL;
    memcpy(e.bytes + 8, &parent, sizeof parent);
    PUT(&e, 24, uint8_t, channel);
    PUT(&e, layouts[version].kernel_time, uint64_t, emu_gpu_ns(comm->device, start + channel));
    table->start(comm->profiler, &handle, &e);
    if (handle == NULL || !end)
        return;
    table->record(handle, KERNEL_STOP, &(uint64_t){emu_gpu_ns(comm->device, end - channel)});
    table->stop(handle);
}

void profiler_kernels(struct nccl_launch *l, uint64_t start, uint64_t end)
{
    if (table == NULL || !(l->comm->profiled & KERNEL))
        return;
    for (unsigned i = 0; i < l->count; i++)
        for (uint8_t c = 0; l->tasks[i].event != NULL && c < channels_of(&l->tasks[i]); c++)
            tell_kernel(l->comm, l->tasks[i].event, c, start, end);
}
