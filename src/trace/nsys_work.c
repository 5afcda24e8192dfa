/* SPDX-License-Identifier: MIT
 *
 * Reads the work of devices: kernels, copies, fills, graphs that were launched as a whole. These
 * say which ranks a file holds.
 */
#include "trace/nsys.h"

#ifdef SPECTER_HAVE_SQLITE

#include "trace/kernel_names.h"

#include <stdlib.h>
#include <string.h>

/* ---- processes and ranks ---- */

/* A globalPid is a globalTid without its thread. */
static int64_t process_key(int64_t global)
{
    return global & ~(int64_t)0xffffff;
}

struct nsys_process *nsys_process_of(struct nsys *n, int64_t global)
{
    int64_t key = process_key(global);
    for (size_t i = 0; i < n->processes.count; i++) {
        if (n->processes.list[i].key == key)
            return &n->processes.list[i];
    }
    /* an export of one process that does not number it */
    if (n->processes.count == 1 && n->processes.list[0].key == 0)
        return &n->processes.list[0];
    return NULL;
}

static size_t add_process(struct nsys *n, int64_t key)
{
    for (size_t i = 0; i < n->processes.count; i++) {
        if (n->processes.list[i].key == key)
            return i;
    }
    ARRAY_GROW(n->processes.list, n->processes.cap, n->processes.count + 1);
    n->processes.list[n->processes.count].key = key;
    return n->processes.count++;
}

/* The member that a row is of, added when it is new; NULL when there are too many. */
static struct nsys_member *member_of(struct nsys *n, int64_t global, int64_t device)
{
    int64_t key = process_key(global);
    for (size_t i = 0; i < n->members.count; i++) {
        struct nsys_member *m = &n->members.list[(n->last_member + i) % n->members.count];
        if (m->device == device && n->processes.list[m->process].key == key) {
            n->last_member = (size_t)(m - n->members.list);
            return m;
        }
    }
    if (n->members.count == NSYS_RANKS_MAX)
        return NULL;
    struct nsys_member *m;
    struct rank *rank;
    ARRAY_GROW(n->members.list, n->members.cap, n->members.count + 1);
    m = &n->members.list[n->members.count++];
    *m = (struct nsys_member){add_process(n, key), (int32_t)device, n->run->nranks, 0};
    rank = run_add_rank(n->run);
    rank->file = arena_strdup(&n->run->arena, n->label);
    rank->pid = key >> 24 & 0xffffff;
    n->last_member = n->members.count - 1;
    return &n->members.list[n->last_member];
}

/* ---- rows ---- */

/* The columns of all four tables. */
enum {
    WORK_START,
    WORK_END,
    WORK_PID,
    WORK_DEVICE,
    WORK_CONTEXT,
    WORK_STREAM,
    WORK_CORRELATION,
    WORK_OWN
};

#define WORK_COLUMNS \
    "start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId"

static bool number32(int64_t value)
{
    return value >= 0 && value <= INT32_MAX;
}

/* Remembers that the call of this correlation is wanted. */
static void want_launch(struct nsys_process *p, int64_t correlation)
{
    uint32_t at;
    if (correlation < 0)
        return;
    at = idmap_add(&p->launch_ids, correlation);
    if (at < p->launches.count)
        return;
    ARRAY_GROW(p->launches.list, p->launches.cap, (size_t)at + 1);
    p->launches.count = (size_t)at + 1;
    p->launches.list[at] = (struct nsys_launch){
        UNKNOWN_NS, UNKNOWN_NS, 0, SPECTER_COMM_OP_COUNT, -1, -1, "", API_OTHER,
    };
}

