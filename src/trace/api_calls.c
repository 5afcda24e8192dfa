/* SPDX-License-Identifier: MIT
 *
 * The rules by which calls wait are those of "API synchronization behavior" of the CUDA Runtime
 * API, "Implicit Synchronization" of the CUDA Programming Guide, and HIP's documentation of the
 * same functions.
 */
#include "trace/api_calls.h"

#include "base/idmap.h"
#include "base/kernel_class.h"
#include "base/order.h"
#include "trace/run.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The position of a row's text in a name. */
enum part { WHOLE, BEGINS, CONTAINS };

/* The first row that fits counts. */
static const struct {
    const char *text;
    enum part part;
    enum api_call call;
} calls[] = {
    {"StreamSynchronize", WHOLE, API_SYNC_STREAM},
    {"DeviceSynchronize", WHOLE, API_SYNC_DEVICE},
    {"CtxSynchronize", WHOLE, API_SYNC_DEVICE},
    {"ThreadSynchronize", WHOLE, API_SYNC_DEVICE},
    {"EventSynchronize", WHOLE, API_SYNC_EVENT},
    {"StreamWaitEvent", WHOLE, API_WAIT},
    {"EventRecord", BEGINS, API_RECORD}, /* EventRecordWithFlags */
    /* Those that allocate in the order of a stream (MallocAsync, FreeAsync) are other calls. */
    {"Malloc", WHOLE, API_ALLOC},
    {"MallocPitch", WHOLE, API_ALLOC},
    {"Malloc3D", WHOLE, API_ALLOC},
    {"MallocArray", WHOLE, API_ALLOC},
    {"Malloc3DArray", WHOLE, API_ALLOC},
    {"MallocManaged", WHOLE, API_ALLOC},
    {"MallocHost", WHOLE, API_ALLOC},
    {"HostAlloc", WHOLE, API_ALLOC},
    {"HostMalloc", WHOLE, API_ALLOC},
    {"ExtMallocWithFlags", WHOLE, API_ALLOC},
    {"HostRegister", WHOLE, API_ALLOC},
    {"MemAlloc", WHOLE, API_ALLOC},
    {"MemAllocPitch", WHOLE, API_ALLOC},
    {"MemAllocHost", WHOLE, API_ALLOC},
    {"MemAllocManaged", WHOLE, API_ALLOC},
    {"MemHostAlloc", WHOLE, API_ALLOC},
    {"MemHostRegister", WHOLE, API_ALLOC},
    {"Free", WHOLE, API_FREE},
    {"FreeArray", WHOLE, API_FREE},
    {"FreeHost", WHOLE, API_FREE},
    {"HostFree", WHOLE, API_FREE},
    {"HostUnregister", WHOLE, API_FREE},
    {"MemFree", WHOLE, API_FREE},
    {"MemFreeHost", WHOLE, API_FREE},
    {"MemHostUnregister", WHOLE, API_FREE},
    {"MemUnmap", WHOLE, API_FREE},
    {"MemcpyPeer", BEGINS, API_LAUNCH}, /* between devices: the host does not wait */
    {"Memcpy3DPeer", BEGINS, API_LAUNCH},
    {"MemcpyWithStream", WHOLE, API_COPY}, /* of HIP: a copy and a synchronisation */
    {"Memcpy", BEGINS, API_COPY},
    {"Memset", BEGINS, API_LAUNCH},
    {"GraphLaunch", BEGINS, API_GRAPH},
    {"Launch", CONTAINS, API_LAUNCH},
    /* Level Zero and Unified Runtime, under which Intel's GPUs run */
    {"zeCommandListHostSynchronize", WHOLE, API_SYNC_STREAM},
    {"zeCommandQueueSynchronize", WHOLE, API_SYNC_STREAM},
    {"urQueueFinish", WHOLE, API_SYNC_STREAM},
    {"zeEventHostSynchronize", WHOLE, API_SYNC_EVENT},
    {"zeFenceHostSynchronize", WHOLE, API_SYNC_EVENT},
    {"urEventWait", WHOLE, API_SYNC_EVENT},
    {"zeCommandListAppend", BEGINS, API_LAUNCH},
    {"urEnqueue", BEGINS, API_LAUNCH},
};

