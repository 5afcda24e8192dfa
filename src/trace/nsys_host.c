/* SPDX-License-Identifier: MIT
 *
 * Reads the calls of the host: those that launched device work, those that order or await it; and
 * the names of the GPUs that the work ran on.
 */
#include "trace/nsys.h"

#ifdef SPECTER_HAVE_SQLITE

#include <stdlib.h>
#include <string.h>

/* ---- calls ---- */

enum { HOST_START, HOST_END, HOST_THREAD, HOST_CORRELATION, HOST_NAME };

static void take_sync_call(struct nsys_process *p, int kind, int64_t correlation, int64_t start,
                           int64_t end, int64_t thread)
{
    /* Correlations are not negative: a call without one gets a number of its own. */
    int64_t id = correlation >= 0 ? correlation : -1 - (int64_t)p->sync_calls.count;
    struct nsys_sync_call *sync;
    if (idmap_add(&p->sync_call_ids, id) != p->sync_calls.count)
        return; /* the runtime's call is there already; this is the driver's inside it */
    ARRAY_GROW(p->sync_calls.list, p->sync_calls.cap, p->sync_calls.count + 1);
    sync = &p->sync_calls.list[p->sync_calls.count++];
    sync->context = -1;
    sync->sync = (struct sync_call){
        .host_ns = start,
        .host_end_ns = end,
        .kind = (uint8_t)kind,
        .tid = idmap_add(&p->threads, thread),
        .device = -1,
        .stream = -1,
        .event = -1,
    };
}

static bool add_call(struct nsys *n, const struct nsys_rows *rows)
{
    int64_t start = nsys_int(rows, HOST_START, UNKNOWN_NS),
            end = nsys_int(rows, HOST_END, UNKNOWN_NS);
    int64_t thread = nsys_int(rows, HOST_THREAD, 0),
            correlation = nsys_int(rows, HOST_CORRELATION, -1);
    struct nsys_process *p = nsys_process_of(n, thread);
    uint32_t at;
    struct json_text name;
    enum api_call call;
    if (p == NULL)
        return true;
    if (!nsys_times(start, end))
        return false;
    if (end > n->last_ns)
        n->last_ns = end;
    name = nsys_name(n, nsys_int(rows, HOST_NAME, -1));
    call = name.p != NULL ? api_call_named(name.p, name.len) : API_OTHER;
    at = correlation >= 0 ? idmap_find(&p->launch_ids, correlation) : IDMAP_NONE;
    if (at != IDMAP_NONE) {
        /* Two calls of one correlation (a runtime call and the driver's inside it): the outer
         * counts. */
        struct nsys_launch *launch = &p->launches.list[at];
        if (launch->start_ns == UNKNOWN_NS || launch->start_ns > start) {
            launch->start_ns = start;
            launch->end_ns = end;
            launch->tid = idmap_add(&p->threads, thread);
            launch->call = call;
        }
    }
    if (api_call_sync_kind(call) >= 0)
        take_sync_call(p, api_call_sync_kind(call), correlation, start, end, thread);
    return true;
}

static void take_calls(struct nsys *n, enum nsys_table table)
{
    static const char *const columns[] = {"start", "end", "globalTid", "correlationId", "nameId"};
    struct nsys_rows rows;
    struct err e = {0};
    uint64_t bad = 0;
    int rc = nsys_scan(&rows, n->db, table, &(struct nsys_columns){columns, 5, 4}, &e);
    while (rc > 0 && (rc = nsys_next(&rows, &e)) > 0)
        bad += !add_call(n, &rows);
    nsys_scan_end(&rows);
    if (rc < 0)
        nsys_note_err(n, &e);
    nsys_note_rows(n, table, bad, "no usable times");
}

/* ---- what synchronisations and events say of those calls ---- */

enum {
    SYNC_COLUMN_PID,
    SYNC_COLUMN_CONTEXT,
    SYNC_COLUMN_STREAM,
    SYNC_COLUMN_CORRELATION,
    SYNC_COLUMN_EVENT
};

/* 2^32 - 1 stands for none in columns of 32 bits; larger numbers than int32_t holds count as none.
 */
