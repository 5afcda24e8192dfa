/* SPDX-License-Identifier: MIT
 *
 * Sheets of the closing records: ranks, operations by size of communicator, communicators.
 */
#include "report/closing_report.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>

#define COMMS_IN_JSON 100
#define PLACES (SPECTER_COMM_OP_COUNT * CLOSING_SIZES)

const char *const closing_sheet_names[CLOSING_SHEET_COUNT] = {
#define X(name) #name,
    CLOSING_SHEETS(X)
#undef X
};

void closing_sheets(struct sheet sheets[CLOSING_SHEET_COUNT], const struct closing_report *r)
{
    size_t n = 0;
#define X(name) sheet_of_##name(&sheets[n++], r);
    CLOSING_SHEETS(X)
#undef X
}

double closing_rank_number(int64_t rank)
{
    return rank >= 0 ? (double)rank : NAN;
}

/* ---- ranks ---- */

void sheet_of_summary_ranks(struct sheet *s, const struct closing_report *r)
{
    static const struct sheet_column columns[] = {
        {"rank", "rank", SHEET_COUNT, 0},
        {"host", NULL, SHEET_TEXT, 0},
        {"file", NULL, SHEET_TEXT, 0},
        {"recorded_us", "recorded", SHEET_NS, 0},
        {"devices", NULL, SHEET_COUNT, 0},
        {"collectives", NULL, SHEET_COUNT, 0},
        {"collectives_bytes", NULL, SHEET_BYTES, 0},
        {"collectives_us", "collectives", SHEET_NS, 0},
        {"messages", NULL, SHEET_COUNT, 0},
        {"messages_bytes", NULL, SHEET_BYTES, 0},
        {"messages_us", "messages", SHEET_NS, 0},
        {"gemms", NULL, SHEET_COUNT, 0},
        {"gemms_us", "GEMMs", SHEET_NS, 0},
        {"copies", NULL, SHEET_COUNT, 0},
        {"copies_bytes", NULL, SHEET_BYTES, 0},
        {"copies_us", "copies", SHEET_NS, 0},
        {"graphs", NULL, SHEET_COUNT, 0},
        {"graphs_us", "graphs", SHEET_NS, 0},
        {"communication", "comm.", SHEET_SHARE, 0},
        {"caused_wait_us", "causes", SHEET_NS, 0},
        {"launches", NULL, SHEET_COUNT, 0},
        {"dropped_ops", NULL, SHEET_COUNT, 0},
    };
    sheet_init(s, "summary_ranks", "Device time per rank, sums of all operations",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < r->sums->nranks; i++) {
        const struct closing_rank *x = &r->sums->ranks[i];
        sheet_number(s, closing_rank_number(x->rank));
        sheet_text(s, x->host);
        sheet_text(s, x->file);
        sheet_number(s, x->recorded_ns > 0 ? (double)x->recorded_ns : NAN);
        sheet_number(s, (double)x->devices);
        for (int kind = 0; kind < SPECTER_SUM_KIND_COUNT; kind++) {
            sheet_number(s, (double)x->kinds[kind].count);
            if (kind != SPECTER_SUM_GEMMS && kind != SPECTER_SUM_GRAPHS)
                sheet_number(s, (double)x->kinds[kind].bytes);
            sheet_number(s, (double)x->kinds[kind].ns);
        }
        sheet_number(s, closing_communication_of(x));
        sheet_number(s, x->caused_ns);
        sheet_number(s, (double)x->launches);
        sheet_number(s, (double)x->dropped);
    }
    sheet_note(s, "comm.: share of the recorded time, work that overlaps counted each; causes: "
                  "others waited for it at least so long");
}

/* ---- operations ---- */

static int by_time(const void *pa, const void *pb, void *arg)
{
    const struct closing_sums *s = arg;
    const struct closing_place *a = pa, *b = pb;
    double ns_a = long_sum_value(s->classes[a->op][a->size].ns);
    double ns_b = long_sum_value(s->classes[b->op][b->size].ns);
    if (ns_a != ns_b)
        return ORDER(ns_b, ns_a);
    return a->op != b->op ? ORDER(a->op, b->op) : ORDER(a->size, b->size);
}

