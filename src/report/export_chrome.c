/* SPDX-License-Identifier: MIT
 *
 * Chrome's trace events as JSON: M (names), X (slices), s, t, f (arrows), C (counts). A rank is a
 * process, its tracks are threads. Microseconds with three decimals since the first event of the
 * run, made of whole nanoseconds.
 */
#include "report/export.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/sink.h"
#include "report/op_text.h"
#include "report/tracks.h"
#include "trace/own_export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FLUSH ((size_t)1 << 18)

struct chrome {
    const struct run *run;
    struct sink *sink;
    struct buf out; /* not written yet */
    uint64_t events;
    int64_t origin_ns;
};

static void put_text(struct buf *b, const char *key, const char *text)
{
    buf_printf(b, "\"%s\":", key);
    json_quote(b, text, strlen(text));
}

static void put_us(struct buf *b, const char *key, int64_t ns)
{
    buf_printf(b, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

/* Where the next event goes, its comma written. */
static struct buf *event(struct chrome *c)
{
    if (c->out.len > FLUSH) {
        sink_put(c->sink, c->out.data, c->out.len);
        buf_reset(&c->out);
    }
    buf_puts(&c->out, c->events++ > 0 ? ",\n" : "\n");
    return &c->out;
}

static void put_name(struct chrome *c, const char *what, int pid, uint32_t tid, const char *name)
{
    struct buf *b = event(c);
    buf_printf(b, "{\"ph\":\"M\",\"name\":\"%s_name\",\"pid\":%d,\"tid\":%u,\"args\":{", what, pid,
               tid);
    put_text(b, "name", name);
    buf_puts(b, "}}");
    buf_printf(event(c),
               "{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%d,\"tid\":%u,"
               "\"args\":{\"sort_index\":%u}}",
               what, pid, tid, tid > 0 ? tid : (unsigned)pid);
}

static void put_rank(void *context, const struct rank *rank, size_t index)
{
    char name[192];
    (void)index;
    snprintf(name, sizeof name, "rank %d%s%.128s", rank->rank, rank->host[0] != '\0' ? " on " : "",
             rank->host);
    put_name(context, "process", rank->rank + 1, 0, name);
}

static void put_track(void *context, const struct track *track)
{
    if (track->kind < TRACK_QUEUE) /* counts are a process's, by name */
        put_name(context, "thread", track->rank->rank + 1, track->number, track->name);
}

static void put_args(struct buf *b, const struct run *run, const struct op *op)
{
    struct op_field fields[OP_FIELDS_MAX];
    size_t n = op_fields(run, op, fields);
    buf_puts(b, ",\"args\":{");
    for (size_t i = 0; i < n; i++) {
        buf_puts(b, i > 0 ? "," : "");
        if (fields[i].text != NULL)
            put_text(b, fields[i].key, fields[i].text);
        else
            buf_printf(b, "\"%s\":%" PRId64, fields[i].key, fields[i].number);
    }
    buf_putc(b, '}');
}

/* Arrows bind to the slice that encloses their time. */
static void put_arrow(struct chrome *c, const struct track *track, const char *what, uint64_t flow,
                      enum flow_part part, int64_t at_ns)
{
    static const char phases[] = {[FLOW_FIRST] = 's', [FLOW_NEXT] = 't', [FLOW_LAST] = 'f'};
    struct buf *b;
    if (part == FLOW_NONE)
        return;
    b = event(c);
    buf_printf(
        b, "{\"ph\":\"%c\",\"name\":\"%s\",\"cat\":\"%s\",\"id\":%" PRIu64 ",\"pid\":%d,\"tid\":%u",
        phases[part], what, what, flow, track->rank->rank + 1, track->number);
    put_us(b, "ts", at_ns - c->origin_ns);
    buf_puts(b, part == FLOW_LAST ? ",\"bp\":\"e\"}" : "}");
}

static void put_slice(void *context, const struct track *track, const struct track_slice *s)
{
    struct chrome *c = context;
    struct buf *b = event(c);
    buf_printf(b, "{\"ph\":\"X\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%u,", s->category,
               track->rank->rank + 1, track->number);
    put_text(b, "name", s->title);
    put_us(b, "ts", s->start_ns - c->origin_ns);
    put_us(b, "dur", s->end_ns - s->start_ns);
    if (s->op != NULL)
        put_args(b, c->run, s->op);
    buf_putc(b, '}');
    put_arrow(c, track, "launch", s->launch, s->launch_part, s->start_ns);
    put_arrow(c, track, "members", s->members, s->members_part,
              s->end_ns > s->start_ns ? s->end_ns - 1 : s->end_ns);
}

static void put_count(void *context, const struct track *track, int64_t at_ns, int64_t value)
{
    struct chrome *c = context;
    struct buf *b = event(c);
    buf_printf(b, "{\"ph\":\"C\",\"pid\":%d,", track->rank->rank + 1);
    put_text(b, "name", track->name);
    put_us(b, "ts", at_ns - c->origin_ns);
    buf_printf(b, ",\"args\":{\"count\":%" PRId64 "}}", value);
}

int export_chrome(const struct run *run, const char *where, size_t only, struct err *e)
{
    struct chrome c = {.run = run, .origin_ns = tracks_origin(run)};
    struct track_writer writer = {&c, put_rank, put_track, put_slice, put_count};
    int rc;
    if (sink_open(&c.sink, where, e) < 0)
        return -1;
    buf_init(&c.out);
    buf_puts(&c.out, OWN_EXPORT_HEAD);
    tracks_write(run, only, &writer);
    buf_printf(&c.out, "\n],\"otherData\":{\"by\":\"specter export\",\"clock_aligned\":%s}}\n",
               run->clock_aligned ? "true" : "false");
    sink_put(c.sink, c.out.data, c.out.len);
    rc = sink_close(c.sink, e);
    buf_release(&c.out);
    return rc;
}
