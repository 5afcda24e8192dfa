/* SPDX-License-Identifier: MIT */
#include "trace/inspector.h"

#include "trace/run.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- a line of a log ---- */

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
            bool start = json_text_is(key, "kernel_start_ts");
            int64_t t_ns;
            if (!start && !json_text_is(key, "kernel_stop_ts")) {
                json_skip(j);
                continue;
            }
            t_ns = microseconds(j);
            if (start && t_ns > 0 && (rec->kernel_ns <= 0 || t_ns < rec->kernel_ns))
                rec->kernel_ns = t_ns;
            if (!start && t_ns > rec->kernel_end_ns)
                rec->kernel_end_ns = t_ns;
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

static void read_perf(struct inspector_record *rec, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        /* The key after its coll_ or p2p_, as it is where it has none. */
        size_t prefix = 0;
        if (key.len > 5 && memcmp(key.p, "coll_", 5) == 0)
            prefix = 5;
        else if (key.len > 4 && memcmp(key.p, "p2p_", 4) == 0)
            prefix = 4;
        key = (struct json_text){key.p + prefix, key.len - (uint32_t)prefix, key.escaped};
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

static void read_summary(struct inspector_record *rec, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    rec->lost = 0;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "dropped_collectives") || json_text_is(key, "leaked_collectives")) {
            int64_t n = json_i64(j, 0);
            rec->lost += n > 0 && n < INT32_MAX ? n : 0;
        } else {
            json_skip(j);
        }
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
                                     .kernel_ns = -1,
                                     .kernel_end_ns = -1,
                                     .lost = -1};
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
        else if (json_text_is(key, "summary"))
            read_summary(rec, &j);
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

/* ---- ACCL ---- */

void accl_name_record(struct inspector_record *rec, const char *label)
{
    const char *slash = strrchr(label, '/'), *base = slash != NULL ? slash + 1 : label;
    const char *host, *end = strstr(base, ".jsonl"), *hash, *pid;
    int at = 0;
    if (rec->id.len > 0 || sscanf(base, "accl_profiler_rank%*d_%n", &at) < 0 || at == 0)
        return;
    rec->id = (struct json_text){.p = "?", .len = 1}; /* older ones did not tell which */
    host = base + at;
    if (end == NULL || end <= host)
        return;
    hash = memrchr(host, '_', (size_t)(end - host));
    pid = hash != NULL ? memrchr(host, '_', (size_t)(hash - host)) : NULL;
    if (pid == NULL || strncmp(pid, "_pid", 4) != 0 || strncmp(hash, "_0x", 3) != 0)
        return;
    rec->id = (struct json_text){.p = hash + 1, .len = (uint32_t)(end - hash - 1)};
    rec->pid = strtoll(pid + 4, NULL, 10);
    if (rec->host.len == 0)
        rec->host = (struct json_text){.p = host, .len = (uint32_t)(pid - host)};
}

bool accl_device_timed(const struct inspector_record *rec)
{
    int64_t ticks_ns = (rec->kernel_end_ns - rec->kernel_ns) / 100;
    return json_text_is(rec->source, "gpu_globaltimer") && rec->kernel_ns > 0 &&
           rec->kernel_end_ns > rec->kernel_ns && llabs(ticks_ns - rec->exec_ns) <= 20;
}

/* ---- a line of the Prometheus exporter ----
 *
 * The form is that of ext-profiler/inspector/inspector_prom.cc in NVIDIA/nccl: values of labels are
 * not escaped, sizes are rounded to "4.00MB" (of 1024 each), times are UTC.
 */

#define TIME_METRIC "nccl_collective_exec_time_microseconds{"
#define LABEL_MAX 256

static bool begins(const char *text, size_t len, const char *with)
{
    size_t n = strlen(with);
    return len >= n && memcmp(text, with, n) == 0;
}

/* The value of a label, "" where it is not there or too long. */
static void label_of(const char *text, size_t len, const char *name, char value[LABEL_MAX])
{
    char key[64];
    int n = snprintf(key, sizeof key, "%s=\"", name);
    const char *p = text, *end = text + len, *close;
    value[0] = '\0';
    while ((p = memmem(p, (size_t)(end - p), key, (size_t)n)) != NULL) {
        bool whole = p[-1] == '{' || p[-1] == ','; /* not the end of another name */
        p += n;
        close = memchr(p, '"', (size_t)(end - p));
        if (close == NULL)
            return;
        if (whole && close - p < LABEL_MAX) {
            memcpy(value, p, (size_t)(close - p));
            value[close - p] = '\0';
            return;
        }
    }
}

