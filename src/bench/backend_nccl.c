/* SPDX-License-Identifier: MIT
 *
 * NCCL, and libraries with its ABI: RCCL, ncclx.
 */
#include "base/arena.h"
#include "base/now.h"
#include "bench/backend.h"
#include "bench/gpu.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIQUE_ID 128 /* NCCL_UNIQUE_ID_BYTES */
#define LOOKS 4       /* at what the device has ended, in the time that another rank may take */

typedef struct {
    char bytes[UNIQUE_ID];
} unique_id;

enum { SUCCESS = 0, INVALID_ARGUMENT = 4, IN_PROGRESS = 7 };

/* X(function, type, parameters), behind "nccl". */
#define CALLS(X)                                                                    \
    X(GetVersion, int, (int *))                                                     \
    X(GetUniqueId, int, (unique_id *))                                              \
    X(CommInitRank, int, (void **, int, unique_id, int))                            \
    X(CommDestroy, int, (void *))                                                   \
    X(CommAbort, int, (void *))                                                     \
    X(CommGetAsyncError, int, (void *, int *))                                      \
    X(GetErrorString, const char *, (int))                                          \
    X(AllReduce, int, (const void *, void *, size_t, int, int, void *, void *))     \
    X(Broadcast, int, (const void *, void *, size_t, int, int, void *, void *))     \
    X(Reduce, int, (const void *, void *, size_t, int, int, int, void *, void *))   \
    X(AllGather, int, (const void *, void *, size_t, int, void *, void *))          \
    X(ReduceScatter, int, (const void *, void *, size_t, int, int, void *, void *)) \
    X(Send, int, (const void *, size_t, int, int, void *, void *))                  \
    X(Recv, int, (void *, size_t, int, int, void *, void *))                        \
    X(GroupStart, int, (void))                                                      \
    X(GroupEnd, int, (void))

struct nccl_functions {
#define X(name, type, params) type(*name) params;
    CALLS(X)
#undef X
};

static const struct bench_symbol symbols[] = {
#define X(name, type, params) {#name, offsetof(struct nccl_functions, name)},
    CALLS(X)
#undef X
};

/* ncclConfig_t as far as NCCL 2.17 had it: the library takes what lies behind from its defaults. */
struct nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking, cga, min_ctas, max_ctas;
    const char *net;
    int split_share;
};

#define CONFIG_MAGIC 0xcafebeef
#define CONFIG_VERSION 21800
#define CONFIG_UNSET INT_MIN

/* Libraries older than NCCL 2.14 lack it. */
struct config_calls {
    int (*CommInitRankConfig)(void **, int, unique_id, int, struct nccl_config *);
};

static const struct bench_symbol config_symbols[] = {{"CommInitRankConfig", 0}};

struct bench_comm {
    struct nccl_functions nccl;
    struct config_calls config;
    struct bench_gpu gpu;
    struct bench_ranks *ranks; /* borrowed, as is */
    struct bench_calls *calls;
    void *comm;
    int size, member;
    char library[64];
    void **marks; /* owned */
    size_t nmarks, cap_marks;
    double call_s, timeout_s;
    /* Of wait(): its begin; when marks were last counted, and when one was last seen to end. */
    double waits_since, looked, ended;
    size_t over; /* marks that had ended */
};

/* ---- opening ---- */

static int failed(const struct bench_comm *c, const char *what, int error, struct err *e)
{
    return err_set(e, ERR_INPUT, "%s: %s (error %d)", what, c->nccl.GetErrorString(error), error);
}

/* A library with this interface. */
struct family {
    const char *word;     /* in its file names */
    const char *name;     /* for provenance */
    const char *usual[5]; /* file names that its backend opens; ends with NULL */
    const char *also;     /* its builds under another name, for the message that it is not here */
};

enum { NCCLX, RCCL, NCCL, FAMILIES }; /* "ncclx" before "nccl", which is in it */

static const struct family families[FAMILIES] = {
    [NCCLX] = {"ncclx",
               "NCCLX",
               {"libncclx.so.2", "libncclx.so"},
               ", also one that is named libnccl.so.2"},
    [RCCL] = {"rccl", "RCCL", {"librccl.so.1", "librccl.so"}, ""},
    [NCCL] = {"nccl", "NCCL", {"libnccl.so.2", "librccl.so.1", "librccl.so"}, ""},
};

