/* SPDX-License-Identifier: MIT
 *
 * One file of the specter format while it is read: jsonl.c brings the lines and ends the file,
 * jsonl_line.c takes them apart, jsonl_record.c and jsonl_init.c understand them, jsonl_clock.c
 * maps device times to the host's clock.
 *
 * Times stay as they are in the file until its end, when all clock records are known: device times
 * on the device's clock, host times since init.mono_ns.
 */
#ifndef SPECTER_TRACE_JSONL_H
#define SPECTER_TRACE_JSONL_H

#include "base/idmap.h"
#include "base/json.h"
#include "specter/trace.h"
#include "trace/reader.h"
#include "trace/run.h"

/* ---- one line (jsonl_line.c) ----
 *
 * One line of a specter trace, taken apart by the tables of specter/trace.h: which record it is,
 * and its fields by number. The writer's order of keys is the fast one; any other works.
 *
 *     struct line l = LINE_INIT;
 *     if (!line_parse(&l, text, len, 0)) ... l.error, l.offset
 *     if (l.record == SPECTER_REC_NCCL)
 *         bytes = line_u64(&l, NCCL_bytes, 0);
 *
 * Text values are views into the caller's bytes. */

/* NCCL_id, NCCL_type, ... CUBLAS_m, ...: the fields of each record, in the writer's order; and the
 * keys that only the original Python tool writes. */
#define LINE_ENUM(record, fields, extra) enum { fields(record##_X) extra record##_COUNT };
#define INIT_X(key, kind, when) INIT_##key,
#define COMM_X(key, kind, when) COMM_##key,
#define NCCL_X(key, kind, when) NCCL_##key,
#define CUBLAS_X(key, kind, when) CUBLAS_##key,
#define DEP_X(key, kind, when) DEP_##key,
#define SYNC_X(key, kind, when) SYNC_##key,
#define CLOCK_X(key, kind, when) CLOCK_##key,
#define COPY_X(key, kind, when) COPY_##key,
#define UNTRACED_X(key, kind, when) UNTRACED_##key,
#define GRAPH_X(key, kind, when) GRAPH_##key,
#define PLUGIN_X(key, kind, when) PLUGIN_##key,
#define MARK_X(key, kind, when) MARK_##key,
#define SAMPLE_X(key, kind, when) SAMPLE_##key,
#define DUMP_X(key, kind, when) DUMP_##key,
#define SHUTDOWN_X(key, kind, when) SHUTDOWN_##key,
#define LINE_EXTRA_CUBLAS(X) X(dtype_a, STR, SOME) X(trans_a, STR, SOME) X(trans_b, STR, SOME)

LINE_ENUM(INIT, SPECTER_INIT_FIELDS, )
LINE_ENUM(COMM, SPECTER_COMM_FIELDS, )
LINE_ENUM(NCCL, SPECTER_NCCL_FIELDS, )
LINE_ENUM(CUBLAS, SPECTER_CUBLAS_FIELDS, LINE_EXTRA_CUBLAS(CUBLAS_X))
LINE_ENUM(DEP, SPECTER_DEP_FIELDS, )
LINE_ENUM(SYNC, SPECTER_SYNC_FIELDS, )
LINE_ENUM(CLOCK, SPECTER_CLOCK_FIELDS, )
LINE_ENUM(COPY, SPECTER_COPY_FIELDS, )
LINE_ENUM(UNTRACED, SPECTER_UNTRACED_FIELDS, )
LINE_ENUM(GRAPH, SPECTER_GRAPH_FIELDS, )
LINE_ENUM(PLUGIN, SPECTER_PLUGIN_FIELDS, )
LINE_ENUM(MARK, SPECTER_MARK_FIELDS, )
LINE_ENUM(SAMPLE, SPECTER_SAMPLE_FIELDS, )
LINE_ENUM(DUMP, SPECTER_DUMP_FIELDS, )
LINE_ENUM(SHUTDOWN, SPECTER_SHUTDOWN_FIELDS, )

#define LINE_FIELDS_MAX 40

union line_value {
    int64_t i; /* I64; US and F1 as nanoseconds of microseconds */
    uint64_t u;
    struct json_text s; /* STR; RAW: the value as it stands */
};

struct line {
    int record;            /* enum specter_record; SPECTER_REC_COUNT: another kind */
    struct json_text kind; /* its name where it is another kind; empty when the line names none */
    bool timed;            /* another kind, and it has a start or a duration on a device */
    uint64_t present;      /* bit f: field f is there and not null */
    union line_value v[LINE_FIELDS_MAX];
    uint8_t follow[SPECTER_REC_COUNT][LINE_FIELDS_MAX + 1]; /* which field came last time behind
                                                               each, counted from 1; 0: first */
    const char *error;                                      /* why line_parse() returned false */
    size_t offset;                                          /* where */
    bool cut;                                               /* the text ended too early */
};

/* A line remembers its record for the next one: the same struct for all lines of a file is fast. */
#define LINE_INIT                   \
    {                               \
        .record = SPECTER_REC_COUNT \
    }

