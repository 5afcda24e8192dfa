/* SPDX-License-Identifier: MIT
 *
 * The file of results that rccl-tests writes (-x FILE, -Z json or csv): one object or record for
 * each size and placement. It names no GPU and no host.
 *
 *     {"numCycle":0, "name":"AllReduce", "nodes":1, "ranks":8, "ranksPerNode":8, "gpusPerRank":1,
 *      "size":1024, "type":"float", "redop":"sum", "inPlace":0, "time":17.1, "algBw":0.06,
 *      "busBw":0.10, "wrong":"0"}
 *
 * "ranks" are processes. Built without MPI it has "gpus" in place of those four. The CSV has the
 * same columns; headers of older versions lack "nodes", which their records have.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/stream.h"
#include "bench/read.h"
#include "calib/csv.h"
#include "calib/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TIME_MAX 1e12       /* us: twelve days */
#define GPUS_MAX 65536      /* of a job */
#define GPUS_PER_NODE_MAX 8 /* more on one node: all processes were counted as of one */

struct rccl_tests_row {
    const char *name, *dtype, *redop;
    double nodes, ranks, per_node, per_rank, gpus, bytes, in_place, time, algbw, busbw, wrong;
};

/* Names in the JSON and in the header of the CSV, whose case differs. */
static const struct {
    const char *name, *other;
    size_t offset;
    bool text;
} columns[] = {
#define NUMBER(name, other, member)                                 \
    {                                                               \
        name, other, offsetof(struct rccl_tests_row, member), false \
    }
#define TEXT(name, other, member)                                  \
    {                                                              \
        name, other, offsetof(struct rccl_tests_row, member), true \
    }
    TEXT("name", "collective", name),
    NUMBER("nodes", "", nodes),
    NUMBER("ranks", "", ranks),
    NUMBER("ranksPerNode", "", per_node),
    NUMBER("gpusPerRank", "", per_rank),
    NUMBER("gpus", "", gpus),
    NUMBER("size", "", bytes),
    TEXT("type", "", dtype),
    TEXT("redop", "", redop),
    NUMBER("inPlace", "", in_place),
    NUMBER("time", "", time),
    NUMBER("algBw", "", algbw),
    NUMBER("busBw", "", busbw),
    NUMBER("wrong", "#wrong", wrong),
};

#define COLUMNS (sizeof columns / sizeof *columns)

static struct rccl_tests_row nothing(void)
{
    return (struct rccl_tests_row){"",  "",  "",  NAN, NAN, NAN, NAN,
                                   NAN, NAN, NAN, NAN, NAN, NAN, NAN};
}

/* COLUMNS for another. */
static size_t column_of(const char *name, size_t len)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        const char *both[] = {columns[i].name, columns[i].other};
        for (int k = 0; k < 2; k++) {
            if (len > 0 && strlen(both[k]) == len && strncasecmp(both[k], name, len) == 0)
                return i;
        }
    }
    return COLUMNS;
}

static double *number_in(struct rccl_tests_row *row, size_t column)
{
    return (double *)(void *)((char *)row + columns[column].offset);
}

static const char **text_in(struct rccl_tests_row *row, size_t column)
{
    return (const char **)(void *)((char *)row + columns[column].offset);
}

static int count_of(double value)
{
    return value >= 1 && value <= GPUS_MAX ? (int)value : 0;
}

static struct layout layout_of(const struct rccl_tests_row *row)
{
    struct layout where = {0};
    const int per_rank = count_of(row->per_rank) > 0 ? count_of(row->per_rank) : 1;
    where.nodes = count_of(row->nodes);
    if (count_of(row->gpus) > 0) {
        where.ranks = where.per_node = count_of(row->gpus);
        where.nodes = 1;
    } else if (count_of(row->ranks * per_rank) > 0) {
        where.ranks = count_of(row->ranks * per_rank);
        where.per_node = count_of(row->per_node * per_rank);
    }
    if (where.nodes == 1 && where.ranks > GPUS_PER_NODE_MAX)
        where.nodes = where.per_node = 0;
    return where;
}

