/* SPDX-License-Identifier: MIT */
#include "bench/drift.h"

#include "bench/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CALLS BENCH_DRIFT_CALLS
#define MOMENTS 30 /* at least */
#define LEVEL 0.9  /* of an interval */

/* ---- lines ---- */

/* Sums of least squares about the means. */
struct sums {
    size_t n;
    double s, us, ss, sus; /* means; sums of squares and products */
};

static struct sums sum_up(const struct bench_drift_point *p, size_t n)
{
    struct sums sum = {.n = n};
    for (size_t i = 0; i < n; i++) {
        sum.s += p[i].s / (double)n;
        sum.us += p[i].us / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        sum.ss += (p[i].s - sum.s) * (p[i].s - sum.s);
        sum.sus += (p[i].s - sum.s) * (p[i].us - sum.us);
    }
    return sum;
}

/* A slope and its standard error. */
static double slope_of(const struct bench_drift_point *p, size_t n, double *error, double *noise,
                       struct sums *sums)
{
    double squares = 0, slope;
    *sums = sum_up(p, n);
    slope = sums->sus / sums->ss;
    for (size_t i = 0; i < n; i++) {
        double off = p[i].us - sums->us - slope * (p[i].s - sums->s);
        squares += off * off;
    }
    *noise = sqrt(squares / (double)(n - 2));
    *error = *noise / sqrt(sums->ss);
    return slope;
}

/* The windows' own slopes about the line's. */
struct windows {
    size_t n;
    double squares;
};

static void add_window(const struct bench_drift_point *p, size_t n, double error,
                       struct bench_drift_line *line, struct windows *seen)
{
    double own_error, noise, change;
    struct sums sums;
    if (n < BENCH_DRIFT_MOMENTS_MIN)
        return;
    change = slope_of(p, n, &own_error, &noise, &sums) - line->ppm;
    seen->n++;
    seen->squares += change * change;
    if (isfinite(line->change_ppm) && fabs(change) <= fabs(line->change_ppm))
        return;
    line->change_ppm = change;
    line->change_s = p[0].s;
    line->changes = fabs(change) > BENCH_DRIFT_CHANGE && fabs(change) > 3 * hypot(error, own_error);
}

struct bench_drift_line bench_drift_fit(const struct bench_drift_point *points, size_t n,
                                        int windows)
{
    struct bench_drift_line line = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, false};
    struct windows seen = {0, 0};
    struct sums sums;
    double error, span, half;
    if (n < BENCH_DRIFT_MOMENTS_MIN || !(points[n - 1].s > points[0].s))
        return line;
    line.ppm = slope_of(points, n, &error, &line.noise_us, &sums);
    half = bench_student(LEVEL, n - 2) * error;
    line.offset_us = sums.us;
    span = points[n - 1].s - points[0].s;
    for (size_t first = 0, w = 1; first < n && windows > 1; w++) {
        size_t last = first;
        double until = w < (size_t)windows ? points[0].s + span * (double)w / windows : INFINITY;
        while (last < n && points[last].s < until)
            last++;
        add_window(points + first, last - first, error, &line, &seen);
        first = last;
    }
    if (seen.n > 1)
        half = fmax(half, bench_student(LEVEL, seen.n - 1) *
                              sqrt(seen.squares / (double)(seen.n - 1) / (double)seen.n));
    line.low = line.ppm - half;
    line.high = line.ppm + half;
    return line;
}

const char *bench_drift_verdict(double ppm)
{
    if (!isfinite(ppm))
        return "not known";
    if (fabs(ppm) < BENCH_DRIFT_GOOD)
        return "excellent";
    return fabs(ppm) <= BENCH_DRIFT_INVESTIGATE ? "good" : "investigate";
}

/* ---- the log ---- */

void bench_drift_log_release(struct bench_drift_log *log)
{
    free(log->gpu);
    free(log->host);
    *log = (struct bench_drift_log){0};
}

struct bench_drift_point *bench_drift_of(const struct bench_drift_log *log,
                                         const struct bench_drift_point *list, int rank)
{
    struct bench_drift_point *points = malloc((log->n + 1) * sizeof *points);
    if (points == NULL)
        die("out of memory");
    for (size_t i = 0; i < log->n; i++)
        points[i] = list[i * (size_t)log->ranks + (size_t)rank];
    return points;
}

static struct bench_drift_point *grown(struct bench_drift_point *list, size_t count)
{
    list = realloc(list, count * sizeof *list);
    if (list == NULL)
        die("out of memory");
    return list;
}

size_t bench_drift_log_add(struct bench_drift_log *log)
{
    if (log->n == log->cap) {
        log->cap = log->cap > 0 ? 2 * log->cap : 64;
        log->gpu = grown(log->gpu, log->cap * (size_t)log->ranks);
        log->host = grown(log->host, log->cap * (size_t)log->ranks);
    }
    return log->n++ * (size_t)log->ranks;
}

/* ---- moments ---- */

/* What a rank says of a moment. */
struct moment {
    int64_t host_ns[CALLS]; /* when the host saw the end of a call */
    double gpu_us[CALLS];   /* the GPU's time of that end, since the first of all */
};

/* One rank's side of it. */
struct taker {
    const struct bench_communicator *on;
    struct bench_call call;
    void *buffer;
    double gpu_us; /* of the last mark */
    size_t marks;  /* taken; mark i has the number i % 2 */
};

