/* SPDX-License-Identifier: MIT
 *
 * The report of `specter bench drift` (bench_report.h).
 */
#include "report/bench_report.h"

#include "base/arena.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#define ROWS 8 /* of a text that is not full */

/* The lines of a rank's two clocks; host: not a number on rank 0's node. */
struct rank_drift {
    int rank;
    struct bench_drift_line gpu, host;
};

static struct bench_drift_line fit(const struct bench_drift_report *r,
                                   const struct bench_drift_point *list, int rank, bool other)
{
    struct bench_drift_point *points = bench_drift_of(r->log, list, rank);
    struct bench_drift_line line = bench_drift_fit(points, other ? r->log->n : 0, r->windows);
    free(points);
    return line;
}

static struct rank_drift *fit_all(const struct bench_drift_report *r)
{
    struct rank_drift *list = array_new((size_t)r->log->ranks, sizeof *list);
    for (int i = 0; i < r->log->ranks; i++)
        list[i] = (struct rank_drift){i, fit(r, r->log->gpu, i, true),
                                      fit(r, r->log->host, i, r->node_of[i] != r->node_of[0])};
    return list;
}

/* The clock that is off: a host whose drift explains its GPU's, else the GPU. */
static const struct bench_drift_line *wrong_clock(const struct rank_drift *d)
{
    bool host = isfinite(d->host.ppm) && fabs(d->gpu.ppm + d->host.ppm) < fabs(d->gpu.ppm);
    return host ? &d->host : &d->gpu;
}

/* A NAN counts as 0. */
static double size_of_drift(const struct rank_drift *d)
{
    double ppm = wrong_clock(d)->ppm;
    return isfinite(ppm) ? fabs(ppm) : 0;
}

static int by_drift(const void *a, const void *b)
{
    const struct rank_drift *x = a, *y = b;
    double dx = size_of_drift(x), dy = size_of_drift(y);
    return dx < dy ? 1 : dx > dy ? -1 : x->rank - y->rank;
}

static int by_rank(const void *a, const void *b)
{
    const struct rank_drift *x = a, *y = b;
    return x->rank - y->rank;
}

/* ---- text ---- */

static const char *const clock_names[] = {"its GPU against its host", "its host against rank 0's"};

/* A value that two digits show as 0 has no sign. */
static char *text_ppm(char *buf, size_t size, double ppm)
{
    snprintf(buf, size, fabs(ppm) < 0.005 ? "0.00" : "%+.2f", ppm);
    return buf;
}

static double duration_s(const struct bench_drift_report *r)
{
    return r->log->n > 0 ? r->log->gpu[(r->log->n - 1) * (size_t)r->log->ranks].s : 0;
}

/* `worst` has the largest drift of all. */
static void print_answer(const struct bench_drift_report *r, const struct rank_drift *worst,
                         FILE *out)
{
    const struct bench_drift_line *l = wrong_clock(worst);
    char ppm[32], low[32], high[32];
    if (!isfinite(l->ppm)) {
        fprintf(out, "Clocks: not known, only %zu moments were taken\n", r->log->n);
        return;
    }
    fprintf(out, "Clocks over %.0f s%s: %s\n", duration_s(r), r->complete ? "" : " (ended early)",
            bench_drift_verdict(l->ppm));
    fprintf(out, "Largest: rank %d, %s, %s ppm (90 %%: %s to %s):\n", worst->rank,
            clock_names[l == &worst->host], text_ppm(ppm, sizeof ppm, l->ppm),
            text_ppm(low, sizeof low, l->low), text_ppm(high, sizeof high, l->high));
    fprintf(out, "  after a minute its times are off by %.1f us.\n", fabs(l->ppm) * 60);
}

