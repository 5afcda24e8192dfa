/* SPDX-License-Identifier: MIT
 *
 * specter predict gemm: one GEMM.
 */
#include "cmd/predict.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- --explain: the ways to do a GEMM, each with what its time is made of ---- */

static void put_heads(struct table *t)
{
    static const struct {
        const char *title;
        bool optional; /* a narrow terminal does without */
    } heads[] = {{"split", false}, {"waves", false}, {"math", true},
                 {"L2", true},     {"steps", true},  {"ends", true},
                 {"work", false},  {"sum", false},   {"busy", false}};
    table_init(t);
    table_column(t, "", TABLE_LEFT);
    table_column(t, "tile", TABLE_LEFT);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        table_column(t, heads[i].title, TABLE_RIGHT);
        if (heads[i].optional)
            table_optional(t);
    }
}

static void put_row(struct table *t, const struct gemm_candidate *c)
{
    const double values[] = {c->waves,   c->compute_us, c->l2_us,    c->steps_us,
                             c->ends_us, c->work_us,    c->split_us, c->busy_us};
    table_cell(t, "%s", c->chosen ? "->" : "");
    table_cell(t, "%g x %g", c->tile_m, c->tile_n);
    table_cell(t, "%g", c->split);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        table_cell(t, values[i] < 1e3 ? "%.2f" : values[i] < 1e5 ? "%.1f" : "%.2e", values[i]);
}

/* Each tile size with its best split, the taken tile with every split; `cost` is shape's. */
static int print_tiles(const struct gpu_profile *gpu, const struct gemm_shape *shape,
                       const struct gemm_cost *cost, struct err *e)
{
    static const char *const columns[] = {
        "busy  start + quantising + max(work, traffic) + 0.3 min(work, traffic) + sum",
        "work  of all tiles; of one: the longest of math, L2 and steps, then its ends",
        "sum   adding up the parts of k",
    };
    struct gemm_candidate list[GEMM_CANDIDATES_MAX];
    struct table best_splits, splits;
    int n = model_gemm_candidates(gpu, shape, list, e);
    if (n < 0)
        return -1;
    struct buf title = BUF_INIT;
    buf_printf(&title,
               "ways to do it, in us; start %.4g, quantising %.4g, traffic (memory, L2) %.4g",
               cost->start_us, cost->quant_us, cost->traffic_us);
    putchar('\n');
    opt_wrap(title.data, 0, 2, stdout);
    buf_release(&title);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        fputs("  ", stdout);
        opt_wrap(columns[i], 2, 8, stdout);
    }
    puts("\neach tile with its best split");
    put_heads(&best_splits);
    for (int i = 0, end; i < n; i = end) { /* candidates of a tile stand together */
        const struct gemm_candidate *best = &list[i];
        for (end = i + 1;
             end < n && list[end].tile_m == list[i].tile_m && list[end].tile_n == list[i].tile_n;
             end++) {
            if (list[end].busy_us < best->busy_us)
                best = &list[end];
        }
        put_row(&best_splits, best);
    }
    table_print(&best_splits, stdout);
    table_release(&best_splits);
    printf("\nwith %g x %g, every split\n", cost->tile_m, cost->tile_n);
    put_heads(&splits);
    for (int i = 0; i < n; i++) {
        if (list[i].tile_m == cost->tile_m && list[i].tile_n == cost->tile_n)
            put_row(&splits, &list[i]);
    }
    table_print(&splits, stdout);
    table_release(&splits);
    return 0;
}

