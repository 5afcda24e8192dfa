/* SPDX-License-Identifier: MIT
 *
 * Events of the Chrome trace format: names of tracks (M), slices (X), arrows (s, t, f). Times are
 * microseconds with three decimals, made of whole nanoseconds.
 */
#include "report/timeline_internal.h"

#include "base/json.h"
#include "report/op_text.h"

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

static void put_op_name(struct buf *b, const struct op *op)
{
    char title[OP_TITLE_MAX];
    put_text(b, "name", op_title(op, title));
}

static void put_name(struct buf *b, const struct timeline_rank *tr, const struct timeline_slot *s)
{
    switch ((enum slot_what)s->what) {
    case SLOT_UNTRACED:
        put_text(b, "name", "untimed kernels");
        return;
    case SLOT_SYNC_CALL:
        put_text(b, "name", sync_call_title(&tr->rank->sync_calls[s->index]));
        return;
    case SLOT_WAIT:
        put_text(b, "name", "wait for the last member");
        return;
    default:
        put_op_name(b, &tr->rank->ops[s->index]);
    }
}

static void put_field(struct buf *b, const struct op_field *f)
{
    if (f->text != NULL)
        put_text(b, f->key, f->text);
    else
        buf_printf(b, "\"%s\":%lld", f->key, (long long)f->number);
}

static void put_args(struct buf *b, const struct timeline_rank *tr, const struct timeline_slot *s)
{
    struct op_field fields[OP_FIELDS_MAX];
    const struct op *op;
    uint32_t iteration;
    size_t n;
    if (s->what == SLOT_UNTRACED || s->what == SLOT_SYNC_CALL)
        return;
    op = &tr->rank->ops[s->index];
    iteration = tr->job->steps.ranks[tr->r].of[s->index];
    n = op_fields(tr->job->program.run, op, fields);
    buf_puts(b, ",\"args\":{");
    for (size_t i = 0; i < n; i++) {
        buf_puts(b, i > 0 ? "," : "");
        put_field(b, &fields[i]);
    }
    if (iteration != STEP_NONE)
        buf_printf(b, ",\"iteration\":%u", iteration);
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
static void put_launch(const struct timeline_rank *tr, const struct timeline_slot *s, uint32_t tid)
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
static void put_members(const struct timeline_rank *tr, const struct timeline_slot *s, uint32_t tid)
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

void timeline_slice(const struct timeline_rank *tr, const struct timeline_slot *s, uint32_t tid)
{
    static const char *const kinds[] = {[SLOT_OP] = "device",
                                        [SLOT_WAIT] = "wait",
                                        [SLOT_UNTRACED] = "untraced",
                                        [SLOT_CALL] = "call",
                                        [SLOT_SYNC_CALL] = "sync"};
    struct buf *b = timeline_event(tr->file);
    buf_printf(b, "{\"ph\":\"X\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%u,", kinds[s->what], tr->pid,
               tid);
    put_name(b, tr, s);
    put_us(b, "ts", s->start_ns + tr->shift_ns);
    put_us(b, "dur", s->end_ns - s->start_ns);
    put_args(b, tr, s);
    buf_putc(b, '}');
    if (s->what == SLOT_UNTRACED || s->what == SLOT_SYNC_CALL)
        return;
    put_launch(tr, s, tid);
    if (s->what == SLOT_OP &&
        (tr->rank->ops[s->index].class == OP_COLL || tr->rank->ops[s->index].class == OP_P2P))
        put_members(tr, s, tid);
}
