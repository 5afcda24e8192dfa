/* SPDX-License-Identifier: MIT
 *
 * Events of the Chrome trace format: names of tracks (M), slices (X), arrows (s, t, f). Times are
 * microseconds with three decimals, made of whole nanoseconds.
 */
#include "report/timeline_inside.h"

#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put_us(struct buf *b, const char *key, int64_t ns)
{
    uint64_t n = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    buf_printf(b, ",\"%s\":%s%" PRIu64 ".%03u", key, ns < 0 ? "-" : "", n / 1000,
               (unsigned)(n % 1000));
}

static void put_text(struct buf *b, const char *key, const char *text)
{
    buf_printf(b, "\"%s\":", key);
    json_quote(b, text, strlen(text));
}

static void put_meta(const struct timeline_rank *tr, const char *what, uint32_t tid,
                     const char *name)
{
    struct buf *b = timeline_event(tr->file);
    buf_printf(b, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%u,\"args\":{", what, tr->pid,
               tid);
    put_text(b, "name", name);
    buf_puts(b, "}}");
}

static void put_order(const struct timeline_rank *tr, const char *what, uint32_t tid, int64_t index)
{
    buf_printf(
        timeline_event(tr->file),
        "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%u,\"args\":{\"sort_index\":%lld}}", what,
        tr->pid, tid, (long long)index);
}

void timeline_name_process(const struct timeline_rank *tr)
{
    char name[64];
    snprintf(name, sizeof name, "rank %d %s", tr->rank->rank,
             tr->predicted ? "predicted" : "recorded");
    put_meta(tr, "process_name", 0, name);
    put_order(tr, "process_sort_index", 0, tr->pid);
}

void timeline_name_thread(const struct timeline_rank *tr, uint32_t tid, const char *name)
{
    put_meta(tr, "thread_name", tid, name);
    put_order(tr, "thread_sort_index", tid, tid);
}

/* ---- slices ---- */

static void put_comm_name(struct buf *b, const struct op *op)
{
    if (op->coll.op < SPECTER_COMM_OP_COUNT)
        put_text(b, "name", specter_comm_op_name((enum specter_comm_op)op->coll.op));
    else
        put_text(b, "name", op->name[0] != '\0' ? op->name : "communication");
}

static void put_op_name(struct buf *b, const struct op *op)
{
    char text[64];
    switch (op->class) {
    case OP_COLL:
    case OP_P2P:
        put_comm_name(b, op);
        return;
    case OP_GEMM:
        if (op->gemm.m == 0)
            break;
        snprintf(text, sizeof text, "GEMM %ux%ux%u", op->gemm.m, op->gemm.n, op->gemm.k);
        put_text(b, "name", text);
        return;
    case OP_GRAPH:
        snprintf(text, sizeof text, "graph %d", op->graph);
        put_text(b, "name", text);
        return;
    default:
        break;
    }
    put_text(b, "name", op->name[0] != '\0' ? op->name : "kernel");
}

static void put_name(struct buf *b, const struct timeline_rank *tr, const struct slot *s)
{
    static const char *const acts[] = {[ACT_RECORD] = "record event",
                                       [ACT_WAIT] = "wait for event",
                                       [ACT_SYNC_STREAM] = "synchronise stream",
                                       [ACT_SYNC_EVENT] = "synchronise event",
                                       [ACT_SYNC_DEVICE] = "synchronise device"};
    switch ((enum slot_what)s->what) {
    case SLOT_UNTRACED:
        put_text(b, "name", "untraced kernels");
        return;
    case SLOT_ACT:
        put_text(b, "name", acts[tr->rank->acts[s->index].kind]);
        return;
    case SLOT_WAIT:
        put_text(b, "name", "wait for the last member");
        return;
    default:
        put_op_name(b, &tr->rank->ops[s->index]);
    }
}

static void put_comm_args(struct buf *b, const struct timeline_rank *tr, const struct op *op)
{
    const struct run *run = tr->job->program.run;
    if (!(op->flags & OP_BYTES_UNKNOWN))
        buf_printf(b, ",\"bytes\":%" PRIu64, op->bytes);
    if (op->coll.comm < 0)
        return;
    buf_putc(b, ',');
    put_text(b, "comm", run->comms[op->coll.comm].id);
    buf_printf(b, ",\"ranks\":%d", run->comms[op->coll.comm].size);
    if (op->coll.seq >= 0)
        buf_printf(b, ",\"seq\":%lld", (long long)op->coll.seq);
    if (op->coll.peer >= 0)
        buf_printf(b, ",\"peer\":%d", op->coll.peer);
}