/* All of them, as "candidates". */
static int add_tiles(cJSON *doc, const struct gpu_profile *gpu, const struct gemm_shape *shape,
                     struct err *e)
{
    struct gemm_candidate list[GEMM_CANDIDATES_MAX];
    cJSON *array = cJSON_AddArrayToObject(doc, "candidates");
    int n = model_gemm_candidates(gpu, shape, list, e);
    for (int i = 0; i < n; i++) {
        const struct gemm_candidate *c = &list[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddNumberToObject(row, "tile_m", c->tile_m);
        cJSON_AddNumberToObject(row, "tile_n", c->tile_n);
        cJSON_AddNumberToObject(row, "split_k", c->split);
        cJSON_AddNumberToObject(row, "waves", c->waves);
        cJSON_AddNumberToObject(row, "compute_us", c->compute_us);
        cJSON_AddNumberToObject(row, "l2_us", c->l2_us);
        cJSON_AddNumberToObject(row, "steps_us", c->steps_us);
        cJSON_AddNumberToObject(row, "ends_us", c->ends_us);
        cJSON_AddNumberToObject(row, "work_us", c->work_us);
        cJSON_AddNumberToObject(row, "split_us", c->split_us);
        cJSON_AddNumberToObject(row, "busy_us", c->busy_us);
        cJSON_AddBoolToObject(row, "taken", c->chosen);
        cJSON_AddItemToArray(array, row);
    }
    return n < 0 ? -1 : 0;
}

/* ---- the command line ---- */

struct predict_gemm_opts {
    const char *gpu, *dtype, *dtype_c, *quantize;
    int64_t m, n, k, batch;
    bool hot, cold, explain, json;
};

#define AT(field) offsetof(struct predict_gemm_opts, field)
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct opt rows[] = {
    {"m", 'm', OPT_I64, AT(m), "N", "rows of the result"},
    {"n", 'n', OPT_I64, AT(n), "N", "columns of the result"},
    {"k", 'k', OPT_I64, AT(k), "N", "length of the sums"},
    {"batch", 0, OPT_I64, AT(batch), "N", "GEMMs of this shape; default 1"},
    {"dtype", 0, OPT_STR, AT(dtype), "TYPE", "type of A and B; default fp16"},
    {"dtype-c", 0, OPT_STR, AT(dtype_c), "TYPE",
     "of C; default: as A and B, bf16 for fp8 and fp4, int32 for int8"},
    {"cold", 0, OPT_FLAG, AT(cold), NULL, "nothing is in L2 when it begins (default)"},
    {"hot", 0, OPT_FLAG, AT(hot), NULL, "one of many on the same operands, as benchmarks do"},
    {"quantize", 0, OPT_STR, AT(quantize), "HOW",
     "kernels before it that convert A: none, static, dynamic"},
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "GPU profile; default " GPU_PROFILE_DEFAULT},
    {"explain", 0, OPT_FLAG, AT(explain), NULL, "every tile size and split of k, priced"},
    {"json", 0, OPT_FLAG, AT(json), NULL, "print JSON"},
    OPT_END,
};

/* One answer. */
struct gemm_prediction {
    struct profile_pair on;
    struct gemm_shape shape;
    struct gemm_cost cost;
    double peak_tflops;
    struct predict_trust trust;
    struct accuracy_interval interval; /* of busy_us */
};

static const char *const quantize_names[] = {[GEMM_QUANTIZE_NONE] = "none",
                                             [GEMM_QUANTIZE_STATIC] = "static",
                                             [GEMM_QUANTIZE_DYNAMIC] = "dynamic"};

static int parse(const struct predict_gemm_opts *o, struct gemm_shape *s, struct err *e)
{
    size_t how = GEMM_QUANTIZE_NONE;
    if (o->m == PREDICT_NO_NUMBER)
        return predict_missing("-m", e);
    if (o->n == PREDICT_NO_NUMBER)
        return predict_missing("-n", e);
    if (o->k == PREDICT_NO_NUMBER)
        return predict_missing("-k", e);
    if (o->m < 1 || o->n < 1 || o->k < 1 || o->batch < 1)
        return err_set(e, ERR_USAGE, "-m, -n, -k and --batch must be positive");
    if (o->hot && o->cold)
        return err_set(e, ERR_USAGE, "--hot and --cold exclude each other");
    *s = (struct gemm_shape){.m = (uint64_t)o->m,
                             .n = (uint64_t)o->n,
                             .k = (uint64_t)o->k,
                             .batch = (uint64_t)o->batch,
                             .compute = SPECTER_DTYPE_UNKNOWN,
                             .hot_sets = o->hot ? 1 : 0};
    if (predict_dtype("--dtype", o->dtype, &s->type, e) < 0)
        return -1;
    while (how < COUNT(quantize_names) && strcmp(o->quantize, quantize_names[how]) != 0)
        how++;
    if (how == COUNT(quantize_names))
        return err_set(e, ERR_USAGE, "--quantize: '%.64s' is none of none, static, dynamic",
                       o->quantize);
    s->quantize = (enum gemm_quantize)how;
    if (s->quantize != GEMM_QUANTIZE_NONE && specter_dtype_bits(s->type) > 8)
        return err_set(e, ERR_USAGE,
                       "--quantize: A of type %s is not quantised; fp8, int8, fp4 are",
                       specter_dtype_name(s->type));
    s->type_c = gemm_usual_type_c(s->type);
    return o->dtype_c == NULL ? 0 : predict_dtype("--dtype-c", o->dtype_c, &s->type_c, e);
}

