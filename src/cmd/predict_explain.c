/* SPDX-License-Identifier: MIT
 *
 * predict --explain: the ways to do a collective, and where NCCL changes from one to another.
 */
#include "cmd/predict.h"

#include "base/buf.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- candidates ---- */

static int find_candidates(const struct predict_transfer *t, struct comm_candidate *out,
                           struct err *e)
{
    return model_collective_candidates(t->on->gpu, t->on->network, t->op, t->bytes, t->where, out,
                                       e);
}

static bool is_taken(const struct predict_transfer *t, const struct comm_candidate *c)
{
    return strcmp(t->cost.algo, c->cost.algo) == 0 && strcmp(t->cost.proto, c->cost.proto) == 0;
}

/* NCCL has no estimate of sends, and none of what is off. */
static bool is_known(double value)
{
    return isfinite(value) && value > 0;
}

static void put_number(struct table *table, double value)
{
    if (is_known(value))
        table_cell(table, "%.*f", value < 100 ? 2 : 1, value);
    else
        table_cell(table, "-");
}

static void print_priced(const struct predict_transfer *t, const struct comm_candidate *list, int n)
{
    static const char *const heads[] = {"lat", "GB/s", "us", "our lat", "busbw", "us"};
    struct table table;
    table_init(&table);
    table_column(&table, "", TABLE_LEFT);
    table_column(&table, "algorithm", TABLE_LEFT);
    table_column(&table, "proto", TABLE_LEFT);
    table_column(&table, "ch", TABLE_RIGHT);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        table_column(&table, heads[i], TABLE_RIGHT);
    for (int i = 0; i < n; i++) {
        const struct comm_candidate *c = &list[i];
        if (c->off != NULL && !is_known(c->cost.us) && !is_known(c->nccl_us))
            continue;
        table_cell(&table, "%s", is_taken(t, c) ? "->" : c->off != NULL ? "off" : "");
        table_cell(&table, "%s", c->cost.algo);
        table_cell(&table, "%s", c->cost.proto);
        table_cell(&table, "%d", c->cost.channels);
        put_number(&table, c->nccl_lat_us);
        put_number(&table, c->nccl_GBps);
        put_number(&table, c->nccl_us);
        put_number(&table, c->cost.lat_us);
        put_number(&table, c->cost.bw_GBps);
        put_number(&table, c->cost.us);
    }
    table_print(&table, stdout);
    table_release(&table);
}

/* Those that are off for the reason of list[first], in one line. */
static void print_off(const struct comm_candidate *list, int n, int first)
{
    struct buf line = BUF_INIT;
    for (int i = 0; i < first; i++) {
        if (list[i].off != NULL && strcmp(list[i].off, list[first].off) == 0)
            return; /* said with that one */
    }
    for (int i = first; i < n; i++) {
        if (list[i].off != NULL && strcmp(list[i].off, list[first].off) == 0)
            buf_printf(&line, "%s%s %s", i == first ? "" : ", ", list[i].cost.algo,
                       list[i].cost.proto);
    }
    buf_printf(&line, ": %s", list[first].off);
    fputs("  off  ", stdout);
    opt_wrap(line.data, 7, 9, stdout);
    buf_release(&line);
}

int predict_print_candidates(const struct predict_transfer *t, struct err *e)
{
    struct comm_candidate list[COMM_CANDIDATES_MAX];
    int n = find_candidates(t, list, e);
    if (n < 0)
        return -1;
    puts("\nways to do it, in us and GB/s: NCCL's own estimate (latency, algorithm\n"
         "bandwidth, time), which makes the choice, and ours");
    print_priced(t, list, n);
    for (int i = 0; i < n; i++) {
        if (list[i].by_tuner)
            printf("  the network's tuner table chooses %s %s, whatever NCCL estimates\n",
                   list[i].cost.algo, list[i].cost.proto);
        if (list[i].off != NULL)
            print_off(list, n, i);
    }
    return 0;
}

static void add_number(cJSON *row, const char *name, double value)
{
    if (is_known(value))
        cJSON_AddNumberToObject(row, name, value);
    else
        cJSON_AddNullToObject(row, name);
}

int predict_add_candidates(cJSON *doc, const struct predict_transfer *t, struct err *e)
{
    struct comm_candidate list[COMM_CANDIDATES_MAX];
    cJSON *rows = cJSON_AddArrayToObject(doc, "candidates");
    int n = find_candidates(t, list, e);
    for (int i = 0; i < n; i++) {
        const struct comm_candidate *c = &list[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "algo", c->cost.algo);
        cJSON_AddStringToObject(row, "proto", c->cost.proto);
        cJSON_AddNumberToObject(row, "channels", c->cost.channels);
        add_number(row, "nccl_lat_us", c->nccl_lat_us);
        add_number(row, "nccl_GBps", c->nccl_GBps);
        add_number(row, "nccl_us", c->nccl_us);
        add_number(row, "lat_us", c->cost.lat_us);
        add_number(row, "bw_GBps", c->cost.bw_GBps);
        add_number(row, "time_us", c->cost.us);
        cJSON_AddBoolToObject(row, "taken", is_taken(t, c));
        cJSON_AddBoolToObject(row, "nccl_takes", c->chosen);
        cJSON_AddBoolToObject(row, "by_tuner", c->by_tuner);
        if (c->off != NULL)
            cJSON_AddStringToObject(row, "off", c->off);
        cJSON_AddItemToArray(rows, row);
    }
    return n < 0 ? -1 : 0;
}