static int take_call(struct taker *t, int64_t *host_ns, double *gpu_us, struct err *e)
{
    const struct bench_backend *b = t->on->backend;
    struct bench_comm *comm = t->on->comm;
    size_t now = t->marks % 2;
    if (b->call(comm, &t->call, e) < 0 || b->mark(comm, now, e) < 0 || b->wait(comm, e) < 0)
        return -1;
    *host_ns = b->host_ns(comm);
    if (t->marks > 0)
        t->gpu_us += b->us(comm, 1 - now, now);
    *gpu_us = t->gpu_us;
    t->marks++;
    return 0;
}

/* The first call waits for the slowest rank's pause to end; it is not among those that count. */
static int take_moment(struct taker *t, struct moment *m, struct err *e)
{
    for (int i = -1; i < CALLS; i++) {
        size_t at = i < 0 ? 0 : (size_t)i;
        if (take_call(t, &m->host_ns[at], &m->gpu_us[at], e) < 0)
            return -1;
    }
    return 0;
}

/* Host times count from rank 0's first of all, so that they keep their nanoseconds as doubles. */
static double gpu_ahead(const struct moment *m, int64_t origin)
{
    double ahead = -INFINITY;
    for (int i = 0; i < CALLS; i++)
        ahead = fmax(ahead, m->gpu_us[i] - (double)(m->host_ns[i] - origin) / 1e3);
    return ahead;
}

static double host_ahead(const struct moment *m, const struct moment *first)
{
    double us[CALLS];
    struct bench_stats stats;
    for (int i = 0; i < CALLS; i++)
        us[i] = (double)(m->host_ns[i] - first->host_ns[i]) / 1e3;
    bench_stats_of(us, CALLS, &stats);
    return stats.median;
}

static double to_digits(double value, double per_unit)
{
    return rint(value * per_unit) / per_unit;
}

/* `first` has what each GPU's clock showed beyond its host's at the first moment. */
static void add_moment(const struct moment *all, int64_t origin, double *first,
                       struct bench_drift_log *log)
{
    double s = to_digits((double)(all[0].host_ns[0] - origin) / 1e9, 1e6);
    size_t at = bench_drift_log_add(log);
    for (int r = 0; r < log->ranks; r++) {
        double ahead = gpu_ahead(&all[r], origin);
        first[r] = at == 0 ? ahead : first[r];
        log->gpu[at + (size_t)r] = (struct bench_drift_point){s, to_digits(ahead - first[r], 1e3)};
        log->host[at + (size_t)r] =
            (struct bench_drift_point){s, to_digits(host_ahead(&all[r], &all[0]), 1e3)};
    }
}

/* Rank 0's clock says when it is over. 0: go on. */
static int is_over(const struct bench_drift_plan *plan, const struct bench_communicator *on,
                   const struct bench_drift_log *log, double *values, struct err *e)
{
    double last = log->n > 0 ? log->gpu[(log->n - 1) * (size_t)log->ranks].s : 0;
    values[0] = plan->stop != NULL && plan->stop();
    values[1] = on->member == 0 && last >= plan->seconds;
    return bench_ranks_max(on->ranks, values, 2, e);
}

/* Pauses differ by a tenth, so that the library does not round the time of each to the same side:
 * parts of the golden ratio lie evenly. */
static double unequal(size_t i)
{
    return 0.9 + 0.2 * fmod((double)i * 0.61803398875, 1);
}

static int take_moments(const struct bench_drift_plan *plan, struct taker *t, struct moment *all,
                        double *first, struct bench_drift_log *log, struct err *e)
{
    struct moment mine;
    double over[2] = {0, 0};
    for (;;) {
        if (take_moment(t, &mine, e) < 0 ||
            bench_ranks_gather(t->on->ranks, &mine, sizeof mine, all, e) < 0)
            return -1;
        if (log->n == 0)
            log->origin_ns = all[0].host_ns[0];
        add_moment(all, log->origin_ns, first, log);
        if (is_over(plan, t->on, log, over, e) < 0)
            return -1;
        if (over[0] > 0 || over[1] > 0)
            return over[1] > 0 ? 0 : 1;
        t->on->backend->pause(t->on->comm, plan->every * unequal(log->n));
    }
}

struct bench_drift_plan bench_drift_plan_of(double seconds, bool (*stop)(void))
{
    return (struct bench_drift_plan){seconds, seconds < MOMENTS ? seconds / MOMENTS : 1, stop};
}

int bench_drift(const struct bench_drift_plan *plan, const struct bench_communicator *on,
                struct bench_drift_log *log, struct err *e)
{
    struct taker t = {
        .on = on,
        .call = {.op = SPECTER_ALLREDUCE, .dtype = SPECTER_FP32, .redop = SPECTER_REDOP_SUM}};
    struct moment *all = calloc((size_t)on->world, sizeof *all), warm;
    double *first = calloc((size_t)on->world, sizeof *first);
    int status;
    if (all == NULL || first == NULL)
        die("out of memory");
    *log = (struct bench_drift_log){.ranks = on->world};
    status = on->backend->alloc(on->comm, sizeof(float), &t.buffer, e);
    if (status == 0)
        status = on->backend->set(on->comm, t.buffer, 0, sizeof(float), e);
    status = bench_ranks_agree(on->ranks, status, e);
    t.call.send = t.call.receive = t.buffer;
    t.call.count = 1;
    if (status == 0)
        status = take_moment(&t, &warm, e);
    if (status == 0)
        status = take_moments(plan, &t, all, first, log, e);
    if (t.buffer != NULL)
        on->backend->release(on->comm, t.buffer);
    free(first);
    free(all);
    return status;
}