/* ---- the answer ---- */

/* The larger of both bounds against the time. */
static double bound_fraction(const struct gemm_cost *c)
{
    return fmax(c->compute_us, c->memory_us) / c->us;
}

static int write_json(const struct gemm_prediction *p, bool explain, struct err *e)
{
    const struct gemm_shape *s = &p->shape;
    const struct gemm_cost *c = &p->cost;
    cJSON *doc = predict_doc("gemm", &p->on);
    cJSON_AddNumberToObject(doc, "m", (double)s->m);
    cJSON_AddNumberToObject(doc, "n", (double)s->n);
    cJSON_AddNumberToObject(doc, "k", (double)s->k);
    cJSON_AddNumberToObject(doc, "batch", (double)s->batch);
    cJSON_AddStringToObject(doc, "dtype", specter_dtype_name(s->type));
    cJSON_AddStringToObject(doc, "dtype_c", specter_dtype_name(s->type_c));
    cJSON_AddStringToObject(doc, "l2", s->hot_sets > 0 ? "hot" : "cold");
    cJSON_AddStringToObject(doc, "quantize", quantize_names[s->quantize]);
    cJSON_AddNumberToObject(doc, "flops", c->flops);
    cJSON_AddNumberToObject(doc, "bytes", c->bytes);
    cJSON_AddNumberToObject(doc, "mem_bytes", c->mem_bytes);
    cJSON_AddNumberToObject(doc, "time_us", c->us);
    predict_add_interval(doc, &p->interval, c->us - c->busy_us, c->busy_us);
    cJSON_AddNumberToObject(doc, "busy_us", c->busy_us);
    cJSON_AddNumberToObject(doc, "quant_us", c->quant_us);
    cJSON_AddNumberToObject(doc, "start_us", c->start_us);
    cJSON_AddNumberToObject(doc, "traffic_us", c->traffic_us);
    cJSON_AddNumberToObject(doc, "tflops", c->tflops);
    cJSON_AddNumberToObject(doc, "peak_tflops", p->peak_tflops);
    cJSON_AddNumberToObject(doc, "compute_us", c->compute_us);
    cJSON_AddNumberToObject(doc, "memory_us", c->memory_us);
    cJSON_AddNumberToObject(doc, "tile_m", c->tile_m);
    cJSON_AddNumberToObject(doc, "tile_n", c->tile_n);
    cJSON_AddNumberToObject(doc, "split_k", c->split);
    cJSON_AddNumberToObject(doc, "waves", c->waves);
    cJSON_AddNumberToObject(doc, "clock", c->clock);
    cJSON_AddStringToObject(doc, "bound", c->bound);
    cJSON_AddNumberToObject(doc, "bound_fraction", bound_fraction(c));
    predict_add_trust(doc, &p->trust, 1);
    if (explain && add_tiles(doc, p->on.gpu, &p->shape, e) < 0) {
        cJSON_Delete(doc);
        return -1;
    }
    predict_add_assumptions(doc, model_gemm_assumptions);
    return cmd_write_json(doc, "-", e);
}

static void print_title(const struct gemm_prediction *p)
{
    const struct gemm_shape *s = &p->shape;
    struct buf title = BUF_INIT;
    buf_printf(&title, "GEMM %llux%llux%llu %s", (unsigned long long)s->m, (unsigned long long)s->n,
               (unsigned long long)s->k, specter_dtype_name(s->type));
    if (s->type_c != s->type)
        buf_printf(&title, " to %s", specter_dtype_name(s->type_c));
    if (s->batch > 1)
        buf_printf(&title, ", batch of %llu", (unsigned long long)s->batch);
    buf_printf(&title, " on %s, %s L2", p->on.gpu->name, s->hot_sets > 0 ? "hot" : "cold");
    if (s->quantize != GEMM_QUANTIZE_NONE)
        buf_printf(&title, ", %s quantising of A", quantize_names[s->quantize]);
    opt_wrap(title.data, 0, 2, stdout);
    putchar('\n');
    buf_release(&title);
}