/* ---- jumps ---- */

static bool same_choice(const struct predict_transfer *a, const struct predict_transfer *b)
{
    return strcmp(a->cost.algo, b->cost.algo) == 0 && strcmp(a->cost.proto, b->cost.proto) == 0;
}

static int ask_for(const struct predict_ask *ask, uint64_t bytes, struct predict_transfer *out,
                   struct err *e)
{
    return ask->answer(ask->question, bytes, out, e);
}

/* One size at which the choice changes: `to` is a byte more than `from`. */
struct jump {
    struct predict_transfer from, to;
};

/* from and to differ in their choice: narrows them to one jump between them. */
static int narrow(const struct predict_ask *ask, struct jump *j, struct err *e)
{
    while (j->to.bytes - j->from.bytes > 1) {
        struct predict_transfer middle;
        if (ask_for(ask, (uint64_t)((j->from.bytes + j->to.bytes) / 2), &middle, e) < 0)
            return -1;
        if (same_choice(&middle, &j->from))
            j->from = middle;
        else
            j->to = middle;
    }
    return 0;
}

typedef void (*see_jump)(void *arg, const struct jump *j);

/* The size doubled, or before it the next at which a row of the network's tuner begins or ends. */
static uint64_t next_size(const struct network_profile *net, uint64_t size, uint64_t last)
{
    const struct tuner_row *row = net->tuner.first;
    uint64_t next = size > last / 2 ? last : size > 0 ? size * 2 : 1;
    for (size_t i = 0; i < net->tuner.count; i++, row++) {
        const double ends[] = {row->min_bytes, row->max_bytes + 1};
        for (int k = 0; k < 2; k++)
            if (ends[k] > (double)size && ends[k] < (double)next)
                next = (uint64_t)ends[k];
    }
    return next;
}

/* Looks at these sizes, and between two with different choices. */
static int find_jumps(const struct predict_ask *ask, uint64_t first, uint64_t last, see_jump see,
                      void *arg, struct err *e)
{
    struct predict_transfer at, next;
    if (ask_for(ask, first, &at, e) < 0)
        return -1;
    for (uint64_t size = first; size < last;) {
        size = next_size(at.on->network, size, last);
        if (ask_for(ask, size, &next, e) < 0)
            return -1;
        while (!same_choice(&at, &next)) {
            struct jump j = {at, next};
            if (narrow(ask, &j, e) < 0)
                return -1;
            see(arg, &j);
            at = j.to;
        }
        at = next;
    }
    return 0;
}

struct jump_lines {
    const char *indent;
    size_t count;
};

static void print_jump(void *arg, const struct jump *j)
{
    const struct comm_cost *from = &j->from.cost, *to = &j->to.cost;
    struct jump_lines *lines = arg;
    printf("%sfrom %.0f B: %s %s (%.*f us), not %s %s (%.*f us)\n", lines->indent, j->to.bytes,
           to->algo, to->proto, to->us < 100 ? 2 : 1, to->us, from->algo, from->proto,
           from->us < 100 ? 2 : 1, from->us);
    lines->count++;
}

int predict_print_jumps(const struct predict_ask *ask, uint64_t first, uint64_t last,
                        const char *indent, struct err *e)
{
    struct jump_lines lines = {.indent = indent};
    if (find_jumps(ask, first, last, print_jump, &lines, e) < 0)
        return -1;
    if (lines.count == 0)
        printf("%sthe choice is the same at all sizes\n", indent);
    return 0;
}

static void add_jump(void *arg, const struct jump *j)
{
    cJSON *row = cJSON_CreateObject();
    cJSON_AddNumberToObject(row, "bytes", j->to.bytes);
    cJSON_AddStringToObject(row, "from_algo", j->from.cost.algo);
    cJSON_AddStringToObject(row, "from_proto", j->from.cost.proto);
    cJSON_AddNumberToObject(row, "from_us", j->from.cost.us);
    cJSON_AddStringToObject(row, "algo", j->to.cost.algo);
    cJSON_AddStringToObject(row, "proto", j->to.cost.proto);
    cJSON_AddNumberToObject(row, "time_us", j->to.cost.us);
    cJSON_AddItemToArray(arg, row);
}

int predict_add_jumps(cJSON *doc, const struct predict_ask *ask, uint64_t first, uint64_t last,
                      struct err *e)
{
    return find_jumps(ask, first, last, add_jump, cJSON_AddArrayToObject(doc, "jumps"), e);
}
