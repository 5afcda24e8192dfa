/* SPDX-License-Identifier: MIT */
#include "output.h"

#include "clock.h"
#include "comm.h"
#include "file.h"
#include "filter.h"
#include "tracer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FLUSH_NS INT64_C(100000000)
#define BATCH_BYTES 61440
#define BUFFER_BYTES (BATCH_BYTES + FORMAT_INIT_MAX)
#define COMMS_BYTES 38912                     /* sums by communicator */
#define COMMS_BYTES_OF(_size) ((_size) / 128) /* of a file of limited size */
#define REST_BYTES (8192 + OP_SUMS_TIME_BYTES + COVERAGE_GAPS_BYTES_MAX)
#define SUMMARY_BYTES (REST_BYTES + COMMS_BYTES)
#define ROOM_BYTES 4096 /* given up at the end of a full disk */
#define CLOSING_BYTES(_comms) (REST_BYTES + 512 + (_comms))
_Static_assert(CLOSING_BYTES(COMMS_BYTES) <= FLIGHT_END_BYTES, "it must fit its slot");
#define LINES_MAX 2048 /* more than fit into the buffer and ROOM_BYTES */
#define OPS_BYTES (SPECTER_LINE_MAX - FORMAT_LINE_MAX) /* a graph's list: a line holds no more */

enum line_kind {
    LINE_HEAD,
    LINE_COMM,
    LINE_CLOCK,
    LINE_SAMPLE,
    LINE_END,
    LINE_MARK,
    LINE_ACT,      /* a record without an id that is no mark */
    LINE_SHOWN,    /* an operation that is not finished */
    LINE_REPLACED, /* the same, when it has ended since */
    LINE_OP,       /* an operation that has ended */
    LINE_OP_AGAIN, /* one whose other line stands further ahead */
};

/* A line that may still have to be taken back. */
struct line_note {
    int64_t at; /* where it begins in the file */
    uint64_t id;
    enum line_kind kind;
};

static struct output {
    const struct config *config;
    int64_t mono_ns, real_ns;
    struct file file;
    bool in_slots; /* SPECTER_RING */
    struct flight flight;
    struct dump_request request;
    char folder[REQUEST_NAME_MAX]; /* that it asks for */
    int64_t base;        /* bytes of lines before the buffer: the file's size but for slots */
    const char *stopped; /* why nothing more is recorded; NULL: it is */
    bool broken;         /* the file cannot be written */
    bool ending;         /* every operation has had its last line */
    struct out out;      /* into buffer */
    int64_t since_ns;    /* the buffer's first line, on the pacing clock */
    uint64_t ops, lost;  /* operations in the file; records whose last line is not there */
    uint64_t nflushed;   /* lines no longer in the buffer */
    uint64_t nlines;     /* noted so far; the last LINES_MAX are in lines[] */
    struct line_note lines[LINES_MAX];
    uint64_t synced; /* a bit a device whose clock record was written under --sync */
    int64_t end_ns;
    off_t closing_at; /* where the closing record begins, without slots */
    char gemm_names[HOOK_COUNT][64];
    char buffer[BUFFER_BYTES];
    union {
        char gpus[INIT_LINE_GPUS_BYTES]; /* for the first line */
        char summary[SUMMARY_BYTES];     /* for the last one, which may be written twice */
    };
} output;

int output_open(const struct config *config, int64_t mono_ns, int64_t real_ns)
{
    output.config = config;
    output.mono_ns = mono_ns;
    output.real_ns = real_ns;
    output.out.p = output.buffer;
    output.in_slots = config->ring > 0;
    for (int i = 0; i < HOOK_COUNT; i++)
        format_gemm_name(output.gemm_names[i], function_names[i].name);
    coverage_gaps_begin();
    return file_open(&output.file, config);
}

/* ---- the buffer and the file ---- */

static size_t buffered(void)
{
    return (size_t)(output.out.p - output.buffer);
}

bool output_is_pending(void)
{
    return buffered() > 0;
}

