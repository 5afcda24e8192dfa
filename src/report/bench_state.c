/* SPDX-License-Identifier: MIT */
#include "report/bench_state.h"

#include "base/buf.h"
#include "base/opt.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>

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

static void print_rising(const struct bench_gpu_summary *gpus, int n, FILE *out)
{
    const struct bench_gpu_summary *worst = NULL;
    struct buf line = BUF_INIT;
    int count = 0;
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

void bench_state_text(const struct bench_gpu_summary *gpus, int n, FILE *out)
{
    if (!print_throttled(gpus, n, out))
        print_rising(gpus, n, out);
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
