/* SPDX-License-Identifier: MIT
 *
 * `specter replay --full`: all of the report as text (replay_report.h).
 */
#include "report/replay_report.h"

#include "base/buf.h"
#include "base/opt.h"
#include "report/replay_internal.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_COLUMNS 46

/* ---- tables ----
 *
 * They are at most 80 characters wide: a number of GPUs has 10 digits at most (GROW_GPUS_MAX), a
 * time 7 characters or, from a million seconds on, 9. */

#define AXES_SHOWN 4 /* of the communication; all are in the JSON */

static void cell_gpus(struct table *t, const struct replay_scale *s)
{
    table_cell(t, "%lld", (long long)s->gpus);
}

static void print_scaling(const struct replay *rep, FILE *out)
{
    const struct workload *w = &rep->workload;
    struct table t;
    const char *measured = ""; /* stands where others have a mark */
    char rate[32];
    for (size_t i = 0; i < rep->nscales; i++)
        measured = replay_unmeasured(&rep->scales[i]) ? "  " : measured;
    table_init(&t);
    table_column(&t, "GPUs", TABLE_RIGHT);
    table_column(&t, "iteration", TABLE_RIGHT);
    table_column(&t, "80 % interval", TABLE_RIGHT);
    table_column(&t, "speed-up", TABLE_RIGHT);
    table_column(&t, "efficiency", TABLE_RIGHT);
    if (w->tokens > 0)
        table_column(&t, "tokens/s", TABLE_RIGHT);
    if (w->missing == NULL)
        table_column(&t, w->given ? "MFU" : "HFU", TABLE_RIGHT);
    for (size_t i = 0; i < rep->nscales; i++) {
        const struct replay_scale *s = &rep->scales[i];
        cell_gpus(&t, s);
        char text[80];
        table_cell(&t, "%s", text_ns(text, sizeof text, s->time.span_ns));
        table_cell(&t, "%s%s", replay_interval(text, sizeof text, s->error.interval80),
                   replay_unmeasured(s) ? " ?" : measured);
        if (isfinite(s->speedup)) {
            table_cell(&t, s->speedup < 1e6 ? "%.2f" : "%.3g", s->speedup);
            table_cell(&t, "%.1f %%", 100 * s->efficiency);
        } else {
            table_cell(&t, "-");
            table_cell(&t, "-");
        }
        if (w->tokens > 0)
            table_cell(&t, "%s", replay_rate(rate, sizeof rate, s->rate.tokens_per_s));
        if (w->missing == NULL && isnan(s->rate.utilisation))
            table_cell(&t, "-");
        else if (w->missing == NULL && s->rate.utilisation > 9.99)
            table_cell(&t, "> 999 %% !");
        else if (w->missing == NULL)
            table_cell(&t, "%.1f %%%s", 100 * s->rate.utilisation,
                       s->rate.utilisation > 1 ? " !" : "");
    }
    table_print(&t, out);
    table_release(&t);
}

/* ---- variation ---- */

static void cell_time(struct table *t, double ns)
{
    char text[32];
    table_cell(t, "%s", text_ns(text, sizeof text, ns));
}

static void variation_row(struct table *t, const char *gpus, const char *from, double point_ns,
                          const struct jitter_result *r)
{
    char longer[32];
    table_cell(t, "%s", gpus);
    table_cell(t, "%s", from);
    cell_time(t, r->p50_ns);
    cell_time(t, r->p95_ns);
    cell_time(t, r->mean_ns);
    table_cell(t, "%s",
               replay_change(longer, sizeof longer, point_ns > 0 ? r->p50_ns / point_ns - 1 : 0));
    table_cell(t, "%llu", (unsigned long long)r->samples);
}

/* Prints the spread of single iterations: first the recorded ones, then those drawn for each scale.
 */
static void print_variation(const struct replay *rep, FILE *out)
{
    static const char *const titles[] = {"GPUs",          "",          "P50", "P95", "mean",
                                         "P50 longer by", "iterations"};
    char gpus[32];
    struct table t;
    if (rep->nscales == 0 || rep->scales[0].jitter.samples == 0)
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
        variation_row(&t, gpus, "drawn", s->time.span_ns, &s->jitter);
    }
    fputs("\niterations under variation\n", out);
    table_print(&t, out);
    table_release(&t);
}

/* ---- where the step goes ---- */

static void print_shares(const struct replay *rep, FILE *out)
{
    struct table t;
    fputs("\nwhere the step goes, in % of it\n", out);
    table_init(&t);
    table_column(&t, "GPUs", TABLE_RIGHT);
    for (int k = 0; k < REPLAY_PARTS; k++) {
        if (replay_part_seen(rep, k))
            table_column(&t, replay_parts[k].brief, TABLE_RIGHT);
    }
    for (size_t i = 0; i < rep->nscales; i++) {
        cell_gpus(&t, &rep->scales[i]);
        for (int k = 0; k < REPLAY_PARTS; k++) {
            if (replay_part_seen(rep, k))
                table_cell(&t, "%.1f", 100 * replay_part_share(&rep->scales[i].time, k));
        }
    }
    table_print(&t, out);
    table_release(&t);
}

