/* SPDX-License-Identifier: MIT */
#include "bench/state.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/stream.h"
#include "bench/samples.h"
#include "calib/csv.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OTHERS_MAX 64

struct watched {
    void *device;
    int gpu_id;
    char bus_id[BENCH_BUS_ID];
    struct bench_sample *samples; /* owned */
    size_t count, cap;
    char others[128];
};

struct bench_watch {
    struct watched gpus[BENCH_WATCH_GPUS];
    int count;
    double period_s, began_s;
    FILE *table;
    int *pids; /* owned */
    int npids;
    pthread_t thread;
    pthread_mutex_t mutex; /* over `ending` */
    pthread_cond_t wake;
    bool ending;
};

/* ---- processes of others ---- */

static bool is_ours(const struct bench_watch *w, int pid)
{
    for (int i = 0; i < w->npids; i++) {
        if (w->pids[i] == pid)
            return true;
    }
    return false;
}

static void process_name(int pid, char *name, size_t size)
{
    char path[64];
    FILE *file;
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    name[0] = '\0';
    file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fgets(name, (int)size, file) == NULL)
        name[0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    fclose(file);
}

/* Where NVML names processes by the numbers of another namespace (a container), ours are not among
 * them, and nothing can be said. */
static void find_others(const struct bench_watch *w, struct watched *g)
{
    int pids[OTHERS_MAX], count = bench_nvml_processes(g->device, pids, OTHERS_MAX);
    bool see_ours = w->npids == 0;
    size_t len = 0;
    if (g->others[0] != '\0')
        return;
    count = count < OTHERS_MAX ? count : OTHERS_MAX;
    for (int i = 0; i < count; i++)
        see_ours |= is_ours(w, pids[i]);
    for (int i = 0; i < count && see_ours && len < sizeof g->others; i++) {
        char name[32];
        if (is_ours(w, pids[i]))
            continue;
        process_name(pids[i], name, sizeof name);
        len += (size_t)snprintf(g->others + len, sizeof g->others - len, "%s%d",
                                len > 0 ? ", " : "", pids[i]);
        if (name[0] != '\0' && len < sizeof g->others)
            len += (size_t)snprintf(g->others + len, sizeof g->others - len, " (%s)", name);
    }
}

/* ---- samples ---- */

static double clock_s(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void bench_watch_head(FILE *table)
{
    fputs("timestamp_abs,elapsed_s,gpu_id,temperature,power,clock_graphics,clock_sm,clock_memory,"
          "utilization,memory_used,throttle_reasons,clock_sm_max,clock_memory_max,power_limit\n",
          table);
}

static void put(FILE *table, double value, int digits)
{
    if (value >= 0)
        fprintf(table, "%.*f", digits, value);
    fputc(',', table);
}

static void write_row(FILE *t, const struct bench_sample *at, const struct bench_gpu_state *s)
{
    char reasons[BENCH_REASONS_MAX];
    fprintf(t, "%.3f,%.3f,%d,", at->at_s, at->elapsed_s, at->gpu_id);
    put(t, s->celsius, 0);
    put(t, s->power_W, 1);
    put(t, s->graphics_MHz, 0);
    put(t, s->sm_MHz, 0);
    put(t, s->mem_MHz, 0);
    put(t, s->busy, 0);
    put(t, s->memory_MiB, 0);
    fprintf(t, "%s,", s->reasons < 0 ? "" : bench_reasons_text(s->reasons, reasons));
    put(t, s->sm_max_MHz, 0);
    put(t, s->mem_max_MHz, 0);
    if (s->limit_W >= 0)
        fprintf(t, "%.1f", s->limit_W);
    fputc('\n', t);
}

static double known(double value)
{
    return value >= 0 ? value : NAN;
}

/* Rounds to a decimal place as the table does, so that who reads it back has the same number. */
static double rounded(double value, double per_unit)
{
    return rint(value * per_unit) / per_unit;
}

static void take_samples(struct bench_watch *w)
{
    for (int i = 0; i < w->count; i++) {
        struct watched *g = &w->gpus[i];
        struct bench_gpu_state s;
        struct bench_sample *sample;
        bench_nvml_read(g->device, &s);
        s.power_W = rounded(s.power_W, 10);
        ARRAY_GROW(g->samples, g->cap, g->count + 1);
        sample = &g->samples[g->count++];
        *sample = (struct bench_sample){
            .at_s = rounded(clock_s(CLOCK_REALTIME), 1000),
            .elapsed_s = rounded(clock_s(CLOCK_MONOTONIC) - w->began_s, 1000),
            .gpu_id = g->gpu_id,
            .celsius = known(s.celsius),
            .watts = known(s.power_W),
            .MHz = known(s.sm_MHz),
            .busy = known(s.busy),
            .reasons = s.reasons,
        };
        if (w->table != NULL)
            write_row(w->table, sample, &s);
    }
    if (w->table != NULL)
        fflush(w->table); /* what is ended from outside leaves what it has */
}

/* Waits until it is time for sample number `i`, or for the end. Returns whether it is the end. */
static bool wait_for(struct bench_watch *w, long long i)
{
    double at_s = w->began_s + (double)i * w->period_s;
    struct timespec at = {(time_t)at_s, (long)((at_s - floor(at_s)) * 1e9)};
    bool ending;
    int error = 0;
    pthread_mutex_lock(&w->mutex);
    while (!w->ending && error == 0)
        error = pthread_cond_timedwait(&w->wake, &w->mutex, &at);
    ending = w->ending;
    pthread_mutex_unlock(&w->mutex);
    return ending;
}

static void *watch_gpus(void *arg)
{
    struct bench_watch *w = arg;
    bool ending = false;
    for (long long i = 1; !ending; i++) {
        const double late_s = clock_s(CLOCK_MONOTONIC) - w->began_s;
        const long long due = (long long)(late_s / w->period_s);
        i = i > due ? i : due + 1; /* samples that were missed are left out */
        ending = wait_for(w, i);
        take_samples(w);
    }
    for (int i = 0; i < w->count; i++)
        find_others(w, &w->gpus[i]);
    return NULL;
}

/* ---- begin ---- */

static int find_gpus(struct bench_watch *w, const struct bench_watch_config *config, struct err *e)
{
    const bool all = config->bus_ids == NULL;
    const int known = bench_nvml_count(e), n = all ? known : config->count;
    if (known == 0)
        return -1;
    for (int i = 0; i < n; i++) {
        const char *bus_id = all ? "" : config->bus_ids[i];
        void *device = all                 ? bench_nvml_device_at(i, e)
                       : bus_id[0] != '\0' ? bench_nvml_device(bus_id, e)
                                           : NULL;
        struct watched *g = &w->gpus[w->count];
        if (device == NULL || w->count == BENCH_WATCH_GPUS)
            continue;
        *g = (struct watched){.device = device, .gpu_id = bench_nvml_index(device)};
        snprintf(g->bus_id, sizeof g->bus_id, "%s", bus_id);
        w->count++;
    }
    return w->count > 0 ? 0 : -1;
}

/* All signals are another thread's: a handler of ours must not run here. */
static int start_thread(struct bench_watch *w, struct err *e)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;
    int error;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&w->thread, NULL, watch_gpus, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? 0 : err_set(e, ERR_INPUT, "no thread to watch GPUs: %s", strerror(error));
}