size_t closing_by_time(const struct closing_sums *s, struct closing_place *list, size_t n)
{
    struct closing_place all[PLACES];
    size_t count = 0;
    for (int op = 0; op < SPECTER_COMM_OP_COUNT; op++) {
        for (int size = 0; size < CLOSING_SIZES; size++) {
            if (s->classes[op][size].count > 0)
                all[count++] = (struct closing_place){op, size};
        }
    }
    qsort_r(all, count, sizeof *all, by_time, (void *)(uintptr_t)s);
    for (size_t i = 0; i < count && i < n; i++)
        list[i] = all[i];
    return count;
}

char *closing_sizes_text(char *buf, size_t size, const struct closing_class *c)
{
    if (c->size_max == 0)
        snprintf(buf, size, "-");
    else if (c->size_min == c->size_max)
        snprintf(buf, size, "%d", c->size_max);
    else
        snprintf(buf, size, "%d-%d", c->size_min, c->size_max);
    return buf;
}

double closing_GBps(struct long_sum bytes, const struct closing_class *c)
{
    double ns = long_sum_value(c->ns), moved = long_sum_value(bytes);
    return ns > 0 && moved > 0 ? moved / ns : NAN;
}

static void quantile_cells(struct sheet *s, const struct closing_class *c, double q)
{
    double from = NAN, to = NAN;
    closing_quantile(c, q, &from, &to);
    sheet_number(s, from);
    sheet_number(s, to);
}

static void op_cells(struct sheet *s, const struct closing_sums *sums, struct closing_place place)
{
    const struct closing_class *c = &sums->classes[place.op][place.size];
    char text[32];
    bool timed = c->spans > 0;
    sheet_text(s, specter_comm_op_name((enum specter_comm_op)place.op));
    sheet_number(s, c->size_min > 0 ? c->size_min : NAN);
    sheet_number(s, c->size_max > 0 ? c->size_max : NAN);
    sheet_text(s, closing_sizes_text(text, sizeof text, c));
    sheet_number(s, (double)c->comms);
    sheet_number(s, (double)c->ranks);
    sheet_number(s, (double)c->count);
    sheet_number(s, long_sum_value(c->bytes));
    sheet_number(s, (double)c->timed);
    sheet_number(s, (double)c->spans);
    sheet_number(s, long_sum_value(c->ns));
    sheet_number(s, long_sum_value(c->ns) / (double)c->ranks);
    sheet_number(s, long_sum_value(c->ns) / (double)c->spans);
    sheet_number(s, timed ? (double)c->min_ns : NAN);
    quantile_cells(s, c, 0.5);
    quantile_cells(s, c, 0.9);
    sheet_number(s, timed ? (double)c->max_ns : NAN);
    sheet_number(s, closing_GBps(c->timed_bytes, c));
    sheet_number(s, closing_GBps(c->bus_bytes, c));
    sheet_number(s, (double)c->of_ranks.least_ns);
    sheet_number(s, closing_rank_number(c->of_ranks.least));
    sheet_number(s, (double)c->of_ranks.most_ns);
    sheet_number(s, closing_rank_number(c->of_ranks.most));
}