/* Where the next line will begin in the file. */
static int64_t position(void)
{
    return output.base + (int64_t)buffered();
}

/* ---- lines that may be lost ---- */

static struct line_note *note_of(uint64_t number)
{
    return &output.lines[number % LINES_MAX];
}

/* The operation has ended, so that the line that shows it as not finished says nothing new. */
static void note_replaced(uint64_t id)
{
    uint64_t oldest = output.nlines > LINES_MAX ? output.nlines - LINES_MAX : 0;
    for (uint64_t i = output.nlines; i-- > oldest;) {
        if (note_of(i)->kind == LINE_SHOWN && note_of(i)->id == id)
            note_of(i)->kind = LINE_REPLACED;
    }
}

/* Returns whether the operation or record is done with this line. One that is only shown as not
 * finished is counted when it ends. */
static bool is_last(enum line_kind kind)
{
    return kind == LINE_OP || kind == LINE_OP_AGAIN || kind == LINE_ACT || kind == LINE_MARK ||
           (kind == LINE_SHOWN && output.ending);
}

/* Counts as lost what is noted after the end of the file. */
static void take_back(void)
{
    while (output.nlines > 0 && note_of(output.nlines - 1)->at >= (int64_t)output.file.size) {
        enum line_kind kind = note_of(--output.nlines)->kind;
        output.ops -= kind == LINE_OP || kind == LINE_SHOWN || kind == LINE_REPLACED;
        output.lost += is_last(kind);
        note_of(output.nlines)->at = -1;
    }
}

/* ---- the file ---- */

static void stop(const char *why)
{
    int on = TRACER_ON;
    if (output.stopped == NULL)
        output.stopped = why;
    atomic_compare_exchange_strong(&tracer.state, &on, TRACER_LOSING); /* from here on only count */
}

/* The program goes on, and so do we, but nothing more is recorded. */
static void give_up(int error)
{
    static char text[64];
    const char *why = strerror_r(error, text, sizeof text);
    output.broken = true;
    stop(why);
    warn_once("cannot write '", output.file.name, "': ", why, "; recording stops here", NULL);
}

static int write_lines(void)
{
    size_t kept;
    int error = EBADF;
    if (output.file.fd >= 0)
        error = file_write(&output.file, output.buffer, buffered(), &kept);
    output.base = output.file.size;
    if (error != 0)
        take_back();
    return error;
}

/* A line into the slot that its kind has. */
static int store_line(const struct line_note *n, const char *text, size_t len)
{
    static const enum flight_band bands[] = {
        [LINE_HEAD] = FLIGHT_HEAD,      [LINE_COMM] = FLIGHT_COMMS,  [LINE_CLOCK] = FLIGHT_CLOCKS,
        [LINE_SAMPLE] = FLIGHT_SAMPLES, [LINE_END] = FLIGHT_END,     [LINE_MARK] = FLIGHT_MARKS,
        [LINE_ACT] = FLIGHT_ACTS,       [LINE_SHOWN] = FLIGHT_SHOWN, [LINE_OP] = FLIGHT_OPS,
        [LINE_OP_AGAIN] = FLIGHT_OPS,
    };
    int error;
    if (n->kind == LINE_REPLACED)
        return 0; /* it has ended before it was written */
    error = flight_put(&output.flight, bands[n->kind], n->id, text, len);
    if (n->kind == LINE_OP_AGAIN && error == 0)
        error = flight_unshow(&output.flight, n->id);
    if (error == EAGAIN)
        return 0; /* more wait than there are slots: the oldest are shown */
    if (error == EMSGSIZE) {
        output.lost++;
        return 0;
    }
    return error;
}

static int store_lines(void)
{
    int error = file_is_ours(&output.file) ? 0 : EBADF;
    for (; output.nflushed < output.nlines && error == 0; output.nflushed++) {
        const struct line_note *n = note_of(output.nflushed);
        bool last = output.nflushed + 1 == output.nlines;
        int64_t end = last ? position() : note_of(output.nflushed + 1)->at;
        error = store_line(n, output.buffer + (n->at - output.base), (size_t)(end - n->at));
    }
    output.base = position();
    return error == 0 ? flight_sync(&output.flight) : error;
}