static void release(struct bench_watch *w)
{
    for (int i = 0; i < w->count; i++)
        free(w->gpus[i].samples);
    free(w->pids);
    free(w);
}

struct bench_watch *bench_watch_start(const struct bench_watch_config *config, struct err *e)
{
    struct bench_watch *w = array_new(1, sizeof *w);
    w->period_s = config->period_s;
    w->table = config->table;
    w->began_s = clock_s(CLOCK_MONOTONIC);
    w->npids = config->npids;
    w->pids = array_new((size_t)config->npids, sizeof *w->pids);
    for (int i = 0; i < config->npids; i++)
        w->pids[i] = config->pids[i];
    if (find_gpus(w, config, e) == 0) {
        for (int i = 0; i < w->count && config->npids > 0; i++)
            find_others(w, &w->gpus[i]);
        take_samples(w);
        if (start_thread(w, e) == 0)
            return w;
    }
    release(w);
    return NULL;
}

/* ---- end ---- */

static struct bench_range range_of(const struct bench_sample *samples, size_t count, size_t offset)
{
    double *values = array_new(count, sizeof *values);
    struct bench_stats stats;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        double value;
        memcpy(&value, (const char *)&samples[i] + offset, sizeof value);
        if (!isnan(value))
            values[n++] = value;
    }
    bench_stats_of(values, n, &stats);
    free(values);
    return (struct bench_range){stats.min, stats.median, stats.max};
}

/* Of n > 0 samples of one GPU, in their order; bus_id and others stay as they are. */
static void sum_up_samples(const struct bench_sample *samples, size_t n,
                           struct bench_gpu_summary *out)
{
    size_t throttled = 0, told = 0;
    out->gpu_id = samples[0].gpu_id;
    out->samples = (int)n;
    out->reasons = 0;
    out->celsius = range_of(samples, n, offsetof(struct bench_sample, celsius));
    out->watts = range_of(samples, n, offsetof(struct bench_sample, watts));
    out->sm_MHz = range_of(samples, n, offsetof(struct bench_sample, MHz));
    out->busy = range_of(samples, n, offsetof(struct bench_sample, busy));
    out->rise_K = samples[n - 1].celsius - out->celsius.median;
    for (size_t i = 0; i < n; i++) {
        const long long reasons = samples[i].reasons;
        if (reasons < 0)
            continue;
        told++;
        throttled += (reasons & BENCH_REASONS_THROTTLE) != 0;
        out->reasons |= reasons & BENCH_REASONS_THROTTLE;
    }
    out->throttled = told > 0 ? (double)throttled / (double)told : NAN;
}

int bench_watch_stop(struct bench_watch *w, struct bench_gpu_summary *out)
{
    int count = w != NULL ? w->count : 0;
    if (w == NULL)
        return 0;
    pthread_mutex_lock(&w->mutex);
    w->ending = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    for (int i = 0; i < count; i++) {
        const struct watched *g = &w->gpus[i];
        out[i] = (struct bench_gpu_summary){0};
        sum_up_samples(g->samples, g->count, &out[i]);
        memcpy(out[i].bus_id, g->bus_id, sizeof out[i].bus_id);
        memcpy(out[i].others, g->others, sizeof out[i].others);
    }
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->mutex);
    release(w);
    return count;
}

/* ---- a table of states read back ---- */

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
    struct bench_sample *own = array_new(t->n, sizeof *own);
    int gpus = 0;
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
        sum_up_samples(own, n, &out[gpus++]);
    }
    free(own);
    return gpus;
}

void bench_temperatures_release(struct bench_temperatures *t)
{
    free(t->list);
    *t = (struct bench_temperatures){0};
}
