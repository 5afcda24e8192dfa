/* SPDX-License-Identifier: MIT
 *
 * The report of `specter bench gemm` (bench_report.h).
 */
#include "report/bench_report.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/opt.h"
#include "bench/samples.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

/* ---- the table that validate reads ---- */

static const char *cache_word(const struct bench_gemm_case *c)
{
    return c->hot ? "hot" : "cold";
}

void bench_gemm_csv_head(const struct bench_gemm_about *a, FILE *out)
{
    const struct bench_gpu_state *s = &a->begin;
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(out, "# %s, %s: GEMMs measured by specter bench gemm\n", a->device, date);
    fprintf(out, "# driver %s, CUDA %d.%d of the driver, cuBLAS %zu\n",
            a->driver[0] != '\0' ? a->driver : "unknown", a->cuda / 1000, a->cuda % 1000 / 10,
            a->blas);
    fprintf(out, "# SM clock at most %d MHz, memory clock at most %d MHz, power limit %.0f W\n",
            s->sm_max_MHz, s->mem_max_MHz, s->limit_W);
    fputs("# time_us: one call in a CUDA graph, the median; clock, power, temperature: meanwhile\n"
          "source_id,gpu,dtype,m,n,k,batch,cache,time_us,tflops,spread,calls,repeats,lib,"
          "order,family,sm_MHz,mem_MHz,power_W,celsius,reasons,notes\n",
          out);
}

void bench_gemm_csv_row(const struct bench_gemm_about *a, const struct bench_gemm_row *row,
                        FILE *out)
{
    const struct bench_gemm_shape *s = &row->of.shape;
    const struct bench_gemm_time *t = &row->time;
    char reasons[BENCH_REASONS_MAX];
    struct buf source = BUF_INIT, device = BUF_INIT;
    csv_put_text(&source, a->source);
    csv_put_text(&device, a->device);
    fprintf(out, "%s,%s,%s,%lld,%lld,%lld,%lld,%s,%.3f,%.2f,%.4f,%d,%d,%s,%s,%s,", source.data,
            device.data, s->type->name, (long long)s->m, (long long)s->n, (long long)s->k,
            (long long)s->batch, cache_word(&row->of), t->us, row->tflops, t->spread, t->calls,
            t->repeats, s->type->light ? "cublasLtMatmul" : "cublasGemmEx", bench_gemm_order(s),
            row->of.family);
    fprintf(out, "%d,%d,%.1f,%d,%s,%s\n", t->state.sm_MHz, t->state.mem_MHz, t->state.power_W,
            t->state.celsius, bench_reasons_text(t->state.reasons, reasons),
            row->of.hold_s > 0 ? "run for a while before it counts" : "");
    fflush(out); /* what is ended from outside leaves what it has */
    buf_release(&source);
    buf_release(&device);
}

/* ---- the answer ---- */

static double share(const struct bench_gemm_row *row)
{
    return row->peak_tflops > 0 ? row->tflops / row->peak_tflops : NAN;
}

static double expected_share(const struct bench_gemm_row *row)
{
    return share(row) * row->time.us / row->expected_us;
}

/* measured / predicted */
static double ratio_of(const struct bench_gemm_row *row)
{
    return row->time.us / row->expected_us;
}

/* Of the rows of a type (NULL: of all) that have the figure. */
static struct bench_stats stats_of(const struct bench_gemm_result *r,
                                   const struct bench_gemm_type *type,
                                   double (*figure)(const struct bench_gemm_row *row))
{
    double *values = array_new(r->nrows, sizeof *values);
    struct bench_stats stats;
    size_t n = 0;
    for (size_t i = 0; i < r->nrows; i++) {
        const double value = figure(&r->rows[i]);
        if ((type == NULL || r->rows[i].of.shape.type == type) && isfinite(value))
            values[n++] = value;
    }
    bench_stats_of(values, n, &stats);
    free(values);
    return stats;
}

struct counts {
    size_t all, compared, slow, fast; /* slow, fast: beyond the interval */
};

static struct counts counts_of(const struct bench_gemm_result *r,
                               const struct bench_gemm_type *type)
{
    struct counts c = {0};
    for (size_t i = 0; i < r->nrows; i++) {
        const struct bench_gemm_row *row = &r->rows[i];
        if (type != NULL && row->of.shape.type != type)
            continue;
        c.all++;
        c.compared += isfinite(row->expected_us);
        c.slow += bench_gemm_is_far(row) && row->time.us > row->expected_us;
        c.fast += bench_gemm_is_far(row) && row->time.us < row->expected_us;
    }
    return c;
}

static void share_cell(struct table *t, double value)
{
    if (isfinite(value))
        table_cell(t, "%.1f %%", 100 * value);
    else
        table_cell(t, "-");
}

static void number_cell(struct table *t, double value)
{
    table_cell(t, isfinite(value) ? "%.2f" : "-", value);
}