static void print_time(const struct gemm_cost *c)
{
    char idle[32], busy[32], quantising[32];
    text_ns(idle, sizeof idle, c->us * 1e3);
    text_ns(busy, sizeof busy, c->busy_us * 1e3);
    if (c->quant_us > 0)
        predict_print_row("time", "%s on an idle GPU, %s in a queue of calls (%s quantising)", idle,
                          busy, text_ns(quantising, sizeof quantising, c->quant_us * 1e3));
    else
        predict_print_row("time", "%s on an idle GPU, %s in a queue of calls", idle, busy);
}

static void print_kernel(const struct gemm_cost *c)
{
    struct buf text = BUF_INIT;
    if (!(c->tile_m > 0))
        return;
    buf_printf(&text, "tiles of %g x %g", c->tile_m, c->tile_n);
    if (c->split > 1)
        buf_printf(&text, ", k cut into %g parts", c->split);
    buf_printf(&text, c->waves < 1e6 ? ", %.2f waves" : ", %.3g waves", c->waves);
    predict_print_row("kernel", "%s; clock %.0f %% of boost under power", text.data,
                      100 * c->clock);
    buf_release(&text);
}

static const char *why_unknown(enum accuracy_lack lacks)
{
    return lacks == ACCURACY_LACKS_PROFILE ? "nothing was measured with the profile's parameters"
           : lacks == ACCURACY_LACKS_RATE
               ? "no GPU of the architecture with this tensor rate was measured"
               : "too few GEMMs of the architecture were measured";
}

static int print_text(const struct gemm_prediction *p, bool explain, struct err *e)
{
    const struct gemm_cost *c = &p->cost;
    char text[32], bytes[32], all[32];
    print_title(p);
    print_time(c);
    predict_print_interval(&p->interval, c->us - c->busy_us, c->busy_us,
                           why_unknown(p->interval.lacks));
    predict_print_row("rate", "%.2f TFLOPS, %.1f %% of the dense peak of %.6g", c->tflops,
                      100 * c->tflops / p->peak_tflops, p->peak_tflops);
    predict_print_row("compute", "at least %s", text_ns(text, sizeof text, c->compute_us * 1e3));
    predict_print_row(
        "memory", "at least %s for %s of %s", text_ns(text, sizeof text, c->memory_us * 1e3),
        text_bytes(bytes, sizeof bytes, c->mem_bytes), text_bytes(all, sizeof all, c->bytes));
    print_kernel(c);
    predict_print_row("bound", "%s; %.1f %% of the larger bound reached", c->bound,
                      100 * bound_fraction(c));
    predict_print_trust(&p->trust, 1);
    predict_print_beyond(&p->trust, 1);
    if (explain && print_tiles(p->on.gpu, &p->shape, c, e) < 0)
        return -1;
    predict_print_assumptions(model_gemm_assumptions, explain);
    return 0;
}

static int run(const struct command *self, int argc, char **argv, struct arena *a, struct err *e)
{
    struct predict_gemm_opts o = {.m = PREDICT_NO_NUMBER,
                                  .n = PREDICT_NO_NUMBER,
                                  .k = PREDICT_NO_NUMBER,
                                  .batch = 1,
                                  .dtype = "fp16",
                                  .quantize = "none"};
    struct gemm_prediction p;
    int status = cmd_parse_options(self, &o, argc, argv, e);
    if (status != 0)
        return status;
    if (parse(&o, &p.shape, e) < 0 || cmd_target(o.gpu, NULL, false, a, &p.on, e) < 0 ||
        model_gemm(p.on.gpu, &p.shape, &p.cost, e) < 0)
        return (int)e->code;
    p.peak_tflops = gpu_peak_tflops(p.on.gpu, p.shape.type, p.shape.compute);
    predict_trust_gemm(p.on.gpu, p.cost.flops, &p.trust);
    accuracy_interval_of_gemm(p.on.gpu, p.cost.flops, &p.interval);
    status = o.json ? write_json(&p, o.explain, e) : print_text(&p, o.explain, e);
    return status < 0 ? (int)e->code : 0;
}

const struct cmd_kind predict_gemm = {
    .name = "gemm",
    .command = {.name = "predict",
                .synopsis = "predict gemm -m N -n N -k N [--cold|--hot]" SYNOPSIS_ALL,
                .summary = "predict one GEMM",
                .rows = rows},
    .run = run,
};