/* The op of a row, with what all tables have; NULL when the row cannot be used. */
static struct op *add_op(struct nsys *n, const struct nsys_rows *rows, enum op_class class)
{
    int64_t start = nsys_int(rows, WORK_START, UNKNOWN_NS),
            end = nsys_int(rows, WORK_END, UNKNOWN_NS);
    int64_t device = nsys_int(rows, WORK_DEVICE, 0), stream = nsys_int(rows, WORK_STREAM, -1);
    int64_t correlation = nsys_int(rows, WORK_CORRELATION, -1);
    struct nsys_member *m;
    struct op *op;
    if (!nsys_times(start, end) || !number32(device) ||
        (m = member_of(n, nsys_int(rows, WORK_PID, 0), device)) == NULL)
        return NULL;
    op = rank_add_op(&n->run->ranks[m->rank]);
    op->start_ns = start;
    op->dur_ns = end - start;
    op->id = (uint64_t)correlation;
    op->device = (int32_t)device;
    op->stream = number32(stream) ? (int32_t)stream : -1;
    op->class = (uint8_t) class;
    op->timing = SPECTER_TIMING_DEVICE;
    m->kernels += class != OP_MEMORY;
    struct nsys_process *p = &n->processes.list[m->process];
    int64_t context = nsys_int(rows, WORK_CONTEXT, -1);
    uint32_t at;
    if (context >= 0) {
        at = idmap_add(&p->context_ids, context);
        ARRAY_GROW(p->contexts.list, p->contexts.cap, (size_t)at + 1);
        p->contexts.list[at] = (int32_t)device;
    }
    want_launch(p, correlation);
    if (end > n->last_ns)
        n->last_ns = end;
    return op;
}

/* ---- kernels ---- */

/* The first of three names that the row has; an export can hold the text itself. */
static const char *kernel_name(struct nsys *n, const struct nsys_rows *rows)
{
    for (int c = WORK_OWN; c < WORK_OWN + 3; c++) {
        struct json_text text = nsys_text(rows, c);
        int64_t id = nsys_int(rows, c, -1);
        if (text.p == NULL && id >= 0)
            text = nsys_name(n, id);
        if (text.p != NULL && text.len > 0)
            return memo_find(&n->texts, n->run, text)->text;
    }
    return "(no name)";
}

static bool add_kernel(struct nsys *n, const struct nsys_rows *rows)
{
    struct op *op = add_op(n, rows, OP_KERNEL);
    if (op == NULL)
        return false;
    op->name = kernel_name(n, rows);
    if (kernel_is_comm(op->name)) {
        op->class = OP_COLL;
        op->flags = OP_BYTES_UNKNOWN;
        op->coll.comm = op->coll.group = op->coll.peer = -1;
        op->coll.seq = op->coll.p2p_seq = -1;
        op->coll.op = SPECTER_COMM_OP_COUNT;
        op->coll.redop = SPECTER_REDOP_NONE;
    }
    return true;
}

/* ---- copies, fills ---- */

/* copyKind, as ENUM_CUDA_MEMCPY_OPER has it: arrays are device memory, 11 to 13 are migrations of
 * managed memory. */
static const char *copy_name(int64_t kind)
{
    static const int8_t kinds[] = {
        -1,
        SPECTER_COPY_H2D,
        SPECTER_COPY_D2H,
        SPECTER_COPY_H2D,
        SPECTER_COPY_D2H,
        SPECTER_COPY_D2D,
        SPECTER_COPY_D2D,
        SPECTER_COPY_D2D,
        SPECTER_COPY_D2D,
        SPECTER_COPY_H2H,
        SPECTER_COPY_P2P,
        SPECTER_COPY_H2D,
        SPECTER_COPY_D2H,
        SPECTER_COPY_D2D,
    };
    if (kind <= 0 || kind >= (int64_t)sizeof kinds)
        return "copy";
    return specter_copy_name((enum specter_copy)kinds[kind]);
}

static void set_bytes(struct op *op, int64_t bytes)
{
    if (bytes >= 0)
        op->bytes = (uint64_t)bytes;
    else
        op->flags |= OP_BYTES_UNKNOWN;
}

/* Of srcKind or dstKind, as ENUM_CUDA_MEM_KIND has it: 0 pageable, 1 pinned, others on a device. */
static enum host_memory host_memory(int64_t from, int64_t to)
{
    return from == 0 || to == 0   ? HOST_MEMORY_PAGEABLE
           : from == 1 || to == 1 ? HOST_MEMORY_PINNED
                                  : HOST_MEMORY_UNKNOWN;
}

static bool add_copy(struct nsys *n, const struct nsys_rows *rows)
{
    struct op *op = add_op(n, rows, OP_MEMORY);
    if (op == NULL)
        return false;
    op->name = copy_name(nsys_int(rows, WORK_OWN + 1, 0));
    op->copy.host =
        (uint8_t)host_memory(nsys_int(rows, WORK_OWN + 2, -1), nsys_int(rows, WORK_OWN + 3, -1));
    set_bytes(op, nsys_int(rows, WORK_OWN, -1));
    return true;
}

