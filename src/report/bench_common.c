/* SPDX-License-Identifier: MIT
 *
 * Shared by the reports of several benchmarks (bench_report.h).
 */
#include "report/bench_report.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/opt.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the run ---- */

static void add_texts(cJSON *o, const char *key, const char **list, size_t n)
{
    cJSON *array = cJSON_AddArrayToObject(o, key);
    for (size_t i = 0; i < n; i++) {
        /* cJSON writes bytes as they are. */
        char *safe = text_safe_copy(list[i]);
        cJSON_AddItemToArray(array, cJSON_CreateString(safe));
        free(safe);
    }
}

void bench_run_json(cJSON *o, const struct bench_run *run)
{
    cJSON *settings;
    json_add_text(o, "backend", run->backend);
    json_add_text(o, "library", run->library);
    json_add_text(o, "gpu", run->gpu);
    cJSON_AddNumberToObject(o, "ranks", run->where.ranks);
    cJSON_AddNumberToObject(o, "nodes", run->where.nodes);
    cJSON_AddNumberToObject(o, "gpus_per_node", run->where.per_node);
    add_texts(o, "hosts", run->hosts, run->nhosts);
    settings = cJSON_AddObjectToObject(o, "settings");
    for (size_t i = 0; i < run->nsettings; i++)
        json_add_text(settings, run->settings[i].name, run->settings[i].value);
}

void bench_notes_json(cJSON *o, const struct bench_result *result)
{
    add_texts(o, "notes", result->notes, result->nnotes);
}

/* ---- checks ---- */

static void text_value(enum bench_check_name name, double value, char *buf, size_t size)
{
    if (bench_check_is_share(name))
        snprintf(buf, size, "%.*f %%", value > 0 && value < 0.1 ? 1 : 0, 100 * value);
    else
        snprintf(buf, size,
                 name != BENCH_CHECK_drift ? "%.0f"
                 : value < 9.95            ? "%.1f ppm"
                                           : "%.0f ppm",
                 value);
}

void bench_checks_text(const struct bench_checks *checks, bool full, FILE *out)
{
    const int failed = bench_checks_failed(checks);
    int known = 0;
    for (int i = 0; i < BENCH_CHECK_COUNT; i++)
        known +=
            !isnan(bench_check_limit(i)) && bench_check_verdict(checks, i) != BENCH_CHECK_UNKNOWN;
    if (known == 0)
        return;
    if (failed > 0)
        fprintf(out, "Checks: %d of %d failed\n", failed, known);
    else
        fprintf(out, "Checks: all %d passed\n", known);
    for (int i = 0; i < BENCH_CHECK_COUNT; i++) {
        const enum bench_check_verdict verdict = bench_check_verdict(checks, i);
        char value[32], limit[32];
        if (isnan(bench_check_limit(i)) || verdict == BENCH_CHECK_UNKNOWN ||
            (verdict == BENCH_CHECK_PASS && !full))
            continue;
        text_value(i, checks->figures[i].value, value, sizeof value);
        text_value(i, bench_check_limit(i), limit, sizeof limit);
        fprintf(out, "  %s  %-9s %8s  limit %-7s %s\n",
                verdict == BENCH_CHECK_FAIL ? "FAIL" : "pass", bench_check_word(i), value, limit,
                checks->figures[i].where);
    }
}

cJSON *bench_checks_json(const struct bench_checks *checks)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < BENCH_CHECK_COUNT; i++) {
        const enum bench_check_verdict verdict = bench_check_verdict(checks, i);
        cJSON *o;
        if (isnan(bench_check_limit(i)))
            continue;
        o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", bench_check_word(i));
        if (verdict == BENCH_CHECK_UNKNOWN)
            cJSON_AddNullToObject(o, "pass");
        else
            cJSON_AddBoolToObject(o, "pass", verdict == BENCH_CHECK_PASS);
        json_add_number(o, "value", checks->figures[i].value);
        json_add_number(o, "limit", bench_check_limit(i));
        json_add_text(o, "where", checks->figures[i].where);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

/* ---- the state of GPUs ---- */

static bool several_nodes(const struct bench_gpu_summary *gpus, int n)
{
    return n > 0 && gpus[n - 1].node > 0;
}

static void put_gpu(struct buf *out, const struct bench_gpu_summary *g, bool with_node)
{
    buf_printf(out, "GPU %d", g->gpu_id);
    if (with_node)
        buf_printf(out, " of node %d", g->node);
}

static void put_more(struct buf *out, int more)
{
    if (more > 0)
        buf_printf(out, "; so did %d other GPU%s", more, more == 1 ? "" : "s");
    buf_puts(out, ".");
}

static void print_line(struct buf *line, FILE *out)
{
    opt_wrap(line->data, 0, 2, out);
    buf_release(line);
}

/* Returns whether there is such a GPU. */
static bool print_throttled(const struct bench_gpu_summary *gpus, int n, FILE *out)
{
    const struct bench_gpu_summary *worst = NULL;
    char reasons[BENCH_REASONS_MAX];
    struct buf line = BUF_INIT;
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (!(gpus[i].throttled > 0))
            continue;
        count++;
        worst = worst == NULL || gpus[i].throttled > worst->throttled ? &gpus[i] : worst;
    }
    if (worst == NULL)
        return false;
    put_gpu(&line, worst, several_nodes(gpus, n));
    buf_printf(&line, " throttled in %.0f %% of %d samples (%s)", 100 * worst->throttled,
               worst->samples, bench_reasons_text(worst->reasons, reasons));
    if (isfinite(worst->celsius.max))
        buf_printf(&line, ", at most %.0f C", worst->celsius.max);
    put_more(&line, count - 1);
    print_line(&line, out);
    return true;
}