static void add_cells(struct table *t, const struct bench_drift_line *l)
{
    char ppm[32];
    if (!isfinite(l->ppm)) {
        table_cell(t, "-");
        table_cell(t, "-");
        return;
    }
    table_cell(t, "%s", text_ppm(ppm, sizeof ppm, l->ppm));
    table_cell(t, "%.2f", (l->high - l->low) / 2);
}

void bench_drift_text(const struct bench_drift_report *r, bool full, FILE *out)
{
    struct rank_drift *list = fit_all(r);
    int all = r->log->ranks, n = full || all < ROWS ? all : ROWS;
    struct table t;
    qsort(list, (size_t)all, sizeof *list, by_drift);
    print_answer(r, &list[0], out);
    for (int i = 0; i < n; i++) {
        const struct rank_drift *d = &list[i];
        const struct bench_drift_line *const lines[] = {&d->gpu, &d->host};
        static const char *const names[] = {"its GPU", "its host"};
        for (int k = 0; k < 2; k++) {
            if (lines[k]->changes)
                fprintf(
                    out,
                    "Warning: rank %d, %s: the drift changes by %+.2f ppm from second %.0f on.\n",
                    d->rank, names[k], lines[k]->change_ppm, lines[k]->change_s);
        }
    }
    qsort(list, (size_t)n, sizeof *list, by_rank);
    table_init(&t);
    table_column(&t, "rank", TABLE_RIGHT);
    table_column(&t, "node", TABLE_RIGHT);
    table_column(&t, "GPU - host ppm", TABLE_RIGHT);
    table_column(&t, "+-90%", TABLE_RIGHT);
    table_column(&t, "host - rank 0's ppm", TABLE_RIGHT);
    table_column(&t, "+-90%", TABLE_RIGHT);
    table_column(&t, "verdict", TABLE_LEFT);
    for (int i = 0; i < n; i++) {
        table_cell(&t, "%d", list[i].rank);
        table_cell(&t, "%d", r->node_of[list[i].rank]);
        add_cells(&t, &list[i].gpu);
        add_cells(&t, &list[i].host);
        table_cell(&t, "%s", bench_drift_verdict(wrong_clock(&list[i])->ppm));
    }
    table_print(&t, out);
    table_release(&t);
    if (n < all)
        fprintf(out, "The %d of %d ranks with the largest drifts; all: --full\n", n, all);
    bench_state_text(r->gpus, r->ngpus, out);
    free(list);
}

/* ---- beside another benchmark ---- */

static double change_of(const struct bench_drift_line *a, const struct bench_drift_line *b)
{
    double change = fabs(b->ppm - a->ppm);
    bool sure = change > BENCH_DRIFT_CHANGE &&
                change > hypot((a->high - a->low) / 2, (b->high - b->low) / 2);
    return sure ? change : 0;
}

void bench_drift_change_text(const struct bench_drift_report *before,
                             const struct bench_drift_report *after, FILE *out)
{
    struct rank_drift *a, *b;
    const struct bench_drift_line *from = NULL, *to = NULL;
    double most = 0;
    int rank = 0, host = 0;
    if (before->log->n == 0 || after->log->n == 0)
        return;
    a = fit_all(before);
    b = fit_all(after);
    for (int i = 0; i < 2 * before->log->ranks; i++) {
        const struct bench_drift_line *x = i % 2 > 0 ? &a[i / 2].host : &a[i / 2].gpu;
        const struct bench_drift_line *y = i % 2 > 0 ? &b[i / 2].host : &b[i / 2].gpu;
        if (!(change_of(x, y) > most))
            continue;
        most = change_of(x, y);
        from = x;
        to = y;
        rank = i / 2;
        host = i % 2;
    }
    if (from != NULL)
        fprintf(out, "Clocks: rank %d, %s: from %+.1f to %+.1f ppm meanwhile.\n", rank,
                clock_names[host], from->ppm, to->ppm);
    free(b);
    free(a);
}

/* ---- files ---- */

