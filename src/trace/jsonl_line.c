/* SPDX-License-Identifier: MIT */
#include "trace/jsonl.h"

#include "base/json_scan.h"

#include <string.h>

enum kind { STR, U64, I64, US, F1, RAW };

struct field {
    char quoted[JSON_QUOTED_MAX]; /* ,"key": as a writer puts it */
    uint64_t mask;                /* of its first eight bytes */
    uint8_t len;                  /* of it */
    uint8_t kind;
};

#define MASK(len) ((len) < 8 ? ((uint64_t)1 << (len) % 8 * 8) - 1 : UINT64_MAX)
#define FIELD(key, kind, when) {",\"" #key "\":", MASK(sizeof #key + 3), sizeof #key + 3, kind},

static const struct field init_fields[] = {SPECTER_INIT_FIELDS(FIELD)};
static const struct field comm_fields[] = {SPECTER_COMM_FIELDS(FIELD)};
static const struct field nccl_fields[] = {SPECTER_NCCL_FIELDS(FIELD)};
static const struct field cublas_fields[] = {SPECTER_CUBLAS_FIELDS(FIELD) LINE_EXTRA_CUBLAS(FIELD)};
static const struct field dep_fields[] = {SPECTER_DEP_FIELDS(FIELD)};
static const struct field sync_fields[] = {SPECTER_SYNC_FIELDS(FIELD)};
static const struct field clock_fields[] = {SPECTER_CLOCK_FIELDS(FIELD)};
static const struct field copy_fields[] = {SPECTER_COPY_FIELDS(FIELD)};
static const struct field untraced_fields[] = {SPECTER_UNTRACED_FIELDS(FIELD)};
static const struct field graph_fields[] = {SPECTER_GRAPH_FIELDS(FIELD)};
static const struct field plugin_fields[] = {SPECTER_PLUGIN_FIELDS(FIELD)};
static const struct field mark_fields[] = {SPECTER_MARK_FIELDS(FIELD)};
static const struct field sample_fields[] = {SPECTER_SAMPLE_FIELDS(FIELD)};
static const struct field dump_fields[] = {SPECTER_DUMP_FIELDS(FIELD)};
static const struct field shutdown_fields[] = {SPECTER_SHUTDOWN_FIELDS(FIELD)};

_Static_assert(INIT_COUNT <= LINE_FIELDS_MAX && COMM_COUNT <= LINE_FIELDS_MAX &&
                   NCCL_COUNT <= LINE_FIELDS_MAX && CUBLAS_COUNT <= LINE_FIELDS_MAX &&
                   DEP_COUNT <= LINE_FIELDS_MAX && SYNC_COUNT <= LINE_FIELDS_MAX &&
                   CLOCK_COUNT <= LINE_FIELDS_MAX && COPY_COUNT <= LINE_FIELDS_MAX &&
                   UNTRACED_COUNT <= LINE_FIELDS_MAX && GRAPH_COUNT <= LINE_FIELDS_MAX &&
                   PLUGIN_COUNT <= LINE_FIELDS_MAX && SAMPLE_COUNT <= LINE_FIELDS_MAX &&
                   MARK_COUNT <= LINE_FIELDS_MAX && DUMP_COUNT <= LINE_FIELDS_MAX &&
                   SHUTDOWN_COUNT <= LINE_FIELDS_MAX,
               "struct line has room for every record");

enum selector { event, type };

static const struct record_kind_row {
    enum selector selector;
    int selector_field;
    const char *name;
    size_t name_len;
    const struct field *fields;
    int count;
} records[] = {
#define INIT_TABLE init_fields
#define COMM_TABLE comm_fields
#define NCCL_TABLE nccl_fields
#define CUBLAS_TABLE cublas_fields
#define DEP_TABLE dep_fields
#define SYNC_TABLE sync_fields
#define CLOCK_TABLE clock_fields
#define COPY_TABLE copy_fields
#define UNTRACED_TABLE untraced_fields
#define GRAPH_TABLE graph_fields
#define PLUGIN_TABLE plugin_fields
#define MARK_TABLE mark_fields
#define SAMPLE_TABLE sample_fields
#define DUMP_TABLE dump_fields
#define SHUTDOWN_TABLE shutdown_fields
#define X(id, key, name) {key, id##_##key, name, sizeof name - 1, id##_TABLE, id##_COUNT},
    SPECTER_RECORDS(X)
#undef X
};

