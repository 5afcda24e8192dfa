/* SPDX-License-Identifier: MIT */
#include "bench/drift.h"

#include "base/arena.h"
#include "base/stats.h"
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

/* A slope, its standard error, and the sums that it comes from. */
static double slope_of(const struct bench_drift_point *p, size_t n, double *error, double *noise,
                       struct sums *sum)
{
    double squares = 0, slope;
    *sum = (struct sums){.n = n};
    for (size_t i = 0; i < n; i++) {
        sum->s += p[i].s / (double)n;
        sum->us += p[i].us / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        sum->ss += (p[i].s - sum->s) * (p[i].s - sum->s);
        sum->sus += (p[i].s - sum->s) * (p[i].us - sum->us);
    }
    slope = sum->sus / sum->ss;
    for (size_t i = 0; i < n; i++) {
        double off = p[i].us - sum->us - slope * (p[i].s - sum->s);
        squares += off * off;
    }
    *noise = sqrt(squares / (double)(n - 2));
    *error = *noise / sqrt(sum->ss);
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
    half = student_t(LEVEL, n - 2) * error;
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
        half = fmax(half, student_t(LEVEL, seen.n - 1) *
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
    struct bench_drift_point *points = array_new(log->n + 1, sizeof *points);
    for (size_t i = 0; i < log->n; i++)
        points[i] = list[i * (size_t)log->ranks + (size_t)rank];
    return points;
}

size_t bench_drift_log_add(struct bench_drift_log *log)
{
    const size_t need = (log->n + 1) * (size_t)log->ranks;
    ARRAY_GROW(log->gpu, log->cap_gpu, need);
    ARRAY_GROW(log->host, log->cap_host, need);
    return log->n++ * (size_t)log->ranks;
}

/* ---- moments ---- */

/* A rank's clocks at one moment. */
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

/* The first call waits for the slowest rank's pause to end; it is not among those that count. */
static int take_moment(struct taker *t, struct moment *m, struct err *e)
{
    const struct bench_backend *b = t->on->backend;
    struct bench_comm *comm = t->on->comm;
    for (int i = -1; i < CALLS; i++) {
        const size_t at = i < 0 ? 0 : (size_t)i, now = t->marks % 2;
        if (b->call(comm, &t->call, e) < 0 || b->mark(comm, now, e) < 0 || b->wait(comm, e) < 0)
            return -1;
        m->host_ns[at] = b->host_ns(comm);
        if (t->marks++ > 0)
            t->gpu_us += b->us(comm, 1 - now, now);
        m->gpu_us[at] = t->gpu_us;
    }
    return 0;
}

static double to_digits(double value, double per_unit)
{
    return rint(value * per_unit) / per_unit;
}

/* Host times count from rank 0's first of all, so that they keep their nanoseconds as doubles.
 * `first` has what each GPU's clock showed beyond its host's at the first moment. */
static void add_moment(const struct moment *all, int64_t origin, double *first,
                       struct bench_drift_log *log)
{
    double s = to_digits((double)(all[0].host_ns[0] - origin) / 1e9, 1e6);
    size_t at = bench_drift_log_add(log);
    for (int r = 0; r < log->ranks; r++) {
        double gpu_ahead = -INFINITY, host_ahead[CALLS];
        struct bench_stats stats;
        for (int i = 0; i < CALLS; i++) {
            const int64_t host_ns = all[r].host_ns[i];
            gpu_ahead = fmax(gpu_ahead, all[r].gpu_us[i] - (double)(host_ns - origin) / 1e3);
            host_ahead[i] = (double)(host_ns - all[0].host_ns[i]) / 1e3;
        }
        bench_stats_of(host_ahead, CALLS, &stats);
        first[r] = at == 0 ? gpu_ahead : first[r];
        log->gpu[at + (size_t)r] =
            (struct bench_drift_point){s, to_digits(gpu_ahead - first[r], 1e3)};
        log->host[at + (size_t)r] = (struct bench_drift_point){s, to_digits(stats.median, 1e3)};
    }
}

/* Rank 0's clock says when it is over. Pauses differ by a tenth, so that the library does not round
 * the time of each to the same side: parts of the golden ratio lie evenly. */
static int take_moments(const struct bench_drift_plan *plan, struct taker *t, struct moment *all,
                        double *first, struct bench_drift_log *log, struct err *e)
{
    const struct bench_communicator *on = t->on;
    struct moment mine;
    for (;;) {
        double over[2], pause_s; /* over: a rank wants to stop; the time is up */
        if (take_moment(t, &mine, e) < 0 ||
            bench_ranks_gather(on->ranks, &mine, sizeof mine, all, e) < 0)
            return -1;
        if (log->n == 0)
            log->origin_ns = all[0].host_ns[0];
        add_moment(all, log->origin_ns, first, log);
        over[0] = plan->stop != NULL && plan->stop();
        over[1] = on->member == 0 && log->gpu[(log->n - 1) * (size_t)log->ranks].s >= plan->seconds;
        if (bench_ranks_max(on->ranks, over, 2, e) < 0)
            return -1;
        if (over[0] > 0 || over[1] > 0)
            return over[1] > 0 ? 0 : 1;
        pause_s = plan->every * (0.9 + 0.2 * fmod((double)log->n * 0.61803398875, 1));
        on->backend->pause(on->comm, pause_s);
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
    struct moment *all = array_new((size_t)on->world, sizeof *all), warm;
    double *first = array_new((size_t)on->world, sizeof *first);
    int status;
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

/* ---- the common clock ---- */

/* The line of a rank's host; false: too few moments. */
static bool find_line(const struct bench_drift_log *log, int rank, struct bench_host_line *out)
{
    struct bench_drift_point *points = bench_drift_of(log, log->host, rank);
    struct bench_drift_line line = bench_drift_fit(points, log->n, 1);
    double middle_s = 0;
    for (size_t i = 0; i < log->n; i++)
        middle_s += points[i].s / (double)log->n;
    free(points);
    *out = (struct bench_host_line){log->origin_ns + llround(middle_s * 1e9), line.offset_us,
                                    line.ppm};
    return isfinite(line.ppm);
}

void bench_common_clock_init(struct bench_common_clock *c, const struct bench_drift_log *before,
                             const struct bench_drift_log *after, const int *node_of)
{
    *c = (struct bench_common_clock){.ranks = before->ranks};
    c->lines = array_new((size_t)before->ranks + 1, sizeof *c->lines);
    for (int rank = 0; rank < before->ranks; rank++) {
        struct bench_host_line *line = &c->lines[rank], then;
        if (node_of[rank] == node_of[0])
            continue;
        if (!find_line(before, rank, line))
            *line = (struct bench_host_line){0};
        else if (after != NULL && find_line(after, rank, &then))
            line->ppm =
                (then.ahead_us - line->ahead_us) / ((double)(then.at_ns - line->at_ns) / 1e9);
    }
}

void bench_common_clock_release(struct bench_common_clock *c)
{
    free(c->lines);
    *c = (struct bench_common_clock){0};
}

int64_t bench_common_clock_ns(const struct bench_common_clock *c, int rank, int64_t host_ns)
{
    const struct bench_host_line *line;
    double s; /* since the line's moment, both by rank 0's host */
    if (rank < 0 || rank >= c->ranks || host_ns == 0)
        return host_ns;
    line = &c->lines[rank];
    s = ((double)(host_ns - line->at_ns) - 1e3 * line->ahead_us) / 1e9;
    return host_ns - llround(1e3 * (line->ahead_us + line->ppm * s));
}

void bench_common_clock_apply(const struct bench_common_clock *c, struct bench_p2p_done *done)
{
    for (size_t i = 0; i < done->nrepeats; i++) {
        struct bench_p2p_repeat *r = &done->repeats[i];
        r->start_ns = bench_common_clock_ns(c, done->config.src, r->start_ns);
        r->receive_start_ns = bench_common_clock_ns(c, done->config.dst, r->receive_start_ns);
        for (int k = 0; k < 2; k++) {
            r->calls_ns[0][k] = bench_common_clock_ns(c, done->config.src, r->calls_ns[0][k]);
            r->calls_ns[1][k] = bench_common_clock_ns(c, done->config.dst, r->calls_ns[1][k]);
        }
    }
}
