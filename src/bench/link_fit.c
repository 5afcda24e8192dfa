/* SPDX-License-Identifier: MIT */
#include "bench/link_fit.h"

#include "base/buf.h"
#include "bench/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_POINTS 3 /* of a piece, where there are several */
#define SIZES_MAX 128  /* that a link is fitted to; further ones are left out */
#define RESAMPLES 200
#define DRAWS_MAX 64 /* of a size's repetitions in a resample */
#define SEED 1
#define SWITCH_PARAMETERS 3 /* alpha, beta, and where */

static void *need(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (memory == NULL)
        die("out of memory");
    return memory;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- one piece ---- */

/* The sizes of a link and their times. */
struct curve {
    double bytes[SIZES_MAX], us[SIZES_MAX];
    double sigma[SIZES_MAX]; /* of the time, relative */
    size_t n;
};

struct fit_line {
    double alpha, slope; /* us, us a byte */
};

static double predict(struct fit_line l, double bytes)
{
    return l.alpha + l.slope * bytes;
}

/* Least squares of predict() / us - 1 over sizes first to last - 1, neither below 0. */
static struct fit_line fit_line(const struct curve *c, size_t first, size_t last)
{
    double uu = 0, uv = 0, vv = 0, u = 0, v = 0, det;
    struct fit_line l;
    for (size_t i = first; i < last; i++) {
        double one = 1 / c->us[i], x = c->bytes[i] / c->us[i];
        uu += one * one;
        uv += one * x;
        vv += x * x;
        u += one;
        v += x;
    }
    det = uu * vv - uv * uv;
    if (det <= 1e-12 * uu * vv)
        return (struct fit_line){u / uu, 0};
    l = (struct fit_line){(u * vv - v * uv) / det, (uu * v - uv * u) / det};
    if (l.alpha < 0)
        l = (struct fit_line){0, v / vv};
    else if (l.slope < 0)
        l = (struct fit_line){u / uu, 0};
    return l;
}

static double cost(const struct curve *c, struct fit_line l, size_t first, size_t last)
{
    double sum = 0;
    for (size_t i = first; i < last; i++) {
        double r = (predict(l, c->bytes[i]) / c->us[i] - 1) / c->sigma[i];
        sum += r * r;
    }
    return sum;
}

/* ---- pieces ---- */

struct cuts {
    size_t at[BENCH_LINK_PIECES + 1]; /* piece i is sizes at[i] to at[i + 1] - 1 */
    size_t pieces;
};

static double piece_cost(const struct curve *c, size_t first, size_t last)
{
    return cost(c, fit_line(c, first, last), first, last);
}

/* The cheapest cuts; ties go to fewer pieces and smaller sizes. */
static struct cuts find_cuts(const struct curve *c)
{
    size_t n = c->n;
    double worth = SWITCH_PARAMETERS * log((double)n), least = piece_cost(c, 0, n);
    struct cuts best = {{0, n}, 1};
    for (size_t i = LEAST_POINTS; i + LEAST_POINTS <= n; i++) {
        double head = piece_cost(c, 0, i), two = head + piece_cost(c, i, n) + worth;
        if (two < least) {
            least = two;
            best = (struct cuts){{0, i, n}, 2};
        }
        for (size_t k = i + LEAST_POINTS; k + LEAST_POINTS <= n; k++) {
            double three = head + piece_cost(c, i, k) + piece_cost(c, k, n) + 2 * worth;
            if (three < least) {
                least = three;
                best = (struct cuts){{0, i, k, n}, 3};
            }
        }
    }
    return best;
}

/* ---- uncertainty ---- */

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return n % 2 > 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Times as if they had been measured again. */
static void draw(const struct bench_link_point *points, struct curve *c, uint64_t *state)
{
    double drawn[DRAWS_MAX];
    for (size_t i = 0; i < c->n; i++) {
        size_t n = points[i].n < DRAWS_MAX ? points[i].n : DRAWS_MAX;
        for (size_t k = 0; k < n; k++)
            drawn[k] = points[i].us[next_random(state) % points[i].n];
        c->us[i] = median(drawn, n);
    }
}

static void interval(double *values, size_t n, double *low, double *high)
{
    qsort(values, n, sizeof *values, by_value);
    *low = values[n / 20];
    *high = values[n - 1 - n / 20];
}

static double rate_GBps(struct fit_line l)
{
    return l.slope > 0 ? 1e-3 / l.slope : (double)INFINITY;
}

static void bootstrap(const struct bench_link_point *points, const struct curve *measured,
                      const struct cuts *cuts, struct bench_link *out)
{
    double alphas[RESAMPLES], rates[RESAMPLES];
    struct curve c = *measured;
    uint64_t state = SEED;
    size_t last = cuts->pieces - 1;
    for (size_t i = 0; i < RESAMPLES; i++) {
        draw(points, &c, &state);
        alphas[i] = fit_line(&c, 0, cuts->at[1]).alpha;
        rates[i] = rate_GBps(fit_line(&c, cuts->at[last], c.n));
    }
    interval(alphas, RESAMPLES, &out->alpha_low_us, &out->alpha_high_us);
    interval(rates, RESAMPLES, &out->beta_low_GBps, &out->beta_high_GBps);
}

/* ---- a link ---- */

static void fill_curve(const struct bench_link_point *points, size_t n, struct curve *c)
{
    c->n = n < SIZES_MAX ? n : SIZES_MAX;
    for (size_t i = 0; i < c->n; i++) {
        struct bench_stats stats;
        bench_stats_of(points[i].us, points[i].n, &stats);
        c->bytes[i] = (double)points[i].bytes;
        c->us[i] = stats.median;
        /* that of a median, from the spread, for a normal distribution */
        c->sigma[i] =
            hypot(BENCH_LINK_NOISE, 1.2533 * stats.spread / 1.349 / sqrt((double)points[i].n));
    }
}

void bench_link_fit(const struct bench_link_point *points, size_t n, struct bench_link *out)
{
    struct curve c;
    struct cuts cuts;
    double sum = 0;
    out->npieces = 0;
    out->alpha_us = out->alpha_low_us = out->alpha_high_us = (double)NAN;
    out->beta_GBps = out->beta_low_GBps = out->beta_high_GBps = out->error = (double)NAN;
    if (n < 2)
        return;
    fill_curve(points, n, &c);
    cuts = find_cuts(&c);
    for (size_t i = 0; i < cuts.pieces; i++) {
        struct fit_line l = fit_line(&c, cuts.at[i], cuts.at[i + 1]);
        out->pieces[out->npieces++] = (struct bench_link_piece){
            points[cuts.at[i]].bytes, points[cuts.at[i + 1] - 1].bytes, l.alpha, rate_GBps(l)};
        for (size_t k = cuts.at[i]; k < cuts.at[i + 1]; k++)
            sum += fabs(predict(l, c.bytes[k]) / c.us[k] - 1);
    }
    out->error = sum / (double)c.n;
    out->alpha_us = out->pieces[0].alpha_us;
    bootstrap(points, &c, &cuts, out);
    if (isfinite(out->pieces[out->npieces - 1].beta_GBps) && isfinite(out->beta_high_GBps))
        out->beta_GBps = out->pieces[out->npieces - 1].beta_GBps;
    else
        out->beta_low_GBps = out->beta_high_GBps = (double)NAN;
}

/* ---- all links ---- */

static int by_bytes(const void *a, const void *b)
{
    const struct bench_link_point *x = a, *y = b;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

void bench_link_points_of(const struct bench_p2p_log *log, int src, int dst,
                          struct bench_link_points *out)
{
    size_t total = 0, used = 0;
    for (size_t i = 0; i < log->n; i++)
        total += log->list[i].nrepeats;
    *out = (struct bench_link_points){.list = need(log->n, sizeof *out->list),
                                      .us = need(total, sizeof *out->us)};
    for (size_t i = 0; i < log->n; i++) {
        const struct bench_p2p_done *d = &log->list[i];
        struct bench_link_point *p = &out->list[out->n];
        if (d->config.mode != BENCH_P2P_ONE_WAY || d->config.src != src || d->config.dst != dst)
            continue;
        *p = (struct bench_link_point){d->config.bytes, out->us + used, 0};
        for (size_t k = 0; k < d->nrepeats; k++) {
            if (d->repeats[k].time > 0)
                out->us[used + p->n++] = d->repeats[k].time;
        }
        used += p->n;
        out->n += p->n > 0;
    }
    qsort(out->list, out->n, sizeof *out->list, by_bytes);
}

void bench_link_points_release(struct bench_link_points *points)
{
    free(points->list);
    free(points->us);
}

static void fit_one(const struct bench_p2p_log *log, struct bench_link *l)
{
    struct bench_link_points points;
    bench_link_points_of(log, l->src, l->dst, &points);
    bench_link_fit(points.list, points.n, l);
    bench_link_points_release(&points);
}

/* The middle of `values`, of an even number the higher of the two, and how far half of them are
 * from it, as a share of it: 0 where it is 0. */
static double middle(double *values, size_t n, bool higher, double *spread)
{
    double ref;
    *spread = 0;
    if (n == 0)
        return (double)NAN;
    qsort(values, n, sizeof *values, by_value);
    ref = values[higher ? n / 2 : (n - 1) / 2];
    if (!(ref > 0))
        return ref;
    for (size_t i = 0; i < n; i++)
        values[i] = fabs(values[i] / ref - 1);
    qsort(values, n, sizeof *values, by_value);
    *spread = 1.4826 * values[(n - 1) / 2];
    return ref;
}

static void sum_up_kind(const struct bench_links *links, bool near, struct bench_link_kind *kind)
{
    size_t all = (size_t)links->ranks * (size_t)links->ranks, rates = 0;
    double *alphas = need(all, sizeof *alphas), *betas = need(all, sizeof *betas), spread;
    *kind = (struct bench_link_kind){0};
    for (size_t i = 0; i < all; i++) {
        const struct bench_link *l = &links->list[i];
        if (l->npieces == 0 || l->near != near)
            continue;
        alphas[kind->n++] = l->alpha_us;
        if (isfinite(l->beta_GBps))
            betas[rates++] = l->beta_GBps;
    }
    kind->alpha_us = middle(alphas, kind->n, false, &spread);
    kind->alpha_limit = fmax(BENCH_LINK_LATER, 4 * spread);
    kind->beta_GBps = middle(betas, rates, true, &spread);
    kind->beta_limit = fmax(BENCH_LINK_SLOWER, 4 * spread);
    free(betas);
    free(alphas);
}

/* Half of a 90 % interval is 1.645 standard deviations: three of them. */
static double three_sigma(double low, double high, double value)
{
    return 3 * (high - low) / (2 * 1.645) / value;
}

static void judge(struct bench_link *l, const struct bench_link *back,
                  const struct bench_link_kind *kind)
{
    double beta_noise = three_sigma(l->beta_low_GBps, l->beta_high_GBps, l->beta_GBps);
    double alpha_noise = three_sigma(l->alpha_low_us, l->alpha_high_us, l->alpha_us);
    double beta_limit = fmax(kind->beta_limit, beta_noise);
    l->alpha_ratio = kind->alpha_us > 0 ? l->alpha_us / kind->alpha_us : (double)NAN;
    l->beta_ratio = l->beta_GBps / kind->beta_GBps;
    l->back_ratio = back->npieces > 0 ? l->beta_GBps / back->beta_GBps : (double)NAN;
    l->slow = l->beta_ratio < 1 - beta_limit;
    l->late = l->alpha_ratio > 1 + fmax(kind->alpha_limit, alpha_noise);
    l->asymmetric = l->back_ratio < 1 - beta_limit;
}

void bench_links_fit(const struct bench_p2p_log *log, const int *node_of, struct bench_links *out)
{
    size_t ranks = (size_t)log->ranks;
    *out = (struct bench_links){.ranks = log->ranks};
    out->list = need(ranks * ranks, sizeof *out->list);
    for (size_t i = 0; i < ranks * ranks; i++) {
        struct bench_link *l = &out->list[i];
        l->src = (int)(i / ranks);
        l->dst = (int)(i % ranks);
        l->near = node_of[l->src] == node_of[l->dst];
        if (l->src != l->dst)
            fit_one(log, l);
    }
    for (int near = 0; near < 2; near++)
        sum_up_kind(out, near > 0, &out->kinds[near]);
    for (size_t i = 0; i < ranks * ranks; i++) {
        struct bench_link *l = &out->list[i];
        if (l->npieces > 0)
            judge(l, bench_link_of(out, l->dst, l->src), &out->kinds[l->near]);
    }
}

void bench_links_release(struct bench_links *links)
{
    free(links->list);
    *links = (struct bench_links){0};
}

const struct bench_link *bench_link_of(const struct bench_links *links, int src, int dst)
{
    return &links->list[src * links->ranks + dst];
}