static bool add_fill(struct nsys *n, const struct nsys_rows *rows)
{
    struct op *op = add_op(n, rows, OP_MEMORY);
    if (op == NULL)
        return false;
    op->name = specter_copy_name(SPECTER_COPY_MEMSET);
    set_bytes(op, nsys_int(rows, WORK_OWN, -1));
    return true;
}

/* ---- graphs ---- */

static bool add_graph(struct nsys *n, const struct nsys_rows *rows)
{
    int64_t id = nsys_int(rows, WORK_OWN, -1);
    struct op *op = add_op(n, rows, OP_GRAPH);
    struct nsys_process *p = nsys_process_of(n, nsys_int(rows, WORK_PID, 0));
    if (op == NULL)
        return false;
    op->name = "cudaGraphLaunch";
    op->graph = id >= 0 ? (int32_t)idmap_add(&p->graph_ids, id) : -1;
    n->has_graphs = true;
    return true;
}

/* ---- all of them ---- */

typedef bool add_fn(struct nsys *n, const struct nsys_rows *rows);

static void take_table(struct nsys *n, enum nsys_table table, const char *const *columns, int count,
                       add_fn *add)
{
    struct nsys_rows rows;
    struct err e = {0};
    uint64_t bad = 0;
    int rc = nsys_scan(&rows, n->db, table, &(struct nsys_columns){columns, count, 2}, &e);
    while (rc > 0 && (rc = nsys_next(&rows, &e)) > 0)
        bad += !add(n, &rows);
    nsys_scan_end(&rows);
    if (rc < 0)
        nsys_note_err(n, &e);
    nsys_note_rows(n, table, bad, "no usable times, device or process");
}

/* Drops ranks that only copied, in a process that ran kernels on another device: a library opened a
 * context there. */
static void drop_ranks_without_kernels(struct nsys *n)
{
    size_t kept = 0;
    bool *busy = array_new(n->processes.count + 1, sizeof *busy);
    for (size_t i = 0; i < n->members.count; i++)
        busy[n->members.list[i].process] |= n->members.list[i].kernels > 0;
    for (size_t i = 0; i < n->members.count; i++) {
        struct nsys_member m = n->members.list[i];
        struct rank *rank = &n->run->ranks[m.rank];
        if (m.kernels == 0 && busy[m.process]) {
            run_note(n->run, false,
                     "%s: %zu copies on GPU %d by a process that computes on another are left out",
                     n->label, rank->nops, (int)m.device);
            rank_clear(rank);
            continue;
        }
        m.rank = n->members.list[0].rank + kept;
        if (rank != &n->run->ranks[m.rank])
            n->run->ranks[m.rank] = *rank;
        n->members.list[kept++] = m;
    }
    n->run->nranks -= n->members.count - kept;
    n->members.count = kept;
    n->last_member = 0;
    free(busy);
}

int nsys_work(struct nsys *n, struct err *e)
{
    static const char *const kernels[] = {WORK_COLUMNS, "demangledName", "shortName",
                                          "mangledName"};
    static const char *const copies[] = {WORK_COLUMNS, "bytes", "copyKind", "srcKind", "dstKind"};
    static const char *const graphs[] = {WORK_COLUMNS, "graphId"};
    take_table(n, NSYS_KERNEL, kernels, WORK_OWN + 3, add_kernel);
    take_table(n, NSYS_MEMCPY, copies, WORK_OWN + 4, add_copy);
    take_table(n, NSYS_MEMSET, copies, WORK_OWN + 1, add_fill);
    take_table(n, NSYS_GRAPH, graphs, WORK_OWN + 1, add_graph);
    if (n->members.count == 0)
        return err_set(e, ERR_INPUT, "%s: no GPU work in it", n->label);
    drop_ranks_without_kernels(n);
    /* By process, then device: without better knowledge this is the order of the ranks. */
    for (size_t i = 0; i < n->members.count; i++) {
        struct nsys_member *to = &n->members.list[i], *from = to, m;
        struct rank rank = n->run->ranks[to->rank];
        size_t at = to->rank;
        for (size_t j = i + 1; j < n->members.count; j++) {
            int64_t ka = n->processes.list[n->members.list[j].process].key,
                    kb = n->processes.list[from->process].key;
            if (ka != kb ? ka < kb : n->members.list[j].device < from->device)
                from = &n->members.list[j];
        }
        n->run->ranks[to->rank] = n->run->ranks[from->rank];
        n->run->ranks[from->rank] = rank;
        m = *to;
        *to = *from;
        *from = m;
        from->rank = to->rank;
        to->rank = at;
    }
    return 0;
}

#endif