/* Returns whether it is a row. */
static bool keep_row(struct bench_run *run, const struct rccl_tests_row *in, size_t line)
{
    struct bench_row *row;
    if (!(in->time > 0 && in->time < TIME_MAX && in->bytes > 0 && in->bytes < 1e18))
        return in->bytes == 0; /* fewer elements than ranks: nothing was moved */
    row = bench_row_add(run);
    row->line = line;
    row->op = measured_op(in->name);
    row->dtype = measured_dtype(in->dtype);
    row->redop = specter_redop_parse(in->redop, strlen(in->redop));
    row->bytes = (uint64_t)in->bytes;
    row->in_place = in->in_place > 0;
    row->time_us = in->time;
    row->algbw_GBps = in->algbw;
    row->busbw_GBps = in->busbw;
    row->wrong = in->wrong;
    row->where = layout_of(in);
    if (run->nrows == 1) {
        run->where = row->where;
        run->program = in->name;
    }
    return true;
}

static void read_json(struct bench_result *r, struct bench_run *run, struct json *j, bool *bad)
{
    struct rccl_tests_row row = nothing();
    struct json_text key;
    json_enter(j, '{');
    while (json_next_key(j, &key)) {
        const size_t column = column_of(key.p, key.len);
        if (column == COLUMNS)
            json_skip(j);
        else if (columns[column].text)
            *text_in(&row, column) = bench_json_text(j, r);
        else
            *number_in(&row, column) = bench_json_number(j);
    }
    if (j->error == NULL)
        *bad |= !keep_row(run, &row, 0);
}

/* One record by the columns of the header. */
static bool read_record(struct bench_result *r, struct bench_run *run, const struct csv *c,
                        const size_t *at, size_t n)
{
    struct rccl_tests_row row = nothing();
    for (size_t i = 0; i < n && i < c->count; i++) {
        const char *field = c->fields[i];
        char *end;
        double value;
        if (at[i] == COLUMNS)
            continue;
        if (columns[at[i]].text) {
            *text_in(&row, at[i]) = bench_keep(r, field, strlen(field));
            continue;
        }
        value = strtod(field, &end);
        *number_in(&row, at[i]) = end > field ? value : NAN;
    }
    return keep_row(run, &row, c->line);
}

static void read_csv(struct bench_result *r, struct bench_run *run, const struct buf *text,
                     bool *bad)
{
    size_t at[CSV_FIELDS_MAX], n = 0; /* the column that a field of a record is */
    size_t ranks = CSV_FIELDS_MAX;    /* where they stand; the nodes of old versions before them */
    bool nodes = false;
    struct csv c;
    csv_init(&c, text->data, text->len);
    while (csv_next(&c)) {
        if (c.problem != NULL) {
            *bad = true;
            continue;
        }
        if (n > 0) {
            if (c.count == n + 1 && !nodes && ranks < n) {
                memmove(at + ranks + 1, at + ranks, (n - ranks) * sizeof *at);
                at[ranks] = column_of("nodes", 5);
                nodes = true;
                n++;
            }
            *bad |= !read_record(r, run, &c, at, n);
            continue;
        }
        for (; n < c.count && n + 1 < CSV_FIELDS_MAX; n++) {
            at[n] = column_of(c.fields[n], strlen(c.fields[n]));
            nodes |= strcasecmp(c.fields[n], "nodes") == 0;
            if (strcasecmp(c.fields[n], "ranks") == 0)
                ranks = n;
        }
    }
    csv_release(&c);
}

int bench_read_rccl_tests_file(struct bench_result *r, struct stream *s, const char *file,
                               struct err *e)
{
    const size_t first = r->nruns;
    struct bench_run *run = bench_run_add(r);
    struct buf text = BUF_INIT;
    bool bad = false;
    struct json j;
    int rc = bench_json_file(s, file, &text, e);
    run->file = file;
    run->line = 1;
    run->backend = "rccl";
    if (rc == 0) {
        json_init(&j, text.data, text.len);
        if (json_peek(&j) == '[' && json_enter(&j, '[')) {
            while (json_next_item(&j))
                read_json(r, run, &j, &bad);
        } else if (json_peek(&j) == '{') {
            while (j.error == NULL && json_peek(&j) == '{')
                read_json(r, run, &j, &bad);
        } else {
            read_csv(r, run, &text, &bad);
            json_init(&j, "0", 1);
            json_skip(&j);
        }
        json_end(&j);
        rc = bench_json_end(&j, r, first, file, e);
    }
    if (rc == 0 && run->nrows > 0 && run->where.ranks > 0 && run->where.nodes == 0)
        bench_note(r, file, 1,
                   "%d GPUs, all counted as of one node: how many nodes there were is not known",
                   run->where.ranks);
    if (rc == 0 && bad)
        bench_note(r, file, 1, "a result whose time is not above 0 is passed over");
    r->damaged |= rc == 0 && bad;
    buf_release(&text);
    return rc;
}