static void put_args(struct buf *b, const struct timeline_rank *tr, const struct slot *s)
{
    const struct op *op;
    uint32_t iteration;
    if (s->what == SLOT_UNTRACED || s->what == SLOT_ACT)
        return;
    op = &tr->rank->ops[s->index];
    iteration = tr->job->iterations[tr->r].of[s->index];
    buf_printf(b, ",\"args\":{\"id\":%" PRIu64, op->id);
    if (iteration != ITERATION_NONE)
        buf_printf(b, ",\"iteration\":%u", iteration);
    if (op->class == OP_COLL || op->class == OP_P2P)
        put_comm_args(b, tr, op);
    if (op->class == OP_MEMORY)
        buf_printf(b, ",\"bytes\":%" PRIu64, op->bytes);
    if (op->class == OP_GEMM)
        buf_printf(b, ",\"m\":%u,\"n\":%u,\"k\":%u,\"batch\":%u", op->gemm.m, op->gemm.n,
                   op->gemm.k, op->gemm.batch);
    if (op->dtype < SPECTER_DTYPE_COUNT)
        buf_printf(b, ",\"dtype\":\"%s\"", specter_dtype_name((enum specter_dtype)op->dtype));
    if (tr->predicted && s->what == SLOT_OP && op_timed(op))
        put_us(b, "recorded_us", op->dur_ns);
    buf_putc(b, '}');
}

/* ---- arrows ---- */

static void put_arrow(const struct timeline_rank *tr, char phase, const char *id, const char *what,
                      uint32_t tid, int64_t at_ns)
{
    struct buf *b = timeline_event(tr->file);
    buf_printf(b,
               "{\"ph\":\"%c\",\"name\":\"%s\",\"cat\":\"%s\",\"id\":\"%s\",\"pid\":%d,\"tid\":%u",
               phase, what, what, id, tr->pid, tid);
    put_us(b, "ts", at_ns + tr->shift_ns);
    buf_puts(b, phase == 'f' ? ",\"bp\":\"e\"}" : "}");
}

/* From a call to what it launched: to where the slices of the operation begin. */
static void put_launch(const struct timeline_rank *tr, const struct slot *s, uint32_t tid)
{
    char id[64];
    const struct op *op = &tr->rank->ops[s->index];
    bool call = s->what == SLOT_CALL;
    if (op->host_ns == UNKNOWN_NS || op->host_end_ns == UNKNOWN_NS ||
        timeline_follows(tr, s->index) ||
        (!call && tr->view.spans[s->index].start_ns < s->start_ns))
        return;
    snprintf(id, sizeof id, "l%d.%u", tr->pid, s->index);
    put_arrow(tr, call ? 's' : 'f', id, "launch", tid, s->start_ns);
}

static struct sim_span member_span(const struct timeline_rank *tr, const struct match_member *m)
{
    const struct program *p = &tr->job->program;
    const struct op *op = &p->run->ranks[m->rank].ops[m->op];
    if (tr->predicted)
        return program_span(p, m->rank, m->op);
    if (!op_timed(op) || op->start_ns == UNKNOWN_NS)
        return (struct sim_span){-1, -1};
    return (struct sim_span){op->start_ns, op->start_ns + op->dur_ns};
}

/* Along the members of a transfer in the order of their ends: the one that ends first begins it. */
static void put_members(const struct timeline_rank *tr, const struct slot *s, uint32_t tid)
{
    const struct program *p = &tr->job->program;
    uint32_t match = tr->place->match[s->index], before = 0, behind = 0;
    const struct match *m;
    char id[64];
    if (match == PROGRAM_NONE)
        return;
    m = &p->matches.list[match];
    for (uint32_t k = 0; k < m->nmembers; k++) {
        const struct match_member *other = &p->matches.members[m->first + k];
        struct sim_span span = member_span(tr, other);
        if (span.end_ns < 0 || other->rank >= tr->file->ranks ||
            (other->rank == tr->r && other->op == s->index))
            continue;
        if (span.end_ns < s->end_ns || (span.end_ns == s->end_ns && other->rank < tr->r))
            before++;
        else
            behind++;
    }
    if (before + behind == 0)
        return;
    snprintf(id, sizeof id, "%c%u", tr->predicted ? 'p' : 'r', match);
    put_arrow(tr,
              before == 0   ? 's'
              : behind == 0 ? 'f'
                            : 't',
              id, "members", tid, s->end_ns > s->start_ns ? s->end_ns - 1 : s->end_ns);
}

void timeline_slice(const struct timeline_rank *tr, const struct slot *s, uint32_t tid)
{
    static const char *const kinds[] = {[SLOT_OP] = "device",
                                        [SLOT_WAIT] = "wait",
                                        [SLOT_UNTRACED] = "untraced",
                                        [SLOT_CALL] = "call",
                                        [SLOT_ACT] = "sync"};
    struct buf *b = timeline_event(tr->file);
    buf_printf(b, "{\"ph\":\"X\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%u,", kinds[s->what], tr->pid,
               tid);
    put_name(b, tr, s);
    put_us(b, "ts", s->start_ns + tr->shift_ns);
    put_us(b, "dur", s->end_ns - s->start_ns);
    put_args(b, tr, s);
    buf_putc(b, '}');
    if (s->what == SLOT_UNTRACED || s->what == SLOT_ACT)
        return;
    put_launch(tr, s, tid);
    if (s->what == SLOT_OP &&
        (tr->rank->ops[s->index].class == OP_COLL || tr->rank->ops[s->index].class == OP_P2P))
        put_members(tr, s, tid);
}
