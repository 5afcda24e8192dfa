/* SPDX-License-Identifier: MIT
 *
 * All of the report of `specter validate`: tables, rows, JSON (calib_report.h); its first screen
 * is validate_summary.c.
 */
#include "report/calib_report.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/order.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- reasons of skips ---- */

static int by_reason(const void *a, const void *b)
{
    const struct skip_count *x = a, *y = b;
    if (x->first->reason != y->first->reason)
        return strcmp(x->first->reason, y->first->reason);
    return ORDER(x->first, y->first);
}

static int most_first(const void *a, const void *b)
{
    const struct skip_count *x = a, *y = b;
    if (x->n != y->n)
        return ORDER(y->n, x->n);
    return ORDER(x->first, y->first);
}

struct skip_count *validate_skip_counts(const struct measured *m, size_t *count)
{
    struct skip_count *list = array_new(m->nskips, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < m->nskips; i++)
        list[i] = (struct skip_count){&m->skips[i], 1};
    qsort(list, m->nskips, sizeof *list, by_reason);
    for (size_t i = 0; i < m->nskips; i++) {
        if (n > 0 && list[n - 1].first->reason == list[i].first->reason)
            list[n - 1].n++;
        else
            list[n++] = list[i];
    }
    qsort(list, n, sizeof *list, most_first);
    *count = n;
    return list;
}

/* ---- for people ---- */

#define KEY_COLUMNS 18 /* with up to 99999 rows */
#define PLACE_COLUMNS 20
#define WHAT_COLUMNS 24
#define REASON_COLUMNS 46
#define REASONS_MAX 20

/* "23.4 x", "4e7 x": at most six columns up to 1e99. */
static void cell_factor(struct table *t, double factor)
{
    char text[32];
    if (factor < 999.5) {
        table_cell(t, "%.3g x", factor);
        return;
    }
    snprintf(text, sizeof text, "%.0e", factor); /* "4e+07" */
    table_cell(t, "%.1se%d x", text, atoi(text + 2));
}

/* `sign`: '+' shows it also where it is none. From 1000 % on as a factor of the measured time. */
static void cell_percent(struct table *t, double share, char sign)
{
    int digits = fabs(share) < 0.9995 ? 1 : 0;
    if (!isfinite(share))
        table_cell(t, "-");
    else if (fabs(share) >= 9.9995)
        cell_factor(t, 1 + share);
    else if (sign == '+')
        table_cell(t, "%+.*f %%", digits, fabs(share) < 0.0005 ? 0.0 : 100 * share);
    else
        table_cell(t, "%.*f %%", digits, 100 * share);
}

static void cells_stats(struct table *t, const struct score_stats *s)
{
    table_cell(t, "%zu", s->n);
    cell_percent(t, s->median_ape, 0);
    cell_percent(t, s->mean_ape, 0);
    cell_percent(t, s->p90_ape, 0);
    cell_percent(t, s->bias, '+');
    cell_percent(t, s->within_25, 0);
}

static void stats_columns(struct table *t)
{
    static const char *const titles[] = {"rows", "median", "mean", "p90", "bias", "in 25%"};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        table_column(t, titles[i], TABLE_RIGHT);
}

/* A document has no right edge. */
static size_t columns_for(const struct validation *v, size_t columns)
{
    return v->markdown ? SIZE_MAX / 2 : columns;
}

static void print_table(const struct validation *v, const struct table *t, FILE *out)
{
    if (v->markdown)
        table_print_markdown(t, out);
    else
        table_print(t, out);
}

static void print_overall(const struct validation *v, FILE *out)
{
    const struct score *s = v->score;
    struct table t;
    char text[32];
    table_init(&t);
    table_column(&t, "error of all rows", TABLE_LEFT);
    stats_columns(&t);
    table_cell(&t, "each row alike");
    cells_stats(&t, &s->all);
    snprintf(text, sizeof text, "each of %zu source%s alike", s->nsources,
             s->nsources == 1 ? "" : "s");
    table_cell(&t, "%s", text);
    cells_stats(&t, &s->source_weighted);
    for (size_t i = 0; i < s->ngroups && s->groups[i].kind == MEASURED_KINDS; i++) {
        if (s->groups[i].stats.n == s->nrows)
            continue;
        table_cell(&t, "%s", s->groups[i].key);
        cells_stats(&t, &s->groups[i].stats);
    }
    print_table(v, &t, out);
    table_release(&t);
}

