/* SPDX-License-Identifier: MIT
 *
 * What a replay's scales come to, in tables of at most 80 columns: a number of GPUs has 10 digits
 * at most (GROW_GPUS_MAX), a time 7 characters or, from a million seconds on, 9.
 */
#include "report/replay_internal.h"

#include "report/table.h"

#include <math.h>
#include <string.h>

#define AXES_SHOWN 4  /* of the communication; all are in the JSON */
#define SHOWN 0.00005 /* smaller shares round to 0.0 % everywhere: no column */

static void cell_gpus(struct table *t, const struct replay_scale *s)
{
    table_cell(t, "%lld", (long long)s->gpus);
}

/* "0.4 %", "6.2 %", "38 %", "> 999 %". */
char *replay_percent(char *buf, size_t size, double share)
{
    double percent = 100 * share;
    if (!isfinite(percent))
        snprintf(buf, size, "-");
    else if (percent > 999)
        snprintf(buf, size, "> 999 %%");
    else
        snprintf(buf, size, percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
    return buf;
}

/* "+2.1 %"; what rounds to nothing has no minus. */
char *replay_change(char *buf, size_t size, double share)
{
    snprintf(buf, size, "%+.1f %%", fabs(share) < 0.0005 ? 0.0 : 100 * share);
    return buf;
}

char *replay_rate(char *buf, size_t size, double per_s)
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};
    size_t unit = 0;
    if (isnan(per_s)) {
        snprintf(buf, size, "-");
        return buf;
    }
    while (per_s >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        per_s /= 1000;
        unit++;
    }
    snprintf(buf, size, "%.3g%s", per_s, units[unit]);
    return buf;
}

bool replay_unmeasured(const struct replay_scale *s)
{
    return s->error.unmeasured > SHOWN;
}

static void cell_iteration(struct table *t, const struct replay_scale *s)
{
    char time[32], bar[32];
    text_ns(time, sizeof time, s->time.span_ns);
    if (isfinite(s->error.share))
        table_cell(t, "%s +- %s%s", time, replay_percent(bar, sizeof bar, s->error.share),
                   replay_unmeasured(s) ? " ?" : "  ");
    else
        table_cell(t, "%s +- ?", time);
}

static void cell_speedup(struct table *t, const struct replay_scale *s)
{
    if (!isfinite(s->speedup)) {
        table_cell(t, "-");
        table_cell(t, "-");
        return;
    }
    table_cell(t, s->speedup < 1e6 ? "%.2f" : "%.3g", s->speedup);
    table_cell(t, "%.1f %%", 100 * s->efficiency);
}

