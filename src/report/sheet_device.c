/* SPDX-License-Identifier: MIT
 *
 * Sheets of the device's time: why it is idle, what runs beside what, and how work gets to it.
 */
#include "report/analyze_sheets.h"
#include "report/table.h"

#include <math.h>

/* Not known is -1 in the run. */
static void put_id(struct sheet *s, int64_t id)
{
    sheet_number(s, id >= 0 ? (double)id : NAN);
}

#define IDLE_ON_PAGE 0.1   /* of the span: with less, its causes are not on the page */
#define IDLE_ONE_CAUSE 0.9 /* of the idle time: the finding names that cause */

void sheet_of_idle(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"cause", NULL, SHEET_TEXT, 0},         {NULL, "idle because", SHEET_TEXT, 0},
        {"gaps", "gaps", SHEET_COUNT, 0},       {"total_us", "total", SHEET_NS, 0},
        {"of_idle", "of idle", SHEET_SHARE, 0}, {"of_span", "of total", SHEET_SHARE, 0},
        {"mean_us", "mean", SHEET_TIME, 0},     {"longest_us", "longest", SHEET_TIME, 0},
    };
    const struct idle_sum *sum = &a->idle.total;
    enum idle_cause order[IDLE_CAUSE_COUNT];
    int n = idle_by_cost(sum, order);
    int64_t all = idle_sum_ns(sum);
    sheet_init(s, "idle",
               a->nranks > 1 ? "Idle devices by cause, sum of all ranks" : "Idle device by cause",
               SHEET_COLUMNS(columns));
    s->off_page = !(share_of(a->total.idle_ns, a->total.span_ns) >= IDLE_ON_PAGE) ||
                  (n > 0 && a->coverage & COVER_KERNELS &&
                   share_of(sum->ns[order[0]], all) >= IDLE_ONE_CAUSE);
    for (int i = 0; i < n; i++) {
        enum idle_cause c = order[i];
        sheet_text(s, idle_cause_names[c]);
        sheet_text(s, idle_cause_text[c]);
        sheet_number(s, (double)sum->gaps[c]);
        sheet_number(s, (double)sum->ns[c]);
        sheet_number(s, share_of(sum->ns[c], all));
        sheet_number(s, share_of(sum->ns[c], a->total.span_ns));
        sheet_number(s, (double)sum->ns[c] / (double)sum->gaps[c]);
        sheet_number(s, (double)sum->longest_ns[c]);
    }
    if (!(a->coverage & COVER_KERNELS))
        sheet_note(s, "not all kernels have times: others may run in these gaps");
}

#define CAUSE_COLUMNS                                                                            \
    {"host_late_us", "host late", SHEET_NS, 0}, {"host_sync_us", "host sync", SHEET_NS, 0},      \
        {"launch_gap_us", "launch gap", SHEET_NS, 0}, {"dependency_us", "depends", SHEET_NS, 0}, \
        {"other_us", "other", SHEET_NS, 0},                                                      \
    {                                                                                            \
        "unknown_us", "unknown", SHEET_NS, 0                                                     \
    }

/* In the order of CAUSE_COLUMNS, which is that of IDLE_CAUSES. */
static void put_causes(struct sheet *s, const struct idle_sum *sum)
{
    for (int c = 0; c < IDLE_CAUSE_COUNT; c++)
        sheet_number(s, (double)sum->ns[c]);
}

static uint64_t count_gaps(const struct idle_sum *sum)
{
    uint64_t n = 0;
    for (int c = 0; c < IDLE_CAUSE_COUNT; c++)
        n += sum->gaps[c];
    return n;
}

void sheet_of_idle_ranks(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"rank", "rank", SHEET_COUNT, 0},
        {"idle_us", "idle", SHEET_NS, 0},
        CAUSE_COLUMNS,
        {"gaps", "gaps", SHEET_COUNT, 0},
    };
    sheet_init(s, "idle_ranks", "Idle time of each device by cause", SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->idle.nranks; i++) {
        const struct idle_rank *r = &a->idle.ranks[i];
        if (a->ranks[i].breakdown.timed_ops == 0)
            continue;
        sheet_number(s, r->rank->rank);
        sheet_number(s, (double)idle_sum_ns(&r->sum));
        put_causes(s, &r->sum);
        sheet_number(s, (double)count_gaps(&r->sum));
    }
}

