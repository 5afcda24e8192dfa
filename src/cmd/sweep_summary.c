/* SPDX-License-Identifier: MIT
 *
 * Prints the result of a sweep on one screen: at its largest scale, the combinations by the time of
 * a step.
 */
#include "cmd/sweep.h"

#include "report/screen.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_SHOWN 6
#define COLUMNS 29      /* before the target's */
#define EXPOSED_COMM 14 /* that column, which a narrow screen does without */

/* A row of the table at that scale. */
struct combination {
    cJSON *row; /* owned */
    double step_us;
};

/* With numbers as numbers: sweep_line_json() has them as the text of the row. */
static cJSON *parse_row(const char *line)
{
    cJSON *raw = sweep_line_json(line), *row;
    char *text = cJSON_PrintUnformatted(raw);
    cJSON_Delete(raw);
    row = text != NULL ? cJSON_Parse(text) : NULL;
    free(text);
    if (row == NULL)
        die("out of memory");
    return row;
}

static double figure(const cJSON *row, const char *column)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, column);
    return cJSON_IsNumber(value) ? value->valuedouble : NAN;
}

static int by_step(const void *a, const void *b)
{
    const struct combination *x = a, *y = b;
    return (x->step_us > y->step_us) - (x->step_us < y->step_us);
}

/* Returns whether the rows have the same value on each axis with several values: null and the name
 * of what the replay then takes are the same. */
static bool same_combination(const struct sweep_grid *g, const cJSON *a, const cJSON *b)
{
    for (size_t i = 0; i < SWEEP_SCALES; i++) {
        const char *column = sweep_axes[i].column;
        if (g->axes[i].count > 1 && !cJSON_Compare(cJSON_GetObjectItemCaseSensitive(a, column),
                                                   cJSON_GetObjectItemCaseSensitive(b, column), 1))
            return false;
    }
    return true;
}

static bool has_figures(const struct sweep_row *row)
{
    return row->status == SWEEP_OK || row->status == SWEEP_PARTIAL;
}

/* The rows with figures at the largest scale that has any, the shortest step first, each
 * combination once. Returns how many; *out is malloc'ed. */
static size_t find_combinations(const struct sweep_table *t, struct combination **out)
{
    struct combination *list = array_new(t->grid->jobs, sizeof *list);
    const struct sweep_value *scales = t->grid->axes[SWEEP_SCALES].values; /* the fastest axis */
    size_t n = 0, kept = 0;
    int64_t largest = -1;
    for (size_t p = 0; p < t->count; p++) {
        if (has_figures(&t->rows[p]) && scales[p % t->grid->scales].number > largest)
            largest = scales[p % t->grid->scales].number;
    }
    for (size_t p = 0; p < t->count; p++) {
        if (!has_figures(&t->rows[p]) || scales[p % t->grid->scales].number != largest)
            continue;
        list[n].row = parse_row(t->rows[p].line);
        list[n].step_us = figure(list[n].row, "iteration_us");
        n++;
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_step);
    for (size_t i = 0; i < n; i++) {
        bool again = false;
        for (size_t k = kept; k > 0 && !again && list[k - 1].step_us == list[i].step_us; k--)
            again = same_combination(t->grid, list[k - 1].row, list[i].row);
        if (again)
            cJSON_Delete(list[i].row);
        else
            list[kept++] = list[i];
    }
    *out = list;
    return kept;
}

/* "b200_sxm on dgx_b200_400g", and what else there is more than one of. */
static void put_name(struct buf *b, const struct sweep_grid *g, const cJSON *row)
{
    const char *gpu = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "gpu"));
    const char *network = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "network"));
    if (gpu != NULL)
        buf_put_printable(b, gpu, strlen(gpu));
    if (network != NULL) {
        buf_puts(b, " on ");
        buf_put_printable(b, network, strlen(network));
    }
    for (size_t i = 0; i < SWEEP_SCALES; i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, sweep_axes[i].column);
        if (g->axes[i].count < 2 ||
            ((sweep_axes[i].kind == SWEEP_GPU || sweep_axes[i].kind == SWEEP_NETWORK) &&
             !sweep_axes[i].source))
            continue;
        buf_printf(b, ", %s ", sweep_axes[i].column);
        if (cJSON_IsString(value))
            buf_put_printable(b, value->valuestring, strlen(value->valuestring));
        else if (cJSON_IsBool(value))
            buf_puts(b, cJSON_IsTrue(value) ? "true" : "false");
        else if (cJSON_IsNumber(value))
            buf_printf(b, "%g", value->valuedouble);
        else
            buf_puts(b, "default");
    }
}

