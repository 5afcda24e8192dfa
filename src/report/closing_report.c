/* SPDX-License-Identifier: MIT
 *
 * The report of `specter analyze --summary`: its sheets, its screen, its JSON.
 */
#include "report/analyze_report.h"

#include "base/order.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "specter.analyze_summary/1"
#define COMMS_IN_JSON 100
#define PLACES (SPECTER_COMM_OP_COUNT * CLOSING_SIZES)

/* For a cell or JSON; NAN where it is unknown. */
static double rank_number(int64_t rank)
{
    return rank >= 0 ? (double)rank : NAN;
}

/* ---- ranks ---- */

static void sheet_of_summary_ranks(struct sheet *s, const struct closing_report *r)
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
        sheet_number(s, rank_number(x->rank));
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
        sheet_number(s, closing_comm_share(x));
        sheet_number(s, x->caused_ns);
        sheet_number(s, (double)x->launches);
        sheet_number(s, (double)x->dropped);
    }
    sheet_note(s, "comm.: share of the recorded time, work that overlaps counted each; causes: "
                  "others waited for it at least so long");
}

/* ---- operations ---- */

/* A class: an operation, and a class of sizes. */
struct class_place {
    int op, size;
};

static int by_time(const void *pa, const void *pb, void *arg)
{
    const struct closing_sums *s = arg;
    const struct class_place *a = pa, *b = pb;
    double ns_a = long_sum_value(s->classes[a->op][a->size].ns);
    double ns_b = long_sum_value(s->classes[b->op][b->size].ns);
    if (ns_a != ns_b)
        return ORDER(ns_b, ns_a);
    return a->op != b->op ? ORDER(a->op, b->op) : ORDER(a->size, b->size);
}

/* The first `n` classes by time; returns how many there are. */
static size_t classes_by_time(const struct closing_sums *s, struct class_place *list, size_t n)
{
    struct class_place all[PLACES];
    size_t count = 0;
    for (int op = 0; op < SPECTER_COMM_OP_COUNT; op++) {
        for (int size = 0; size < CLOSING_SIZES; size++) {
            if (s->classes[op][size].count > 0)
                all[count++] = (struct class_place){op, size};
        }
    }
    qsort_r(all, count, sizeof *all, by_time, (void *)(uintptr_t)s);
    for (size_t i = 0; i < count && i < n; i++)
        list[i] = all[i];
    return count;
}

/* "8", "5-8", "-" in buf, which it returns. */
static char *sizes_text(char *buf, size_t size, const struct closing_class *c)
{
    if (c->size_max == 0)
        snprintf(buf, size, "-");
    else if (c->size_min == c->size_max)
        snprintf(buf, size, "%d", c->size_max);
    else
        snprintf(buf, size, "%d-%d", c->size_min, c->size_max);
    return buf;
}

/* timed bytes (or bus bytes) / time, in GB/s; NAN. */
static double rate_GBps(struct long_sum bytes, const struct closing_class *c)
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

static void extremes_cells(struct sheet *s, const struct closing_extremes *x)
{
    sheet_number(s, x->timed > 0 ? (double)x->least_ns : NAN);
    sheet_number(s, x->timed > 0 ? rank_number(x->least) : NAN);
    sheet_number(s, x->timed > 0 ? (double)x->most_ns : NAN);
    sheet_number(s, x->timed > 0 ? rank_number(x->most) : NAN);
}

static void op_cells(struct sheet *s, const struct closing_sums *sums, struct class_place place)
{
    const struct closing_class *c = &sums->classes[place.op][place.size];
    char text[32];
    bool timed = c->spans > 0;
    sheet_text(s, specter_comm_op_name((enum specter_comm_op)place.op));
    sheet_number(s, c->size_min > 0 ? c->size_min : NAN);
    sheet_number(s, c->size_max > 0 ? c->size_max : NAN);
    sheet_text(s, sizes_text(text, sizeof text, c));
    sheet_number(s, (double)c->comms);
    sheet_number(s, (double)c->ranks);
    sheet_number(s, (double)c->count);
    sheet_number(s, long_sum_value(c->bytes));
    sheet_number(s, (double)c->timed);
    sheet_number(s, (double)c->spans);
    sheet_number(s, long_sum_value(c->ns));
    sheet_number(s, long_sum_value(c->ns) / (double)c->of_ranks.timed);
    sheet_number(s, long_sum_value(c->ns) / (double)c->spans);
    sheet_number(s, timed ? (double)c->min_ns : NAN);
    quantile_cells(s, c, 0.5);
    quantile_cells(s, c, 0.9);
    sheet_number(s, timed ? (double)c->max_ns : NAN);
    sheet_number(s, rate_GBps(c->timed_bytes, c));
    sheet_number(s, rate_GBps(c->bus_bytes, c));
    extremes_cells(s, &c->of_ranks);
}