static void print_types(const struct bench_gemm_result *r, FILE *out)
{
    struct table t;
    table_init(&t);
    table_column(&t, "dtype", TABLE_LEFT);
    table_column(&t, "GEMMs", TABLE_RIGHT);
    table_column(&t, "TFLOPS", TABLE_RIGHT);
    table_column(&t, "of peak", TABLE_RIGHT);
    table_column(&t, "median", TABLE_RIGHT);
    table_column(&t, "predicted", TABLE_RIGHT);
    table_column(&t, "ratio", TABLE_RIGHT);
    table_column(&t, "slower", TABLE_RIGHT);
    table_column(&t, "faster", TABLE_RIGHT);
    for (size_t i = 0; i < BENCH_GEMM_TYPES; i++) {
        const struct bench_gemm_type *type = &bench_gemm_types[i];
        const struct counts c = counts_of(r, type);
        const struct bench_stats of_peak = stats_of(r, type, share);
        double best = 0;
        if (c.all == 0)
            continue;
        for (size_t k = 0; k < r->nrows; k++) {
            if (r->rows[k].of.shape.type == type)
                best = fmax(best, r->rows[k].tflops);
        }
        table_cell(&t, "%s", type->name);
        table_cell(&t, "%zu", c.all);
        table_cell(&t, "%.1f", best);
        share_cell(&t, of_peak.max);
        share_cell(&t, of_peak.median);
        share_cell(&t, stats_of(r, type, expected_share).median);
        number_cell(&t, stats_of(r, type, ratio_of).median);
        table_cell(&t, "%zu", c.slow);
        table_cell(&t, "%zu", c.fast);
    }
    table_print(&t, out);
    table_release(&t);
}

static void print_worst(const struct bench_gemm_result *r, FILE *out)
{
    const struct bench_gemm_row *worst = NULL;
    char time[32], expected[32];
    for (size_t i = 0; i < r->nrows; i++) {
        const struct bench_gemm_row *row = &r->rows[i];
        if (bench_gemm_is_far(row) && row->time.us > row->expected_us &&
            (worst == NULL || ratio_of(row) > ratio_of(worst)))
            worst = row;
    }
    if (worst == NULL)
        return;
    fprintf(out, "Slowest against the model: GEMM %lldx%lldx%lld %s %s, %s for %s.\n",
            (long long)worst->of.shape.m, (long long)worst->of.shape.n,
            (long long)worst->of.shape.k, worst->of.shape.type->name, cache_word(&worst->of),
            text_ns(time, sizeof time, worst->time.us * 1e3),
            text_ns(expected, sizeof expected, worst->expected_us * 1e3));
}

static void print_rows(const struct bench_gemm_result *r, FILE *out)
{
    static const char *const left[] = {"dtype"};
    static const char *const right[] = {"m",    "n",      "k",       "batch",     "order", "cache",
                                        "time", "TFLOPS", "of peak", "predicted", "ratio"};
    struct table t;
    table_init(&t);
    table_column(&t, left[0], TABLE_LEFT);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        table_column(&t, right[i], TABLE_RIGHT);
    table_column(&t, "", TABLE_LEFT);
    for (size_t i = 0; i < r->nrows; i++) {
        const struct bench_gemm_row *row = &r->rows[i];
        const struct bench_gemm_shape *s = &row->of.shape;
        const int64_t sides[] = {s->m, s->n, s->k, s->batch};
        char text[32];
        table_cell(&t, "%s", s->type->name);
        for (size_t k = 0; k < sizeof sides / sizeof *sides; k++)
            table_cell(&t, "%lld", (long long)sides[k]);
        table_cell(&t, "%s", bench_gemm_order(s));
        table_cell(&t, "%s", cache_word(&row->of));
        table_cell(&t, "%s", text_ns(text, sizeof text, row->time.us * 1e3));
        table_cell(&t, "%.1f", row->tflops);
        share_cell(&t, share(row));
        table_cell(&t, "%s", text_ns(text, sizeof text, row->expected_us * 1e3));
        number_cell(&t, ratio_of(row));
        table_cell(&t, "%s",
                   !bench_gemm_is_far(row) ? ""
                   : ratio_of(row) > 1     ? "slower"
                                           : "faster");
    }
    table_print(&t, out);
    table_release(&t);
}

void bench_gemm_text(const struct bench_gemm_about *a, const struct bench_gemm_result *r, bool full,
                     FILE *out)
{
    const struct bench_correlation heat = bench_gemm_heat(r);
    const struct counts c = counts_of(r, NULL);
    struct buf line = BUF_INIT;
    buf_printf(&line, "%s: ", a->device);
    if (c.all == 0)
        buf_puts(&line, "no GEMM was measured");
    else if (c.compared == 0)
        buf_printf(&line, "%zu GEMMs measured; no profile to compare them with (--gpu)", c.all);
    else if (c.slow + c.fast == 0)
        buf_printf(&line, "normal: all of %zu GEMMs are near the model", c.compared);
    else
        buf_printf(&line, "%zu of %zu GEMMs are far from the model: %zu slower, %zu faster",
                   c.slow + c.fast, c.compared, c.slow, c.fast);
    buf_printf(&line, "%s.", r->complete ? "" : " (ended early)");
    text_make_printable(line.data);
    opt_wrap(line.data, 0, 0, out);
    buf_release(&line);
    if (r->nrows > 0)
        print_types(r, out);
    print_worst(r, out);
    bench_state_text(a->gpus, a->ngpus, out);
    bench_heat_text(&heat, "GEMMs take", out);
    if (!full)
        return;
    fputc('\n', out);
    print_rows(r, out);
    fputc('\n', out);
    if (a->ngpus > 0)
        bench_state_table(a->gpus, a->ngpus, out);
    if (a->gpu != NULL)
        fprintf(out, "  predicted for %s\n", a->gpu->name);
    fprintf(out, "  not begun: %zu GEMMs of the plan\n", r->left);
}

