/* SPDX-License-Identifier: MIT
 *
 * `specter watch --openmetrics`: metrics for Prometheus (watch_report.h).
 */
#include "report/op_text.h"
#include "report/table.h"
#include "report/watch_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* X(name, unit, help): of the job, of a rank, of a kind of collective. A name ends in its unit, as
 * OpenMetrics asks; all are gauges. */
#define JOB_METRICS(X)                                                                           \
    X(ranks, "", "Ranks that have a trace.")                                                     \
    X(hangs, "",                                                                                 \
      "Operations in which ranks wait without end, those that follow from another not counted.") \
    X(recording_ended, "", "1 when every traced process has ended.")                             \
    X(observed_timestamp_seconds, "seconds", "When these values were taken, Unix time.")

#define RANK_METRICS(X)                                                                            \
    X(step, "", "Steps that the program has marked so far.")                                       \
    X(step_time_seconds, "seconds", "Median of the last steps, 100 at most.")                      \
    X(step_time_change_ratio, "ratio", "Newer half of these steps over the older half, minus 1.")  \
    X(last_operation_age_seconds, "seconds",                                                       \
      "Since the last call, or the call that the rank waits in.")                                  \
    X(arrival_skew_seconds, "seconds",                                                             \
      "Mean start after the first rank, over recent collectives.")                                 \
    X(rank_waiting, "", "1 when the rank waits in an operation.")                                  \
    X(rank_blocked, "", "1 when other ranks wait for this one, as specter analyze would name it.") \
    X(rank_lost, "", "1 when the process ended without a closing record.")

#define ROW_METRICS(X)                                                                    \
    X(busbw_bytes_per_second, "bytes_per_second", "Bus bandwidth of recent collectives.") \
    X(busbw_predicted_bytes_per_second, "bytes_per_second",                               \
      "Bus bandwidth that the model predicts.")                                           \
    X(busbw_of_predicted_ratio, "ratio", "Measured over predicted bus bandwidth.")        \
    X(collective_skew_seconds, "seconds", "Mean time from the first to the last rank's start.")

#define X(name, unit, help) METRIC_##name,
enum { JOB_METRICS(X) RANK_METRICS(X) ROW_METRICS(X) METRIC_COUNT };
#undef X

static void put_family(struct buf *out, const char *name, const char *unit, const char *help)
{
    buf_printf(out, "# TYPE specter_%s gauge\n", name);
    if (unit[0] != '\0')
        buf_printf(out, "# UNIT specter_%s %s\n", name, unit);
    buf_printf(out, "# HELP specter_%s %s\n", name, help);
}

/* A value that is not known has no sample. Numbers are the same in every locale: the program sets
 * none. */
static void put_sample(struct buf *out, const char *name, const char *labels, double value)
{
    if (isfinite(value))
        buf_printf(out, "specter_%s%s %.13g\n", name, labels, value);
}

/* NAME="value", with a comma before it unless it is the first. */
static void put_label(struct buf *out, const char *name, const char *value)
{
    char *safe = text_safe_copy(value);
    buf_printf(out, "%s%s=\"", out->len > 1 ? "," : "", name);
    for (const char *p = safe; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\')
            buf_putc(out, '\\');
        buf_putc(out, *p);
    }
    buf_putc(out, '"');
    free(safe);
}

static double job_value(const struct watch *w, int metric)
{
    switch (metric) {
    case METRIC_ranks:
        return (double)w->nranks;
    case METRIC_hangs:
        return (double)w->hangs.count;
    case METRIC_recording_ended:
        return w->ended;
    default:
        return (double)w->wall_ns / 1e9;
    }
}