/* Groups of one kind, `by` only where it changes. */
static void print_groups(const struct validation *v, enum measured_kind kind, FILE *out)
{
    const struct score *s = v->score;
    int key_columns = KEY_COLUMNS + 5 - snprintf(NULL, 0, "%05zu", s->nrows);
    const char *by = "";
    struct table t;
    bool any = false;
    table_init(&t);
    table_column(&t, measured_kind_name(kind), TABLE_LEFT);
    table_column(&t, "", TABLE_LEFT);
    stats_columns(&t);
    for (size_t i = 0; i < s->ngroups; i++) {
        const struct score_group *g = &s->groups[i];
        if (g->kind != kind)
            continue;
        table_cell(&t, "%s", strcmp(by, g->by) != 0 ? g->by : "");
        table_text(&t, g->key, columns_for(v, (size_t)key_columns));
        cells_stats(&t, &g->stats);
        by = g->by;
        any = true;
    }
    if (any) {
        fputc('\n', out);
        print_table(v, &t, out);
    }
    table_release(&t);
}

/* The whole class first. */
static const enum accuracy_size interval_order[SIZE_CLASSES] = {SIZE_ALL, SIZE_SMALL, SIZE_MIDDLE,
                                                                SIZE_LARGE};

/* Prints the intervals that hold half and 80 % of the measured times. */
static void print_intervals(const struct validation *v, FILE *out)
{
    static const char *const titles[] = {"intervals",   "rows",      "machines", "50 % within",
                                         "80 % within", "50 % held", "80 % held"};
    struct table t;
    bool any = false;
    table_init(&t);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        table_column(&t, titles[i], i == 0 ? TABLE_LEFT : TABLE_RIGHT);
    for (int k = 0; k < INTERVAL_CLASSES * SIZE_CLASSES; k++) {
        const enum accuracy_class class = (enum accuracy_class)(k / SIZE_CLASSES);
        const enum accuracy_size size = interval_order[k % SIZE_CLASSES];
        const struct coverage *c = &v->cover[class][size];
        if (c->rows == 0)
            continue;
        table_cell(&t, "%s%s", size == SIZE_ALL ? accuracy_class_name(class) : "  ",
                   accuracy_size_name(size));
        table_cell(&t, "%zu", c->rows);
        table_cell(&t, "%zu", c->machines);
        cell_factor(&t, c->factor50);
        cell_factor(&t, c->factor80);
        cell_percent(&t, c->inside50, 0);
        cell_percent(&t, c->inside80, 0);
        any = true;
    }
    if (any) {
        fputc('\n', out);
        print_table(v, &t, out);
    }
    table_release(&t);
}

/* "run3.csv:12" */
static void cell_place(struct table *t, const char *file, size_t line)
{
    const char *slash = strrchr(file, '/');
    struct buf place = BUF_INIT;
    buf_printf(&place, "%s:%zu", slash != NULL ? slash + 1 : file, line);
    table_text(t, place.data, PLACE_COLUMNS);
    buf_release(&place);
}

static void cell_us(struct table *t, double us)
{
    char text[32];
    table_cell(t, "%s", text_ns(text, sizeof text, us * 1e3));
}

static void print_worst(const struct validation *v, FILE *out)
{
    static const char *const titles[] = {"worst rows", "", "measured", "predicted", "error"};
    struct table t;
    if (v->worst == 0 || v->score->nrows == 0)
        return;
    table_init(&t);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        table_column(&t, titles[i], i < 2 ? TABLE_LEFT : TABLE_RIGHT);
    for (size_t i = 0; i < v->worst && i < v->score->nrows; i++) {
        const struct scored_row *s = &v->score->rows[i];
        cell_place(&t, s->row->file, s->row->line);
        const struct measured_row *row = s->row;
        struct buf what = BUF_INIT;
        char size[32];
        if (row->kind == MEASURED_GEMM)
            buf_printf(&what, "%llux%llux%llu %s", (unsigned long long)row->m,
                       (unsigned long long)row->n, (unsigned long long)row->k,
                       specter_dtype_name(row->dtype));
        else
            buf_printf(&what, "%s %s x %d", specter_comm_op_name(row->op),
                       text_bytes(size, sizeof size, row->bytes), row->where.ranks);
        table_text(&t, what.data, WHAT_COLUMNS);
        buf_release(&what);
        cell_us(&t, s->row->time_us);
        cell_us(&t, s->predicted.us);
        cell_percent(&t, s->error, '+');
    }
    fputc('\n', out);
    print_table(v, &t, out);
    table_release(&t);
}

