/* SPDX-License-Identifier: MIT */
#include "bench/links.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/order.h"
#include "bench/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_POINTS 3 /* of a piece, where there are several */
#define SIZES_MAX 128  /* that a link is fitted to; the largest ones beyond these are left out */
#define RESAMPLES 200
#define DRAWS_MAX 64 /* of a size's repetitions in a resample */
#define SEED 1
#define SWITCH_PARAMETERS 3 /* alpha, beta, and where */

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

/* ---- pieces ---- */

struct cuts {
    size_t at[BENCH_LINK_PIECES + 1]; /* piece i is sizes at[i] to at[i + 1] - 1 */
    size_t pieces;
};

/* The sum of squares that one line through these sizes leaves. */
static double piece_cost(const struct curve *c, size_t first, size_t last)
{
    const struct fit_line l = fit_line(c, first, last);
    double sum = 0;
    for (size_t i = first; i < last; i++) {
        double r = (predict(l, c->bytes[i]) / c->us[i] - 1) / c->sigma[i];
        sum += r * r;
    }
    return sum;
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

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, order_doubles);
    return n % 2 > 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Times as if they had been measured again. */
static void draw(const struct bench_link_point *points, struct curve *c, uint64_t *state)
{
    double drawn[DRAWS_MAX];
    for (size_t i = 0; i < c->n; i++) {
        size_t n = points[i].n < DRAWS_MAX ? points[i].n : DRAWS_MAX;
        for (size_t k = 0; k < n; k++) {
            *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            drawn[k] = points[i].us[(uint32_t)(*state >> 33) % points[i].n];
        }
        c->us[i] = median(drawn, n);
    }
}

static void interval(double *values, size_t n, double *low, double *high)
{
    qsort(values, n, sizeof *values, order_doubles);
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
    c.n = n < SIZES_MAX ? n : SIZES_MAX;
    for (size_t i = 0; i < c.n; i++) {
        struct bench_stats stats;
        bench_stats_of(points[i].us, points[i].n, &stats);
        c.bytes[i] = (double)points[i].bytes;
        c.us[i] = stats.median;
        /* that of a median, from the spread, for a normal distribution */
        c.sigma[i] =
            hypot(BENCH_LINK_NOISE, 1.2533 * stats.spread / 1.349 / sqrt((double)points[i].n));
    }
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
    return ORDER(x->bytes, y->bytes);
}