static double rank_value(const struct watch_rank *r, int metric)
{
    switch (metric) {
    case METRIC_step:
        return r->step >= 0 ? (double)r->step : NAN;
    case METRIC_step_time_seconds:
        return r->steps.count > 0 ? r->steps.median_ns / 1e9 : NAN;
    case METRIC_step_time_change_ratio:
        return r->steps.count > 0 ? r->steps.change : NAN;
    case METRIC_last_operation_age_seconds:
        return r->age_ns != UNKNOWN_NS ? (double)r->age_ns / 1e9 : NAN;
    case METRIC_arrival_skew_seconds:
        return r->skew_ns / 1e9;
    case METRIC_rank_waiting:
        return r->state == WATCH_WAITS;
    case METRIC_rank_blocked:
        return r->state == WATCH_BLOCKED;
    default:
        return r->state == WATCH_LOST;
    }
}

static double row_value(const struct comm_row *row, int metric)
{
    switch (metric) {
    case METRIC_busbw_bytes_per_second:
        return row->busbw_GBps * 1e9;
    case METRIC_busbw_predicted_bytes_per_second:
        return row->expected_busbw_GBps * 1e9;
    case METRIC_busbw_of_predicted_ratio:
        return row->of_expected;
    default:
        return row->skew_ns / 1e9;
    }
}

static void put_rank_labels(struct buf *out, const struct watch_rank *r)
{
    char rank[16];
    snprintf(rank, sizeof rank, "%d", r->rank->rank);
    buf_putc(out, '{');
    put_label(out, "rank", rank);
    put_label(out, "host", r->rank->host);
    buf_putc(out, '}');
}

static void put_row_labels(struct buf *out, const struct comm_row *row)
{
    char text[32];
    buf_putc(out, '{');
    put_label(out, "op", comm_op_text(row->op));
    put_label(out, "dtype", comm_dtype_text(row->dtype));
    snprintf(text, sizeof text, "%llu", (unsigned long long)row->bytes);
    put_label(out, "bytes", row->bytes_known ? text : "");
    snprintf(text, sizeof text, "%d", row->comm_size);
    put_label(out, "ranks", row->comm_size > 0 ? text : "");
    put_label(out, "comm", row->name);
    buf_putc(out, '}');
}

/* Two names may differ only in bytes that no text can hold: of equal labels the first counts. */
static bool is_repeated(struct buf *labels, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (strcmp(labels[k].data, labels[i].data) == 0)
            return true;
    }
    return false;
}

#define ROWS_MAX 256

void watch_metrics(const struct watch *w, struct buf *out)
{
    size_t nrows = w->rows.count < ROWS_MAX ? w->rows.count : ROWS_MAX;
    struct buf *ranks = array_new(w->nranks + 1, sizeof *ranks);
    struct buf *rows = array_new(nrows + 1, sizeof *rows);
    for (size_t r = 0; r < w->nranks; r++) {
        buf_init(&ranks[r]);
        put_rank_labels(&ranks[r], &w->ranks[r]);
    }
    for (size_t i = 0; i < nrows; i++) {
        buf_init(&rows[i]);
        put_row_labels(&rows[i], &w->rows.list[i]);
    }
#define X(name, unit, help)             \
    put_family(out, #name, unit, help); \
    put_sample(out, #name, "", job_value(w, METRIC_##name));
    JOB_METRICS(X)
#undef X
#define X(name, unit, help)                \
    put_family(out, #name, unit, help);    \
    for (size_t r = 0; r < w->nranks; r++) \
        put_sample(out, #name, ranks[r].data, rank_value(&w->ranks[r], METRIC_##name));
    RANK_METRICS(X)
#undef X
#define X(name, unit, help)             \
    put_family(out, #name, unit, help); \
    for (size_t i = 0; i < nrows; i++)  \
        if (!is_repeated(rows, i))      \
            put_sample(out, #name, rows[i].data, row_value(&w->rows.list[i], METRIC_##name));
    ROW_METRICS(X)
#undef X
    buf_puts(out, "# EOF\n");
    for (size_t r = 0; r < w->nranks; r++)
        buf_release(&ranks[r]);
    for (size_t i = 0; i < nrows; i++)
        buf_release(&rows[i]);
    free(ranks);
    free(rows);
}