void bench_state_text(const struct bench_gpu_summary *gpus, int n, FILE *out)
{
    const struct bench_gpu_summary *worst = NULL;
    struct buf line = BUF_INIT;
    int count = 0;
    if (print_throttled(gpus, n, out))
        return;
    for (int i = 0; i < n; i++) {
        if (!(gpus[i].rise_K > BENCH_RISING_K))
            continue;
        count++;
        worst = worst == NULL || gpus[i].rise_K > worst->rise_K ? &gpus[i] : worst;
    }
    if (worst == NULL)
        return;
    put_gpu(&line, worst, several_nodes(gpus, n));
    buf_printf(&line, " became warmer until the end (%.0f to %.0f C)", worst->celsius.min,
               worst->celsius.max);
    put_more(&line, count - 1);
    buf_puts(&line, " Warm it up first: --warmup-temp.");
    print_line(&line, out);
}

/* ---- all figures ---- */

static void range_cell(struct table *t, const struct bench_range *r)
{
    if (isfinite(r->median))
        table_cell(t, "%.0f/%.0f/%.0f", r->min, r->median, r->max);
    else
        table_cell(t, "-");
}

void bench_heat_text(const struct bench_correlation *c, const char *what, FILE *out)
{
    struct buf line = BUF_INIT;
    if (!bench_correlation_is_clear(c))
        return;
    buf_printf(&line,
               "%s %.2f %% %s for each K that the GPU is warmer (correlation %.2f, 95 %% %.2f to "
               "%.2f).",
               what, 100 * fabs(c->slope), c->slope > 0 ? "longer" : "less", c->r, c->low, c->high);
    print_line(&line, out);
}

cJSON *bench_heat_json(const struct bench_correlation *c)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "samples", (double)c->n);
    json_add_number(o, "correlation", c->r);
    json_add_number(o, "low", c->low);
    json_add_number(o, "high", c->high);
    json_add_number(o, "share_per_K", c->slope);
    return o;
}

void bench_state_table(const struct bench_gpu_summary *gpus, int n, FILE *out)
{
    struct table t;
    table_init(&t);
    table_column(&t, "GPU", TABLE_RIGHT);
    table_column(&t, "samples", TABLE_RIGHT);
    table_column(&t, "C", TABLE_RIGHT);
    table_column(&t, "W", TABLE_RIGHT);
    table_column(&t, "SM MHz", TABLE_RIGHT);
    table_column(&t, "busy %", TABLE_RIGHT);
    table_column(&t, "throttled", TABLE_LEFT);
    for (int i = 0; i < n; i++) {
        const struct bench_gpu_summary *g = &gpus[i];
        char reasons[BENCH_REASONS_MAX];
        if (several_nodes(gpus, n))
            table_cell(&t, "%d:%d", g->node, g->gpu_id);
        else
            table_cell(&t, "%d", g->gpu_id);
        table_cell(&t, "%d", g->samples);
        range_cell(&t, &g->celsius);
        range_cell(&t, &g->watts);
        range_cell(&t, &g->sm_MHz);
        range_cell(&t, &g->busy);
        if (g->throttled > 0)
            table_cell(&t, "%.0f %% %s", 100 * g->throttled,
                       bench_reasons_text(g->reasons, reasons));
        else
            table_cell(&t, isnan(g->throttled) ? "-" : "no");
    }
    table_print(&t, out);
    table_release(&t);
    fputs("  C, W, MHz and percent: minimum/median/maximum of the samples\n", out);
}

static void add_range(cJSON *o, const char *key, const struct bench_range *r)
{
    cJSON *range = cJSON_AddObjectToObject(o, key);
    json_add_number(range, "min", r->min);
    json_add_number(range, "median", r->median);
    json_add_number(range, "max", r->max);
}

cJSON *bench_state_json(const struct bench_gpu_summary *gpus, int n)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < n; i++) {
        const struct bench_gpu_summary *g = &gpus[i];
        char reasons[BENCH_REASONS_MAX];
        cJSON *o = cJSON_CreateObject();
        cJSON_AddNumberToObject(o, "node", g->node);
        cJSON_AddNumberToObject(o, "gpu_id", g->gpu_id);
        json_add_text(o, "bus_id", g->bus_id);
        cJSON_AddNumberToObject(o, "samples", g->samples);
        add_range(o, "temperature_C", &g->celsius);
        add_range(o, "power_W", &g->watts);
        add_range(o, "clock_sm_MHz", &g->sm_MHz);
        add_range(o, "utilization_percent", &g->busy);
        json_add_number(o, "throttled", g->throttled);
        json_add_text(o, "throttle_reasons",
                      g->reasons != 0 ? bench_reasons_text(g->reasons, reasons) : NULL);
        json_add_number(o, "rise_K", g->rise_K);
        json_add_text(o, "other_processes", g->others);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}