/* ---- JSON ---- */

static cJSON *case_json(const struct bench_gemm_case *c)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "dtype", c->shape.type->name);
    cJSON_AddNumberToObject(o, "m", (double)c->shape.m);
    cJSON_AddNumberToObject(o, "n", (double)c->shape.n);
    cJSON_AddNumberToObject(o, "k", (double)c->shape.k);
    cJSON_AddNumberToObject(o, "batch", (double)c->shape.batch);
    cJSON_AddStringToObject(o, "order", bench_gemm_order(&c->shape));
    cJSON_AddStringToObject(o, "cache", cache_word(c));
    cJSON_AddStringToObject(o, "family", c->family);
    return o;
}

static void add_types(cJSON *doc, const struct bench_gemm_result *r)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "types");
    for (size_t i = 0; i < BENCH_GEMM_TYPES; i++) {
        const struct bench_gemm_type *type = &bench_gemm_types[i];
        const struct counts c = counts_of(r, type);
        cJSON *o;
        if (c.all == 0)
            continue;
        o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "dtype", type->name);
        cJSON_AddNumberToObject(o, "gemms", (double)c.all);
        json_add_number(o, "median_share_of_peak", stats_of(r, type, share).median);
        json_add_number(o, "best_share_of_peak", stats_of(r, type, share).max);
        json_add_number(o, "predicted_share_of_peak", stats_of(r, type, expected_share).median);
        json_add_number(o, "median_ratio", stats_of(r, type, ratio_of).median);
        cJSON_AddNumberToObject(o, "slower", (double)c.slow);
        cJSON_AddNumberToObject(o, "faster", (double)c.fast);
        cJSON_AddItemToArray(list, o);
    }
}

cJSON *bench_gemm_json(const struct bench_gemm_about *a, const struct bench_gemm_result *r)
{
    const struct bench_correlation heat = bench_gemm_heat(r);
    cJSON *doc = cJSON_CreateObject(), *list;
    cJSON_AddStringToObject(doc, "schema", "specter.bench/1");
    cJSON_AddStringToObject(doc, "kind", "gemm");
    cJSON_AddBoolToObject(doc, "complete", r->complete);
    json_add_text(doc, "gpu", a->device);
    json_add_text(doc, "gpu_profile", a->gpu != NULL ? a->gpu->name : NULL);
    json_add_text(doc, "driver", a->driver);
    json_add_number(doc, "cuda_driver", a->cuda);
    json_add_number(doc, "cublas", (double)a->blas);
    json_add_text(doc, "cpus", a->cpus);
    json_add_number(doc, "locked_clock_MHz", a->locked_MHz > 0 ? a->locked_MHz : NAN);
    cJSON_AddNumberToObject(doc, "not_begun", (double)r->left);
    add_types(doc, r);
    list = cJSON_AddArrayToObject(doc, "rows");
    for (size_t i = 0; i < r->nrows; i++) {
        const struct bench_gemm_row *row = &r->rows[i];
        const bool known = isfinite(row->expected_us);
        cJSON *o = case_json(&row->of);
        json_add_number(o, "time_us", row->time.us);
        json_add_number(o, "spread", row->time.spread);
        json_add_number(o, "tflops", row->tflops);
        json_add_number(o, "peak_tflops", row->peak_tflops > 0 ? row->peak_tflops : NAN);
        json_add_number(o, "share_of_peak", share(row));
        json_add_number(o, "predicted_us", row->expected_us);
        json_add_number(o, "low_us", known ? row->interval.low_us : NAN);
        json_add_number(o, "high_us", known ? row->interval.high_us : NAN);
        json_add_number(o, "ratio", ratio_of(row));
        cJSON_AddBoolToObject(o, "far", bench_gemm_is_far(row));
        cJSON_AddItemToArray(list, o);
    }
    list = cJSON_AddArrayToObject(doc, "not_measured");
    for (size_t i = 0; i < r->nskips; i++) {
        cJSON *o = case_json(&r->skips[i].of);
        json_add_text(o, "why", r->skips[i].why);
        cJSON_AddItemToArray(list, o);
    }
    cJSON_AddItemToObject(doc, "state", bench_state_json(a->gpus, a->ngpus));
    cJSON_AddItemToObject(doc, "temperature", bench_heat_json(&heat));
    return doc;
}