static int64_t id32(const struct nsys_rows *rows, int column)
{
    int64_t id = nsys_int(rows, column, -1);
    return id >= 0 && id <= INT32_MAX ? id : -1;
}

static void take_details(struct nsys *n, enum nsys_table table)
{
    static const char *const columns[] = {"globalPid", "contextId", "streamId", "correlationId",
                                          "eventId"};
    struct nsys_rows rows;
    struct err e = {0};
    int rc = nsys_scan(&rows, n->db, table, &(struct nsys_columns){columns, 5, 0}, &e);
    while (rc > 0 && (rc = nsys_next(&rows, &e)) > 0) {
        struct nsys_process *p = nsys_process_of(n, nsys_int(&rows, SYNC_COLUMN_PID, 0));
        int64_t correlation = nsys_int(&rows, SYNC_COLUMN_CORRELATION, -1);
        uint32_t at =
            p != NULL && correlation >= 0 ? idmap_find(&p->sync_call_ids, correlation) : IDMAP_NONE;
        n->has_syncs = true;
        if (at == IDMAP_NONE)
            continue;
        p->sync_calls.list[at].sync.stream = (int32_t)id32(&rows, SYNC_COLUMN_STREAM);
        p->sync_calls.list[at].sync.event = id32(&rows, SYNC_COLUMN_EVENT);
        p->sync_calls.list[at].context = id32(&rows, SYNC_COLUMN_CONTEXT);
    }
    nsys_scan_end(&rows);
    if (rc < 0)
        nsys_note_err(n, &e);
}

/* The rank of a process and device; NULL. */
static struct rank *rank_of(struct nsys *n, const struct nsys_process *p, int64_t device)
{
    size_t process = (size_t)(p - n->processes.list);
    for (size_t i = 0; i < n->members.count; i++) {
        const struct nsys_member *m = &n->members.list[i];
        if (m->process == process && m->device == device)
            return &n->run->ranks[m->rank];
    }
    return NULL;
}

/* ---- into the ranks ---- */

/* Gives the operations of a rank the calls that launched them. */
static void set_launches(const struct nsys_process *p, struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        uint32_t at =
            (int64_t)op->id >= 0 ? idmap_find(&p->launch_ids, (int64_t)op->id) : IDMAP_NONE;
        if (at == IDMAP_NONE || p->launches.list[at].start_ns == UNKNOWN_NS)
            continue;
        op->host_ns = p->launches.list[at].start_ns;
        op->host_end_ns = p->launches.list[at].end_ns;
        op->tid = p->launches.list[at].tid;
        if (op->class == OP_MEMORY)
            op->copy.by = (uint8_t)p->launches.list[at].call;
        if (p->launches.list[at].call == API_GRAPH && op->class != OP_GRAPH)
            op->flags |= OP_IN_GRAPH;
    }
}

/* Adds the synchronisations of a process to its ranks. The device of a call: that of its context;
 * else the process's first. */
static void add_sync_calls(struct nsys *n, const struct nsys_process *p)
{
    struct rank *first = NULL;
    for (size_t i = n->members.count; i-- > 0;) {
        if (&n->processes.list[n->members.list[i].process] == p)
            first = &n->run->ranks[n->members.list[i].rank];
    }
    for (size_t i = 0; i < p->sync_calls.count && first != NULL; i++) {
        const struct nsys_sync_call *from = &p->sync_calls.list[i];
        uint32_t at = from->context >= 0 ? idmap_find(&p->context_ids, from->context) : IDMAP_NONE;
        struct rank *rank = at != IDMAP_NONE ? rank_of(n, p, p->contexts.list[at]) : NULL;
        struct sync_call *sync;
        if (rank == NULL)
            rank = first;
        sync = rank_add_sync_call(rank);
        *sync = from->sync;
        sync->device = rank->nops > 0 ? rank->ops[0].device : 0;
    }
}

void nsys_host(struct nsys *n)
{
    take_calls(n, NSYS_RUNTIME);
    take_calls(n, NSYS_DRIVER);
    take_details(n, NSYS_SYNC);
    take_details(n, NSYS_EVENT);
    for (size_t i = 0; i < n->members.count; i++)
        set_launches(&n->processes.list[n->members.list[i].process],
                     &n->run->ranks[n->members.list[i].rank]);
    for (size_t i = 0; i < n->processes.count; i++)
        add_sync_calls(n, &n->processes.list[i]);
}