static int open_library(struct bench_comm *c, const struct family *asked, const char *path,
                        struct err *e)
{
    const char *const given[] = {path, NULL};
    const struct family *is = asked;
    const char *file, *slash;
    void *library = bench_lib_open(path != NULL ? given : asked->usual, &file, e);
    int version = 0;
    if (library == NULL && path == NULL && asked != &families[NCCL])
        return err_set(e, ERR_INPUT,
                       "no %s here: name its file with --lib%s, or try --backend nccl",
                       asked->usual[0], asked->also);
    if (library == NULL ||
        bench_lib_bind(library, "nccl", symbols, sizeof symbols / sizeof *symbols, &c->nccl, e) < 0)
        return -1;
    bench_lib_bind(library, "nccl", config_symbols, 1, &c->config, NULL);
    c->nccl.GetVersion(&version);
    /* Builds of NCCLX are also named as NCCL's are, so that only the default, NCCL, goes by the
     * file's name. */
    slash = strrchr(file, '/');
    for (int i = 0; i < FAMILIES && asked == &families[NCCL]; i++) {
        is = &families[i];
        if (strstr(slash != NULL ? slash + 1 : file, is->word) != NULL)
            break;
    }
    snprintf(c->library, sizeof c->library, "%s %d.%d.%d", is->name, version / 10000,
             version / 100 % 100, version % 100);
    return 0;
}

/* Returns whether the device has ended none of the calls that it waits for, for so long as another
 * rank may take. Marks are behind calls, and while they are waited for none is put anew. */
static bool is_blocked(struct bench_comm *c)
{
    size_t over = 0;
    if (now_s() - c->looked < c->timeout_s / LOOKS)
        return false;
    c->looked = now_s();
    for (size_t i = 0; i < c->nmarks; i++)
        over += c->marks[i] != NULL && bench_gpu_event_is_over(&c->gpu, c->marks[i]);
    if (over != c->over)
        c->ended = c->looked;
    c->over = over;
    return c->looked - c->ended > c->timeout_s;
}

static int alive(void *arg, struct err *e)
{
    struct bench_comm *c = arg;
    int state = SUCCESS;
    if (c->comm != NULL && c->nccl.CommGetAsyncError(c->comm, &state) == SUCCESS &&
        state != SUCCESS && state != IN_PROGRESS)
        return failed(c, "the communicator", state, e);
    if (c->call_s > 0 && now_s() - c->waits_since > c->call_s)
        return err_set(e, ERR_INPUT, "calls did not end within %g s", c->call_s);
    if (c->call_s <= 0 && is_blocked(c))
        return bench_ranks_blocked(c->ranks, e);
    return bench_ranks_check(c->ranks, e);
}

/* The first member's id, by rank 0 to all. */
static int exchange_id(struct bench_comm *c, const struct bench_members *m, unique_id *id,
                       struct err *e)
{
    static const unique_id none;
    unique_id mine = none, *ids = array_new((size_t)m->world, sizeof *ids);
    int error = m->member == 0 ? c->nccl.GetUniqueId(&mine) : SUCCESS;
    int status = error != SUCCESS ? failed(c, "a communicator's id", error, e) : 0;
    status = bench_ranks_agree(m->ranks, status, e);
    if (status == 0)
        status = bench_ranks_gather(m->ranks, &mine, sizeof mine, ids, e);
    for (int i = 0; status == 0 && i < m->world; i++) {
        if (memcmp(&ids[i], &none, sizeof none) != 0)
            *id = ids[i];
    }
    free(ids);
    return status;
}

/* NCCL 2.17 and later obey where they are told how many channels to use. */
static int init_comm(struct bench_comm *c, const struct bench_members *m, unique_id id,
                     struct err *e)
{
    struct nccl_config config = {.size = sizeof config,
                                 .magic = CONFIG_MAGIC,
                                 .version = CONFIG_VERSION,
                                 .blocking = CONFIG_UNSET,
                                 .cga = CONFIG_UNSET,
                                 .min_ctas = m->channels,
                                 .max_ctas = m->channels,
                                 .split_share = CONFIG_UNSET};
    int error = SUCCESS;
    if (m->channels > 0 && c->config.CommInitRankConfig == NULL)
        return err_set(e, ERR_INPUT, "%s cannot be told how many channels to use", c->library);
    bench_calls_begin(c->calls, "ncclCommInitRank");
    if (m->member >= 0 && m->channels > 0)
        error = c->config.CommInitRankConfig(&c->comm, m->size, id, m->member, &config);
    else if (m->member >= 0)
        error = c->nccl.CommInitRank(&c->comm, m->size, id, m->member);
    bench_calls_end(c->calls);
    return error == SUCCESS ? 0 : failed(c, "a communicator", error, e);
}

