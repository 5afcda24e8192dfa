/* SPDX-License-Identifier: MIT */
#include "bench/checks.h"

#include "base/arena.h"
#include "base/condition.h"
#include "base/err.h"
#include "bench/samples.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    enum condition_kind kind;
    double limit;
    const char *word, *lacks;
} figures[] = {
#define X(name, kind, limit, lacks, help) {CONDITION_##kind, limit, #name, lacks},
    BENCH_CHECKS(X)
#undef X
};

const char *bench_check_word(enum bench_check_name name)
{
    return figures[name].word;
}

double bench_check_limit(enum bench_check_name name)
{
    return figures[name].limit;
}

bool bench_check_is_share(enum bench_check_name name)
{
    return figures[name].kind == CONDITION_SHARE;
}

enum bench_check_verdict bench_check_verdict(const struct bench_checks *g,
                                             enum bench_check_name name)
{
    if (isnan(g->figures[name].value))
        return BENCH_CHECK_UNKNOWN;
    return g->figures[name].value > figures[name].limit ? BENCH_CHECK_FAIL : BENCH_CHECK_PASS;
}

int bench_checks_failed(const struct bench_checks *g)
{
    int failed = 0;
    for (int i = 0; i < BENCH_CHECK_COUNT; i++)
        failed += bench_check_verdict(g, i) == BENCH_CHECK_FAIL;
    return failed;
}

void bench_checks_init(struct bench_checks *g)
{
    for (int i = 0; i < BENCH_CHECK_COUNT; i++)
        g->figures[i] = (struct bench_figure){.value = NAN};
}

/* The lowest ratio is the worst, of all others the largest number. */
void bench_checks_take(struct bench_checks *g, enum bench_check_name name, double value,
                       const char *fmt, ...)
{
    struct bench_figure *f = &g->figures[name];
    const bool worse = name == BENCH_CHECK_ratio ? value < f->value : value > f->value;
    va_list args;
    if (isnan(value) || !(isnan(f->value) || worse))
        return;
    f->value = value;
    va_start(args, fmt);
    vsnprintf(f->where, sizeof f->where, fmt, args);
    va_end(args);
}

/* ---- numbers of a curve over sizes ---- */

/* Ratio of the slowest of the small sizes to the fastest. */
static void take_flat(struct bench_checks *g, const double *us, size_t n, const char *where)
{
    double least = NAN, most = NAN;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, us[i]);
        most = fmax(most, us[i]);
    }
    if (n >= 2)
        bench_checks_take(g, BENCH_CHECK_flat, most / least - 1, "%s", where);
}

/* Change of the rate in a doubling of the size, from the last but one to the last. */
static double change_per_doubling(const double bytes[2], const double us[2])
{
    const double rates = bytes[1] / us[1] / (bytes[0] / us[0]);
    return fabs(pow(rates, 1 / log2(bytes[1] / bytes[0])) - 1);
}

/* ---- collectives ---- */

static const char *name_of(const struct bench_study *s)
{
    return specter_comm_op_name(s->op);
}

static void take_large_rows(struct bench_checks *g, const struct bench_study *s)
{
    const struct bench_judged *rows[2]; /* the largest size, and the largest one below it */
    double bytes[2], us[2], expected[2];
    if (s->nmain == 0)
        return;
    rows[0] = rows[1] = &s->rows[s->nmain - 1];
    while (rows[0] > s->rows && rows[0]->row->bytes == rows[1]->row->bytes)
        rows[0]--;
    if (rows[0]->row->bytes == rows[1]->row->bytes || rows[0]->row->bytes < BENCH_CHECK_LARGE)
        return;
    for (int i = 0; i < 2; i++) {
        bytes[i] = (double)rows[i]->row->bytes;
        us[i] = rows[i]->row->time_us;
        expected[i] = rows[i]->verdict != BENCH_UNKNOWN ? rows[i]->expected.of.us : NAN;
    }
    if (bytes[1] >= BENCH_CHECK_HUGE ||
        change_per_doubling(bytes, expected) < bench_check_limit(BENCH_CHECK_asymptote) / 2)
        bench_checks_take(g, BENCH_CHECK_asymptote, change_per_doubling(bytes, us), "%s",
                          name_of(s));
}