static int record_named(enum selector selector, struct json_text name)
{
    for (int r = 0; r < SPECTER_REC_COUNT; r++) {
        if (records[r].selector == selector && json_text_is(name, records[r].name))
            return r;
    }
    return SPECTER_REC_COUNT;
}

/* Finds the record's name among the keys. A line of the original tool's NCCL or cuBLAS files has
 * none, but an operation, and a GEMM its shape. */
static void find_record(struct line *l, struct json *j)
{
    struct json_text key;
    bool op = false, shape = false;
    l->record = SPECTER_REC_COUNT;
    l->kind = (struct json_text){"", 0, false};
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        bool is_event = json_text_is(key, "event");
        if ((is_event || json_text_is(key, "type")) && json_peek(j) == '"') {
            l->kind = json_string(j);
            l->record = record_named(is_event ? event : type, l->kind);
            return;
        }
        op |= json_text_is(key, "op");
        shape |= json_text_is(key, "m");
        json_skip(j);
    }
    if (op)
        l->record = shape ? SPECTER_REC_CUBLAS : SPECTER_REC_NCCL;
}

/* The field with this key: mostly the next one of the table, else the next of that name. */
static inline int find_field(const struct record_kind_row *record, int next, struct json_text key)
{
    for (int i = 0; i < record->count; i++, next++) {
        const struct field *f;
        if (next >= record->count)
            next = 0;
        f = &record->fields[next];
        if (f->len == key.len + 4 && memcmp(f->quoted + 2, key.p, key.len) == 0)
            return next;
    }
    return -1;
}

static struct json_text raw_value(struct json *j)
{
    struct json_text raw = {NULL, 0, false};
    if (json_peek(j) == 'n') {
        json_skip(j);
        return raw;
    }
    raw.p = j->p;
    json_skip(j);
    raw.len = (uint32_t)(j->p - raw.p);
    return raw;
}

/* Reads one value, however it is written; false when it is null. */
static bool any_value(struct json *j, enum kind kind, union line_value *v)
{
    switch (kind) {
    case STR:
        v->s = json_string(j);
        return v->s.p != NULL;
    case U64:
        v->u = json_u64(j, UINT64_MAX);
        return v->u != UINT64_MAX;
    case I64:
        v->i = json_i64(j, INT64_MIN);
        return v->i != INT64_MIN;
    case US:
        v->i = json_time_ns(j, 1000, INT64_MIN);
        return v->i != INT64_MIN;
    case F1: /* only for people: derived from what else is in the line */
        json_skip(j);
        return false;
    case RAW:
        v->s = raw_value(j);
        return v->s.p != NULL;
    }
    return false;
}

static inline bool plain_value(struct json *j, enum kind kind, union line_value *v)
{
    switch (kind) {
    case STR:
        return scan_text(j, &v->s);
    case U64:
        return scan_u64(j, &v->u);
    case I64:
        return scan_i64(j, &v->i);
    case US:
        return scan_us(j, &v->i);
    case F1:
    case RAW:
        break;
    }
    return false;
}

/* The same as any_value(). The scanner's address is not given away on the short ways, here and in
 * next_field(), so that the compiler keeps it in registers. */
static inline bool take_value(struct json *j, enum kind kind, union line_value *v)
{
    struct json other;
    bool there;
    if (plain_value(j, kind, v))
        return true;
    if (kind == F1 ? scan_past_number(j) : scan_null(j))
        return false;
    other = *j;
    there = any_value(&other, kind, v);
    *j = other;
    return there;
}

static bool finish_line(struct line *l, const struct json *j)
{
    l->error = j->error;
    l->offset = json_offset(j);
    l->cut = json_is_cut(j);
    return j->error == NULL;
}

static bool any_field(struct json *j, const struct record_kind_row *record, int next, int *field)
{
    struct json_text key;
    if (!json_next_key(j, &key))
        return false;
    *field = find_field(record, next, key);
    if (*field < 0)
        json_skip(j);
    return true;
}