static void end_comm(struct bench_comm *c, bool abort)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->nmarks; i++)
        bench_gpu_forget_event(&c->gpu, c->marks[i]);
    free(c->marks);
    if (c->comm != NULL && !abort && !bench_ranks_failed(c->ranks)) {
        bench_calls_begin(c->calls, "ncclCommDestroy");
        c->nccl.CommDestroy(c->comm);
        bench_calls_end(c->calls);
    } else if (c->comm != NULL)
        c->nccl.CommAbort(c->comm);
    bench_gpu_close(&c->gpu);
    free(c);
}

static void close_comm(struct bench_comm *c)
{
    end_comm(c, false);
}

static void abandon(struct bench_comm *c)
{
    end_comm(c, true);
}

/* Members and others go through the same exchanges. */
static int open_comm(const struct family *asked, const struct bench_members *m,
                     struct bench_comm **comm, struct err *e)
{
    struct bench_comm *c = array_new(1, sizeof *c);
    unique_id id = {{0}};
    int status;
    c->ranks = m->ranks;
    c->calls = m->calls;
    c->size = m->size;
    c->member = m->member;
    c->call_s = m->call_s;
    c->timeout_s = m->timeout_s;
    status = bench_gpu_open(&c->gpu, m->device, e) < 0 ? -1 : open_library(c, asked, m->lib, e);
    status = bench_ranks_agree(m->ranks, status, e);
    if (status == 0)
        status = exchange_id(c, m, &id, e);
    if (status == 0) {
        status = init_comm(c, m, id, e);
        /* The others may wait for this rank in theirs: they learn of its failure at once. A setting
         * under trial is refused on all ranks. */
        status = m->trial ? bench_ranks_agree(m->ranks, status, e)
                          : bench_ranks_agree_or_fail(m->ranks, status, e);
    }
    if (status < 0 || m->member < 0) {
        close_comm(c);
        c = NULL;
    }
    *comm = c;
    return status;
}

static int open_ncclx(const struct bench_members *m, struct bench_comm **comm, struct err *e)
{
    return open_comm(&families[NCCLX], m, comm, e);
}

static int open_rccl(const struct bench_members *m, struct bench_comm **comm, struct err *e)
{
    return open_comm(&families[RCCL], m, comm, e);
}

static int open_nccl(const struct bench_members *m, struct bench_comm **comm, struct err *e)
{
    return open_comm(&families[NCCL], m, comm, e);
}

static void identify(const struct bench_comm *c, struct bench_identity *out)
{
    *out = (struct bench_identity){c->library, c->gpu.name, c->gpu.driver, c->gpu.runtime};
}

/* ---- memory ---- */

static int alloc(struct bench_comm *c, size_t bytes, void **buffer, struct err *e)
{
    int status;
    bench_calls_begin(c->calls, "cudaMalloc");
    status = bench_gpu_alloc(&c->gpu, bytes, buffer, e);
    bench_calls_end(c->calls);
    return status;
}

/* cudaFree waits for all kernels, and one that waits for a rank that is gone never ends: then the
 * end of the process frees the memory. */
static void release(struct bench_comm *c, void *buffer)
{
    if (!bench_ranks_failed(c->ranks))
        bench_gpu_release(&c->gpu, buffer);
}

static int free_bytes(struct bench_comm *c, size_t *bytes, struct err *e)
{
    return bench_gpu_free_bytes(&c->gpu, bytes, e);
}

static int put(struct bench_comm *c, void *to, const void *from, size_t bytes, struct err *e)
{
    int status;
    bench_calls_begin(c->calls, "cudaMemcpy");
    status = bench_gpu_put(&c->gpu, to, from, bytes, e);
    bench_calls_end(c->calls);
    return status;
}

