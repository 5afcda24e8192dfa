/* SPDX-License-Identifier: MIT */
#include "report/metrics_report.h"

#include "base/arena.h"
#include "base/opt.h"
#include "report/json_add.h"
#include "report/screen.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "specter.metrics/1"
#define TEXT_COLUMNS 200
#define REASON_AT 36 /* column of the table where units and reasons begin */

void metrics_list(FILE *out)
{
    static const struct {
        const char *name, *unit, *definition;
    } list[] = {
#define X(name, unit, definition) {#name, unit, definition},
        METRICS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        fprintf(out, "%s (%s)\n    ", list[i].name, list[i].unit);
        opt_wrap(list[i].definition, 4, 4, out);
    }
}

/* Six significant digits; whole numbers as such. */
static void put_number(double value, FILE *out)
{
    if (!isfinite(value))
        fputc('-', out);
    else if (value == floor(value) && fabs(value) < 1e15)
        fprintf(out, "%.0f", value);
    else
        fprintf(out, "%.6g", value);
}

void metrics_summary(const struct metrics *m, FILE *out)
{
    struct screen screen;
    struct table t;
    char text[4 * TEXT_COLUMNS], number[32];
    screen_init(&screen, out, COLOR_NEVER);
    table_init(&t);
    table_column(&t, "metric", TABLE_LEFT);
    table_column(&t, "value", TABLE_RIGHT);
    table_column(&t, "unit", TABLE_LEFT);
    for (size_t i = 0; i < m->count; i++) {
        const struct metric *metric = &m->list[i];
        snprintf(number, sizeof number, "%.4g", metric->value);
        table_cell(&t, "%s", metric->name);
        table_cell(&t, "%s", isfinite(metric->value) ? number : "-");
        if (metric->reason == NULL)
            table_cell(&t, "%s", metric->unit);
        else
            table_text(&t, text_safe(text, sizeof text, metric->reason, TEXT_COLUMNS),
                       screen.width - REASON_AT);
    }
    table_print(&t, out);
    fputs("More: --full, or --metric NAME\n", out);
    table_release(&t);
    screen_release(&screen);
}

void metrics_text(const struct metrics *m, FILE *out)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct metric *metric = &m->list[i];
        fprintf(out, "%s ", metric->name);
        put_number(metric->value, out);
        fprintf(out, " %s\n", metric->unit);
        if (metric->reason != NULL) {
            fputs("  not known: ", out);
            opt_wrap(metric->reason, 13, 6, out);
        }
        for (size_t k = 0; k < metric->nfields; k++) {
            const struct metric_field *f = &metric->fields[k];
            char text[4 * TEXT_COLUMNS];
            fprintf(out, "  %s ", text_safe(text, sizeof text, f->key, 48));
            if (f->text != NULL)
                opt_wrap(text_safe(text, sizeof text, f->text, TEXT_COLUMNS), strlen(f->key) + 3, 6,
                         out);
            else
                put_number(f->value, out);
            if (f->text == NULL)
                fputc('\n', out);
        }
    }
}

struct cJSON *metrics_json(const struct metrics *m)
{
    cJSON *doc = cJSON_CreateObject(), *list;
    cJSON_AddStringToObject(doc, "schema", SCHEMA);
    json_add_text(doc, "source", m->in.run->source);
    cJSON_AddNumberToObject(doc, "ranks", (double)m->in.run->nranks);
    list = cJSON_AddArrayToObject(doc, "metrics");
    for (size_t i = 0; i < m->count; i++) {
        const struct metric *metric = &m->list[i];
        cJSON *o = cJSON_CreateObject(), *parts;
        cJSON_AddStringToObject(o, "name", metric->name);
        cJSON_AddStringToObject(o, "unit", metric->unit);
        json_add_number(o, "value", metric->value);
        json_add_text(o, "reason", metric->reason);
        parts = cJSON_AddObjectToObject(o, "details");
        for (size_t k = 0; k < metric->nfields; k++) {
            const struct metric_field *f = &metric->fields[k];
            char *key = text_safe_copy(f->key);
            if (f->text != NULL)
                json_add_text(parts, key, f->text);
            else
                json_add_number(parts, key, f->value);
            free(key);
        }
        cJSON_AddItemToArray(list, o);
    }
    return doc;
}
