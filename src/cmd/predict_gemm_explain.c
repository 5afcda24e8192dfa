/* SPDX-License-Identifier: MIT
 *
 * predict gemm --explain: the ways to do a product, each with what its time is made of.
 */
#include "cmd/predict_gemm.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <stdio.h>

static void put_heads(struct table *t)
{
    static const char *const heads[] = {"split", "waves", "math", "L2",  "steps",
                                        "ends",  "work",  "sum",  "busy"};
    table_init(t);
    table_column(t, "", TABLE_LEFT);
    table_column(t, "tile", TABLE_LEFT);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        table_column(t, heads[i], TABLE_RIGHT);
}

static void put_row(struct table *t, const struct gemm_candidate *c)
{
    const double values[] = {c->waves,   c->compute_us, c->l2_us,    c->steps_us,
                             c->ends_us, c->work_us,    c->split_us, c->busy_us};
    table_cell(t, "%s", c->chosen ? "->" : "");
    table_cell(t, "%g x %g", c->tile_m, c->tile_n);
    table_cell(t, "%g", c->split);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        table_cell(t, values[i] < 1e5 ? "%.2f" : "%.2e", values[i]);
}

static bool same_tile(const struct gemm_candidate *a, const struct gemm_candidate *b)
{
    return a->tile_m == b->tile_m && a->tile_n == b->tile_n;
}

/* Candidates of a tile stand together. */
static void print_best_splits(const struct gemm_candidate *list, int n)
{
    struct table t;
    put_heads(&t);
    for (int i = 0, end; i < n; i = end) {
        const struct gemm_candidate *best = &list[i];
        for (end = i + 1; end < n && same_tile(&list[i], &list[end]); end++) {
            if (list[end].busy_us < best->busy_us)
                best = &list[end];
        }
        put_row(&t, best);
    }
    table_print(&t, stdout);
    table_release(&t);
}

static void print_splits(const struct gemm_candidate *list, int n, const struct gemm_cost *cost)
{
    struct table t;
    put_heads(&t);
    for (int i = 0; i < n; i++) {
        if (list[i].tile_m == cost->tile_m && list[i].tile_n == cost->tile_n)
            put_row(&t, &list[i]);
    }
    printf("\nwith %g x %g, every split\n", cost->tile_m, cost->tile_n);
    table_print(&t, stdout);
    table_release(&t);
}

int predict_print_tiles(const struct gpu_profile *gpu, const struct gemm_shape *shape,
                        const struct gemm_cost *cost, struct err *e)
{
    struct gemm_candidate list[GEMM_CANDIDATES_MAX];
    int n = model_gemm_candidates(gpu, shape, list, e);
    if (n < 0)
        return -1;
    printf("\nways to do it, in us; start %.4g, quantising %.4g, traffic (memory, L2) %.4g\n",
           cost->start_us, cost->quant_us, cost->traffic_us);
    puts("  busy  start + quantising + max(work, traffic) + 0.3 min(work, traffic) + sum\n"
         "  work  of all tiles; of one: the longest of math, L2 and steps, then its ends\n"
         "  sum   adding up the parts of k\n"
         "\neach tile with its best split");
    print_best_splits(list, n);
    print_splits(list, n, cost);
    return 0;
}

static cJSON *candidate_json(const struct gemm_candidate *c)
{
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
    return row;
}

int predict_add_tiles(cJSON *doc, const struct gpu_profile *gpu, const struct gemm_shape *shape,
                      struct err *e)
{
    struct gemm_candidate list[GEMM_CANDIDATES_MAX];
    cJSON *array = cJSON_AddArrayToObject(doc, "candidates");
    int n = model_gemm_candidates(gpu, shape, list, e);
    for (int i = 0; i < n; i++)
        cJSON_AddItemToArray(array, candidate_json(&list[i]));
    return n < 0 ? -1 : 0;
}