static void sheet_of_summary_ops(struct sheet *s, const struct closing_report *r)
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
    struct class_place places[PLACES];
    size_t n = classes_by_time(r->sums, places, PLACES);
    sheet_init(s, "summary_ops", "Communication by operation and size of group",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < n; i++)
        op_cells(s, r->sums, places[i]);
    sheet_note(s, "durations on the device, waiting for other ranks included; quantiles lie "
                  "between powers of two");
}

/* ---- communicators ---- */

static void sheet_of_summary_comms(struct sheet *s, const struct closing_report *r)
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
        sheet_number(s, long_sum_value(c->ns) / (double)c->of_ranks.timed);
        extremes_cells(s, &c->of_ranks);
        sheet_number(s, closing_wait_ns(c) / c->members);
    }
    sheet_note(s, "device time of one rank; the rank that comes last has the shortest; waits: of a "
                  "rank for others, at least");
    if (sums->rows_left_out > 0)
        sheet_note(s, "%llu rows beyond %zu communicators and operations are left out",
                   (unsigned long long)sums->rows_left_out, CLOSING_COMMS_MAX);
}

/* ---- all sheets ---- */

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

/* ---- the screen ---- */

#define SHARE_MIN 0.005 /* of the recorded time: a smaller kind has no row */
#define OPS_SHOWN 5
#define RUN_COLUMNS 24
#define TIME_TEXT_SIZE 32
#define ROW_FORMAT "  %-13s%6s%8s%9s%*s%14s%7s"

static const char *const kind_names[] = {[SPECTER_SUM_COLLECTIVES] = "collectives",
                                         [SPECTER_SUM_MESSAGES] = "messages",
                                         [SPECTER_SUM_GEMMS] = "GEMMs",
                                         [SPECTER_SUM_COPIES] = "copies",
                                         [SPECTER_SUM_GRAPHS] = "graph launches"};

static void put_head(const struct closing_report *r, struct screen *s)
{
    const struct closing_sums *sums = r->sums;
    struct buf b = BUF_INIT;
    char run[4 * RUN_COLUMNS], time[TIME_TEXT_SIZE];
    buf_printf(&b, "%zu", sums->nranks);
    if (r->run->world_size > 0 && sums->nranks != (size_t)r->run->world_size)
        buf_printf(&b, " of %d", r->run->world_size);
    buf_printf(&b, " %s, %u host%s", r->run->world_size == 1 ? "rank" : "ranks",
               (unsigned)sums->hosts.count, sums->hosts.count == 1 ? "" : "s");
    if (r->run->id[0] != '\0')
        buf_printf(&b, ", run %s", text_safe(run, sizeof run, r->run->id, RUN_COLUMNS));
    if (!isnan(sums->recorded.median))
        buf_printf(&b, ": %s recorded%s", text_ns(time, sizeof time, sums->recorded.median),
                   sums->nranks > 1 ? " (median)" : "");
    screen_line(s, SCREEN_PLAIN, b.data, 2);
    buf_release(&b);
}

static void put_verdict(const struct closing_report *r, struct screen *s)
{
    const struct closing_spread *kinds = r->sums->kinds;
    struct buf b = BUF_INIT;
    int largest = 0;
    bool untimed = false;
    for (int kind = 1; kind < SPECTER_SUM_KIND_COUNT; kind++) {
        if (kinds[kind].median > kinds[largest].median)
            largest = kind;
    }
    for (size_t i = 0; i < r->sums->nranks; i++)
        untimed |= r->sums->ranks[i].launches > 0;
    if (isnan(kinds[largest].median) || kinds[largest].median == 0)
        buf_puts(&b, "No operation has a device time.");
    else
        buf_printf(&b, "Most time: %s, %.0f %% of the recorded time.", kind_names[largest],
                   100 * kinds[largest].median);
    buf_puts(&b, untimed ? " Other kernels have no times." : "");
    screen_line(s, SCREEN_STRONG, b.data, 0);
    buf_release(&b);
}

static void put_rank(struct buf *b, double share, int64_t rank)
{
    char name[24] = "-";
    if (rank >= 0)
        snprintf(name, sizeof name, "%lld", (long long)rank);
    buf_printf(b, "%6.0f %%%8s", 100 * share, name);
}