void bench_link_points_of(const struct bench_p2p_log *log, int src, int dst,
                          struct bench_link_points *out)
{
    size_t total = 0, used = 0;
    for (size_t i = 0; i < log->n; i++)
        total += log->list[i].nrepeats;
    *out = (struct bench_link_points){.list = array_new(log->n + 1, sizeof *out->list),
                                      .us = array_new(total, sizeof *out->us)};
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

/* The middle of `values`, of an even number the higher of the two, and how far half of them are
 * from it, as a share of it: 0 where it is 0. */
static double middle(double *values, size_t n, bool higher, double *spread)
{
    double ref;
    *spread = 0;
    if (n == 0)
        return (double)NAN;
    qsort(values, n, sizeof *values, order_doubles);
    ref = values[higher ? n / 2 : (n - 1) / 2];
    if (!(ref > 0))
        return ref;
    for (size_t i = 0; i < n; i++)
        values[i] = fabs(values[i] / ref - 1);
    qsort(values, n, sizeof *values, order_doubles);
    *spread = 1.4826 * values[(n - 1) / 2];
    return ref;
}

static void sum_up_kind(const struct bench_links *links, bool near, struct bench_link_kind *kind)
{
    size_t all = (size_t)links->ranks * (size_t)links->ranks, rates = 0;
    double *alphas = array_new(all, sizeof *alphas), *betas = array_new(all, sizeof *betas), spread;
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
    out->list = array_new(ranks * ranks, sizeof *out->list);
    for (size_t i = 0; i < ranks * ranks; i++) {
        struct bench_link *l = &out->list[i];
        l->src = (int)(i / ranks);
        l->dst = (int)(i % ranks);
        l->near = node_of[l->src] == node_of[l->dst];
        if (l->src != l->dst) {
            struct bench_link_points points;
            bench_link_points_of(log, l->src, l->dst, &points);
            bench_link_fit(points.list, points.n, l);
            bench_link_points_release(&points);
        }
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

/* ---- heat ---- */

struct heat_sample {
    const struct bench_link *link;
    uint64_t bytes;
    double celsius;
    double ratio; /* first us; divided by the median of its size, then by that of its link */
};

static int by_size(const void *a, const void *b)
{
    const struct heat_sample *x = a, *y = b;
    if (x->link->near != y->link->near)
        return x->link->near ? 1 : -1;
    return ORDER(x->bytes, y->bytes);
}

static int by_link(const void *a, const void *b)
{
    const struct heat_sample *x = a, *y = b;
    return ORDER(x->link, y->link);
}

/* Divides the ratio of each sample by the median ratio of the samples that `compare` calls equal.
 * Sorts the list. */
static void divide(struct heat_sample *list, size_t n, int (*compare)(const void *, const void *))
{
    double *values = array_new(n, sizeof *values);
    struct bench_stats stats;
    qsort(list, n, sizeof *list, compare);
    for (size_t first = 0, last; first < n; first = last) {
        for (last = first; last < n && compare(&list[first], &list[last]) == 0; last++)
            values[last - first] = list[last].ratio;
        bench_stats_of(values, last - first, &stats);
        for (size_t i = first; i < last; i++)
            list[i].ratio /= stats.median;
    }
    free(values);
}

struct bench_correlation bench_links_heat(const struct bench_p2p_log *log,
                                          const struct bench_links *links)
{
    struct heat_sample *list = array_new(log->n, sizeof *list);
    struct bench_heat heat;
    size_t n = 0;
    for (size_t i = 0; i < log->n; i++) {
        const struct bench_p2p_done *d = &log->list[i];
        const struct bench_p2p_config *c = &d->config;
        const struct bench_link *link;
        if (c->mode != BENCH_P2P_ONE_WAY)
            continue;
        link = bench_link_of(links, c->src, c->dst);
        if (!link->slow && !link->late)
            list[n++] = (struct heat_sample){link, c->bytes, d->celsius, bench_p2p_stats(d).median};
    }
    divide(list, n, by_size);
    divide(list, n, by_link);
    bench_heat_init(&heat, n);
    for (size_t i = 0; i < n; i++)
        bench_heat_add(&heat, list[i].celsius, list[i].ratio);
    free(list);
    return bench_heat_end(&heat);
}

/* ---- findings ---- */

#define GROUP_LEAST 3 /* slow links one way: from so many on the GPU is named in their place */

struct link_search {
    const struct bench_links *links;
    bool *told;                      /* owned; by link: a finding stands for it */
    struct bench_link_finding *list; /* owned */
    size_t n;
};

static bool of_group(const struct bench_link *l, int gpu, bool out, bool in)
{
    return (out && l->src == gpu) || (in && l->dst == gpu);
}

static void add(struct link_search *s, struct bench_link_finding f, const struct bench_link *l)
{
    const struct bench_link_kind *kind = &s->links->kinds[l->near];
    f.near = l->near;
    if (f.fault == BENCH_LINK_LATE) {
        f.value = l->alpha_us;
        f.expected = kind->alpha_us;
    } else {
        f.value = l->beta_GBps;
        f.expected = f.fault == BENCH_LINK_SLOW ? kind->beta_GBps : l->beta_GBps / l->back_ratio;
    }
    s->list[s->n++] = f;
}

/* All links of a GPU of that kind and direction are slow: one finding stands for them. */
static void add_group(struct link_search *s, int gpu, bool near, bool out, bool in)
{
    size_t all = (size_t)s->links->ranks * (size_t)s->links->ranks, n = 0, slow = 0, fresh = 0;
    const struct bench_link *first = NULL;
    double *ratios = array_new(all, sizeof *ratios);
    struct bench_stats stats;
    for (size_t i = 0; i < all; i++) {
        const struct bench_link *l = &s->links->list[i];
        if (l->npieces == 0 || l->near != near || !of_group(l, gpu, out, in))
            continue;
        n++;
        fresh += l->slow && !s->told[i];
        if (l->slow) {
            first = first == NULL ? l : first;
            ratios[slow++] = l->beta_ratio;
        }
    }
    bench_stats_of(ratios, slow, &stats);
    free(ratios);
    if (slow < n || fresh < (out && in ? 2 : 1) * GROUP_LEAST)
        return;
    for (size_t i = 0; i < all; i++) {
        const struct bench_link *l = &s->links->list[i];
        s->told[i] |= l->near == near && of_group(l, gpu, out, in);
    }
    add(s,
        (struct bench_link_finding){.fault = BENCH_LINK_SLOW,
                                    .src = out ? gpu : -1,
                                    .dst = out ? -1 : gpu,
                                    .whole = out && in,
                                    .links = slow,
                                    .ratio = stats.median},
        first);
}

static void add_single(struct link_search *s, size_t i)
{
    const struct bench_link *l = &s->links->list[i];
    const struct bench_link *back = bench_link_of(s->links, l->dst, l->src);
    struct bench_link_finding f = {.src = l->src, .dst = l->dst, .links = 1};
    if (l->npieces == 0)
        return;
    if (l->slow && !s->told[i]) {
        f.fault = BENCH_LINK_SLOW;
        f.ratio = l->beta_ratio;
        add(s, f, l);
    } else if (l->asymmetric && !l->slow) {
        f.fault = BENCH_LINK_ASYMMETRIC;
        f.ratio = l->back_ratio;
        add(s, f, l);
    }
    if (l->late && !(back->late && l->src > l->dst)) {
        f.fault = BENCH_LINK_LATE;
        f.ratio = l->alpha_ratio;
        f.links = 1 + back->late;
        add(s, f, l);
    }
}

static int by_weight(const void *a, const void *b)
{
    const struct bench_link_finding *x = a, *y = b;
    double at = x->fault == BENCH_LINK_LATE ? 1 / x->ratio : x->ratio;
    double bt = y->fault == BENCH_LINK_LATE ? 1 / y->ratio : y->ratio;
    if (x->fault != y->fault)
        return x->fault < y->fault ? -1 : 1;
    if (at < bt || at > bt)
        return at < bt ? -1 : 1;
    return x->src != y->src ? x->src - y->src : x->dst - y->dst;
}

size_t bench_link_findings(const struct bench_links *links, struct bench_link_finding **out)
{
    static const bool ways[][2] = {{true, true}, {true, false}, {false, true}};
    size_t all = (size_t)links->ranks * (size_t)links->ranks;
    struct link_search s = {.links = links};
    s.told = array_new(all, sizeof *s.told);
    s.list = array_new(2 * all + 6 * (size_t)links->ranks, sizeof *s.list);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        for (int gpu = 0; gpu < links->ranks; gpu++) {
            add_group(&s, gpu, true, ways[i][0], ways[i][1]);
            add_group(&s, gpu, false, ways[i][0], ways[i][1]);
        }
    }
    for (size_t i = 0; i < all; i++)
        add_single(&s, i);
    qsort(s.list, s.n, sizeof *s.list, by_weight);
    free(s.told);
    *out = s.list;
    return s.n;
}
