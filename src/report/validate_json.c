/* SPDX-License-Identifier: MIT */
#include "report/validate_report.h"

#include "base/buf.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "specter.validate/1"

static cJSON *add_object(cJSON *list)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToArray(list, o);
    return o;
}

static void add_stats(cJSON *o, const struct score_stats *s)
{
    json_add_number(o, "median_ape", s->median_ape);
    json_add_number(o, "mean_ape", s->mean_ape);
    json_add_number(o, "p90_ape", s->p90_ape);
    json_add_number(o, "bias", s->bias);
    json_add_number(o, "within_25", s->within_25);
}

static void add_place(cJSON *o, const char *file, size_t line)
{
    json_add_text(o, "file", file);
    cJSON_AddNumberToObject(o, "line", (double)line);
}

static void add_files(cJSON *doc, const struct measured *m)
{
    cJSON *read = cJSON_AddArrayToObject(doc, "files");
    cJSON *passed = cJSON_AddArrayToObject(doc, "passed_over");
    for (size_t i = 0; i < m->nfiles; i++) {
        cJSON *o = add_object(m->files[i].why == NULL ? read : passed);
        json_add_text(o, "file", m->files[i].path);
        if (m->files[i].why != NULL)
            json_add_text(o, "reason", m->files[i].why);
    }
}

static void add_groups(cJSON *doc, const struct score *s)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "groups");
    for (size_t i = 0; i < s->ngroups; i++) {
        const struct score_group *g = &s->groups[i];
        cJSON *o = add_object(list);
        cJSON_AddStringToObject(o, "kind", measured_kind_name(g->kind));
        cJSON_AddStringToObject(o, "by", g->by);
        json_add_text(o, "key", g->key);
        cJSON_AddNumberToObject(o, "n", (double)g->stats.n);
        add_stats(o, &g->stats);
    }
}

static void add_operation(cJSON *o, const struct measured_row *row)
{
    cJSON_AddStringToObject(o, "kind", measured_kind_name(row->kind));
    json_add_text(o, "source", row->source);
    cJSON_AddStringToObject(o, "gpu", row->gpu->name);
    if (row->kind == MEASURED_GEMM) {
        cJSON_AddNumberToObject(o, "m", (double)row->m);
        cJSON_AddNumberToObject(o, "n", (double)row->n);
        cJSON_AddNumberToObject(o, "k", (double)row->k);
        cJSON_AddStringToObject(o, "dtype", specter_dtype_name(row->dtype));
        return;
    }
    cJSON_AddStringToObject(o, "network", row->net->name);
    cJSON_AddStringToObject(o, "op", specter_comm_op_name(row->op));
    cJSON_AddNumberToObject(o, "bytes", row->bytes);
    cJSON_AddNumberToObject(o, "ranks", row->where.ranks);
    cJSON_AddNumberToObject(o, "nodes", row->where.nodes);
}

static void add_worst(cJSON *doc, const struct validation *v)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "worst");
    for (size_t i = 0; i < v->worst && i < v->score->nrows; i++) {
        const struct scored_row *s = &v->score->rows[i];
        cJSON *o = add_object(list);
        add_place(o, s->row->file, s->row->line);
        add_operation(o, s->row);
        json_add_number(o, "measured_us", s->row->time_us);
        json_add_number(o, "predicted_us", s->predicted.us);
        json_add_number(o, "error", s->error);
        cJSON_AddBoolToObject(o, "outside_fit", s->outside);
    }
}

static void add_skips(cJSON *doc, const struct measured *m)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "skipped_reasons");
    size_t count;
    struct skip_count *counts = validate_skip_counts(m, &count);
    for (size_t i = 0; i < count; i++) {
        cJSON *o = add_object(list);
        json_add_text(o, "reason", counts[i].first->reason);
        cJSON_AddNumberToObject(o, "n", (double)counts[i].n);
        cJSON_AddBoolToObject(o, "damaged", counts[i].first->damaged);
        add_place(o, counts[i].first->file, counts[i].first->line);
    }
    free(counts);
}

static void add_parameters(cJSON *doc, const struct used_params *u)
{
    cJSON *list;
    cJSON_AddNumberToObject(doc, "parameters", (double)u->count);
    list = cJSON_AddArrayToObject(doc, "parameter_list");
    for (size_t i = 0; i < u->count; i++) {
        const struct used_param *p = &u->list[i];
        cJSON *o = add_object(list);
        cJSON_AddStringToObject(o, "group", param_tables[p->group].name);
        cJSON_AddStringToObject(o, "class", p->owner);
        cJSON_AddStringToObject(o, "name", p->param->name);
        cJSON_AddStringToObject(o, "unit", p->param->unit);
        json_add_number(o, "value", p->value);
    }
}

cJSON *validate_json(const struct validation *v)
{
    const struct score *s = v->score;
    cJSON *doc = cJSON_CreateObject(), *weighted;
    cJSON_AddStringToObject(doc, "schema", SCHEMA);
    add_files(doc, v->measured);
    if (v->left_out != NULL) {
        cJSON_AddStringToObject(doc, "leave_one_out", v->left_out);
        cJSON_AddNumberToObject(doc, "fits", (double)v->fits);
    }
    cJSON_AddNumberToObject(doc, "scored", (double)s->nrows);
    cJSON_AddNumberToObject(doc, "skipped", (double)v->measured->nskips);
    add_stats(doc, &s->all);
    cJSON_AddNumberToObject(doc, "outside_fit", (double)s->noutside);
    weighted = cJSON_AddObjectToObject(doc, "source_weighted");
    cJSON_AddNumberToObject(weighted, "sources", (double)s->nsources);
    add_stats(weighted, &s->by_source);
    add_parameters(doc, v->params);
    add_groups(doc, s);
    add_worst(doc, v);
    add_skips(doc, v->measured);
    return doc;
}