void bench_drift_csv(const struct bench_drift_report *r, FILE *out)
{
    const struct bench_drift_log *log = r->log;
    fputs("rank,elapsed_s,gpu_ahead_us,host_ahead_us\n", out);
    for (size_t i = 0; i < log->n * (size_t)log->ranks; i++)
        fprintf(out, "%zu,%.6f,%.3f,%.3f\n", i % (size_t)log->ranks, log->gpu[i].s, log->gpu[i].us,
                log->host[i].us);
}

static cJSON *line_json(const struct bench_drift_line *l)
{
    cJSON *o = cJSON_CreateObject();
    json_add_number(o, "ppm", l->ppm);
    json_add_number(o, "low_ppm", l->low);
    json_add_number(o, "high_ppm", l->high);
    json_add_number(o, "noise_us", l->noise_us);
    json_add_number(o, "change_ppm", l->change_ppm);
    json_add_number(o, "change_s", l->change_s);
    cJSON_AddBoolToObject(o, "changes", l->changes);
    cJSON_AddStringToObject(o, "verdict", bench_drift_verdict(l->ppm));
    return o;
}

static cJSON *ranks_json(const struct bench_drift_report *r, const struct rank_drift *list)
{
    cJSON *ranks = cJSON_CreateArray();
    for (int i = 0; i < r->log->ranks; i++) {
        const struct rank_drift *d = &list[i];
        cJSON *o = cJSON_CreateObject(), *host;
        cJSON_AddNumberToObject(o, "rank", d->rank);
        cJSON_AddNumberToObject(o, "node", r->node_of[d->rank]);
        cJSON_AddItemToObject(o, "gpu", line_json(&d->gpu));
        host = isfinite(d->host.ppm) ? line_json(&d->host) : cJSON_CreateNull();
        if (isfinite(d->host.ppm))
            json_add_number(host, "offset_us", d->host.offset_us);
        cJSON_AddItemToObject(o, "host", host);
        cJSON_AddItemToArray(ranks, o);
    }
    return ranks;
}

cJSON *bench_drift_part_json(const struct bench_drift_report *r)
{
    struct rank_drift *list;
    cJSON *o;
    if (r->log->n == 0)
        return cJSON_CreateNull();
    o = cJSON_CreateObject();
    list = fit_all(r);
    json_add_number(o, "seconds", duration_s(r));
    cJSON_AddNumberToObject(o, "moments", (double)r->log->n);
    cJSON_AddItemToObject(o, "ranks", ranks_json(r, list));
    free(list);
    return o;
}

cJSON *bench_drift_json(const struct bench_drift_report *r)
{
    cJSON *doc = cJSON_CreateObject();
    struct rank_drift *list = fit_all(r);
    double largest = NAN;
    for (int i = 0; i < r->log->ranks; i++)
        largest = isfinite(list[i].gpu.ppm) ? fmax(largest, size_of_drift(&list[i])) : largest;
    cJSON_AddStringToObject(doc, "schema", "specter.bench/1");
    cJSON_AddStringToObject(doc, "kind", "drift");
    cJSON_AddBoolToObject(doc, "complete", r->complete);
    cJSON_AddStringToObject(doc, "backend", r->run->backend);
    cJSON_AddStringToObject(doc, "library", r->run->library);
    cJSON_AddStringToObject(doc, "gpu", r->run->gpu);
    json_add_number(doc, "seconds", duration_s(r));
    cJSON_AddNumberToObject(doc, "moments", (double)r->log->n);
    cJSON_AddNumberToObject(doc, "windows", r->windows);
    json_add_number(doc, "largest_ppm", largest);
    cJSON_AddStringToObject(doc, "verdict", bench_drift_verdict(largest));
    cJSON_AddItemToObject(doc, "ranks", ranks_json(r, list));
    cJSON_AddItemToObject(doc, "state", bench_state_json(r->gpus, r->ngpus));
    bench_notes_json(doc, r->result);
    free(list);
    return doc;
}
