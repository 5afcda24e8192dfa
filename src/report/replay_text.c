/* SPDX-License-Identifier: MIT */
#include "report/replay_report.h"

#include "base/buf.h"
#include "base/opt.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

#define SOURCE_COLUMNS 46

static void cell_time(struct table *t, double ns)
{
    char text[32];
    table_cell(t, "%s", text_ns(text, sizeof text, ns));
}

static void print_table(const struct replay *rep, FILE *out)
{
    static const char *const titles[] = {"GPUs",    "iteration", "compute",  "comm",
                                         "exposed", "idle",      "speed-up", "efficiency"};
    struct table t;
    table_init(&t);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        table_column(&t, titles[i], TABLE_RIGHT);
    for (size_t i = 0; i < rep->nscales; i++) {
        const struct replay_scale *s = &rep->scales[i];
        table_cell(&t, "%lld", (long long)s->gpus);
        cell_time(&t, s->time.span_ns);
        cell_time(&t, s->time.compute_ns);
        cell_time(&t, s->time.comm_ns);
        cell_time(&t, s->time.exposed_comm_ns);
        cell_time(&t, s->time.idle_ns);
        table_cell(&t, "%.2f", s->speedup);
        table_cell(&t, "%.1f %%", 100 * s->efficiency);
    }
    table_print(&t, out);
    table_release(&t);
}

static void variation_row(struct table *t, const char *gpus, const char *from, double point_ns,
                          const struct vary_result *r)
{
    table_cell(t, "%s", gpus);
    table_cell(t, "%s", from);
    cell_time(t, r->p50_ns);
    cell_time(t, r->p95_ns);
    cell_time(t, r->mean_ns);
    table_cell(t, "%+.1f %%", point_ns > 0 ? 100 * (r->p50_ns / point_ns - 1) : 0);
    table_cell(t, "%llu", (unsigned long long)r->samples);
}

/* Single iterations under variation, below those that were recorded. */
static void print_variation(const struct replay *rep, FILE *out)
{
    static const char *const titles[] = {"GPUs",          "",          "P50", "P95", "mean",
                                         "P50 longer by", "iterations"};
    char gpus[32];
    struct table t;
    if (rep->nscales == 0 || rep->scales[0].vary.samples == 0)
        return;
    table_init(&t);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        table_column(&t, titles[i], i == 1 ? TABLE_LEFT : TABLE_RIGHT);
    snprintf(gpus, sizeof gpus, "%d", rep->world);
    if (rep->same_hardware)
        variation_row(&t, gpus, "recorded", rep->recorded.span_ns, &rep->recorded_spread);
    for (size_t i = 0; i < rep->nscales; i++) {
        const struct replay_scale *s = &rep->scales[i];
        snprintf(gpus, sizeof gpus, "%lld", (long long)s->gpus);
        variation_row(&t, gpus, "drawn", s->time.span_ns, &s->vary);
    }
    fputs("\niterations under variation\n", out);
    table_print(&t, out);
    table_release(&t);
}

static void print_lines(const char *title, const struct replay_lines *lines, FILE *out)
{
    if (lines->count > 0)
        fprintf(out, "\n%s\n", title);
    for (size_t i = 0; i < lines->count; i++) {
        fputs("  - ", out);
        opt_wrap(lines->list[i].text, 4, 4, out);
    }
}

static void print_own(const struct replay *rep, FILE *out)
{
    char recorded[32], own[32];
    double off = rep->own.span_ns / rep->recorded.span_ns - 1;
    fprintf(out, "iteration   %s recorded, %s replayed %s",
            text_ns(recorded, sizeof recorded, rep->recorded.span_ns),
            text_ns(own, sizeof own, rep->own.span_ns),
            rep->gpu_known ? "on the same hardware" : "with its own times");
    if (isfinite(off))
        fprintf(out, " (%+.1f %%)", fabs(off) < 0.0005 ? 0.0 : 100 * off);
    fputs("\n\n", out);
}

static void print_source(const struct replay *rep, FILE *out)
{
    fprintf(out, "source      %s",
            rep->gpu_known ? rep->from.gpu->name : "unknown (--from-gpu NAME says it)");
    if (rep->network_known)
        fprintf(out, ", %s", rep->from.network->name);
    else if (rep->gpu_known)
        fputs(", network unknown (--from-network NAME says it)", out);
    fputc('\n', out);
}

static void print_parallel(struct replay *rep, FILE *out)
{
    struct buf safe = BUF_INIT;
    const char *words = grid_sentence(&rep->grid, &rep->groups);
    buf_put_printable(&safe, words, strlen(words));
    fputs("parallelism ", out);
    opt_wrap(safe.data, 12, 12, out);
    buf_release(&safe);
}

void replay_text(struct replay *rep, const struct run *run, FILE *out)
{
    char source[SOURCE_COLUMNS * 4 + 1];
    fprintf(out, "recording   %s, %zu of %d rank%s\n",
            text_safe(source, sizeof source, run->source, SOURCE_COLUMNS), rep->nranks, rep->world,
            rep->world > 1 ? "s" : "");
    print_source(rep, out);
    fprintf(out, "target      %s, %s%s\n", rep->to.gpu->name, rep->to.network->name,
            rep->same_hardware ? " (the same)" : "");
    print_parallel(rep, out);
    print_own(rep, out);
    print_table(rep, out);
    print_variation(rep, out);
    print_lines("assumptions", &rep->assumptions, out);
    print_lines("notes", &rep->notes, out);
}
