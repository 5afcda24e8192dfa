/* SPDX-License-Identifier: MIT
 *
 * One entry of a Flight Recorder dump, and what its lists of sizes and types come to.
 */
#include "trace/flight.h"
#include "trace/kineto.h"

#include <math.h>
#include <string.h>

static struct json_text raw_value(struct json *j)
{
    struct json_text raw = {NULL, 0, false};
    if (json_peek(j) != '[') {
        json_skip(j);
        return raw;
    }
    raw.p = j->p;
    json_skip(j);
    if (j->error == NULL)
        raw.len = (uint32_t)(j->p - raw.p);
    return raw;
}

/* Nanoseconds since 1970; 0 and null stand for never. */
static int64_t moment(struct json *j)
{
    int64_t t_ns = json_i64(j, -1);
    return t_ns > 0 && t_ns < RUN_TIME_MAX ? t_ns : -1;
}

static int64_t milliseconds(struct json *j)
{
    double ms = json_double(j, -1);
    return ms >= 0 && ms < (double)RUN_DUR_MAX / 1e6 ? (int64_t)llround(ms * 1e6) : -1;
}

static uint8_t state_of(struct json_text name)
{
    if (json_text_is(name, "completed"))
        return FRDUMP_COMPLETED;
    return json_text_is(name, "started") ? FRDUMP_STARTED : FRDUMP_SCHEDULED;
}

/* ["0","default_pg"] */
static void read_group(struct frdump_entry *e, struct json *j)
{
    int i = 0;
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        struct json_text text = {NULL, 0, false};
        if (i < 2)
            text = json_string(j);
        else
            json_skip(j);
        if (i == 0)
            e->pg_name = text;
        else if (i == 1)
            e->pg_desc = text;
        i++;
    }
}

/* "nccl:all_reduce": what stands behind the library. */
static struct json_text bare_name(struct json_text name)
{
    const char *colon = name.len > 0 ? memchr(name.p, ':', name.len) : NULL;
    if (colon == NULL)
        return name;
    name.len -= (uint32_t)(colon + 1 - name.p);
    name.p = colon + 1;
    return name;
}

static bool read_number(struct frdump_entry *e, struct json_text key, struct json *j)
{
    if (json_text_is(key, "record_id") || json_text_is(key, "id"))
        e->record_id = json_i64(j, -1);
    else if (json_text_is(key, "collective_seq_id"))
        e->seq = json_i64(j, -1);
    else if (json_text_is(key, "p2p_seq_id"))
        e->p2p_seq = json_i64(j, -1);
    else if (json_text_is(key, "time_created_ns"))
        e->created_ns = moment(j);
    else if (json_text_is(key, "time_discovered_started_ns"))
        e->started_ns = moment(j);
    else if (json_text_is(key, "time_discovered_completed_ns"))
        e->completed_ns = moment(j);
    else if (json_text_is(key, "duration_ms"))
        e->dur_ns = milliseconds(j);
    else if (json_text_is(key, "timeout_ms"))
        e->timeout_ns = milliseconds(j);
    else if (json_text_is(key, "pg_id"))
        e->pg_id = json_i64(j, -1);
    else
        return false;
    return true;
}

static void read_value(struct frdump_entry *e, struct json_text key, struct json *j)
{
    if (read_number(e, key, j))
        return;
    if (json_text_is(key, "process_group"))
        read_group(e, j);
    else if (json_text_is(key, "profiling_name"))
        e->what = bare_name(json_string(j));
    else if (json_text_is(key, "state"))
        e->state = state_of(json_string(j));
    else if (json_text_is(key, "is_p2p"))
        e->p2p = json_bool(j, false);
    else if (json_text_is(key, "input_sizes"))
        e->in_sizes = raw_value(j);
    else if (json_text_is(key, "input_dtypes"))
        e->in_types = raw_value(j);
    else if (json_text_is(key, "output_sizes"))
        e->out_sizes = raw_value(j);
    else if (json_text_is(key, "output_dtypes"))
        e->out_types = raw_value(j);
    else
        json_skip(j);
}

void frdump_entry_read(struct frdump_entry *e, struct json *j)
{
    struct json_text key;
    *e = (struct frdump_entry){.record_id = -1,
                               .seq = -1,
                               .p2p_seq = -1,
                               .created_ns = -1,
                               .started_ns = -1,
                               .completed_ns = -1,
                               .dur_ns = -1,
                               .timeout_ns = -1,
                               .pg_id = -1};
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key))
        read_value(e, key, j);
    e->joint = json_text_is(e->what, "coalesced");
}

/* ---- sizes ---- */

/* Elements of one tensor, [2,3]; a scalar, [], has one. */
static bool count_elements(struct json *j, uint64_t *count)
{
    *count = 1;
    if (json_peek(j) != '[' || !json_enter(j, '['))
        return false;
    while (json_next_item(j)) {
        int64_t n = json_peek(j) == '0' ? json_i64(j, -1) : -1;
        if (n < 0 || __builtin_mul_overflow(*count, (uint64_t)n, count))
            return false;
    }
    return j->error == NULL;
}

static uint8_t next_type(struct json *j)
{
    if (!json_next_item(j) || json_peek(j) != '"')
        return SPECTER_DTYPE_UNKNOWN;
    return (uint8_t)kineto_dtype(json_string(j));
}

static bool add_product(uint64_t *sum, uint64_t a, uint64_t b)
{
    uint64_t product;
    return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*sum, product, sum);
}

bool frdump_size(struct json_text sizes, struct json_text types, uint64_t *elements,
                 uint64_t *bytes, uint8_t *dtype)
{
    struct json s, t;
    bool first = true;
    uint64_t count;
    json_init(&s, sizes.p, sizes.len);
    json_init(&t, types.p, types.len);
    if (sizes.p == NULL || types.p == NULL || !json_enter(&s, '[') || !json_enter(&t, '['))
        return false;
    while (json_next_item(&s)) {
        uint8_t type = next_type(&t);
        unsigned bits = specter_dtype_bits((enum specter_dtype)type);
        if (!count_elements(&s, &count) || bits < 8 || !add_product(elements, count, 1) ||
            !add_product(bytes, count, bits / 8))
            return false;
        *dtype = first || *dtype == type ? type : (uint8_t)SPECTER_DTYPE_UNKNOWN;
        first = false;
    }
    return s.error == NULL && !first;
}