/* The next key as a field of the record: the one expected, or whichever it is; -1 for a key that
 * the record does not have, whose value is then passed over. False at the end of the object. */
static inline bool next_field(struct json *j, const struct record_kind_row *record, int next,
                              int *field)
{
    const struct field *f = &record->fields[next];
    struct json other;
    bool more;
    int found = -1;
    if (next < record->count && (j->first ? scan_key(j, f->quoted + 1, f->len - 1u)
                                          : scan_next_key(j, f->quoted, f->len, f->mask))) {
        *field = next;
        return true;
    }
    if (scan_close(j))
        return false;
    other = *j;
    more = any_field(&other, record, next, &found);
    *j = other;
    *field = found;
    return more;
}

/* Reads the line as this record; false as soon as it says that it is another. */
static bool parse_as(struct line *l, struct json *line, const struct record_kind_row *record)
{
    uint8_t *follow = l->follow[l->record];
    uint64_t present = 0;
    bool named = false;
    int last = 0, f;
    struct json j;
    l->present = 0;
    json_enter(line, '{');
    j = *line;
    while (next_field(&j, record, follow[last], &f)) {
        if (f < 0)
            continue;
        if (follow[last] != f)
            follow[last] = (uint8_t)f;
        last = f + 1;
        if (!take_value(&j, record->fields[f].kind, &l->v[f]))
            continue;
        present |= (uint64_t)1 << f;
        if (f == record->selector_field) {
            if (l->v[f].s.len != record->name_len ||
                memcmp(l->v[f].s.p, record->name, record->name_len) != 0)
                return false;
            named = true;
        }
    }
    l->present = present;
    *line = j;
    return named;
}

/* Reads the object to its end; true when it has what only records of device work have. */
static bool has_device_time(struct json *j)
{
    struct json_text key;
    bool found = false;
    if (!json_enter(j, '{'))
        return false;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "start_us") || json_text_is(key, "duration_us"))
            found |= json_peek(j) != 'n'; /* null */
        json_skip(j);
    }
    return found;
}

static inline bool is_named(const struct record_kind_row *record, enum selector selector,
                            const char *name)
{
    return *name == *record->name && record->selector == selector &&
           memcmp(name, record->name, record->name_len) == 0 && name[record->name_len] == '"';
}

/* Guesses the record: by its name, where that stands first or after an id, as the writer puts it;
 * else that of the last line, as lines of one kind follow each other. */
static int guess_record(const char *text, size_t len, int last)
{
    const char *p = text + 1, *end = text + len;
    enum selector selector = type;
    if (len < 32)
        return last;
    if (memcmp(text, "{\"id\":", 6) == 0) {
        for (p = text + 6; p < end && is_digit(*p);)
            p++;
        p += p < end && *p == ',';
    }
    if (end - p < 24)
        return last;
    if (load8(p) == load8("\"event\":"))
        selector = event;
    else if (load8(p) != load8("\"type\":\""))
        return last;
    p += selector == event ? 9 : 8;
    if (last < SPECTER_REC_COUNT && is_named(&records[last], selector, p))
        return last;
    for (int r = 0; r < SPECTER_REC_COUNT; r++) {
        if (is_named(&records[r], selector, p))
            return r;
    }
    return last;
}

bool line_parse(struct line *l, const char *text, size_t len, size_t behind)
{
    struct json j;
    l->record = guess_record(text, len, l->record);
    json_init(&j, text, len);
    json_room(&j, behind);
    if (l->record < SPECTER_REC_COUNT && parse_as(l, &j, &records[l->record])) {
        json_end(&j);
        if (j.error == NULL)
            return finish_line(l, &j);
    }
    json_init(&j, text, len);
    find_record(l, &j);
    if (j.error != NULL)
        return finish_line(l, &j);
    json_init(&j, text, len);
    if (l->record < SPECTER_REC_COUNT)
        parse_as(l, &j, &records[l->record]);
    else
        l->timed = has_device_time(&j);
    json_end(&j);
    return finish_line(l, &j);
}
