/* SPDX-License-Identifier: MIT */
#include "trace/inspector.h"

#include <string.h>

/* A time in microseconds that stays one in nanoseconds; -1 for what is no time. */
static int64_t microseconds(struct json *j)
{
    int64_t ns = json_time_ns(j, 1000, -1);
    return ns >= 0 && ns < RUN_TIME_MAX ? ns : -1;
}

static void read_header(struct inspector_record *rec, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "id"))
            rec->id = json_string(j);
        else if (json_text_is(key, "comm_name"))
            rec->comm_name = json_string(j);
        else if (json_text_is(key, "rank"))
            rec->comm_rank = json_i64(j, -1);
        else if (json_text_is(key, "n_ranks"))
            rec->comm_size = json_i64(j, -1);
        else if (json_text_is(key, "nnodes"))
            rec->nodes = json_i64(j, -1);
        else
            json_skip(j);
    }
}

static void read_metadata(struct inspector_record *rec, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "hostname"))
            rec->host = json_string(j);
        else if (json_text_is(key, "pid"))
            rec->pid = json_i64(j, -1);
        else if (json_text_is(key, "dump_timestamp_us"))
            rec->dump_ns = microseconds(j);
        else
            json_skip(j);
    }
}

/* A channel whose kernel was not seen has 0. */
static void read_kernels(struct inspector_record *rec, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        if (!json_enter(j, '{'))
            continue;
        rec->channels++;
        while (json_next_key(j, &key)) {
            int64_t t_ns;
            if (!json_text_is(key, "kernel_start_ts")) {
                json_skip(j);
                continue;
            }
            t_ns = microseconds(j);
            if (t_ns > 0 && (rec->kernel_ns <= 0 || t_ns < rec->kernel_ns))
                rec->kernel_ns = t_ns;
        }
    }
}

/* event_trace_ts: when callbacks came, on the host's wall clock. */
static void read_times(struct inspector_record *rec, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "coll_start_ts") || json_text_is(key, "p2p_start_ts"))
            rec->call_ns = microseconds(j);
        else if (json_text_is(key, "coll_stop_ts") || json_text_is(key, "p2p_stop_ts"))
            rec->call_end_ns = microseconds(j);
        else if (json_text_is(key, "kernel_events"))
            read_kernels(rec, j);
        else
            json_skip(j);
    }
}

/* The key behind its coll_ or p2p_, as it is where it has none. */
static struct json_text bare(struct json_text key)
{
    size_t prefix = 0;
    if (key.len > 5 && memcmp(key.p, "coll_", 5) == 0)
        prefix = 5;
    else if (key.len > 4 && memcmp(key.p, "p2p_", 4) == 0)
        prefix = 4;
    return (struct json_text){key.p + prefix, key.len - (uint32_t)prefix, key.escaped};
}

static void read_perf(struct inspector_record *rec, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        key = bare(key);
        if (json_text_is(key, "coll") || json_text_is(key, "p2p"))
            rec->what = json_string(j);
        else if (json_text_is(key, "sn"))
            rec->sn = json_i64(j, -1);
        else if (json_text_is(key, "peer"))
            rec->peer = json_i64(j, -1);
        else if (json_text_is(key, "msg_size_bytes"))
            rec->bytes = json_i64(j, -1);
        else if (json_text_is(key, "exec_time_us"))
            rec->exec_ns = microseconds(j);
        else if (json_text_is(key, "timing_source"))
            rec->source = json_string(j);
        else if (json_text_is(key, "algo"))
            rec->algo = json_string(j);
        else if (json_text_is(key, "proto"))
            rec->proto = json_string(j);
        else if (json_text_is(key, "event_trace_ts"))
            read_times(rec, j);
        else
            json_skip(j);
    }
}

bool inspector_parse(struct inspector_record *rec, const char *text, size_t len)
{
    struct json j;
    struct json_text key;
    *rec = (struct inspector_record){.comm_rank = -1,
                                     .comm_size = -1,
                                     .nodes = -1,
                                     .pid = -1,
                                     .dump_ns = -1,
                                     .sn = -1,
                                     .peer = -1,
                                     .bytes = -1,
                                     .exec_ns = -1,
                                     .call_ns = -1,
                                     .call_end_ns = -1,
                                     .kernel_ns = -1};
    json_init(&j, text, len);
    json_enter(&j, '{');
    while (json_next_key(&j, &key)) {
        bool coll = json_text_is(key, "coll_perf"), p2p = json_text_is(key, "p2p_perf");
        if (json_text_is(key, "header"))
            read_header(rec, &j);
        else if (json_text_is(key, "metadata"))
            read_metadata(rec, &j);
        else if (coll || p2p)
            read_perf(rec, &j);
        else
            json_skip(&j);
        rec->coll |= coll;
        rec->p2p |= p2p;
    }
    json_end(&j);
    rec->error = j.error;
    rec->offset = json_offset(&j);
    rec->cut = json_is_cut(&j);
    return rec->error == NULL;
}

/* The header stands first, the metadata second; a value in them that is wrong, or a record that is
 * cut behind them, does not make it another format. */
bool inspector_is_record(const char *text, size_t len)
{
    struct inspector_record rec;
    struct json j;
    struct json_text key;
    bool header = false, metadata = false;
    json_init(&j, text, len);
    if (json_peek(&j) != '{' || !json_enter(&j, '{'))
        return false;
    while (json_next_key(&j, &key)) {
        header |= json_text_is(key, "header");
        metadata |= json_text_is(key, "metadata");
        if (header && (json_text_is(key, "coll_perf") || json_text_is(key, "p2p_perf")))
            return true;
        json_skip(&j);
    }
    inspector_parse(&rec, text, len);
    return header && metadata && rec.id.p != NULL && rec.dump_ns >= 0;
}