static void flush(void)
{
    int error;
    if (buffered() == 0)
        return;
    error = output.in_slots ? store_lines() : write_lines();
    output.nflushed = output.nlines;
    output.out.p = output.buffer;
    if (error != 0)
        give_up(error);
}

void output_flush_old(bool now)
{
    if (buffered() > 0 && (now || clock_pace_ns() - output.since_ns >= FLUSH_NS))
        flush();
}

/* Bytes that the closing record may have for its sums by communicator. */
static int64_t comms_room(void)
{
    int64_t limit = output.config->max_size;
    if (output.broken)
        return 0; /* what it takes is taken from the operations in the file */
    return limit > 0 && COMMS_BYTES_OF(limit) < COMMS_BYTES ? COMMS_BYTES_OF(limit) : COMMS_BYTES;
}

/* Returns whether one more line is allowed. The closing record keeps its place below the limit. */
static bool may_write(void)
{
    int64_t limit = output.config->max_size;
    if (output.stopped == NULL && limit > 0 && !output.in_slots &&
        position() + FORMAT_LINE_MAX + CLOSING_BYTES(comms_room()) > limit)
        stop("max-size");
    return output.stopped == NULL;
}

/* Before each line: makes room for it. */
static struct out *line(enum line_kind kind, uint64_t id)
{
    if (buffered() >= BATCH_BYTES - FORMAT_LINE_MAX)
        flush();
    if (buffered() == 0)
        output.since_ns = clock_pace_ns();
    *note_of(output.nlines++) = (struct line_note){position(), id, kind};
    return &output.out;
}

/* ---- the process ---- */

void output_sample(uint64_t rate, const char *why, int64_t time_ns)
{
    if (may_write())
        format_sample(
            line(LINE_SAMPLE, 0),
            &(struct sample_line){.time_ns = time_ns, .of = "cublas", .why = why, .rate = rate});
}

/* With the init line in the buffer. false: there is no such file to be had, and none stays. */
static bool open_flight(void)
{
    char text[64], ring[32];
    int error = flight_open(&output.flight, &output.file, (uint64_t)output.config->ring,
                            output.config->max_size, output.buffer, buffered());
    output.nflushed = output.nlines;
    output.base = position();
    output.out.p = output.buffer;
    if (error == 0)
        return true;
    snprintf(ring, sizeof ring, "%lld", (long long)output.config->ring);
    warn_once("cannot reserve the space for a ring of ", ring, " operations in '", output.file.name,
              "': ", strerror_r(error, text, sizeof text), "; nothing is recorded", NULL);
    file_discard(&output.file);
    output.broken = true;
    stop("no space for the ring");
    return false;
}

void output_init(void)
{
    const struct config *c = output.config;
    init_line_put(line(LINE_HEAD, 0), c, output.mono_ns, output.real_ns, output.gpus);
    if (output.in_slots && !open_flight())
        return;
    flush(); /* whatever becomes of the program, its trace says whose it is */
    if (c->sample > 1 && c->wanted[RECORD_GEMM])
        output_sample((uint64_t)c->sample, "asked", 0);
}

static int64_t known_or_null(int64_t value)
{
    return value != COMM_UNKNOWN ? value : INT64_MIN;
}

void output_comm(const struct traced_comm *c, void *unused)
{
    const struct comm_init *b = &c->init;
    (void)unused;
    if (b->id == 0 || !may_write())
        return; /* without an identity nothing could refer to it */
    format_comm(line(LINE_COMM, 0), &(struct comm_line){
                                        .time_ns = c->time_ns - output.mono_ns,
                                        .comm = b->id,
                                        .parent = b->parent,
                                        .comm_rank = known_or_null(b->rank),
                                        .comm_size = known_or_null(b->size),
                                        .device = known_or_null(b->device),
                                        .split_seq = known_or_null(b->split_seq),
                                        .color = known_or_null(b->color),
                                        .key = known_or_null(b->key),
                                        .name = b->name,
                                        .nodes = known_or_null(atomic_load(&c->nodes)),
                                    });
}

