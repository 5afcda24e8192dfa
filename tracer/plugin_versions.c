/* SPDX-License-Identifier: MIT
 *
 * NCCL's profiler interface in its versions 1 to 6: what each tells of a communicator and of an
 * operation, and the tables of functions that NCCL looks for in this library.
 */
#include "plugin.h"

#include "abi/nccl_profiler.h"
#include "specter/nccl_names.h"

#include <nccl.h>
#include <string.h>

/* ---- an operation ---- */

static unsigned op_named(const char *name)
{
    return name != NULL ? specter_comm_op_parse(name, strlen(name)) : SPECTER_COMM_OP_COUNT;
}

static enum specter_dtype type_named(const char *name)
{
    static const char *const names[] = {
        "ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
        "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
        "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2",
    };
    for (int i = 0; name != NULL && i < (int)(sizeof names / sizeof *names); i++) {
        if (strcmp(name, names[i]) == 0)
            return specter_dtype_from_nccl(i);
    }
    return SPECTER_DTYPE_UNKNOWN;
}

/* ncclFunc_t, and the constants after NCCL's words for algorithms and protocols (device.h). */
static unsigned op_numbered(unsigned number)
{
    static const uint8_t ops[] = {SPECTER_BROADCAST,     SPECTER_REDUCE,    SPECTER_ALLGATHER,
                                  SPECTER_REDUCESCATTER, SPECTER_ALLREDUCE, SPECTER_COMM_OP_COUNT,
                                  SPECTER_SEND,          SPECTER_RECV};
    return number < sizeof ops ? ops[number] : SPECTER_COMM_OP_COUNT;
}

static const char *algo_numbered(unsigned algo)
{
#define X(id, name, setting) #id,
    static const char *const names[] = {SPECTER_NCCL_ALGOS(X)};
    return algo < sizeof names / sizeof *names ? names[algo] : NULL;
}

static const char *proto_numbered(unsigned proto)
{
    static const char *const names[] = {SPECTER_NCCL_PROTOS(X)};
#undef X
    return proto < sizeof names / sizeof *names ? names[proto] : NULL;
}

/* Versions 2 on use words. */
#define WHAT_COLL(_c)                                                                         \
    (struct plugin_op)                                                                        \
    {                                                                                         \
        .op = op_named((_c)->function), .count = (_c)->count, .type = type_named((_c)->type), \
        .send = (_c)->send, .recv = (_c)->recv, .peer = (_c)->root, .algo = (_c)->algo,       \
        .proto = (_c)->proto                                                                  \
    }
#define WHAT_P2P(_p)                                                                          \
    (struct plugin_op)                                                                        \
    {                                                                                         \
        .op = op_named((_p)->function), .count = (_p)->count, .type = type_named((_p)->type), \
        .send = (_p)->buffer, .peer = (_p)->peer                                              \
    }

static struct plugin_op coll_v1(const struct profiler_event *what)
{
    const struct profiler_coll_v1 *c = &what->coll_v1;
    return (struct plugin_op){.op = op_numbered(c->function),
                              .count = c->count,
                              .type = specter_dtype_from_nccl(c->type),
                              .send = c->send,
                              .recv = c->recv,
                              .peer = c->root,
                              .algo = algo_numbered(c->algo),
                              .proto = proto_numbered(c->proto)};
}

static struct plugin_op p2p_v1(const struct profiler_event *what)
{
    const struct profiler_p2p_v1 *p = &what->p2p_v1;
    return (struct plugin_op){.op = op_numbered(p->function),
                              .count = p->count,
                              .type = specter_dtype_from_nccl(p->type),
                              .send = p->buffer,
                              .peer = p->peer};
}

static struct plugin_op coll_v2(const struct profiler_event *what)
{
    return WHAT_COLL(&what->coll_v2);
}

static struct plugin_op coll_v3(const struct profiler_event *what)
{
    return WHAT_COLL(&what->coll_v3);
}

static struct plugin_op p2p_v2(const struct profiler_event *what)
{
    return WHAT_P2P(&what->p2p_v2);
}

static struct plugin_op coll_v4(const struct profiler_event *what)
{
    struct plugin_op w = WHAT_COLL(&what->coll_v4);
    w.channels = what->coll_v4.channels;
    return w;
}

