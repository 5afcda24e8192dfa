/* SPDX-License-Identifier: MIT
 *
 * A comparison as tables and as JSON.
 */
#include "report/compare_report.h"

#include "base/buf.h"
#include "report/json_add.h"
#include "report/sheet.h"

#include <cjson/cJSON.h>
#include <math.h>

bool compare_has_figures(int table)
{
    return table == COMPARE_COLLECTIVES || table == COMPARE_MESSAGES;
}

/* Of the change of the step; NAN: it did not change. */
static double share_of_change(const struct causes *causes, int64_t ns)
{
    return causes->change_ns != 0 ? (double)ns / (double)causes->change_ns : NAN;
}

static void causes_sheet(struct sheet *s, const struct compare_report *r)
{
    static const struct sheet_column columns[] = {
        {"what", "what", SHEET_TEXT, 36},        {"kind", NULL, SHEET_TEXT, 0},
        {"base_us", "base", SHEET_TIME, 0},      {"test_us", "test", SHEET_TIME, 0},
        {"change_us", "of step", SHEET_TIME, 0}, {"share", "share", SHEET_SHARE, 0},
        {"note", "note", SHEET_TEXT, 0},
    };
    const struct causes *causes = r->causes;
    struct buf name = BUF_INIT;
    sheet_init(s, compare_table_name(COMPARE_CAUSES), compare_table_title(COMPARE_CAUSES),
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < causes->n; i++) {
        const struct cause *cause = &causes->list[i];
        sheet_text(s, compare_cause_name(&name, cause));
        sheet_text(s, cause_kind_name(cause->kind));
        sheet_number(s, cause->base_ns);
        sheet_number(s, cause->test_ns);
        sheet_number(s, (double)cause->change_ns);
        sheet_number(s, share_of_change(causes, cause->change_ns));
        sheet_text(s, compare_cause_note(r, cause));
    }
    if (causes->unknown == NULL) {
        sheet_text(s, "rest");
        sheet_text(s, "rest");
        sheet_number(s, NAN);
        sheet_number(s, NAN);
        sheet_number(s, (double)causes->rest_ns);
        sheet_number(s, share_of_change(causes, causes->rest_ns));
        sheet_text(s, "");
    }
    buf_release(&name);
}

/* Between the name of a row and its verdict. */
#define ROW_COLUMNS                                                                 \
    {"base_us", "base", SHEET_TIME, 0}, {"test_us", "test", SHEET_TIME, 0},         \
        {"change", "change", SHEET_SHARE, 0}, {"low", NULL, SHEET_SHARE, 0},        \
        {"high", NULL, SHEET_SHARE, 0}, {"base_count", NULL, SHEET_RATE, 0},        \
        {"test_count", NULL, SHEET_RATE, 0}, {"base_step_us", NULL, SHEET_TIME, 0}, \
        {"test_step_us", "a step", SHEET_TIME, 0}, {"base_n", NULL, SHEET_RATE, 0}, \
    {                                                                               \
        "test_n", NULL, SHEET_RATE, 0                                               \
    }
#define LAST_COLUMNS                        \
    {"better", NULL, SHEET_TEXT, 0},        \
    {                                       \
        "verdict", "verdict", SHEET_TEXT, 0 \
    }

static void sheet_begin(struct sheet *s, enum compare_table table)
{
    static const struct sheet_column columns[] = {
        {"what", "what", SHEET_TEXT, 36}, ROW_COLUMNS, LAST_COLUMNS};
    static const struct sheet_column kernels[] = {
        {"what", "what", SHEET_NAME, 36}, ROW_COLUMNS, LAST_COLUMNS};
    static const struct sheet_column collectives[] = {
        {"what", "what", SHEET_TEXT, 36},
        ROW_COLUMNS,
        {"base_wait_us", NULL, SHEET_TIME, 0},
        {"test_wait_us", NULL, SHEET_TIME, 0},
        {"base_skew_us", NULL, SHEET_TIME, 0},
        {"test_skew_us", NULL, SHEET_TIME, 0},
        {"base_algbw_GBps", NULL, SHEET_RATE, 0},
        {"test_algbw_GBps", NULL, SHEET_RATE, 0},
        {"base_busbw_GBps", NULL, SHEET_RATE, 0},
        {"test_busbw_GBps", NULL, SHEET_RATE, 0},
        {"base_of_expected", NULL, SHEET_SHARE, 0},
        {"test_of_expected", NULL, SHEET_SHARE, 0},
        LAST_COLUMNS,
    };
    const char *name = compare_table_name(table), *title = compare_table_title(table);
    if (compare_has_figures((int)table))
        sheet_init(s, name, title, SHEET_COLUMNS(collectives));
    else if (table == COMPARE_KERNELS)
        sheet_init(s, name, title, SHEET_COLUMNS(kernels));
    else
        sheet_init(s, name, title, SHEET_COLUMNS(columns));
}