void bench_checks_studies(struct bench_checks *g, const struct bench_studies *studies)
{
    for (size_t k = 0; k < studies->n; k++) {
        const struct bench_study *s = &studies->list[k];
        const double known = (double)(s->nmain - s->count[BENCH_UNKNOWN]);
        double *us = array_new(s->nmain, sizeof *us);
        size_t small = 0;
        const bool large = s->nmain > 0 && s->rows[s->nmain - 1].row->bytes >= BENCH_CHECK_LARGE;
        for (size_t i = 0; i < s->nrows; i++) {
            const struct bench_row *r = s->rows[i].row;
            const unsigned long long bytes = r->bytes;
            if (!isnan(r->wrong))
                bench_checks_take(g, BENCH_CHECK_wrong,
                                  fmax(g->figures[BENCH_CHECK_wrong].value, 0) + (r->wrong > 0),
                                  "%s of %llu bytes", name_of(s), bytes);
            if (bytes >= (large ? BENCH_CHECK_LARGE : 0))
                bench_checks_take(g, BENCH_CHECK_cv, r->cv, "%s of %llu bytes", name_of(s), bytes);
        }
        for (size_t i = 0; i < s->nmain; i++)
            bench_checks_take(g, BENCH_CHECK_ratio, s->rows[i].ratio, "%s of %llu bytes",
                              name_of(s), (unsigned long long)s->rows[i].row->bytes);
        if (known > 0)
            bench_checks_take(g, BENCH_CHECK_slow, (double)s->count[BENCH_SLOW] / known, "%s",
                              name_of(s));
        for (size_t i = 0; i < s->nmain; i++) {
            if (s->rows[i].row->bytes > 0 && s->rows[i].row->bytes <= BENCH_CHECK_FLAT_TO)
                us[small++] = s->rows[i].row->time_us;
        }
        take_flat(g, us, small, name_of(s));
        take_large_rows(g, s);
        free(us);
    }
}

/* ---- GEMMs ---- */

void bench_checks_gemms(struct bench_checks *g, const struct bench_gemm_result *result)
{
    double *spreads = array_new(result->nrows, sizeof *spreads), known = 0, slow = 0;
    struct bench_stats stats;
    for (size_t i = 0; i < result->nrows; i++) {
        const struct bench_gemm_row *row = &result->rows[i];
        spreads[i] = row->time.spread;
        known += !isnan(row->expected_us);
        slow += !isnan(row->expected_us) && row->time.us > row->interval.high_us;
    }
    bench_stats_of(spreads, result->nrows, &stats);
    bench_checks_take(g, BENCH_CHECK_cv, stats.median, "the median GEMM");
    if (known > 0)
        bench_checks_take(g, BENCH_CHECK_slow, slow / known, "GEMMs");
    free(spreads);
}

/* ---- messages ---- */

static void take_link(struct bench_checks *g, const struct bench_p2p_log *log,
                      const struct bench_link *link)
{
    struct bench_link_points points;
    char where[64];
    double *us, *bytes, *cv;
    struct bench_stats stats;
    size_t small = 0, ncv = 0, n;
    snprintf(where, sizeof where, "GPU %d to GPU %d", link->src, link->dst);
    bench_link_points_of(log, link->src, link->dst, &points);
    n = points.n;
    us = array_new(n, sizeof *us);
    bytes = array_new(n, sizeof *bytes);
    cv = array_new(n, sizeof *cv);
    for (size_t i = 0; i < n; i++) {
        bench_stats_of(points.list[i].us, points.list[i].n, &stats);
        bytes[i] = (double)points.list[i].bytes;
        us[i] = stats.median;
        small += points.list[i].bytes <= BENCH_CHECK_FLAT_TO;
        if (points.list[i].bytes >= BENCH_CHECK_LARGE)
            cv[ncv++] = stats.cv;
    }
    bench_stats_of(cv, ncv, &stats);
    bench_checks_take(g, BENCH_CHECK_cv, stats.median, "%s", where);
    take_flat(g, us, small, where);
    if (n >= 2 && bytes[n - 1] >= BENCH_CHECK_HUGE)
        bench_checks_take(g, BENCH_CHECK_asymptote, change_per_doubling(&bytes[n - 2], &us[n - 2]),
                          "%s", where);
    free(us);
    free(bytes);
    free(cv);
    bench_link_points_release(&points);
}

/* State of a link: the lowest of the ratios it is named for; 1: sound. */
static double soundness(const struct bench_link *l)
{
    double least = 1;
    if (l->slow)
        least = fmin(least, l->beta_ratio);
    if (l->asymmetric)
        least = fmin(least, l->back_ratio);
    if (l->late)
        least = fmin(least, 1 / l->alpha_ratio);
    return least;
}

void bench_checks_links(struct bench_checks *g, const struct bench_p2p_log *log,
                        const struct bench_links *links)
{
    const struct bench_link *worst = NULL;
    int known = 0, bad = 0;
    for (int i = 0; i < links->ranks * links->ranks; i++) {
        const struct bench_link *link = &links->list[i];
        if (link->npieces == 0)
            continue;
        known++;
        take_link(g, log, link);
        if (soundness(link) >= 1)
            continue;
        bad++;
        if (worst == NULL || soundness(link) < soundness(worst))
            worst = link;
    }
    if (worst != NULL)
        bench_checks_take(g, BENCH_CHECK_links, bad, "GPU %d to GPU %d", worst->src, worst->dst);
    else if (known > 0)
        bench_checks_take(g, BENCH_CHECK_links, 0, "no link");
}

/* The largest message of a link beside the model's time for it; NAN where it is small or the model
 * does not know it. */