/* A part of a name; not terminated. */
struct part_of {
    const char *p;
    size_t len;
};

static bool begins(struct part_of name, const char *with)
{
    size_t len = strlen(with);
    return name.len >= len && memcmp(name.p, with, len) == 0;
}

static bool ends(struct part_of name, const char *with)
{
    size_t len = strlen(with);
    return name.len >= len && memcmp(name.p + name.len - len, with, len) == 0;
}

static bool contains(struct part_of name, const char *what)
{
    return memmem(name.p, name.len, what, strlen(what)) != NULL;
}

/* Returns the length of a version at the end of a name, as "_v3020" is; 0 without one. */
static size_t version_len(struct part_of name)
{
    size_t at = name.len;
    while (at > 0 && name.p[at - 1] >= '0' && name.p[at - 1] <= '9')
        at--;
    return at < name.len && at > 2 && memcmp(name.p + at - 2, "_v", 2) == 0 ? name.len - at + 2 : 0;
}

/* The name without what differs between libraries and versions. */
static struct part_of core_of(struct part_of name)
{
    static const char *const front[] = {"cuda", "cu", "hip"};
    static const char *const behind[] = {"_ptsz", "_ptds", "_spt"};
    size_t cut = 0;
    for (size_t i = 0; i < sizeof front / sizeof *front && cut == 0; i++)
        cut = begins(name, front[i]) ? strlen(front[i]) : 0;
    name.p += cut;
    name.len -= cut;
    do {
        cut = version_len(name);
        for (size_t i = 0; i < sizeof behind / sizeof *behind && cut == 0; i++)
            cut = ends(name, behind[i]) ? strlen(behind[i]) : 0;
        name.len -= cut;
    } while (cut > 0);
    return name;
}

static bool fits(struct part_of name, const char *text, enum part part)
{
    switch (part) {
    case WHOLE:
        return name.len == strlen(text) && begins(name, text);
    case BEGINS:
        return begins(name, text);
    case CONTAINS:
        return contains(name, text);
    }
    return false;
}

enum api_call api_call_named(const char *name, size_t len)
{
    struct part_of core = core_of((struct part_of){name, len});
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (!fits(core, calls[i].text, calls[i].part))
            continue;
        return calls[i].call == API_COPY && contains(core, "Async") ? API_COPY_ASYNC
                                                                    : calls[i].call;
    }
    return API_OTHER;
}

int api_call_sync_kind(enum api_call call)
{
    switch (call) {
    case API_RECORD:
        return SYNC_CALL_RECORD;
    case API_WAIT:
        return SYNC_CALL_WAIT;
    case API_SYNC_STREAM:
        return SYNC_CALL_STREAM;
    case API_SYNC_EVENT:
        return SYNC_CALL_EVENT;
    case API_SYNC_DEVICE:
        return SYNC_CALL_DEVICE;
    case API_ALLOC:
        return SYNC_CALL_ALLOC;
    case API_FREE:
        return SYNC_CALL_FREE;
    case API_OTHER:
    case API_LAUNCH:
    case API_GRAPH:
    case API_COPY_ASYNC:
    case API_COPY:
        break;
    }
    return -1;
}

/* ---- names of copies ---- */

static uint8_t class_of_copy(const char *name)
{
    static const struct {
        const char *word;
        enum specter_copy kind;
    } words[] = {
        {"HtoD", SPECTER_COPY_H2D},
        {"HostToDevice", SPECTER_COPY_H2D},
        {"Host-to-Device", SPECTER_COPY_H2D},
        {"HtoA", SPECTER_COPY_H2D},
        {"DtoH", SPECTER_COPY_D2H},
        {"DeviceToHost", SPECTER_COPY_D2H},
        {"Device-to-Host", SPECTER_COPY_D2H},
        {"AtoH", SPECTER_COPY_D2H},
        {"PtoP", SPECTER_COPY_P2P},
        {"DtoD", SPECTER_COPY_D2D},
        {"DeviceToDevice", SPECTER_COPY_D2D},
        {"HtoH", SPECTER_COPY_H2H},
        {"H2D", SPECTER_COPY_H2D},
        {"D2H", SPECTER_COPY_D2H},
        {"P2P", SPECTER_COPY_P2P},
        {"D2D", SPECTER_COPY_D2D},
        {"memset", SPECTER_COPY_MEMSET},
    };
    enum specter_copy own = specter_copy_parse(name, strlen(name));
    if (own != SPECTER_COPY_COUNT)
        return (uint8_t)own;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasestr(name, words[i].word) != NULL)
            return (uint8_t)words[i].kind;
    }
    return SPECTER_COPY_COUNT;
}