/* ---- communication ---- */

static void print_axes(const struct replay *rep, FILE *out)
{
    /* the first n axes, in the order of the first scale */
    const struct axis_times *axes = &rep->scales[0].axes;
    const char *names[AXES_SHOWN];
    int n = 0;
    for (; n < axes->count && n < AXES_SHOWN; n++)
        names[n] = axes->list[n].name;
    struct table t;
    if (n == 0)
        return;
    fprintf(out, "\ncommunication by group: in a step, and exposed in %% of it%s\n",
            axes->count > n ? " (others: --json)" : "");
    table_init(&t);
    table_column(&t, "GPUs", TABLE_RIGHT);
    for (int i = 0; i < n; i++)
        table_column(&t, names[i], TABLE_RIGHT);
    for (size_t i = 0; i < rep->nscales; i++) {
        cell_gpus(&t, &rep->scales[i]);
        for (int k = 0; k < n; k++) {
            const struct axis_time *axis = replay_axis(&rep->scales[i], names[k]);
            char time[32];
            if (axis == NULL)
                table_cell(&t, "-");
            else
                table_cell(&t, "%s %5.1f", text_ns(time, sizeof time, axis->total_ns),
                           replay_exposed_percent(&rep->scales[i], axis));
        }
    }
    table_print(&t, out);
    table_release(&t);
}

/* ---- the text ---- */

static void print_paths(struct replay *rep, FILE *out)
{
    const char *words;
    char gpus[64];
    fputs("\ncritical path\n", out);
    for (size_t at = 0; replay_next_path(rep, &at, gpus, &words);) {
        struct buf line = BUF_INIT;
        buf_printf(&line, "%s: ", gpus);
        buf_put_printable(&line, words, strlen(words));
        fputs("  - ", out);
        opt_wrap(line.data, 4, 4, out);
        buf_release(&line);
    }
}

static void print_lines(const char *title, const char *const *lines, FILE *out)
{
    if (*lines != NULL)
        fprintf(out, "\n%s\n", title);
    for (; *lines != NULL; lines++) {
        fputs("  - ", out);
        opt_wrap(*lines, 4, 4, out);
    }
}

/* Prints a text of any length behind a head; nothing where there is no text. */
static void print_headed(const char *head, const char *text, FILE *out)
{
    if (text == NULL)
        return;
    fprintf(out, "%-12s", head);
    opt_wrap(text, 12, 12, out);
}

void replay_text(struct replay *rep, const struct run *run, FILE *out)
{
    char source[SOURCE_COLUMNS * 4 + 1];
    const char *list[REPLAY_BARS_MAX + 1];
    fprintf(out, "recording   %s, %zu of %d rank%s\n",
            text_safe(source, sizeof source, run->source, SOURCE_COLUMNS),
            replay_recorded_ranks(rep), rep->world, rep->world > 1 ? "s" : "");
    fprintf(out, "source      %s",
            rep->gpu_known ? rep->from.gpu->name : "unknown (--from-gpu NAME says it)");
    if (rep->network_known)
        fprintf(out, ", %s", rep->from.network->name);
    else if (rep->gpu_known)
        fputs(", network unknown (--from-network NAME says it)", out);
    fputc('\n', out);
    fprintf(out, "target      %s, %s%s\n", rep->to.gpu->name, rep->to.network->name,
            rep->same_hardware ? " (the same)" : "");
    struct buf safe = BUF_INIT;
    const char *words = grid_sentence(&rep->grid, &rep->groups);
    buf_put_printable(&safe, words, strlen(words));
    fputs("parallelism ", out);
    opt_wrap(safe.data, 12, 12, out);
    buf_release(&safe);
    print_headed("iteration", replay_own_text(rep), out);
    print_headed("iterations", replay_spread_text(rep), out);
    print_headed("work", replay_work_text(rep), out);
    fputc('\n', out);
    print_scaling(rep, out);
    print_variation(rep, out);
    print_shares(rep, out);
    print_axes(rep, out);
    print_paths(rep, out);
    struct buf basis = BUF_INIT; /* of the intervals */
    buf_printf(&basis, "the interval: %s", replay_error_text(rep, list));
    fputc('\n', out);
    opt_wrap(basis.data, 0, 0, out);
    buf_release(&basis);
    for (int i = 0; list[i] != NULL; i++) {
        fputs("  - ", out);
        opt_wrap(list[i], 4, 4, out);
    }
    print_lines("assumptions", replay_assumptions(rep), out);
    print_lines("notes", replay_notes(rep), out);
}
