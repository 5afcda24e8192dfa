/* SPDX-License-Identifier: MIT */
#include "report/validate_report.h"

#include "base/buf.h"
#include "report/table.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
static size_t room(const struct validation *v, size_t columns)
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
    cells_stats(&t, &s->by_source);
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
        table_text(&t, g->key, room(v, (size_t)key_columns));
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

/* "run3.csv:12" */
static void cell_place(struct table *t, const char *file, size_t line)
{
    const char *slash = strrchr(file, '/');
    struct buf place = BUF_INIT;
    buf_printf(&place, "%s:%zu", slash != NULL ? slash + 1 : file, line);
    table_text(t, place.data, PLACE_COLUMNS);
    buf_release(&place);
}

static void cell_what(struct table *t, const struct measured_row *row)
{
    struct buf what = BUF_INIT;
    char size[32];
    if (row->kind == MEASURED_GEMM)
        buf_printf(&what, "%llux%llux%llu %s", (unsigned long long)row->m,
                   (unsigned long long)row->n, (unsigned long long)row->k,
                   specter_dtype_name(row->dtype));
    else
        buf_printf(&what, "%s %s x %d", specter_comm_op_name(row->op),
                   text_bytes(size, sizeof size, row->bytes), row->where.ranks);
    table_text(t, what.data, WHAT_COLUMNS);
    buf_release(&what);
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
        cell_what(&t, s->row);
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
        table_text(&t, counts[i].first->reason, room(v, REASON_COLUMNS));
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

static void print_in_use(const struct validation *v, FILE *out)
{
    size_t used = v->params->count, outside = v->score->noutside;
    fprintf(out, "%zu fitted parameter%s in use; %zu row%s beyond what they were fitted on\n\n",
            used, used == 1 ? "" : "s", outside, outside == 1 ? "" : "s");
}

void validate_text(const struct validation *v, FILE *out)
{
    const struct score *s = v->score;
    const struct measured *m = v->measured;
    fprintf(out, "%zu row%s scored, %zu skipped\n", s->nrows, s->nrows == 1 ? "" : "s", m->nskips);
    if (v->left_out != NULL)
        fprintf(out, "%zu fit%s of the parameters, each without the %s that it predicts\n\n",
                v->fits, v->fits == 1 ? "" : "s", v->left_out);
    else
        print_in_use(v, out);
    print_overall(v, out);
    for (int kind = 0; kind < MEASURED_KINDS; kind++)
        print_groups(v, (enum measured_kind)kind, out);
    if (v->list_params)
        print_params(v, out);
    print_worst(v, out);
    print_skips(v, out);
}