/* "512B", "4.00MB"; -1. */
static int64_t bytes_of(const char *text)
{
    static const char units[] = "KMGT";
    char *end;
    double size = strtod(text, &end);
    const char *unit = *end != '\0' && *end != 'B' ? strchr(units, *end) : NULL;
    for (const char *u = units; unit != NULL && u <= unit; u++)
        size *= 1024;
    end += unit != NULL;
    return end > text && strcmp(end, "B") == 0 && size >= 0 && size < 1e15 ? (int64_t)(size + 0.5)
                                                                           : -1;
}

/* "2026-05-17T10:20:30Z", also with a blank; microseconds since 1970, -1 not understood. */
static int64_t microseconds_of(const char *text)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%d", &tm);
    if (end == NULL || strptime(end + (*end != '\0'), "%H:%M:%S", &tm) == NULL)
        return -1;
    return (int64_t)timegm(&tm) * 1000000;
}

static void put_text(struct buf *out, const char *text)
{
    buf_putc(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '\\')
            buf_putc(out, '\\');
        buf_putc(out, *text);
    }
    buf_putc(out, '"');
}

/* Labels that are numbers in the logs; false where one is none. */
static bool put_number(struct buf *out, const char *text, size_t len, const char *label)
{
    char value[LABEL_MAX];
    label_of(text, len, label, value);
    buf_puts(out, value);
    return value[0] != '\0' && strlen(value) < 16 && value[strspn(value, "0123456789")] == '\0';
}

static bool put_record(struct buf *out, const char *text, size_t len, double exec_us)
{
    char value[LABEL_MAX];
    int64_t at_us, bytes;
    bool whole;
    label_of(text, len, "comm_id", value);
    buf_puts(out, "{\"header\":{\"id\":");
    put_text(out, value);
    buf_puts(out, ",\"rank\":");
    whole = put_number(out, text, len, "rank");
    buf_puts(out, ",\"n_ranks\":");
    whole = put_number(out, text, len, "nranks") && whole;
    buf_puts(out, ",\"nnodes\":");
    whole = put_number(out, text, len, "n_nodes") && whole;
    label_of(text, len, "timestamp", value);
    at_us = microseconds_of(value);
    label_of(text, len, "hostname", value);
    buf_puts(out, "},\"metadata\":{\"hostname\":");
    put_text(out, value);
    if (at_us >= 0)
        buf_printf(out, ",\"dump_timestamp_us\":%lld", (long long)at_us);
    label_of(text, len, "collective", value);
    buf_puts(out, "},\"coll_perf\":{\"coll\":");
    put_text(out, value);
    buf_puts(out, ",\"coll_sn\":");
    whole = put_number(out, text, len, "coll_sn") && whole;
    label_of(text, len, "message_size", value);
    bytes = bytes_of(value);
    buf_printf(out, ",\"coll_msg_size_bytes\":%lld,\"coll_exec_time_us\":%.0f}}", (long long)bytes,
               exec_us);
    return whole && bytes >= 0;
}

enum prom_line prom_line_read(struct buf *out, const char *text, size_t len)
{
    const char *close;
    char number[32], *end;
    double exec_us;
    size_t n;
    buf_reset(out);
    if (len > 0 && text[0] == '#')
        return PROM_NOTHING;
    if (begins(text, len, "nccl_algorithm_bandwidth_gbs{") ||
        begins(text, len, "nccl_bus_bandwidth_gbs{"))
        return PROM_NOTHING;
    if (!begins(text, len, TIME_METRIC))
        return PROM_OTHER;
    close = memrchr(text, '}', len);
    n = close != NULL ? (size_t)(text + len - close - 1) : 0;
    if (n == 0 || n >= sizeof number)
        return PROM_WRONG;
    memcpy(number, close + 1, n);
    number[n] = '\0';
    exec_us = strtod(number, &end);
    if (end == number || !(exec_us >= 0 && exec_us < 1e12))
        return PROM_WRONG;
    return put_record(out, text, (size_t)(close - text), exec_us) ? PROM_RECORD : PROM_WRONG;
}