void output_clock(const struct clock_record *l, void *unused)
{
    (void)unused;
    if (may_write())
        format_clock(line(LINE_CLOCK, 0), l);
}

void output_plugin(const struct plugin_line *l)
{
    if (may_write())
        format_plugin(line(LINE_ACT, 0), l);
}

/* ---- records ---- */

/* The number of bytes that a graph's list may have of its line. */
static size_t list_room(void)
{
    if (output.in_slots)
        return FLIGHT_OP_BYTES - FORMAT_GRAPH_MAX;
    if (output.config->max_size > 0)
        return FORMAT_LINE_MAX - FORMAT_GRAPH_MAX;
    return OPS_BYTES;
}

/* A graph's first launch says what the graph holds. */
static void put_record(struct out *o, const struct record *r, uint64_t id)
{
    static char ops[OPS_BYTES];
    struct line_extras extras = {0};
    if (r->kind == RECORD_GEMM)
        extras.gemm_name = output.gemm_names[r->op];
    if (r->kind == RECORD_GRAPH)
        extras.op_count = graph_ops_count(r->graph);
    if (record_is_first_launch(r)) {
        graph_ops_list(r->graph, ops, list_room());
        extras.ops = ops;
    }
    format_record(o, r, id, &extras);
}

/* Under --sync the timeline of a device is the host's. */
static void put_identity_clock(const struct record *r)
{
    uint64_t bit = UINT64_C(1) << (r->device & 63);
    if (!record_is_op(r) || r->timing != SPECTER_TIMING_SYNC || r->device < 0 ||
        (output.synced & bit) != 0)
        return;
    output.synced |= bit;
    format_clock(line(LINE_CLOCK, 0), &(struct clock_record){
                                          .device = r->device,
                                          .dev_ns = r->start_ns,
                                          .mono_ns = (uint64_t)(output.mono_ns + r->start_ns),
                                          .real_ns = (uint64_t)(output.real_ns + r->start_ns),
                                      });
}

/* The last line of a record. */
static void put_last(const struct record *r, uint64_t id, int64_t shown)
{
    enum line_kind kind = r->kind == RECORD_MARK ? LINE_MARK
                          : !record_is_op(r)     ? LINE_ACT
                          : shown >= 0           ? LINE_OP_AGAIN
                                                 : LINE_OP;
    put_record(line(kind, id), r, id);
    output.ops += kind == LINE_OP;
}

void output_record(struct record *r, uint64_t id, int64_t shown)
{
    if (shown >= 0)
        note_replaced(id);
    if (!may_write()) {
        output.lost++;
        return;
    }
    /* The enqueuing call is the only time there is of work that no event stands around. */
    if (record_is_op(r) && r->timing == SPECTER_TIMING_HOST) {
        r->start_ns = r->host_ns;
        r->dur_ns = r->host_end_ns - r->host_ns;
    }
    put_identity_clock(r);
    op_sums_add(r);
    put_last(r, id, shown);
    if (record_is_first_launch(r))
        graph_ops_release(r->graph);
}

int64_t output_unfinished(const struct record *r, uint64_t id)
{
    struct out *o;
    if (!may_write())
        return NOT_WRITTEN;
    o = line(LINE_SHOWN, id);
    output.ops++;
    put_record(o, r, id);
    return note_of(output.nlines - 1)->at;
}

/* A line that was written and did not get lost is the last one of its operation. */
void output_abandoned(const struct record *r, uint64_t id, int64_t shown)
{
    if (shown >= 0 && !output.in_slots && (!output.broken || shown < (int64_t)output.file.size)) {
        op_sums_add(r);
    } else if (may_write()) {
        op_sums_add(r);
        put_last(r, id, shown);
    } else {
        output.lost++;
    }
}

/* ---- the end ---- */