void sheet_of_idle_streams(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"rank", "rank", SHEET_COUNT, 0},     {"device", NULL, SHEET_COUNT, 0},
        {"stream", "stream", SHEET_COUNT, 0}, {"ops", "ops", SHEET_COUNT, 0},
        {"span_us", NULL, SHEET_NS, 0},       {"busy_us", "busy", SHEET_NS, 0},
        {"idle_us", NULL, SHEET_NS, 0},       CAUSE_COLUMNS,
        {"await_comm_us", NULL, SHEET_NS, 0}, {"gaps", NULL, SHEET_COUNT, 0},
    };
    sheet_init(s, "idle_streams", "Idle time of each stream by cause", SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->idle.nstreams; i++) {
        const struct idle_stream *row = &a->idle.streams[i];
        sheet_number(s, row->rank->rank);
        put_id(s, row->device);
        put_id(s, row->stream);
        sheet_number(s, (double)row->ops);
        sheet_number(s, (double)row->span_ns);
        sheet_number(s, (double)row->busy_ns);
        sheet_number(s, (double)(row->span_ns - row->busy_ns));
        put_causes(s, &row->sum);
        sheet_number(s, (double)row->await_comm_ns);
        sheet_number(s, (double)count_gaps(&row->sum));
    }
}

void sheet_of_idle_gaps(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"rank", "rank", SHEET_COUNT, 0},      {"at_us", "at", SHEET_NS, 0},
        {"gap_us", "gap", SHEET_NS, 0},        {"cause", "cause", SHEET_TEXT, 10},
        {"before", "follows", SHEET_NAME, 18}, {"after", "ended by", SHEET_NAME, 18},
        {"stream", NULL, SHEET_COUNT, 0},
    };
    sheet_init(s, "idle_gaps", "Longest gaps of a device, from its first operation on",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->idle.nlongest; i++) {
        const struct idle_gap *gap = &a->idle.longest[i];
        sheet_number(s, gap->rank->rank);
        sheet_number(s, (double)gap->at_ns);
        sheet_number(s, (double)gap->ns);
        sheet_text(s, idle_cause_names[gap->cause]);
        sheet_text(s, gap->before->name);
        sheet_text(s, gap->after->name);
        put_id(s, gap->after->stream);
    }
}

void sheet_of_overlap(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"rank", "rank", SHEET_COUNT, 0},        {"comm_us", "comm", SHEET_NS, 0},
        {"compute_us", "compute", SHEET_NS, 0},  {"overlap_us", "both", SHEET_NS, 0},
        {"of_comm", "of comm", SHEET_SHARE, 0},  {"of_compute", "of compute", SHEET_SHARE, 0},
        {"of_span", "of total", SHEET_SHARE, 0},
    };
    sheet_init(s, "overlap", "Communication and compute at the same time", SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->nranks; i++) {
        const struct time_breakdown *split = &a->ranks[i].breakdown;
        if (split->timed_ops == 0)
            continue;
        sheet_number(s, a->ranks[i].rank->rank);
        sheet_number(s, (double)split->comm_ns);
        sheet_number(s, (double)split->compute_ns);
        sheet_number(s, (double)split->overlap_ns);
        sheet_number(s, share_of(split->overlap_ns, split->comm_ns));
        sheet_number(s, share_of(split->overlap_ns, split->compute_ns));
        sheet_number(s, share_of(split->overlap_ns, split->span_ns));
    }
}

void sheet_of_active(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"kinds", "at the same time", SHEET_TEXT, 0},
        {"total_us", "total", SHEET_NS, 0},
        {"of_busy", "of busy", SHEET_SHARE, 0},
        {"of_span", "of total", SHEET_SHARE, 0},
    };
    static const char *const names[1 << ACTIVITY_KINDS] = {
        [1 << ACTIVITY_COMPUTE] = "compute",
        [1 << ACTIVITY_COMM] = "communication",
        [1 << ACTIVITY_MEMORY] = "memory",
        [1 << ACTIVITY_COMPUTE | 1 << ACTIVITY_COMM] = "compute + communication",
        [1 << ACTIVITY_COMPUTE | 1 << ACTIVITY_MEMORY] = "compute + memory",
        [1 << ACTIVITY_COMM | 1 << ACTIVITY_MEMORY] = "communication + memory",
        [1 << ACTIVITY_COMPUTE | 1 << ACTIVITY_COMM | 1 << ACTIVITY_MEMORY] =
            "compute + communication + memory",
    };
    sheet_init(s, "active", "Kinds of work that ran together, each moment once",
               SHEET_COLUMNS(columns));
    for (int k = 1; k < 1 << ACTIVITY_KINDS; k++) {
        int64_t ns = a->total.active_ns[k];
        if (ns == 0)
            continue;
        sheet_text(s, names[k]);
        sheet_number(s, (double)ns);
        sheet_number(s, share_of(ns, a->total.span_ns - a->total.idle_ns));
        sheet_number(s, share_of(ns, a->total.span_ns));
    }
}

