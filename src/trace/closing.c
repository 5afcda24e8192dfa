/* SPDX-License-Identifier: MIT
 *
 * The `summary` of one closing record.
 */
#include "trace/closing.h"

#include <stdlib.h>
#include <string.h>

#define US 1000

static void wrong(struct json *j, const char *error)
{
    if (j->error != NULL)
        return;
    j->error = error;
    j->room = j->end = j->p;
}

/* A time in the summary; what is not believable is an error. */
static int64_t read_time(struct json *j)
{
    int64_t ns = json_time_ns(j, US, UNKNOWN_NS);
    if (ns != UNKNOWN_NS && (ns >= RUN_TIME_MAX || ns <= -RUN_TIME_MAX))
        wrong(j, "impossible time");
    return ns;
}

static int64_t read_sum(struct json *j)
{
    int64_t ns = read_time(j);
    if (ns < 0 && ns != UNKNOWN_NS)
        wrong(j, "negative duration");
    return ns != UNKNOWN_NS ? ns : 0;
}

static void read_kind(struct json *j, struct closing_sum *sum)
{
    struct json_text key;
    memset(sum, 0, sizeof *sum);
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "count"))
            sum->count = json_u64(j, 0);
        else if (json_text_is(key, "bytes"))
            sum->bytes = json_u64(j, 0);
        else if (json_text_is(key, "timed"))
            sum->timed = json_u64(j, 0);
        else if (json_text_is(key, "us"))
            sum->ns = read_sum(j);
        else
            json_skip(j);
    }
}

static void read_times(struct json *j, struct closing *c)
{
    static const char *const names[] = {
#define X(id, key) key,
        SPECTER_SUM_KINDS(X)
#undef X
    };
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    c->has_times = true;
    while (json_next_key(j, &key)) {
        int kind = 0;
        while (kind < SPECTER_SUM_KIND_COUNT && !json_text_is(key, names[kind]))
            kind++;
        if (kind < SPECTER_SUM_KIND_COUNT)
            read_kind(j, &c->kinds[kind]);
        else if (json_text_is(key, "from_us"))
            c->from_ns = read_time(j);
        else if (json_text_is(key, "to_us"))
            c->to_ns = read_time(j);
        else if (json_text_is(key, "devices"))
            c->devices = (int64_t)(json_u64(j, 0) & INT32_MAX);
        else
            json_skip(j);
    }
    if (c->from_ns == UNKNOWN_NS || c->to_ns < c->from_ns)
        c->from_ns = c->to_ns = UNKNOWN_NS;
}

/* Bins beyond those we know are added to the last one. */
static void read_hist(struct json *j, struct closing_row *row)
{
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        uint64_t number[2] = {0, 0};
        int n = 0;
        if (!json_enter(j, '['))
            continue;
        while (json_next_item(j)) {
            if (n < 2)
                number[n++] = json_u64(j, 0);
            else
                json_skip(j);
        }
        if (number[0] < SPECTER_HIST_MIN)
            number[0] = SPECTER_HIST_MIN;
        if (number[0] > SPECTER_HIST_MAX)
            number[0] = SPECTER_HIST_MAX;
        row->hist[number[0] - SPECTER_HIST_MIN] += number[1];
    }
}

/* 16 hex digits. */
static void read_comm(struct json *j, struct closing_row *row)
{
    struct json_text text = json_string(j);
    for (uint32_t i = 0; i < text.len; i++) {
        char c = text.p[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0 || text.len != 16)
            wrong(j, "not the id of a communicator");
        row->comm = row->comm << 4 | (uint64_t)(digit & 15);
    }
    row->known_comm = text.len > 0;
}

/* clang-format off */
/* The numbers of a row, in the writer's order. */
#define COUNT(_key) {#_key, sizeof #_key - 1, false, offsetof(struct closing_row, _key)}
#define TIME(_key, _field) {#_key, sizeof #_key - 1, true, offsetof(struct closing_row, _field)}
static const struct row_number {
    const char *key;
    uint32_t len;
    bool is_time;
    size_t offset;
} row_numbers[] = {
    COUNT(others), COUNT(count), COUNT(bytes), COUNT(timed), COUNT(timed_bytes), COUNT(spans),
    TIME(us, ns), TIME(min_us, min_ns), TIME(max_us, max_ns),
};
/* clang-format on */
#define ROW_NUMBERS (sizeof row_numbers / sizeof *row_numbers)