/* Puts what was left out, and why. */
static void put_limits(struct out *o)
{
    if (filter_skipped() > 0) {
        put_RAW(o, ",\"skipped\":{\"cublas\":");
        put_U64(o, filter_skipped());
        put_RAW(o, "}");
    }
    if (output.in_slots) {
        put_RAW(o, ",\"ring\":");
        put_U64(o, (uint64_t)output.config->ring);
        put_RAW(o, ",\"fell_out\":");
        put_U64(o, flight_gone(&output.flight));
    }
    if (comm_without_room() > 0) {
        put_RAW(o, ",\"comms_without_room\":");
        put_U64(o, comm_without_room());
    }
    if (output.stopped != NULL) {
        put_RAW(o, ",\"stopped\":");
        put_STR(o, output.stopped);
    }
}

static void put_summary(struct out *o)
{
    put_RAW(o, "{");
    op_sums_put(o, (size_t)comms_room());
    put_RAW(o, ",\"unseen\":");
    coverage_gaps_put(o);
    put_limits(o);
    put_RAW(o, "}");
    *o->p = '\0';
}

/* A full disk has no room for the closing record either, which tells what was lost: some of the
 * last lines give way to it. */
static void make_room(void)
{
    if (output.in_slots)
        return; /* the closing record has its own place */
    /* The buffer is empty. A graph's first launch may be longer than what is given up else. */
    if (file_cut_tail(&output.file, output.buffer, ROOM_BYTES) == 0)
        file_cut_tail(&output.file, output.buffer, BUFFER_BYTES);
    output.base = output.file.size;
    take_back();
}

void output_flush(void)
{
    flush();
    if (output.broken)
        make_room();
}

static void put_closing(struct out *o, uint64_t dropped)
{
    format_shutdown(o, &(struct shutdown_line){
                           .time_ns = output.end_ns - output.mono_ns,
                           .total_ops = output.ops,
                           .dropped = output.lost + dropped,
                           .summary = output.summary,
                       });
}

void output_close(int64_t end_ns, uint64_t dropped)
{
    struct out o = {output.summary};
    bool was_broken = output.broken;
    output.ending = true;
    output.end_ns = end_ns;
    flush(); /* the whole buffer for a long line */
    if (output.broken && !was_broken)
        make_room();
    if (output.in_slots)
        output.ops = flight_ops(&output.flight);
    put_summary(&o);
    output.closing_at = output.file.size;
    put_closing(line(LINE_END, 0), dropped);
    flush();
}

void output_amend(uint64_t dropped)
{
    struct out o = {output.buffer};
    bool closed = output.in_slots || output.file.size > output.closing_at;
    if (!closed || !file_is_ours(&output.file))
        return;
    put_closing(&o, dropped);
    if (output.in_slots) {
        flight_put(&output.flight, FLIGHT_END, 0, output.buffer, (size_t)(o.p - output.buffer));
        flight_sync(&output.flight);
    } else {
        file_replace(&output.file, output.closing_at, output.buffer, (size_t)(o.p - output.buffer));
    }
}

/* ---- while it goes on ---- */

static int copy_slots(void *unused, int fd)
{
    (void)unused;
    return flight_copy(&output.flight, fd);
}

bool output_dump_is_asked(void)
{
    return !output.broken && request_poll(&output.request, &output.file, output.folder);
}

void output_dump(int64_t time_ns)
{
    if (may_write())
        format_dump(line(LINE_ACT, 0), time_ns);
    flush();
    /* The process that asked reports what is missing; the program need not hear of it. */
    (void)request_answer(&output.file, output.folder, output.in_slots ? copy_slots : NULL, NULL);
}

void output_discard(void)
{
    file_discard(&output.file);
}

void output_forked(void)
{
    file_close(&output.file);
    coverage_gaps_forked();
}

void output_reset(void)
{
    memset(&output, 0, offsetof(struct output, gemm_names));
    graph_ops_reset();
    op_sums_reset();
    coverage_gaps_reset();
}