enum specter_copy copy_kind(const char *name)
{
    static _Thread_local struct name_memo memo;
    return (enum specter_copy)name_memo_get(&memo, name, class_of_copy);
}

int copy_host_memory(const char *name)
{
    return strstr(name, "Pageable") != NULL ? HOST_MEMORY_PAGEABLE
           : strstr(name, "Pinned") != NULL ? HOST_MEMORY_PINNED
                                            : HOST_MEMORY_UNKNOWN;
}

/* ---- copies that wait ---- */

static bool on_device(const struct op *op)
{
    return op_timed(op) && op->start_ns != UNKNOWN_NS;
}

/* A copy and its call; before_ns: the end of what was before it on its stream. */
struct waiting_copy {
    const struct op *op;
    int64_t end_ns, before_ns;
    bool is_long; /* the call */
    bool timed;   /* the copy */
    bool outlasted;
    bool all_timed; /* every kernel of the rank has a time: what was before is known */
};

static enum copy_wait wait_of(const struct waiting_copy *c)
{
    switch (copy_kind(c->op->name)) {
    case SPECTER_COPY_H2D: {
        const struct op *op = c->op;
        bool known_kind = op->copy.host == HOST_MEMORY_PINNED && op->copy.by == API_COPY;
        if (op->copy.host == HOST_MEMORY_PINNED && op->copy.by == API_COPY_ASYNC)
            return COPY_NO_WAIT;
        if (c->outlasted && (c->is_long || (known_kind && c->timed)))
            return COPY_WAITS;
        return c->timed && c->before_ns != UNKNOWN_NS &&
                       c->before_ns > op->host_ns + HOST_WAITS_LONG_NS &&
                       c->before_ns <= op->start_ns && op->start_ns <= op->host_end_ns
                   ? COPY_WAITS_BEFORE
                   : COPY_NO_WAIT;
    }
    case SPECTER_COPY_D2D:
    case SPECTER_COPY_P2P:
    case SPECTER_COPY_MEMSET:
        return c->op->copy.by == API_COPY && c->timed && c->is_long && c->outlasted ? COPY_WAITS
                                                                                    : COPY_NO_WAIT;
    case SPECTER_COPY_D2H:
    case SPECTER_COPY_H2H:
    case SPECTER_COPY_COUNT:
        break;
    }
    const struct op *op = c->op;
    bool known_kind = op->copy.host == HOST_MEMORY_PAGEABLE || op->copy.by == API_COPY;
    if (op->copy.host == HOST_MEMORY_PINNED && op->copy.by == API_COPY_ASYNC)
        return COPY_NO_WAIT;
    return c->outlasted && (c->is_long || (known_kind && c->timed)) ? COPY_WAITS : COPY_NO_WAIT;
}

/* Returns the part of a call's time until t_ns; not more than the call. */
static int64_t part_until(int64_t host_ns, int64_t host_end_ns, int64_t t_ns)
{
    int64_t end_ns = t_ns < host_end_ns ? t_ns : host_end_ns;
    return end_ns > host_ns ? end_ns - host_ns : 0;
}