static void print_skips(const struct validation *v, FILE *out)
{
    size_t count;
    struct skip_count *counts = validate_skip_counts(v->measured, &count);
    struct table t;
    table_init(&t);
    table_column(&t, "skipped", TABLE_RIGHT);
    table_column(&t, "because", TABLE_LEFT);
    table_column(&t, "first", TABLE_LEFT);
    for (size_t i = 0; i < count && i < REASONS_MAX; i++) {
        table_cell(&t, "%zu", counts[i].n);
        table_text(&t, counts[i].first->reason, columns_for(v, REASON_COLUMNS));
        cell_place(&t, counts[i].first->file, counts[i].first->line);
    }
    if (count > 0) {
        fputc('\n', out);
        print_table(v, &t, out);
    }
    if (count > REASONS_MAX)
        fprintf(out, "  and %zu further reasons (--json, --rows)\n", count - REASONS_MAX);
    table_release(&t);
    free(counts);
}

static void print_params(const struct validation *v, FILE *out)
{
    static const char *const titles[] = {"group", "class", "parameter", "value", "unit"};
    struct table t;
    table_init(&t);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        table_column(&t, titles[i], i == 3 ? TABLE_RIGHT : TABLE_LEFT);
    for (size_t i = 0; i < v->params->count; i++) {
        const struct used_param *p = &v->params->list[i];
        table_cell(&t, "%s", param_tables[p->group].name);
        table_text(&t, p->owner, KEY_COLUMNS + 6);
        table_cell(&t, "%s", p->param->name);
        table_cell(&t, "%.4g", p->value);
        table_cell(&t, "%s", p->param->unit);
    }
    fputc('\n', out);
    print_table(v, &t, out);
    table_release(&t);
}

void validate_text(const struct validation *v, FILE *out)
{
    const struct score *s = v->score;
    const struct measured *m = v->measured;
    fprintf(out, "%zu row%s scored, %zu skipped\n", s->nrows, s->nrows == 1 ? "" : "s", m->nskips);
    if (v->left_out != NULL) {
        fprintf(out, "%zu fit%s of the parameters, each without the %s that it predicts\n\n",
                v->fits, v->fits == 1 ? "" : "s", v->left_out);
    } else {
        size_t used = v->params->count, outside = v->score->noutside;
        fprintf(out, "%zu fitted parameter%s in use; %zu row%s beyond what they were fitted on\n\n",
                used, used == 1 ? "" : "s", outside, outside == 1 ? "" : "s");
    }
    print_overall(v, out);
    for (int kind = 0; kind < MEASURED_KINDS; kind++)
        print_groups(v, (enum measured_kind)kind, out);
    if (v->left_out != NULL)
        print_intervals(v, out);
    if (v->list_params)
        print_params(v, out);
    print_worst(v, out);
    print_skips(v, out);
}

/* ---- JSON ---- */

#define SCHEMA "specter.validate/1"

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