void sheet_of_summary_ops(struct sheet *s, const struct closing_report *r)
{
    static const struct sheet_column columns[] = {
        {"op", "op", SHEET_TEXT, 0},
        {"size_min", NULL, SHEET_COUNT, 0},
        {"size_max", NULL, SHEET_COUNT, 0},
        {NULL, "ranks", SHEET_TEXT, 0},
        {"comms", "groups", SHEET_COUNT, 0},
        {"ranks", NULL, SHEET_COUNT, 0},
        {"count", "count", SHEET_COUNT, 0},
        {"bytes", NULL, SHEET_BYTES, 0},
        {"timed", NULL, SHEET_COUNT, 0},
        {"spans", NULL, SHEET_COUNT, 0},
        {"total_us", NULL, SHEET_TIME, 0},
        {"rank_us", "a rank", SHEET_TIME, 0},
        {"mean_us", "mean", SHEET_TIME, 0},
        {"min_us", NULL, SHEET_TIME, 0},
        {"p50_from_us", NULL, SHEET_TIME, 0},
        {"p50_to_us", "p50 below", SHEET_TIME, 0},
        {"p90_from_us", NULL, SHEET_TIME, 0},
        {"p90_to_us", "p90 below", SHEET_TIME, 0},
        {"max_us", NULL, SHEET_TIME, 0},
        {"algbw_GBps", NULL, SHEET_RATE, 0},
        {"busbw_GBps", "busbw", SHEET_RATE, 0},
        {"least_us", NULL, SHEET_TIME, 0},
        {"least_rank", NULL, SHEET_COUNT, 0},
        {"most_us", NULL, SHEET_TIME, 0},
        {"most_rank", NULL, SHEET_COUNT, 0},
    };
    struct closing_place places[PLACES];
    size_t n = closing_by_time(r->sums, places, PLACES);
    sheet_init(s, "summary_ops", "Communication by operation and size of group",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < n; i++)
        op_cells(s, r->sums, places[i]);
    sheet_note(s, "durations on the device, waiting for other ranks included; quantiles lie "
                  "between powers of two");
}

/* ---- communicators ---- */

void sheet_of_summary_comms(struct sheet *s, const struct closing_report *r)
{
    static const struct sheet_column columns[] = {
        {"comm", "communicator", SHEET_TEXT, 0},
        {"comm_size", "ranks", SHEET_COUNT, 0},
        {"op", "op", SHEET_TEXT, 0},
        {"members", NULL, SHEET_COUNT, 0},
        {"count", NULL, SHEET_COUNT, 0},
        {"bytes", NULL, SHEET_BYTES, 0},
        {"mean_us", NULL, SHEET_TIME, 0},
        {"least_us", "shortest", SHEET_TIME, 0},
        {"least_rank", "rank", SHEET_COUNT, 0},
        {"most_us", "longest", SHEET_TIME, 0},
        {"most_rank", "rank", SHEET_COUNT, 0},
        {"wait_us", "waits", SHEET_TIME, 0},
    };
    const struct closing_sums *sums = r->sums;
    sheet_init(s, "summary_comms", "Communicators by what their ranks wait for others",
               SHEET_COLUMNS(columns));
    s->json_rows = COMMS_IN_JSON;
    for (size_t i = 0; i < sums->ncomms; i++) {
        const struct closing_comm *c = &sums->comms[i];
        sheet_text(s, arena_printf(&s->arena, "%016llx", (unsigned long long)c->id));
        sheet_number(s, c->size > 0 ? c->size : NAN);
        sheet_text(s, specter_comm_op_name((enum specter_comm_op)c->op));
        sheet_number(s, c->members);
        sheet_number(s, (double)c->count);
        sheet_number(s, long_sum_value(c->bytes));
        sheet_number(s, long_sum_value(c->ns) / c->members);
        sheet_number(s, (double)c->of_ranks.least_ns);
        sheet_number(s, closing_rank_number(c->of_ranks.least));
        sheet_number(s, (double)c->of_ranks.most_ns);
        sheet_number(s, closing_rank_number(c->of_ranks.most));
        sheet_number(s, closing_wait_ns(c) / c->members);
    }
    sheet_note(s, "device time of one rank; the rank that comes last has the shortest; waits: of a "
                  "rank for others, at least");
    if (sums->comms_left > 0)
        sheet_note(s, "%llu rows beyond %zu communicators and operations are left out",
                   (unsigned long long)sums->comms_left, CLOSING_COMMS_MAX);
}