void sheet_of_launch(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"rank", "rank", SHEET_COUNT, 0},
        {"device", NULL, SHEET_COUNT, 0},
        {"stream", "stream", SHEET_COUNT, 0},
        {"ops", "ops", SHEET_COUNT, 0},
        {"launched", NULL, SHEET_COUNT, 0},
        {"delay_min_us", NULL, SHEET_NS, 0},
        {"delay_median_us", "delay", SHEET_TIME, 0},
        {"delay_p95_us", "p95", SHEET_TIME, 0},
        {"delay_max_us", "longest", SHEET_TIME, 0},
        {"long_delays", NULL, SHEET_COUNT, 0},
        {"call_median_us", "call", SHEET_TIME, 0},
        {"call_mean_us", NULL, SHEET_NS, 0},
        {"call_p95_us", NULL, SHEET_NS, 0},
        {"call_max_us", "longest", SHEET_TIME, 0},
        {"long_calls", NULL, SHEET_COUNT, 0},
        {"shorter_than_call", NULL, SHEET_COUNT, 0},
    };
    sheet_init(s, "launch", "Launches by stream: from the call's end to the start; the call itself",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->launches.count; i++) {
        const struct launch_row *row = &a->launches.list[i];
        bool known = row->launched > 0;
        sheet_number(s, row->rank->rank);
        put_id(s, row->device);
        put_id(s, row->stream);
        sheet_number(s, (double)row->ops);
        sheet_number(s, (double)row->launched);
        sheet_number(s, row->delay.min);
        sheet_number(s, row->delay.median);
        sheet_number(s, row->delay.p95);
        sheet_number(s, row->delay.max);
        sheet_number(s, isnan(row->delay.min) ? NAN : (double)row->long_delays);
        sheet_number(s, row->call.median);
        sheet_number(s, row->call.mean);
        sheet_number(s, row->call.p95);
        sheet_number(s, row->call.max);
        sheet_number(s, known ? (double)row->long_calls : NAN);
        sheet_number(s, known ? (double)row->short_ops : NAN);
    }
}

static void put_depth(struct sheet *s, const struct queue_depth *d, bool known)
{
    sheet_number(s, known ? (double)d->window_ns : NAN);
    sheet_number(s, known ? (double)d->max : NAN);
    sheet_number(s, d->mean);
    sheet_number(s, known ? (double)d->full_ns : NAN);
    sheet_number(s, known ? (double)d->empty_ns : NAN);
}

void sheet_of_queue(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"rank", "rank", SHEET_COUNT, 0},
        {"device", NULL, SHEET_COUNT, 0},
        {"stream", "stream", SHEET_COUNT, 0},
        {"ops", "ops", SHEET_COUNT, 0},
        {"unlaunched", NULL, SHEET_COUNT, 0},
        {"early", NULL, SHEET_COUNT, 0},
        {"window_us", NULL, SHEET_NS, 0},
        {"waiting_max", "waiting, most", SHEET_COUNT, 0},
        {"waiting_mean", "mean", SHEET_RATE, 0},
        {"full_us", "full", SHEET_TIME, 0},
        {"empty_us", "empty", SHEET_TIME, 0},
        {"outstanding_window_us", NULL, SHEET_NS, 0},
        {"outstanding_max", "not done, most", SHEET_COUNT, 0},
        {"outstanding_mean", "mean", SHEET_RATE, 0},
        {"outstanding_full_us", NULL, SHEET_NS, 0},
        {"outstanding_empty_us", NULL, SHEET_NS, 0},
    };
    sheet_init(s, "queue", "Queues: launched and not started; launched and not done",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->queues.count; i++) {
        const struct queue_row *row = &a->queues.list[i];
        bool known = row->ops > row->unlaunched;
        sheet_number(s, row->rank->rank);
        put_id(s, row->device);
        put_id(s, row->stream);
        sheet_number(s, (double)row->ops);
        sheet_number(s, (double)row->unlaunched);
        sheet_number(s, (double)row->early);
        put_depth(s, &row->waiting, known);
        put_depth(s, &row->outstanding, known);
    }
}
