/* SPDX-License-Identifier: MIT
 *
 * Perfetto's native trace: packets of track descriptors and track events
 * (perfetto.dev/docs/reference/synthetic-track-event; field numbers as in
 * protos/perfetto/trace/trace_packet.proto and track_event/). A rank is a process, a stream, a
 * thread, the steps and the marks are tracks in it. Names are interned: they are written once and
 * then numbers. Times are nanoseconds since the first event of the run.
 */
#include "report/export.h"

#include "base/proto.h"
#include "report/op_text.h"
#include "report/table.h"
#include "report/tracks.h"
#include "base/idmap.h"
#include "base/whole_file.h"

#include <stdlib.h>
#include <string.h>

#define FLUSH ((size_t)1 << 18)
#define SEQUENCE 1 /* all packets are of one writer */

enum { TRACE_PACKET = 1 };

enum {
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60
};

enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS = 2 };

enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_CHILD_ORDER = 11,
    TRACK_ORDER = 12
};

enum { CHILD_ORDER_EXPLICIT = 3 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };

enum {
    EVENT_CATEGORY_IIDS = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK_UUID = 11,
    EVENT_COUNT = 30,
    EVENT_FLOWS = 47,
    EVENT_LAST_FLOWS = 48
};

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_COUNTER = 4 };
enum { COUNTER_UNIT = 3, UNIT_COUNT = 2 };
enum { ANNOTATION_NAME_IID = 1, ANNOTATION_INT = 4, ANNOTATION_TEXT = 6 };
enum { INTERNED_CATEGORIES = 1, INTERNED_NAMES = 2, INTERNED_ANNOTATIONS = 3 };
enum { INTERNED_IID = 1, INTERNED_TEXT = 2 };

/* Texts that were written, and their numbers. */
struct written_names {
    struct intern texts;
    struct idmap ids; /* by where the text is kept */
};

#define DEPTH 64 /* of slices within slices, see tracks.c */

struct perfetto {
    const struct run *run;
    struct sink *sink;
    struct buf out;      /* not written yet */
    struct buf interned; /* of the packet that is made */
    struct arena arena;
    struct written_names categories, titles, keys;
    int64_t origin_ns;
    uint64_t process, track; /* uuids */
    bool begun;
    int64_t open[DEPTH]; /* ends of the open slices of the track, the innermost last */
    int depth;
};

/* ---- packets ---- */

static size_t open_packet(struct perfetto *p)
{
    size_t at = proto_open(&p->out, TRACE_PACKET);
    proto_uint(&p->out, PACKET_SEQUENCE_ID, SEQUENCE);
    proto_uint(&p->out, PACKET_SEQUENCE_FLAGS, p->begun ? SEQUENCE_NEEDS : SEQUENCE_CLEARED);
    p->begun = true;
    return at;
}

static void close_packet(struct perfetto *p, size_t at)
{
    if (p->interned.len > 0)
        proto_bytes(&p->out, PACKET_INTERNED, p->interned.data, p->interned.len);
    buf_reset(&p->interned);
    proto_close(&p->out, at);
    if (p->out.len < FLUSH)
        return;
    sink_put(p->sink, p->out.data, p->out.len);
    buf_reset(&p->out);
}

/* The text's number; a new text is put into the packet that is made. */
static uint64_t number_of(struct perfetto *p, struct written_names *names, uint32_t field,
                          const char *text)
{
    const char *kept = intern_add(&names->texts, text, strlen(text));
    uint32_t known = names->ids.count, index = idmap_add(&names->ids, (int64_t)(uintptr_t)kept);
    size_t at;
    char *safe;
    if (index < known)
        return index + 1;
    safe = text_safe_copy(text);
    at = proto_open(&p->interned, field);
    proto_uint(&p->interned, INTERNED_IID, index + 1);
    proto_text(&p->interned, INTERNED_TEXT, safe);
    proto_close(&p->interned, at);
    free(safe);
    return index + 1;
}

/* ---- tracks ---- */

static void put_rank(void *context, const struct rank *rank, size_t index)
{
    struct perfetto *p = context;
    size_t packet, track, process;
    char name[192], host[96];
    p->process = (uint64_t)(index + 1) << 32;
    packet = open_packet(p);
    track = proto_open(&p->out, PACKET_TRACK_DESCRIPTOR);
    proto_uint(&p->out, TRACK_UUID, p->process);
    proto_int(&p->out, TRACK_CHILD_ORDER, CHILD_ORDER_EXPLICIT);
    process = proto_open(&p->out, TRACK_PROCESS);
    proto_int(&p->out, PROCESS_PID, rank->rank + 1);
    snprintf(name, sizeof name, "rank %d%s%s", rank->rank, rank->host[0] != '\0' ? " on " : "",
             text_safe(host, sizeof host, rank->host, 64));
    proto_text(&p->out, PROCESS_NAME, name);
    proto_close(&p->out, process);
    proto_close(&p->out, track);
    close_packet(p, packet);
}

/* Ends what is over at that moment. A slice without length that begins when another ends comes
 * after it. */