static int get(struct bench_comm *c, void *to, const void *from, size_t bytes, struct err *e)
{
    int status;
    bench_calls_begin(c->calls, "cudaMemcpy");
    status = bench_gpu_get(&c->gpu, to, from, bytes, e);
    bench_calls_end(c->calls);
    return status;
}

static int set(struct bench_comm *c, void *to, int value, size_t bytes, struct err *e)
{
    int status;
    bench_calls_begin(c->calls, "cudaMemsetAsync");
    status = bench_gpu_set(&c->gpu, to, value, bytes, e);
    bench_calls_end(c->calls);
    return status;
}

static int copy(struct bench_comm *c, void *to, const void *from, size_t bytes, struct err *e)
{
    int status;
    bench_calls_begin(c->calls, "cudaMemcpyAsync");
    status = bench_gpu_copy(&c->gpu, to, from, bytes, e);
    bench_calls_end(c->calls);
    return status;
}

/* ---- calls ---- */

/* The number of ncclDataType_t; -1: none. */
static int nccl_type(enum specter_dtype type)
{
    static const int types[] = {
#define X(id, name, bytes, nccl, cuda) nccl,
        SPECTER_DTYPES(X)
#undef X
    };
    return type < SPECTER_DTYPE_COUNT ? types[type] : -1;
}

static int supports(enum specter_comm_op op, enum specter_dtype type, enum specter_redop redop,
                    struct err *e)
{
    (void)op;
    (void)redop;
    if (nccl_type(type) < 0)
        return err_set(e, ERR_USAGE, "NCCL has no type %s", specter_dtype_name(type));
    return 0;
}

/* Of messages between ranks: part i of what is sent goes to rank to(i), and so on. */
static int to_all(struct bench_comm *c, const struct bench_call *k, int type, size_t part)
{
    const char *send = k->send;
    char *receive = k->receive;
    int error = c->nccl.GroupStart(), ended;
    for (int i = 0; i < c->size && error == SUCCESS; i++) {
        error = c->nccl.Send(send + (size_t)i * part, k->count, type, i, c->comm, c->gpu.stream);
        if (error == SUCCESS)
            error =
                c->nccl.Recv(receive + (size_t)i * part, k->count, type, i, c->comm, c->gpu.stream);
    }
    ended = c->nccl.GroupEnd();
    return error != SUCCESS ? error : ended;
}

/* Gather and Scatter, of which the root has all parts and the others one. */
static int with_root(struct bench_comm *c, const struct bench_call *k, int type, size_t part,
                     bool gather)
{
    char *whole = gather ? k->receive : (char *)(uintptr_t)k->send;
    int error = c->nccl.GroupStart(), ended;
    for (int i = 0; c->member == k->root && i < c->size && error == SUCCESS; i++)
        error =
            gather
                ? c->nccl.Recv(whole + (size_t)i * part, k->count, type, i, c->comm, c->gpu.stream)
                : c->nccl.Send(whole + (size_t)i * part, k->count, type, i, c->comm, c->gpu.stream);
    if (error == SUCCESS)
        error = gather ? c->nccl.Send(k->send, k->count, type, k->root, c->comm, c->gpu.stream)
                       : c->nccl.Recv(k->receive, k->count, type, k->root, c->comm, c->gpu.stream);
    ended = c->nccl.GroupEnd();
    return error != SUCCESS ? error : ended;
}

static int around(struct bench_comm *c, const struct bench_call *k, int type)
{
    int next = (c->member + 1) % c->size, before = (c->member + c->size - 1) % c->size;
    int error = c->nccl.GroupStart(), ended;
    if (error == SUCCESS)
        error = c->nccl.Send(k->send, k->count, type, next, c->comm, c->gpu.stream);
    if (error == SUCCESS)
        error = c->nccl.Recv(k->receive, k->count, type, before, c->comm, c->gpu.stream);
    ended = c->nccl.GroupEnd();
    return error != SUCCESS ? error : ended;
}