static void sheet_add(struct sheet *s, const struct compare_row *row, const char *name)
{
    sheet_text(s, name);
    sheet_number(s, row->base_ns);
    sheet_number(s, row->test_ns);
    sheet_number(s, compare_change(row));
    sheet_number(s, row->noise.low - 1);
    sheet_number(s, row->noise.high - 1);
    sheet_number(s, row->base_count);
    sheet_number(s, row->test_count);
    sheet_number(s, row->base_step_ns);
    sheet_number(s, row->test_step_ns);
    sheet_number(s, row->noise.base_n);
    sheet_number(s, row->noise.test_n);
    for (int k = 0; k < COMPARE_FIGURE_COUNT && compare_has_figures(row->of.table); k++) {
        sheet_number(s, row->base_figures[k]);
        sheet_number(s, row->test_figures[k]);
    }
    sheet_text(s, compare_less_is_better(&row->of) ? "less" : "");
    sheet_text(s, compare_verdict_name(row->verdict));
}

void compare_sheet(struct sheet *s, const struct compare_report *r, enum compare_table table)
{
    struct buf name = BUF_INIT;
    if (table == COMPARE_CAUSES) {
        causes_sheet(s, r);
        return;
    }
    sheet_begin(s, table);
    for (size_t i = 0; i < r->c->nrows; i++) {
        const struct compare_row *row = &r->c->rows[i];
        if ((enum compare_table)row->of.table == table)
            sheet_add(s, row, compare_row_name(&name, &row->of));
    }
    buf_release(&name);
}

/* An empty value is not one that is not set, which is null. */
static void add_value(cJSON *o, const char *key, const char *value)
{
    if (value != NULL && value[0] == '\0')
        cJSON_AddStringToObject(o, key, "");
    else
        json_add_text(o, key, value);
}

/* Adds which side is a prediction, and the interval of its step. */
static void add_predicted(cJSON *o, const struct comparison *c)
{
    const double ends_ns[] = {c->low_ns, c->high_ns};
    if (!c->base_is_predicted && !c->test_is_predicted)
        return;
    cJSON_AddStringToObject(o, "predicted",
                            !c->test_is_predicted   ? "base"
                            : !c->base_is_predicted ? "test"
                                                    : "both");
    json_add_interval(o, "interval80", ends_ns);
}

cJSON *compare_json(const struct compare_report *r)
{
    const struct comparison *c = r->c;
    cJSON *o = cJSON_CreateObject(), *list;
    json_add_text(o, "base", r->base);
    json_add_text(o, "test", r->test);
    cJSON_AddNumberToObject(o, "base_runs", (double)c->nbase);
    cJSON_AddNumberToObject(o, "test_runs", (double)c->ntest);
    add_predicted(o, c);
    cJSON_AddNumberToObject(o, "threshold", c->threshold);
    cJSON_AddStringToObject(o, "verdict", compare_verdict_name(c->step->verdict));
    list = cJSON_AddArrayToObject(o, "differences");
    for (size_t i = 0; i < c->ndifferences; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(c->differences[i]));
    list = cJSON_AddArrayToObject(o, "settings");
    for (size_t i = 0; i < c->nsettings; i++) {
        cJSON *one = cJSON_CreateObject();
        json_add_text(one, "name", c->settings[i].name);
        add_value(one, "base", c->settings[i].base);
        add_value(one, "test", c->settings[i].test);
        cJSON_AddItemToArray(list, one);
    }
    cJSON_AddNumberToObject(o, "change_us", (double)r->causes->change_ns / 1e3);
    if (r->causes->unknown == NULL)
        cJSON_AddNumberToObject(o, "simulated_us", r->causes->simulated_ns / 1e3);
    else
        json_add_text(o, "causes_unknown", r->causes->unknown);
    for (int t = 0; t < COMPARE_TABLE_COUNT; t++) {
        struct sheet s;
        compare_sheet(&s, r, (enum compare_table)t);
        list = cJSON_AddArrayToObject(o, s.name);
        for (size_t i = 0; i < sheet_rows(&s); i++)
            cJSON_AddItemToArray(list, sheet_json_row(&s, i));
        sheet_release(&s);
    }
    return o;
}