static void put_shares(const struct closing_report *r, struct screen *s)
{
    bool several = r->sums->nranks > 1;
    struct buf b = BUF_INIT;
    if (isnan(r->sums->recorded.median))
        return;
    buf_printf(&b, "  %-14s%8s", "device time", several ? "median" : "share");
    if (several)
        buf_printf(&b, "%8s%8s%8s%8s", "least", "rank", "most", "rank");
    screen_row(s, b.data);
    for (int kind = 0; kind < SPECTER_SUM_KIND_COUNT; kind++) {
        const struct closing_spread *x = &r->sums->kinds[kind];
        if (!(x->most >= SHARE_MIN))
            continue;
        buf_reset(&b);
        buf_printf(&b, "  %-14s%6.0f %%", kind_names[kind], 100 * x->median);
        if (several) {
            put_rank(&b, x->least, x->least_rank);
            put_rank(&b, x->most, x->most_rank);
        }
        screen_row(s, b.data);
    }
    buf_release(&b);
}

static void put_waits(const struct closing_report *r, struct screen *s)
{
    const struct closing_sums *sums = r->sums;
    const struct closing_spread *x = &sums->communication;
    struct buf b = BUF_INIT;
    char time[TIME_TEXT_SIZE];
    if (sums->nranks < 2 || !(x->most >= SHARE_MIN) || x->most_rank < 0 || x->least_rank < 0)
        return;
    buf_printf(
        &b,
        "Communication: most on rank %lld (%.0f %%), least on rank %lld (%.0f %%). The last to "
        "arrive in a collective has the shortest device time",
        (long long)x->most_rank, 100 * x->most, (long long)x->least_rank, 100 * x->least);
    if (sums->straggler != SIZE_MAX) {
        const struct closing_rank *last = &sums->ranks[sums->straggler];
        buf_printf(&b, "; waits for rank %lld: %s a rank or more", (long long)last->rank,
                   text_ns(time, sizeof time, last->caused_ns / (double)(sums->nranks - 1)));
    }
    buf_putc(&b, '.');
    screen_line(s, SCREEN_PLAIN, b.data, 0);
    buf_release(&b);
}

/* "1.02-2.05 ms", in the unit of the upper end. */
static char *range_text(char *buf, size_t size, const struct closing_class *c, double q)
{
    double from, to;
    char high[TIME_TEXT_SIZE];
    const char *unit;
    if (!closing_quantile(c, q, &from, &to)) {
        snprintf(buf, size, "-");
        return buf;
    }
    unit = strchr(text_ns(high, sizeof high, to), ' ');
    double scale = unit == NULL               ? 1
                   : strcmp(unit, " s") == 0  ? 1e9
                   : strcmp(unit, " ms") == 0 ? 1e6
                   : strcmp(unit, " us") == 0 ? 1e3
                                              : 1;
    snprintf(buf, size, "%.3g-%.3g%s", from / scale, to / scale, unit != NULL ? unit : "");
    return buf;
}

static char *count_text(char *buf, size_t size, uint64_t count)
{
    if (count < 10000000)
        snprintf(buf, size, "%llu", (unsigned long long)count);
    else
        snprintf(buf, size, "%.3g%s", (double)count / (count < 1000000000 ? 1e6 : 1e9),
                 count < 1000000000 ? "M" : "G");
    return buf;
}

static void put_ops(const struct closing_report *r, struct screen *s, size_t kept)
{
    struct class_place places[OPS_SHOWN];
    size_t n = classes_by_time(r->sums, places, OPS_SHOWN), left = screen_left(s);
    bool wide = s->width >= 80;
    char row[256], count[32], mean[TIME_TEXT_SIZE], half[2 * TIME_TEXT_SIZE],
        most[2 * TIME_TEXT_SIZE];
    char sizes[32], rate[16];
    if (n == 0 || left < kept + 2)
        return;
    snprintf(row, sizeof row, ROW_FORMAT, "operation", "ranks", "count", "mean", wide ? 16 : 0,
             wide ? "p50 within" : "", "p90 within", "GB/s");
    screen_row(s, row);
    for (size_t i = 0; i < n && i < OPS_SHOWN && screen_left(s) > kept; i++) {
        const struct closing_class *c = &r->sums->classes[places[i].op][places[i].size];
        double GBps = rate_GBps(c->bus_bytes, c);
        snprintf(rate, sizeof rate, isnan(GBps) ? "-" : GBps < 0.01 ? "<0.01" : "%.3g", GBps);
        snprintf(row, sizeof row, ROW_FORMAT,
                 specter_comm_op_name((enum specter_comm_op)places[i].op),
                 sizes_text(sizes, sizeof sizes, c), count_text(count, sizeof count, c->count),
                 text_ns(mean, sizeof mean, long_sum_value(c->ns) / (double)c->spans),
                 wide ? 16 : 0, wide ? range_text(half, sizeof half, c, 0.5) : "",
                 range_text(most, sizeof most, c, 0.9), rate);
        screen_row(s, row);
    }
}