static int dispatch(struct bench_comm *c, const struct bench_call *k, int type, int redop)
{
    const struct nccl_functions *nccl = &c->nccl;
    size_t part = (size_t)(k->count * specter_dtype_bits(k->dtype) / 8);
    void *stream = c->gpu.stream;
    switch (k->op) {
    case SPECTER_ALLREDUCE:
        return nccl->AllReduce(k->send, k->receive, k->count, type, redop, c->comm, stream);
    case SPECTER_REDUCE:
        return nccl->Reduce(k->send, k->receive, k->count, type, redop, k->root, c->comm, stream);
    case SPECTER_REDUCESCATTER:
        return nccl->ReduceScatter(k->send, k->receive, k->count, type, redop, c->comm, stream);
    case SPECTER_BROADCAST:
        return nccl->Broadcast(k->send, k->receive, k->count, type, k->root, c->comm, stream);
    case SPECTER_ALLGATHER:
        return nccl->AllGather(k->send, k->receive, k->count, type, c->comm, stream);
    case SPECTER_ALLTOALL:
        return to_all(c, k, type, part);
    case SPECTER_GATHER:
    case SPECTER_SCATTER:
        return with_root(c, k, type, part, k->op == SPECTER_GATHER);
    case SPECTER_SEND:
        return around(c, k, type);
    default:
        return INVALID_ARGUMENT;
    }
}

static int call(struct bench_comm *c, const struct bench_call *k, struct err *e)
{
    static const int redops[] = {
#define X(id, name, nccl) nccl,
        SPECTER_REDOPS(X)
#undef X
    };
    int error;
    bench_calls_begin(c->calls, specter_comm_op_name(k->op));
    error =
        dispatch(c, k, nccl_type(k->dtype), k->redop < SPECTER_REDOP_COUNT ? redops[k->redop] : -1);
    bench_calls_end(c->calls);
    return error == SUCCESS ? 0 : failed(c, specter_comm_op_name(k->op), error, e);
}

static int messages(struct bench_comm *c, const struct bench_message *list, size_t n, struct err *e)
{
    int type = nccl_type(SPECTER_UINT8), error, ended;
    bench_calls_begin(c->calls, "a message");
    error = c->nccl.GroupStart();
    for (size_t i = 0; i < n && error == SUCCESS; i++) {
        const struct bench_message *m = &list[i];
        error = m->sends ? c->nccl.Send(m->buffer, m->bytes, type, m->peer, c->comm, c->gpu.stream)
                         : c->nccl.Recv(m->buffer, m->bytes, type, m->peer, c->comm, c->gpu.stream);
    }
    ended = c->nccl.GroupEnd();
    bench_calls_end(c->calls);
    error = error != SUCCESS ? error : ended;
    return error == SUCCESS ? 0 : failed(c, "a message", error, e);
}

/* ---- time ---- */

static int mark(struct bench_comm *c, size_t i, struct err *e)
{
    int status;
    if (i >= c->nmarks) {
        ARRAY_GROW(c->marks, c->cap_marks, i + 1);
        c->nmarks = i + 1;
    }
    bench_calls_begin(c->calls, "cudaEventRecord");
    status = bench_gpu_event(&c->gpu, &c->marks[i], e);
    bench_calls_end(c->calls);
    return status;
}

static double between(struct bench_comm *c, size_t from, size_t to)
{
    return bench_gpu_us(&c->gpu, c->marks[from], c->marks[to]);
}

static int64_t host_ns(const struct bench_comm *c)
{
    return bench_gpu_host_ns(&c->gpu);
}

static struct bench_gpu *gpu_of(struct bench_comm *c)
{
    return &c->gpu;
}

static void take_a_pause(const struct bench_comm *c, double seconds)
{
    bench_gpu_pause(&c->gpu, seconds);
}

static int wait_all(struct bench_comm *c, struct err *e)
{
    c->waits_since = c->looked = c->ended = now_s();
    c->over = 0;
    return bench_gpu_wait(&c->gpu, alive, c, e);
}

#define BACKEND(_name, _open)                                                                      \
    {                                                                                              \
        .name = _name, .enqueues = true, .supports = supports, .open = _open, .close = close_comm, \
        .abandon = abandon, .identify = identify, .alloc = alloc, .release = release,              \
        .free_bytes = free_bytes, .put = put, .get = get, .set = set, .copy = copy, .call = call,  \
        .messages = messages, .mark = mark, .us = between, .host_ns = host_ns,                     \
        .pause = take_a_pause, .gpu = gpu_of, .wait = wait_all,                                    \
    }

const struct bench_backend bench_backends_nccl[BENCH_BACKENDS_NCCL] = {
    BACKEND("nccl", open_nccl),
    BACKEND("rccl", open_rccl),
    BACKEND("ncclx", open_ncclx),
};