/* ---- devices ---- */

#define GPUS_MAX 256

struct gpus {
    struct {
        int64_t id, cuda; /* cuda -1 unknown */
        const char *name;
    } list[GPUS_MAX];
    int count;
    const char *first; /* the smallest of their UUIDs as text; "" unknown */
};

static const char *gpu_by_id(const struct gpus *g, int64_t id)
{
    for (int i = 0; i < g->count; i++) {
        if (g->list[i].id == id)
            return g->list[i].name;
    }
    return "";
}

/* Finds the name of a device by the driver's number, else by nsys's own, which is the same on most
 * machines. Where all GPUs have one name, neither is needed. */
static const char *gpu_of(const struct gpus *g, int64_t device)
{
    bool same = g->count > 0;
    for (int i = 0; i < g->count; i++)
        same &= strcmp(g->list[i].name, g->list[0].name) == 0;
    if (same)
        return g->list[0].name;
    for (int i = 0; i < g->count; i++) {
        if (g->list[i].cuda == device)
            return g->list[i].name;
    }
    return gpu_by_id(g, device);
}

/* Older exports say which GPU each device of a process is. */
static void take_devices(struct nsys *n, const struct gpus *g)
{
    static const char *const columns[] = {"gpuId", "cudaId", "pid"};
    struct nsys_rows rows;
    struct err e = {0};
    int rc = nsys_scan(&rows, n->db, NSYS_DEVICE, &(struct nsys_columns){columns, 3, 2}, &e);
    while (rc > 0 && (rc = nsys_next(&rows, &e)) > 0) {
        const char *name = gpu_by_id(g, nsys_int(&rows, 0, -1));
        int64_t pid = nsys_int(&rows, 2, -1);
        for (size_t i = 0; i < n->members.count && name[0] != '\0'; i++) {
            struct rank *rank = &n->run->ranks[n->members.list[i].rank];
            if (n->members.list[i].device == nsys_int(&rows, 1, -1) &&
                (pid < 0 || pid == rank->pid))
                rank->gpu = name;
        }
    }
    nsys_scan_end(&rows);
    if (rc < 0)
        nsys_note_err(n, &e);
}

/* Tables that name the host are not read: a host is known by the smallest UUID of its GPUs. */
void nsys_devices(struct nsys *n)
{
    struct gpus g = {.count = 0, .first = ""};
    static const char *const columns[] = {"id", "name", "cuDevice", "uuid"};
    struct nsys_rows rows;
    struct err e = {0};
    int rc = nsys_scan(&rows, n->db, NSYS_GPU, &(struct nsys_columns){columns, 4, 2}, &e);
    while (rc > 0 && g.count < GPUS_MAX && (rc = nsys_next(&rows, &e)) > 0) {
        struct json_text name = nsys_text(&rows, 1);
        g.list[g.count].id = nsys_int(&rows, 0, -1);
        g.list[g.count].cuda = nsys_int(&rows, 2, -1);
        struct json_text uuid = nsys_text(&rows, 3);
        const char *text;
        if (uuid.p != NULL && uuid.len >= 8) {
            text = memo_find(&n->texts, n->run, uuid)->text;
            if (g.first[0] == '\0' || strcmp(text, g.first) < 0)
                g.first = text;
        }
        g.list[g.count++].name = name.p != NULL ? memo_find(&n->texts, n->run, name)->text : "";
    }
    nsys_scan_end(&rows);
    if (rc < 0)
        nsys_note_err(n, &e);
    for (size_t i = 0; i < n->members.count; i++) {
        struct rank *rank = &n->run->ranks[n->members.list[i].rank];
        rank->gpu = gpu_of(&g, n->members.list[i].device);
        if (g.first[0] != '\0')
            rank->host = arena_printf(&n->run->arena, "gpu-%.8s", g.first);
    }
    take_devices(n, &g);
    n->ngpus = g.count;
}

#endif