void closing_screen(const struct closing_report *r, struct screen *s)
{
    static const char last[] =
        "Need the records, without --summary: steps, waits, idle, kernels, critical path";
    size_t kept = screen_height(s, last, 0);
    put_head(r, s);
    put_verdict(r, s);
    put_shares(r, s);
    put_waits(r, s);
    put_ops(r, s, kept);
    screen_line(s, SCREEN_SOFT, last, 0);
}

/* ---- JSON ---- */

static void add_share(cJSON *doc, const char *key, const struct closing_spread *x, double divisor)
{
    const char *const keys[2][3] = {{"median", "least", "most"},
                                    {"median_us", "least_us", "most_us"}};
    const char *const *k = keys[divisor != 1];
    cJSON *o = cJSON_AddObjectToObject(doc, key);
    json_add_number(o, k[0], x->median / divisor);
    json_add_number(o, k[1], x->least / divisor);
    json_add_number(o, "least_rank", rank_number(x->least_rank));
    json_add_number(o, k[2], x->most / divisor);
    json_add_number(o, "most_rank", rank_number(x->most_rank));
}

static void add_run(cJSON *doc, const struct closing_report *r)
{
    cJSON *o = cJSON_AddObjectToObject(doc, "run"), *notes;
    json_add_text(o, "id", r->run->id);
    json_add_text(o, "source", r->run->source);
    json_add_number(o, "world_size", r->run->world_size > 0 ? r->run->world_size : NAN);
    cJSON_AddNumberToObject(o, "ranks", (double)r->sums->nranks);
    cJSON_AddNumberToObject(o, "hosts", (double)r->sums->hosts.count);
    notes = cJSON_AddArrayToObject(doc, "notes");
    for (size_t i = 0; i < r->run->nnotes; i++) {
        cJSON *note = cJSON_CreateObject();
        json_add_text(note, "text", r->run->notes[i].text);
        cJSON_AddBoolToObject(note, "loss", r->run->notes[i].loss);
        cJSON_AddItemToArray(notes, note);
    }
}

/* null where the members of no collective can be compared. */
static void add_last(cJSON *doc, const struct closing_sums *s)
{
    const struct closing_rank *r = s->straggler != SIZE_MAX ? &s->ranks[s->straggler] : NULL;
    cJSON *o;
    if (r == NULL) {
        cJSON_AddNullToObject(doc, "waited_for");
        return;
    }
    o = cJSON_AddObjectToObject(doc, "waited_for");
    json_add_number(o, "rank", rank_number(r->rank));
    json_add_us(o, "caused_wait_us", r->caused_ns);
}

void closing_json(const struct closing_report *r, FILE *out)
{
    static const char *const kinds[] = {
#define X(id, key) key,
        SPECTER_SUM_KINDS(X)
#undef X
    };
    struct sheet sheets[CLOSING_SHEET_COUNT];
    struct json_stream stream;
    cJSON *doc = cJSON_CreateObject(), *shares;
    cJSON_AddStringToObject(doc, "schema", SCHEMA);
    add_run(doc, r);
    add_share(doc, "recorded", &r->sums->recorded, 1e3);
    shares = cJSON_AddObjectToObject(doc, "shares");
    for (int kind = 0; kind < SPECTER_SUM_KIND_COUNT; kind++)
        add_share(shares, kinds[kind], &r->sums->kinds[kind], 1);
    add_share(shares, "communication", &r->sums->communication, 1);
    add_last(doc, r->sums);
    json_stream_begin(&stream, out);
    json_stream_members(&stream, doc);
    cJSON_Delete(doc);
    closing_sheets(sheets, r);
    for (size_t i = 0; i < CLOSING_SHEET_COUNT; i++) {
        json_stream_list(&stream, sheets[i].name);
        for (size_t row = 0; row < sheet_json_rows(&sheets[i]); row++)
            json_stream_element(&stream, sheet_json_row(&sheets[i], row));
        json_stream_list_end(&stream);
        sheet_release(&sheets[i]);
    }
    json_stream_end(&stream);
}