static double share_of_predicted(const struct bench_p2p_log *log, const struct bench_link *link,
                                 bool across, const struct gpu_profile *gpu,
                                 const struct network_profile *net)
{
    const struct bench_link_point *largest;
    struct bench_link_points points;
    struct bench_stats stats;
    struct comm_cost cost;
    double share = NAN;
    bench_link_points_of(log, link->src, link->dst, &points);
    largest = points.n > 0 ? &points.list[points.n - 1] : NULL;
    if (largest != NULL && largest->bytes >= BENCH_CHECK_LARGE &&
        model_p2p(gpu, net, (double)largest->bytes, across, &cost, NULL) == 0) {
        bench_stats_of(largest->us, largest->n, &stats);
        share = cost.us / stats.median;
    }
    bench_link_points_release(&points);
    return share;
}

void bench_checks_predicted(struct bench_checks *g, const struct bench_p2p_log *log,
                            const struct bench_links *links, const int *node_of,
                            const struct gpu_profile *gpu, const struct network_profile *net)
{
    for (int i = 0; i < links->ranks * links->ranks; i++) {
        const struct bench_link *link = &links->list[i];
        bool across = node_of[link->src] != node_of[link->dst];
        double share = link->npieces > 0 ? share_of_predicted(log, link, across, gpu, net) : NAN;
        if (isfinite(share))
            bench_checks_take(g, BENCH_CHECK_ratio, share, "GPU %d to GPU %d", link->src,
                              link->dst);
    }
}

/* ---- overlap ---- */

void bench_checks_overlap(struct bench_checks *g, const struct bench_overlap_log *log)
{
    for (size_t i = 0; i < log->n; i++) {
        const struct bench_overlap_row *r = &log->rows[i];
        char where[96];
        snprintf(where, sizeof where, "%s overlapped by %s GEMMs, --channels %d",
                 specter_comm_op_name(r->op), bench_overlap_bound(r->of->memory), r->channels);
        bench_checks_take(g, BENCH_CHECK_cv, fmax(r->gemm.spread, r->collective.spread), "%s",
                          where);
        if (r->channels != log->rows[0].channels)
            continue;
        bench_checks_take(g, BENCH_CHECK_gemm, r->gemm.slowdown, "%s", where);
        bench_checks_take(g, BENCH_CHECK_collective, r->collective.slowdown, "%s", where);
        bench_checks_take(g, BENCH_CHECK_together, bench_overlap_together(log, r), "%s", where);
    }
}

/* ---- GPUs, configurations ---- */

static void take_clock(struct bench_checks *g, const struct bench_drift_log *log,
                       const struct bench_drift_point *list, int rank, const char *what)
{
    struct bench_drift_point *points = bench_drift_of(log, list, rank);
    double ppm = fabs(bench_drift_fit(points, log->n, 1).ppm);
    free(points);
    if (isfinite(ppm))
        bench_checks_take(g, BENCH_CHECK_drift, ppm, "rank %d, %s", rank, what);
}

void bench_checks_drift(struct bench_checks *g, const struct bench_drift_log *log,
                        const int *node_of)
{
    for (int rank = 0; rank < log->ranks && log->n > 0; rank++) {
        take_clock(g, log, log->gpu, rank, "its GPU against its host");
        if (node_of[rank] != node_of[0])
            take_clock(g, log, log->host, rank, "its host against rank 0's");
    }
}

void bench_checks_gpus(struct bench_checks *g, const struct bench_gpu_summary *gpus, int n)
{
    for (int i = 0; i < n; i++) {
        char reasons[BENCH_REASONS_MAX];
        if (gpus[i].throttled > 0)
            bench_checks_take(g, BENCH_CHECK_throttled, gpus[i].throttled, "GPU %d of node %d: %s",
                              gpus[i].gpu_id, gpus[i].node,
                              bench_reasons_text(gpus[i].reasons, reasons));
        else
            bench_checks_take(g, BENCH_CHECK_throttled, gpus[i].throttled, "no GPU");
    }
}

void bench_checks_done(struct bench_checks *g, size_t done, size_t wanted)
{
    if (wanted > 0)
        bench_checks_take(g, BENCH_CHECK_missing, 1 - (double)done / (double)wanted,
                          "%zu of %zu done", done, wanted);
}

/* ---- --fail-on ---- */

static const struct condition_name names[] = {
#define X(name, kind, limit, lacks, help) {#name, CONDITION_##kind},
    BENCH_CHECKS(X)
#undef X
        {"failed", CONDITION_COUNT},
};

static double value_of(const void *of, size_t i, const char **lacks)
{
    const struct bench_checks *g = of;
    if (i == BENCH_CHECK_COUNT)
        return bench_checks_failed(g);
    *lacks = figures[i].lacks;
    return g->figures[i].value;
}

static const struct condition_table table = {.names = names,
                                             .n = sizeof names / sizeof *names,
                                             .example = "failed>0",
                                             .holder = "benchmark",
                                             .value = value_of};

int bench_checks_parse(const char *expr, struct err *e)
{
    return conditions_check(&table, expr, e);
}

int bench_checks_apply(const char *expr, const struct bench_checks *g, struct err *e)
{
    return conditions_apply(&table, expr, g, e);
}