static void add_worst(cJSON *doc, const struct validation *v)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "worst");
    for (size_t i = 0; i < v->worst && i < v->score->nrows; i++) {
        const struct scored_row *s = &v->score->rows[i];
        const struct measured_row *row = s->row;
        cJSON *o = json_add_object(list);
        add_place(o, row->file, row->line);
        cJSON_AddStringToObject(o, "kind", measured_kind_name(row->kind));
        json_add_text(o, "source", row->source);
        cJSON_AddStringToObject(o, "gpu", row->gpu->name);
        if (row->kind == MEASURED_GEMM) {
            cJSON_AddNumberToObject(o, "m", (double)row->m);
            cJSON_AddNumberToObject(o, "n", (double)row->n);
            cJSON_AddNumberToObject(o, "k", (double)row->k);
            cJSON_AddStringToObject(o, "dtype", specter_dtype_name(row->dtype));
        } else {
            cJSON_AddStringToObject(o, "network", row->net->name);
            cJSON_AddStringToObject(o, "op", specter_comm_op_name(row->op));
            cJSON_AddNumberToObject(o, "bytes", row->bytes);
            cJSON_AddNumberToObject(o, "ranks", row->where.ranks);
            cJSON_AddNumberToObject(o, "nodes", row->where.nodes);
        }
        json_add_number(o, "measured_us", row->time_us);
        json_add_number(o, "predicted_us", s->predicted.us);
        json_add_number(o, "error", s->error);
        cJSON_AddBoolToObject(o, "outside_fit", s->outside);
    }
}

static void add_coverage(cJSON *o, const struct coverage *c)
{
    cJSON *ops;
    cJSON_AddNumberToObject(o, "rows", (double)c->rows);
    cJSON_AddNumberToObject(o, "machines", (double)c->machines);
    json_add_number(o, "factor50", c->factor50);
    json_add_number(o, "factor80", c->factor80);
    json_add_number(o, "inside50", c->inside50);
    json_add_number(o, "inside80", c->inside80);
    ops = cJSON_AddArrayToObject(o, "ops");
    for (int op = 0; op < SPECTER_COMM_OP_COUNT; op++) {
        if (c->ops >> op & 1)
            cJSON_AddItemToArray(
                ops, cJSON_CreateString(specter_comm_op_name((enum specter_comm_op)op)));
    }
}

static void add_intervals(cJSON *doc, const struct validation *v)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "intervals");
    for (int class = 0; class < INTERVAL_CLASSES; class ++) {
        const struct coverage *of = v->cover[class];
        cJSON *o, *sizes;
        if (of[SIZE_ALL].rows == 0)
            continue;
        o = json_add_object(list);
        cJSON_AddStringToObject(o, "class", accuracy_class_key((enum accuracy_class) class));
        add_coverage(o, &of[SIZE_ALL]);
        sizes = cJSON_AddArrayToObject(o, "sizes");
        for (int size = 0; size < SIZE_ALL; size++) {
            if (of[size].rows == 0)
                continue;
            o = json_add_object(sizes);
            cJSON_AddStringToObject(o, "size", accuracy_size_name((enum accuracy_size)size));
            add_coverage(o, &of[size]);
        }
    }
}

static void add_skips(cJSON *doc, const struct measured *m)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "skipped_reasons");
    size_t count;
    struct skip_count *counts = validate_skip_counts(m, &count);
    for (size_t i = 0; i < count; i++) {
        cJSON *o = json_add_object(list);
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
        cJSON *o = json_add_object(list);
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
    const struct measured *m = v->measured;
    cJSON *read = cJSON_AddArrayToObject(doc, "files");
    cJSON *passed = cJSON_AddArrayToObject(doc, "passed_over");
    for (size_t i = 0; i < m->nfiles; i++) {
        cJSON *o = json_add_object(m->files[i].why == NULL ? read : passed);
        json_add_text(o, "file", m->files[i].path);
        if (m->files[i].why != NULL)
            json_add_text(o, "reason", m->files[i].why);
    }
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
    add_stats(weighted, &s->source_weighted);
    add_parameters(doc, v->params);
    cJSON *list = cJSON_AddArrayToObject(doc, "groups");
    for (size_t i = 0; i < s->ngroups; i++) {
        const struct score_group *g = &s->groups[i];
        cJSON *o = json_add_object(list);
        cJSON_AddStringToObject(o, "kind", measured_kind_name(g->kind));
        cJSON_AddStringToObject(o, "by", g->by);
        json_add_text(o, "key", g->key);
        cJSON_AddNumberToObject(o, "n", (double)g->stats.n);
        add_stats(o, &g->stats);
    }
    if (v->left_out != NULL)
        add_intervals(doc, v);
    add_worst(doc, v);
    add_skips(doc, v->measured);
    return doc;
}