static void put_ends(struct perfetto *p, int64_t until_ns)
{
    while (p->depth > 0 && p->open[p->depth - 1] <= until_ns) {
        size_t packet = open_packet(p), event;
        int64_t at_ns = p->open[--p->depth];
        proto_uint(&p->out, PACKET_TIMESTAMP, (uint64_t)(at_ns - p->origin_ns));
        event = proto_open(&p->out, PACKET_TRACK_EVENT);
        proto_int(&p->out, EVENT_TYPE, TYPE_END);
        proto_uint(&p->out, EVENT_TRACK_UUID, p->track);
        proto_close(&p->out, event);
        close_packet(p, packet);
    }
}

static void put_track(void *context, const struct track *track)
{
    struct perfetto *p = context;
    size_t packet, descriptor;
    put_ends(p, INT64_MAX);
    p->track = p->process | track->number;
    packet = open_packet(p);
    descriptor = proto_open(&p->out, PACKET_TRACK_DESCRIPTOR);
    proto_uint(&p->out, TRACK_UUID, p->track);
    proto_uint(&p->out, TRACK_PARENT, p->process);
    proto_text(&p->out, TRACK_NAME, track->name);
    if (track->kind >= TRACK_QUEUE) {
        size_t counter = proto_open(&p->out, TRACK_COUNTER);
        proto_int(&p->out, COUNTER_UNIT, UNIT_COUNT);
        proto_close(&p->out, counter);
    }
    proto_int(&p->out, TRACK_ORDER, track->number);
    proto_close(&p->out, descriptor);
    close_packet(p, packet);
}

/* ---- slices ---- */

static void put_slice(void *context, const struct track *track, const struct track_slice *s)
{
    struct perfetto *p = context;
    size_t packet, event;
    (void)track;
    put_ends(p, s->start_ns);
    packet = open_packet(p);
    proto_uint(&p->out, PACKET_TIMESTAMP, (uint64_t)(s->start_ns - p->origin_ns));
    event = proto_open(&p->out, PACKET_TRACK_EVENT);
    proto_int(&p->out, EVENT_TYPE, TYPE_BEGIN);
    proto_uint(&p->out, EVENT_TRACK_UUID, p->track);
    proto_uint(&p->out, EVENT_CATEGORY_IIDS,
               number_of(p, &p->categories, INTERNED_CATEGORIES, s->category));
    proto_uint(&p->out, EVENT_NAME_IID, number_of(p, &p->titles, INTERNED_NAMES, s->title));
    if (s->op != NULL) {
        struct op_field fields[OP_FIELDS_MAX];
        size_t n = op_fields(p->run, s->op, fields);
        for (size_t i = 0; i < n; i++) {
            size_t at = proto_open(&p->out, EVENT_ANNOTATION);
            proto_uint(&p->out, ANNOTATION_NAME_IID,
                       number_of(p, &p->keys, INTERNED_ANNOTATIONS, fields[i].key));
            if (fields[i].text != NULL) {
                char *safe = text_safe_copy(fields[i].text);
                proto_text(&p->out, ANNOTATION_TEXT, safe);
                free(safe);
            } else {
                proto_int(&p->out, ANNOTATION_INT, fields[i].number);
            }
            proto_close(&p->out, at);
        }
    }
    if (s->launch_part != FLOW_NONE)
        proto_fixed64(&p->out, s->launch_part == FLOW_LAST ? EVENT_LAST_FLOWS : EVENT_FLOWS,
                      s->launch);
    if (s->members_part != FLOW_NONE) /* passes its slices by start: which is the last is open */
        proto_fixed64(&p->out, EVENT_FLOWS, s->members);
    proto_close(&p->out, event);
    close_packet(p, packet);
    p->open[p->depth++] = s->end_ns;
}

static void put_count(void *context, const struct track *track, int64_t at_ns, int64_t value)
{
    struct perfetto *p = context;
    size_t packet = open_packet(p), event;
    (void)track;
    proto_uint(&p->out, PACKET_TIMESTAMP, (uint64_t)(at_ns - p->origin_ns));
    event = proto_open(&p->out, PACKET_TRACK_EVENT);
    proto_int(&p->out, EVENT_TYPE, TYPE_COUNTER);
    proto_uint(&p->out, EVENT_TRACK_UUID, p->track);
    proto_int(&p->out, EVENT_COUNT, value);
    proto_close(&p->out, event);
    close_packet(p, packet);
}

/* ---- the file ---- */

static void names_init(struct written_names *n, struct arena *arena)
{
    memset(n, 0, sizeof *n);
    intern_init(&n->texts, arena);
}

static void names_release(struct written_names *n)
{
    intern_release(&n->texts);
    idmap_release(&n->ids);
}

int export_perfetto(const struct run *run, const char *where, size_t only, struct err *e)
{
    struct perfetto p = {.run = run, .origin_ns = tracks_origin(run)};
    struct track_writer writer = {&p, put_rank, put_track, put_slice, put_count};
    int rc;
    if (sink_open(&p.sink, where, e) < 0)
        return -1;
    buf_init(&p.out);
    buf_init(&p.interned);
    arena_init(&p.arena);
    names_init(&p.categories, &p.arena);
    names_init(&p.titles, &p.arena);
    names_init(&p.keys, &p.arena);
    tracks_write(run, only, &writer);
    put_ends(&p, INT64_MAX);
    sink_put(p.sink, p.out.data, p.out.len);
    rc = sink_close(p.sink, e);
    names_release(&p.categories);
    names_release(&p.titles);
    names_release(&p.keys);
    arena_release(&p.arena);
    buf_release(&p.out);
    buf_release(&p.interned);
    return rc;
}