static void find_copy_wait(const struct rank *rank, struct op *op, int64_t before_ns)
{
    struct waiting_copy c = {.op = op,
                             .before_ns = before_ns,
                             .timed = on_device(op),
                             .all_timed = (rank->coverage & COVER_KERNELS) != 0};
    op->copy.wait = COPY_NO_WAIT;
    op->copy.wait_ns = 0;
    if (!(op->host_ns != UNKNOWN_NS && op->host_end_ns != UNKNOWN_NS) ||
        op->timing == SPECTER_TIMING_SYNC || op->timing == SPECTER_TIMING_CAPTURED)
        return;
    c.end_ns = c.timed ? ns_add(op->start_ns, op->dur_ns) : UNKNOWN_NS;
    c.is_long = op->host_end_ns - op->host_ns > HOST_WAITS_LONG_NS;
    c.outlasted = !c.timed || op->host_end_ns + HOST_WAITS_SLACK_NS >= c.end_ns;
    op->copy.wait = (uint8_t)wait_of(&c);
    if (op->copy.wait == COPY_WAITS && !c.timed) {
        op->copy.wait_ns = UNKNOWN_NS;
    } else if (op->copy.wait == COPY_WAITS) {
        /* Until the copy began the call did its own work, where nothing on the stream kept it from
         * beginning at once. */
        bool at_once = c.all_timed && before_ns <= op->host_ns && op->start_ns > op->host_ns &&
                       op->start_ns - op->host_ns < HOST_WAITS_LAUNCH_NS;
        op->copy.wait_ns =
            part_until(at_once ? op->start_ns : op->host_ns, op->host_end_ns, c.end_ns);
    } else if (op->copy.wait == COPY_WAITS_BEFORE) {
        op->copy.wait_ns = part_until(op->host_ns, op->host_end_ns, before_ns);
    }
}

/* ---- allocations ---- */

struct issue_times {
    int64_t host_ns, end_ns;
};

static int by_issue(const void *pa, const void *pb)
{
    const struct issue_times *a = pa, *b = pb;
    return ORDER(a->host_ns, b->host_ns);
}

static bool may_wait(const struct sync_call *sync)
{
    return (sync->kind == SYNC_CALL_ALLOC || sync->kind == SYNC_CALL_FREE) &&
           sync->host_ns != UNKNOWN_NS && sync->host_end_ns != UNKNOWN_NS;
}

/* Operations with device times by the moment they were issued; owned. */
static struct issue_times *issued_of(const struct rank *rank, size_t *n)
{
    struct issue_times *list = array_new(rank->nops + 1, sizeof *list);
    *n = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (on_device(op))
            list[(*n)++] =
                (struct issue_times){op->host_ns != UNKNOWN_NS ? op->host_ns : op->start_ns,
                                     ns_add(op->start_ns, op->dur_ns)};
    }
    qsort(list, *n, sizeof *list, by_issue);
    return list;
}

void host_waits_find(struct rank *rank)
{
    /* Operations are in the order of their starts, so that what ended last of those seen on a
     * stream is what the next one came behind. */
    struct idmap streams = {0};
    int64_t *ended_ns = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        uint32_t known = streams.count;
        uint32_t at = idmap_add(&streams, idmap_pair(op->device, op->stream));
        ARRAY_GROW(ended_ns, cap, (size_t)at + 1);
        if (at == known)
            ended_ns[at] = UNKNOWN_NS;
        if (op->class == OP_MEMORY)
            find_copy_wait(rank, op, ended_ns[at]);
        if (on_device(op) && ns_add(op->start_ns, op->dur_ns) > ended_ns[at])
            ended_ns[at] = ns_add(op->start_ns, op->dur_ns);
    }
    free(ended_ns);
    idmap_release(&streams);
    struct issue_times *list;
    size_t n, next = 0, first = 0;
    int64_t busy_ns = UNKNOWN_NS;
    while (first < rank->nsync_calls && !may_wait(&rank->sync_calls[first]))
        first++;
    if (first == rank->nsync_calls)
        return;
    list = issued_of(rank, &n);
    for (size_t i = first; i < rank->nsync_calls; i++) {
        struct sync_call *sync = &rank->sync_calls[i];
        if (!may_wait(sync))
            continue;
        for (; next < n && list[next].host_ns < sync->host_ns; next++)
            busy_ns = list[next].end_ns > busy_ns ? list[next].end_ns : busy_ns;
        sync->wait_ns = busy_ns <= sync->host_end_ns + HOST_WAITS_SLACK_NS
                            ? part_until(sync->host_ns, sync->host_end_ns, busy_ns)
                            : 0;
    }
    free(list);
}
