/* SPDX-License-Identifier: MIT */
#include "cmd/sweep_table.h"

#include "cmd/sweep_id.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "specter.sweep/1"

static int compare_ids(const void *a, const void *b, void *rows)
{
    const struct sweep_row *list = rows;
    size_t one = *(const size_t *)a, other = *(const size_t *)b;
    if (list[one].id != list[other].id)
        return list[one].id < list[other].id ? -1 : 1;
    return (one > other) - (one < other);
}

static void make_ids(struct sweep_table *t, const struct run *runs)
{
    const struct sweep_grid *g = t->grid;
    const struct sweep_list *traces = &g->axes[SWEEP_TRACES];
    uint64_t *digests = calloc(traces->count, sizeof *digests);
    if (digests == NULL)
        die("out of memory");
    for (size_t i = 0; i < traces->count; i++)
        digests[i] = sweep_digest(&runs[i]);
    for (size_t job = 0; job < g->jobs; job++) {
        size_t trace = (size_t)(sweep_grid_value(g, job, SWEEP_TRACES) - traces->values);
        uint64_t h = sweep_job_hash(g, job, runs[trace].id, digests[trace]);
        for (size_t s = 0; s < g->scales; s++)
            t->rows[job * g->scales + s].id =
                sweep_point_id(h, g->axes[SWEEP_SCALES].values[s].number);
    }
    free(digests);
}

static int check_distinct(const struct sweep_table *t, struct err *e)
{
    for (size_t i = 1; i < t->count; i++) {
        if (t->rows[t->by_id[i - 1]].id == t->rows[t->by_id[i]].id)
            return err_set(e, ERR_INPUT,
                           "points %zu and %zu of the grid ask the same: a recording or a profile "
                           "is there twice",
                           t->by_id[i - 1] + 1, t->by_id[i] + 1);
    }
    return 0;
}

int sweep_table_init(struct sweep_table *t, const struct sweep_grid *g, const struct run *runs,
                     struct err *e)
{
    *t = (struct sweep_table){.grid = g, .count = g->points};
    t->rows = calloc(g->points, sizeof *t->rows);
    t->by_id = calloc(g->points, sizeof *t->by_id);
    if (t->rows == NULL || t->by_id == NULL)
        die("out of memory");
    t->of[SWEEP_MISSING] = t->count;
    make_ids(t, runs);
    for (size_t i = 0; i < t->count; i++)
        t->by_id[i] = i;
    qsort_r(t->by_id, t->count, sizeof *t->by_id, compare_ids, t->rows);
    return check_distinct(t, e);
}

void sweep_table_release(struct sweep_table *t)
{
    for (size_t i = 0; t->rows != NULL && i < t->count; i++)
        free(t->rows[i].line);
    free(t->rows);
    free(t->by_id);
}

size_t sweep_table_find(const struct sweep_table *t, uint64_t id)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (t->rows[t->by_id[mid]].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < t->count && t->rows[t->by_id[low]].id == id ? t->by_id[low] : t->count;
}

void sweep_table_set(struct sweep_table *t, size_t point, char *line, enum sweep_status status)
{
    struct sweep_row *row = &t->rows[point];
    assert(row->line == NULL && status != SWEEP_MISSING);
    row->line = line;
    row->status = status;
    t->have++;
    t->of[SWEEP_MISSING]--;
    t->of[status]++;
}

void sweep_table_csv(const struct sweep_table *t, struct buf *out)
{
    char *header = sweep_header();
    buf_puts(out, header);
    buf_putc(out, '\n');
    free(header);
    for (size_t i = 0; i < t->count; i++) {
        if (t->rows[i].line == NULL)
            continue;
        buf_puts(out, t->rows[i].line);
        buf_putc(out, '\n');
    }
}

cJSON *sweep_table_json(const struct sweep_table *t)
{
    cJSON *doc = cJSON_CreateObject(), *list;
    cJSON_AddStringToObject(doc, "schema", SCHEMA);
    cJSON_AddNumberToObject(doc, "points", (double)t->count);
    cJSON_AddNumberToObject(doc, "ok", (double)t->of[SWEEP_OK]);
    cJSON_AddNumberToObject(doc, "partial", (double)t->of[SWEEP_PARTIAL]);
    cJSON_AddNumberToObject(doc, "failed", (double)t->of[SWEEP_FAILED]);
    list = cJSON_AddArrayToObject(doc, "rows");
    for (size_t i = 0; i < t->count; i++) {
        if (t->rows[i].line != NULL)
            cJSON_AddItemToArray(list, sweep_line_json(t->rows[i].line));
    }
    return doc;
}
