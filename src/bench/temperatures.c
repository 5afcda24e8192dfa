/* SPDX-License-Identifier: MIT */
#include "bench/temperatures.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/stream.h"
#include "calib/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 30)

enum column { AT, ELAPSED, GPU, CELSIUS, WATTS, SM_MHZ, GRAPHICS_MHZ, BUSY, REASONS, LOG_COLUMNS };

static const char *const column_names[LOG_COLUMNS] = {
    "timestamp_abs", "elapsed_s",      "gpu_id",      "temperature",      "power",
    "clock_sm",      "clock_graphics", "utilization", "throttle_reasons",
};

static void find_columns(const struct csv *c, int at[LOG_COLUMNS])
{
    for (int k = 0; k < LOG_COLUMNS; k++) {
        at[k] = -1;
        for (size_t i = 0; i < c->count; i++) {
            if (strcmp(c->fields[i], column_names[k]) == 0)
                at[k] = (int)i;
        }
    }
}

static double number(const struct csv *c, int at)
{
    char *end;
    double value;
    if (at < 0 || (size_t)at >= c->count)
        return NAN;
    value = strtod(c->fields[at], &end);
    return end == c->fields[at] || *end != '\0' || !isfinite(value) ? NAN : value;
}

static void take(struct bench_temperatures *t, const struct csv *c, const int at[LOG_COLUMNS])
{
    const double gpu = number(c, at[GPU]), sm = number(c, at[SM_MHZ]);
    struct bench_sample s = {.at_s = number(c, at[AT]),
                             .elapsed_s = number(c, at[ELAPSED]),
                             .gpu_id = gpu >= 0 && gpu < 1024 ? (int)gpu : -1,
                             .celsius = number(c, at[CELSIUS]),
                             .watts = number(c, at[WATTS]),
                             .MHz = isfinite(sm) ? sm : number(c, at[GRAPHICS_MHZ]),
                             .busy = number(c, at[BUSY]),
                             .reasons = at[REASONS] >= 0 && (size_t)at[REASONS] < c->count
                                            ? bench_reasons_parse(c->fields[at[REASONS]])
                                            : -1};
    if (s.gpu_id < 0 || !isfinite(s.elapsed_s)) {
        t->bad++;
        return;
    }
    ARRAY_GROW(t->list, t->cap, t->n + 1);
    t->list[t->n++] = s;
}

int bench_temperatures_read(struct bench_temperatures *t, const char *path, struct err *e)
{
    struct buf text = BUF_INIT;
    struct csv c;
    int at[LOG_COLUMNS], status = stream_read_file(path, FILE_MAX, &text, e);
    *t = (struct bench_temperatures){0};
    csv_init(&c, text.data, text.len);
    if (status == 0 && csv_next(&c) && c.problem == NULL) {
        find_columns(&c, at);
        if (at[ELAPSED] < 0 || at[GPU] < 0 || at[CELSIUS] < 0)
            status =
                err_set(e, ERR_INPUT, "%s:1: no columns elapsed_s, gpu_id and temperature", path);
        while (status == 0 && csv_next(&c)) {
            if (c.problem != NULL)
                t->bad++;
            else
                take(t, &c, at);
        }
    } else if (status == 0) {
        status = err_set(e, ERR_INPUT, "%s: it is empty", path);
    }
    csv_release(&c);
    buf_release(&text);
    return status;
}

int bench_temperatures_sum_up(const struct bench_temperatures *t, int node,
                              struct bench_gpu_summary *out)
{
    struct bench_sample *own = malloc((t->n + 1) * sizeof *own);
    int gpus = 0;
    if (own == NULL)
        die("out of memory");
    for (size_t i = 0; i < t->n && gpus < BENCH_WATCH_GPUS; i++) {
        size_t n = 0;
        bool seen = false;
        for (int k = 0; k < gpus; k++)
            seen |= out[k].gpu_id == t->list[i].gpu_id;
        for (size_t k = i; k < t->n && !seen; k++) {
            if (t->list[k].gpu_id == t->list[i].gpu_id)
                own[n++] = t->list[k];
        }
        if (seen)
            continue;
        out[gpus] = (struct bench_gpu_summary){.node = node};
        bench_samples_sum_up(own, n, &out[gpus++]);
    }
    free(own);
    return gpus;
}

void bench_temperatures_release(struct bench_temperatures *t)
{
    free(t->list);
    *t = (struct bench_temperatures){0};
}