static void put_counts(struct buf *b, const struct sweep_table *t)
{
    buf_printf(b, "%zu of %zu points", t->have, t->count);
    if (t->of[SWEEP_PARTIAL] > 0)
        buf_printf(b, ", %zu from a part of the input", t->of[SWEEP_PARTIAL]);
    if (t->of[SWEEP_FAILED] > 0)
        buf_printf(b, ", %zu could not be computed", t->of[SWEEP_FAILED]);
}

static void put_best(struct screen *s, const struct sweep_table *t, const struct combination *best)
{
    struct buf text = BUF_INIT;
    char step[32], low[32], high[32];
    buf_printf(&text, "Shortest step at %.0f GPUs: %s", figure(best->row, "gpus"),
               text_ns(step, sizeof step, 1e3 * best->step_us));
    if (isfinite(figure(best->row, "low80_us")))
        buf_printf(&text, " (80 %%: %s to %s)",
                   text_ns(low, sizeof low, 1e3 * figure(best->row, "low80_us")),
                   text_ns(high, sizeof high, 1e3 * figure(best->row, "high80_us")));
    buf_puts(&text, ", ");
    put_name(&text, t->grid, best->row);
    buf_puts(&text, ". ");
    put_counts(&text, t);
    buf_puts(&text, ".");
    screen_line(s, SCREEN_STRONG, text.data, 0);
    buf_release(&text);
}

static void put_rows(struct screen *s, const struct sweep_table *t, const struct combination *list,
                     size_t n)
{
    const bool exposed = s->width >= TERMINAL_WIDTH_MIN + EXPOSED_COMM;
    const size_t target = s->width - COLUMNS - (exposed ? EXPOSED_COMM : 0);
    struct table table;
    char time[32];
    table_init(&table);
    table_column(&table, "GPUs", TABLE_RIGHT);
    table_column(&table, "step", TABLE_RIGHT);
    table_column(&table, "efficiency", TABLE_RIGHT);
    if (exposed)
        table_column(&table, "exposed comm", TABLE_RIGHT);
    table_column(&table, "target", TABLE_LEFT);
    for (size_t i = 0; i < n && i < ROWS_SHOWN; i++) {
        const double efficiency = figure(list[i].row, "efficiency");
        struct buf name = BUF_INIT;
        table_cell(&table, "%.0f", figure(list[i].row, "gpus"));
        table_cell(&table, "%s", text_ns(time, sizeof time, 1e3 * list[i].step_us));
        table_cell(&table, isfinite(efficiency) ? "%.0f %%" : "-", 100 * efficiency);
        if (exposed)
            table_cell(&table, "%.0f %%",
                       100 * figure(list[i].row, "exposed_comm_us") / list[i].step_us);
        put_name(&name, t->grid, list[i].row);
        table_text(&table, name.data, target);
        buf_release(&name);
    }
    screen_line(s, SCREEN_PLAIN, "", 0);
    screen_table(s, &table);
    table_release(&table);
}

void sweep_summary(const struct sweep_table *t, const char *output, enum color_when color,
                   FILE *out)
{
    struct combination *list;
    const size_t n = find_combinations(t, &list);
    struct buf more = BUF_INIT;
    struct screen s;
    screen_init(&s, out, color);
    if (n > 0) {
        put_best(&s, t, &list[0]);
        put_rows(&s, t, list, n);
    } else {
        put_counts(&more, t);
        buf_puts(&more, "; none has figures.");
        screen_line(&s, SCREEN_STRONG, more.data, 0);
        buf_reset(&more);
    }
    buf_puts(&more, "More: ");
    if (n > ROWS_SHOWN)
        buf_printf(&more, "%zu other combination%s, ", n - ROWS_SHOWN,
                   n == ROWS_SHOWN + 1 ? "" : "s");
    buf_puts(&more, "all scales and columns: ");
    if (output != NULL)
        buf_put_printable(&more, output, strlen(output));
    else
        buf_puts(&more, "-o FILE (CSV), --json FILE");
    screen_line(&s, SCREEN_SOFT, more.data, 6);
    screen_release(&s);
    buf_release(&more);
    for (size_t i = 0; i < n; i++)
        cJSON_Delete(list[i].row);
    free(list);
}