static void print_scaling(const struct replay *rep, FILE *out)
{
    const struct workload *w = &rep->workload;
    struct table t;
    char rate[32];
    table_init(&t);
    table_column(&t, "GPUs", TABLE_RIGHT);
    table_column(&t, "iteration", TABLE_RIGHT);
    table_column(&t, "speed-up", TABLE_RIGHT);
    table_column(&t, "efficiency", TABLE_RIGHT);
    if (w->tokens > 0)
        table_column(&t, "tokens/s", TABLE_RIGHT);
    if (w->missing == NULL)
        table_column(&t, w->given ? "MFU" : "HFU", TABLE_RIGHT);
    for (size_t i = 0; i < rep->nscales; i++) {
        const struct replay_scale *s = &rep->scales[i];
        cell_gpus(&t, s);
        cell_iteration(&t, s);
        cell_speedup(&t, s);
        if (w->tokens > 0)
            table_cell(&t, "%s", replay_rate(rate, sizeof rate, s->rate.tokens_per_s));
        if (w->missing == NULL && isnan(s->rate.utilisation))
            table_cell(&t, "-");
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

/* Single iterations under variation, below those that were recorded. */
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

const struct replay_share replay_shares[REPLAY_SHARES] = {
    {"compute", "compute", offsetof(struct iteration_time, compute_ns)},
    {"untimed", "untimed", offsetof(struct iteration_time, untraced_ns)},
    {"exposed comm", "comm", offsetof(struct iteration_time, exposed_comm_ns)},
    {"copies", "copies", offsetof(struct iteration_time, exposed_memory_ns)},
    {"pipeline bubble", "bubble", offsetof(struct iteration_time, bubble_ns)},
    {"host-bound", "host", offsetof(struct iteration_time, host_bound_ns)},
    {"waits for other streams", "streams", offsetof(struct iteration_time, stream_wait_ns)},
    {"idle", "idle", offsetof(struct iteration_time, other_idle_ns)},
    {"waits for ranks not recorded", "absent", offsetof(struct iteration_time, absent_wait_ns)},
};

double replay_share_ns(const struct iteration_time *time, int share)
{
    return *(const double *)((const char *)time + replay_shares[share].offset);
}

double replay_share_of(const struct iteration_time *time, int share)
{
    return time->span_ns > 0 ? replay_share_ns(time, share) / time->span_ns : 0;
}

bool replay_share_seen(const struct replay *rep, int share)
{
    for (size_t i = 0; i < rep->nscales; i++) {
        if (replay_share_of(&rep->scales[i].time, share) >= SHOWN)
            return true;
    }
    return share == 0;
}

static void print_shares(const struct replay *rep, FILE *out)
{
    struct table t;
    fputs("\nwhere the step goes, in % of it\n", out);
    table_init(&t);
    table_column(&t, "GPUs", TABLE_RIGHT);
    for (int k = 0; k < REPLAY_SHARES; k++) {
        if (replay_share_seen(rep, k))
            table_column(&t, replay_shares[k].brief, TABLE_RIGHT);
    }
    for (size_t i = 0; i < rep->nscales; i++) {
        cell_gpus(&t, &rep->scales[i]);
        for (int k = 0; k < REPLAY_SHARES; k++) {
            if (replay_share_seen(rep, k))
                table_cell(&t, "%.1f", 100 * replay_share_of(&rep->scales[i].time, k));
        }
    }
    table_print(&t, out);
    table_release(&t);
}

/* ---- communication ---- */

/* Axes in the order of the first scale; n of them. */
static int shown_axes(const struct replay *rep, const char *names[AXES_SHOWN])
{
    const struct axis_times *axes = &rep->scales[0].axes;
    int n = 0;
    for (; n < axes->count && n < AXES_SHOWN; n++)
        names[n] = axes->list[n].name;
    return n;
}

const struct axis_time *replay_axis(const struct replay_scale *s, const char *name)
{
    for (int i = 0; i < s->axes.count; i++) {
        if (strcmp(s->axes.list[i].name, name) == 0)
            return &s->axes.list[i];
    }
    return NULL;
}

double replay_exposed_percent(const struct replay_scale *s, const struct axis_time *axis)
{
    return s->time.span_ns > 0 ? 100 * axis->exposed_ns / s->time.span_ns : 0;
}

static void cell_axis(struct table *t, const struct replay_scale *s, const char *name)
{
    const struct axis_time *axis = replay_axis(s, name);
    char time[32];
    if (axis == NULL)
        table_cell(t, "-");
    else
        table_cell(t, "%s %5.1f", text_ns(time, sizeof time, axis->total_ns),
                   replay_exposed_percent(s, axis));
}

static void print_axes(const struct replay *rep, FILE *out)
{
    const char *names[AXES_SHOWN];
    int n = shown_axes(rep, names);
    struct table t;
    if (n == 0)
        return;
    fprintf(out, "\ncommunication by group: in a step, and exposed in %% of it%s\n",
            rep->scales[0].axes.count > n ? " (others: --json)" : "");
    table_init(&t);
    table_column(&t, "GPUs", TABLE_RIGHT);
    for (int i = 0; i < n; i++)
        table_column(&t, names[i], TABLE_RIGHT);
    for (size_t i = 0; i < rep->nscales; i++) {
        cell_gpus(&t, &rep->scales[i]);
        for (int k = 0; k < n; k++)
            cell_axis(&t, &rep->scales[i], names[k]);
    }
    table_print(&t, out);
    table_release(&t);
}

void replay_tables(const struct replay *rep, FILE *out)
{
    print_scaling(rep, out);
    print_variation(rep, out);
    print_shares(rep, out);
    print_axes(rep, out);
}