static struct plugin_op p2p_v4(const struct profiler_event *what)
{
    struct plugin_op w = WHAT_P2P(&what->p2p_v4);
    w.channels = what->p2p_v4.channels;
    return w;
}

typedef struct plugin_op reader(const struct profiler_event *what);

static int start(void *context, void **event, const struct profiler_event *what, reader *coll,
                 reader *p2p)
{
    struct plugin_op w;
    *event = PLUGIN_OTHER;
    if (what->head.type != PROFILER_COLL && what->head.type != PROFILER_P2P)
        return ncclSuccess;
    w = what->head.type == PROFILER_COLL ? coll(what) : p2p(what);
    w.rank = what->head.rank;
    *event = plugin_op_start(context, &w);
    return ncclSuccess;
}

static int start_v1(void *context, void **event, struct profiler_event *what)
{
    return start(context, event, what, coll_v1, p2p_v1);
}

static int start_v2(void *context, void **event, struct profiler_event *what)
{
    return start(context, event, what, coll_v2, p2p_v2);
}

static int start_v3(void *context, void **event, struct profiler_event *what)
{
    return start(context, event, what, coll_v3, p2p_v2);
}

static int start_v4(void *context, void **event, struct profiler_event *what)
{
    if (what->head.type == PROFILER_KERNEL) {
        *event = plugin_kernel_start(what->head.parent, what->kernel_v4.time_ns);
        return ncclSuccess;
    }
    return start(context, event, what, coll_v4, p2p_v4);
}

/* From version 5 on the type is a word, of which version 4 has the low byte. */
static int start_v5(void *context, void **event, struct profiler_event *what)
{
    uint64_t type;
    memcpy(&type, what, sizeof type);
    if (type > UINT8_MAX) {
        *event = PLUGIN_OTHER;
        return ncclSuccess;
    }
    return start_v4(context, event, what);
}

/* ---- the tables that NCCL looks for ---- */

/* Up to version 3 kernels tell no times, so they are not asked for. */
static int init_v1(void **context, int *mask)
{
    bool wanted = plugin_begin(context, &(struct plugin_comm){.rank = -1});
    *mask = wanted ? PROFILER_COLL | PROFILER_P2P : 0;
    return ncclSuccess;
}

static int init_v4(void **context, int *mask, const char *name, uint64_t hash, int nodes, int ranks,
                   int rank, profiler_log log)
{
    bool wanted = plugin_begin(context, &(struct plugin_comm){hash, nodes, ranks, rank});
    (void)name;
    (void)log;
    *mask = wanted ? PROFILER_COLL | PROFILER_P2P | PROFILER_KERNEL : 0;
    return ncclSuccess;
}

static int init_v5(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks,
                   int rank, profiler_log log)
{
    return init_v4(context, mask, name, hash, nodes, ranks, rank, log);
}

static int stop(void *event)
{
    plugin_op_stop(event);
    return ncclSuccess;
}

static int record_nothing(void *event, int state, union profiler_state *args)
{
    (void)event;
    (void)state;
    (void)args;
    return ncclSuccess;
}

static int record(void *event, int state, union profiler_state *args)
{
    if (state == PROFILER_KERNEL_STOP && args != NULL)
        plugin_kernel_stop(event, args->kernel_time_ns);
    return ncclSuccess;
}

static int finalize(void *context)
{
    plugin_end(context);
    return ncclSuccess;
}

#define NAME "specter"
#define EXPORT(_type, _version)                                                                \
    extern const struct _type ncclProfiler_v##_version __attribute__((visibility("default"))); \
    const struct _type ncclProfiler_v##_version

EXPORT(profiler_v1, 1) = {NAME, init_v1, start_v1, stop, record_nothing, finalize};
EXPORT(profiler_v1, 2) = {NAME, init_v1, start_v2, stop, record_nothing, finalize};
EXPORT(profiler_v1, 3) = {NAME, init_v1, start_v3, stop, record_nothing, finalize};
EXPORT(profiler_v4, 4) = {NAME, init_v4, start_v4, stop, record, finalize};
EXPORT(profiler_v5, 5) = {NAME, init_v5, start_v5, stop, record, finalize};
EXPORT(profiler_v5, 6) = {NAME, init_v5, start_v5, stop, record, finalize};