/* behind: so many bytes of the caller's stand after the text, the first of them a newline or the
 * like (json_room()); with LINE_ROOM of them the whole line is read the fast way. */
#define LINE_ROOM 40
bool line_parse(struct line *l, const char *text, size_t len, size_t behind);

static inline bool line_has(const struct line *l, int field)
{
    return l->present >> field & 1;
}

static inline int64_t line_i64(const struct line *l, int field, int64_t none)
{
    return line_has(l, field) ? l->v[field].i : none;
}

static inline uint64_t line_u64(const struct line *l, int field, uint64_t none)
{
    return line_has(l, field) ? l->v[field].u : none;
}

static inline struct json_text line_text(const struct line *l, int field)
{
    return line_has(l, field) ? l->v[field].s : (struct json_text){"", 0, false};
}

/* A time of a clock; UNKNOWN_NS where it is not there, or not believable. */
static inline int64_t line_clock(const struct line *l, int field)
{
    uint64_t value = line_u64(l, field, UINT64_MAX);
    return value < (uint64_t)RUN_TIME_MAX ? (int64_t)value : UNKNOWN_NS;
}

/* The wall clock of an init record; 0: it has none, or one that is not believable. */
static inline int64_t line_real_ns(const struct line *l)
{
    const int64_t ns = line_clock(l, INIT_real_ns);
    return ns != UNKNOWN_NS ? ns : 0;
}

/* Of an init record: false where its rank or world size is more than a trace may claim. */
bool jsonl_init_believable(const struct line *l);

/* Nothing, or a comment: a place in a flight recording that was being written, say. */
bool jsonl_holds_nothing(const char *text, size_t len);

/* ---- jsonl_clock.c ----
 *
 * From the clocks of a trace's devices to its host clock, by the pairs that `clock` records hold.
 *
 * Between two pairs the mapping is linear; before the first and after the last the nearest pair's
 * offset holds; with no pair at all the device clock is taken to start with the trace, as the
 * format defines it (start_us counts from a base set at init.mono_ns). */

struct clock_pair {
    int32_t device;
    int64_t dev_ns, mono_ns; /* one moment on both clocks */
};

struct clock_map {
    int64_t base_ns;          /* init.mono_ns */
    struct clock_pair *pairs; /* owned */
    size_t count, cap;
    size_t hint; /* where the last answer was found */
};

void clock_add(struct clock_map *m, int32_t device, int64_t dev_ns, int64_t mono_ns);

/* Once, after the last clock_add(). Pairs that would make time run backwards are dropped. */
void clock_ready(struct clock_map *m, int64_t base_ns);

/* UNKNOWN_NS for UNKNOWN_NS, and for what leaves the believable range. */
int64_t clock_to_host(struct clock_map *m, int32_t device, int64_t dev_ns);

void clock_release(struct clock_map *m);

/* ---- one file ---- */

enum word_role { WORD_OP, WORD_DTYPE, WORD_REDOP, WORD_TIMING, WORD_COMM, WORD_OTHER, WORD_ROLES };

/* Records that are not read, by their kind; in `total` also those that have no place of their own.
 */
#define JSONL_UNREAD_MAX 8

struct jsonl_unread {
    uint64_t total;
    size_t nkinds;
    struct {
        const char *name;
        uint64_t count;
    } kinds[JSONL_UNREAD_MAX];
};

/* Communicators of the original tool, which tells only their sizes. */
#define JSONL_UNNAMED "unnamed, of "

struct jsonl {
    struct run *run;
    struct rank *rank; /* the process of this file; the last of the run while it is read */
    const char *label;
    struct line line;
    struct memo words[WORD_ROLES];
    struct clock_map clocks;
    struct idmap threads;
    struct jsonl_gpu {
        int64_t device;
        const char *name;
    } gpus[64];
    size_t ngpus;
    struct idmap members; /* (communicator, comm rank) to the rank's memberships */
    bool has_init, has_shutdown;
    uint64_t sample; /* one GEMM in so many from the start, as init says */
    int64_t end_ns;  /* of the trace, on the host: shutdown, else the latest host time */

    uint64_t line_no, usable, bad, first_bad;
    char bad_reason[128];
    struct jsonl_unread unknown; /* of kinds we do not know */
    struct jsonl_unread lost;    /* those that hold device work, so that the result lacks it */
    uint64_t last_id;
    bool ids_repeat; /* some id was not larger than the one before */

    /* the original Python tool */
    bool legacy, typed, synchronised;
    bool saw_nccl, saw_gemm;
    int32_t group, group_depth;
    int64_t world_seq; /* collectives over all ranks so far */
};

/* Adds to the rank what the line says, the second of an init record (jsonl_init.c). NULL, or what
 * is wrong with it. */
const char *jsonl_record(struct jsonl *r, const struct line *l);
const char *jsonl_init(struct jsonl *r, const struct line *l);

/* Adds to the run, which is not finished yet, the ranks of a file of which the caller holds the
 * whole lines; LINE_ROOM bytes behind them may be looked at. What stands behind the last newline is
 * not read. As reader->read() else. */
int jsonl_read_text(struct run *run, const char *text, size_t len, const char *label,
                    struct err *e);

#endif
