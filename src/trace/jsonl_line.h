/* SPDX-License-Identifier: MIT
 *
 * One line of a specter trace, taken apart by the tables of specter/trace.h: which record it is,
 * and its fields by number. The writer's order of keys is the fast one; any other works.
 *
 *     struct line l = LINE_INIT;
 *     if (!line_parse(&l, text, len, 0)) ... l.error, l.offset
 *     if (l.record == SPECTER_REC_NCCL)
 *         bytes = line_u64(&l, NCCL_bytes, 0);
 *
 * Text values are views into the caller's bytes.
 */
#ifndef SPECTER_TRACE_JSONL_LINE_H
#define SPECTER_TRACE_JSONL_LINE_H

#include "base/json.h"
#include "specter/trace.h"

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

/* behind: so many bytes of the caller's stand behind the text, the first of them a newline or the
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

#endif