/* false: the key is none of them. *next: which is the likely one. */
static bool read_number(struct json *j, struct json_text key, struct closing_row *row, size_t *next)
{
    for (size_t n = 0; n < ROW_NUMBERS; n++) {
        size_t i = *next + n < ROW_NUMBERS ? *next + n : *next + n - ROW_NUMBERS;
        const struct row_number *f = &row_numbers[i];
        if (key.len != f->len || memcmp(key.p, f->key, f->len) != 0)
            continue;
        if (f->is_time)
            *(int64_t *)((char *)row + f->offset) = read_time(j);
        else
            *(uint64_t *)((char *)row + f->offset) = json_u64(j, 0);
        *next = i + 1 < ROW_NUMBERS ? i + 1 : 0;
        return true;
    }
    return false;
}

/* Times that contradict each other are as good as none. */
static void check_row(struct closing_row *row)
{
    if (row->spans > 0 && row->min_ns != UNKNOWN_NS && row->max_ns >= row->min_ns && row->ns >= 0)
        return;
    row->spans = 0;
    row->ns = 0;
    row->min_ns = row->max_ns = UNKNOWN_NS;
}

/* Returns whether it is of an operation that we know. */
static bool read_row(struct json *j, struct closing_row *row)
{
    struct json_text key, op = {NULL, 0, false};
    int64_t size = 0;
    size_t next = 1;
    memset(row, 0, sizeof *row);
    row->min_ns = row->max_ns = UNKNOWN_NS;
    if (!json_enter(j, '{'))
        return false;
    while (json_next_key(j, &key)) {
        if (read_number(j, key, row, &next))
            continue;
        if (json_text_is(key, "comm"))
            read_comm(j, row);
        else if (json_text_is(key, "op"))
            op = json_string(j);
        else if (json_text_is(key, "size"))
            size = json_i64(j, 0);
        else if (json_text_is(key, "hist"))
            read_hist(j, row);
        else
            json_skip(j);
    }
    row->size = size > 0 && size <= RUN_RANKS_MAX ? (int32_t)size : 0;
    row->op = specter_comm_op_parse(op.p != NULL ? op.p : "", op.len);
    check_row(row);
    return row->op != SPECTER_COMM_OP_COUNT;
}

static void read_rows(struct json *j, struct closing *c)
{
    if (!json_enter(j, '['))
        return;
    c->has_comms = true;
    while (json_next_item(j)) {
        ARRAY_GROW(c->rows, c->cap_rows, c->nrows + 1);
        c->nrows += read_row(j, &c->rows[c->nrows]);
    }
}

static uint64_t read_skipped(struct json *j)
{
    struct json_text key;
    uint64_t n = 0;
    if (!json_enter(j, '{'))
        return 0;
    while (json_next_key(j, &key))
        n += json_u64(j, 0);
    return n;
}

bool closing_parse(struct closing *c, struct json_text summary, const char **error, size_t *offset)
{
    struct json j;
    struct json_text key;
    c->has_times = c->has_comms = c->stopped = false;
    c->from_ns = c->to_ns = UNKNOWN_NS;
    c->launches = c->skipped = 0;
    c->devices = 0;
    c->nrows = 0;
    memset(c->kinds, 0, sizeof c->kinds);
    json_init(&j, summary.p, summary.len);
    json_enter(&j, '{');
    while (json_next_key(&j, &key)) {
        if (json_text_is(key, "time"))
            read_times(&j, c);
        else if (json_text_is(key, "comms"))
            read_rows(&j, c);
        else if (json_text_is(key, "launches"))
            c->launches = json_u64(&j, 0);
        else if (json_text_is(key, "skipped"))
            c->skipped = read_skipped(&j);
        else if (json_text_is(key, "stopped"))
            c->stopped = json_string(&j).len > 0;
        else
            json_skip(&j);
    }
    *error = j.error;
    *offset = json_offset(&j);
    return j.error == NULL;
}

void closing_release(struct closing *c)
{
    free(c->rows);
    c->rows = NULL;
    c->nrows = c->cap_rows = 0;
}