/* ---- a line for each row of the tables ---- */

/* Where a line of the tables ended up: one of both is NULL. */
struct table_line {
    const struct scored_row *scored;
    const struct measured_skip *skip;
    size_t file; /* its place among the files */
    size_t line;
};

static void put_text(const char *text, FILE *out)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

static size_t place_of(const struct measured *m, const char *file)
{
    size_t i = 0;
    while (i < m->nfiles && m->files[i].path != file)
        i++;
    return i;
}

static int in_order(const void *a, const void *b)
{
    const struct table_line *x = a, *y = b;
    if (x->file != y->file)
        return ORDER(x->file, y->file);
    return ORDER(x->line, y->line);
}

/* ",low,high,low,high" of 50 and 80 %, which are empty where nothing of the kind was measured. */
static void put_intervals(const struct scored_row *s, FILE *out)
{
    double us = s->predicted.us;
    struct accuracy_interval in;
    if (!scored_row_interval(s, &in))
        fputs(",,,,", out);
    else
        fprintf(out, ",%.10g,%.10g,%.10g,%.10g", us / in.factor50, us * in.factor50,
                us / in.factor80, us * in.factor80);
}

void validate_rows(const struct validation *v, FILE *out)
{
    const struct measured *m = v->measured;
    struct table_line *entries = array_new(v->score->nrows + m->nskips, sizeof *entries);
    size_t n = 0;
    for (size_t i = 0; i < v->score->nrows; i++) {
        const struct scored_row *s = &v->score->rows[i];
        entries[n++] = (struct table_line){s, NULL, place_of(m, s->row->file), s->row->line};
    }
    for (size_t i = 0; i < m->nskips; i++) {
        const struct measured_skip *s = &m->skips[i];
        entries[n++] = (struct table_line){NULL, s, place_of(m, s->file), s->line};
    }
    qsort(entries, n, sizeof *entries, in_order);
    fputs("file,line,status,reason,kind,source_id,gpu_profile,network_profile,op,bytes,ranks,nodes,"
          "dtype,m,n,k,batch,measured_us,predicted_us,error,algo,proto,channels,outside_fit,"
          "lo50_us,hi50_us,lo80_us,hi80_us\n",
          out);
    for (size_t i = 0; i < n; i++) {
        const char *file =
            entries[i].skip != NULL ? entries[i].skip->file : entries[i].scored->row->file;
        put_text(file, out);
        fprintf(out, ",%zu,", entries[i].line);
        if (entries[i].skip != NULL) {
            fprintf(out, "%s,", entries[i].skip->damaged ? "damaged" : "skipped");
            put_text(entries[i].skip->reason, out);
            fputs(",,,,,,,,,,,,,,,,,,,,,,,,\n", out);
        } else {
            const struct measured_row *row = entries[i].scored->row;
            fprintf(out, "scored,,%s,", measured_kind_name(row->kind));
            put_text(row->source, out);
            fprintf(out, ",%s,", row->gpu->name);
            if (row->kind == MEASURED_GEMM)
                fprintf(out, ",,,,,%s,%llu,%llu,%llu,%llu", specter_dtype_name(row->dtype),
                        (unsigned long long)row->m, (unsigned long long)row->n,
                        (unsigned long long)row->k, (unsigned long long)row->batch);
            else
                fprintf(out, "%s,%s,%.0f,%d,%d,%s,,,,", row->net->name,
                        specter_comm_op_name(row->op), row->bytes, row->where.ranks,
                        row->where.nodes,
                        row->dtype != SPECTER_DTYPE_UNKNOWN ? specter_dtype_name(row->dtype) : "");
            fprintf(out, ",%.10g,%.10g,%.6g,%s,%s,%d,%d", row->time_us,
                    entries[i].scored->predicted.us, entries[i].scored->error,
                    entries[i].scored->predicted.algo, entries[i].scored->predicted.proto,
                    entries[i].scored->predicted.channels, entries[i].scored->outside);
            put_intervals(entries[i].scored, out);
            putc('\n', out);
        }
    }
    free(entries);
}
