/* SPDX-License-Identifier: MIT
 *
 * The form is that of ext-profiler/inspector/inspector_prom.cc in NVIDIA/nccl: values of labels are
 * not escaped, sizes are rounded to "4.00MB" (of 1024 each), times are UTC.
 */
#include "trace/inspector_prom.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
