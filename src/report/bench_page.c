/* SPDX-License-Identifier: MIT
 *
 * The page of a benchmark: checks, curves, heat maps, temperatures, drift (bench_report.h).
 */
#include "report/bench_report.h"

#include "base/arena.h"
#include "base/idmap.h"
#include "base/whole_file.h"
#include "bench/samples.h"
#include "report/page.h"
#include "report/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLOURS 7
#define LINKS_SHOWN 12 /* curves of their own: the slowest ones */

/* ---- checks ---- */

static void put_checks(struct buf *b, const struct bench_checks *checks)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        die("out of memory");
    bench_checks_text(checks, true, out);
    fclose(out);
    buf_puts(b, "<pre>");
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        html_text(b, line);
        buf_putc(b, '\n');
    }
    buf_puts(b, "</pre>");
    free(text);
}

/* ---- collectives ---- */

/* The columns of an operation's rows. */
struct columns {
    double *bytes, *us, *expected, *low, *high, *busbw, *expected_busbw; /* owned */
    size_t n;
};

static void columns_of(const struct bench_study *s, struct columns *c)
{
    double **all[] = {&c->bytes, &c->us,    &c->expected,      &c->low,
                      &c->high,  &c->busbw, &c->expected_busbw};
    c->n = s->nmain;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = array_new(c->n, sizeof **all[i]);
    for (size_t i = 0; i < c->n; i++) {
        const struct bench_judged *j = &s->rows[i];
        const bool known = isfinite(j->ratio);
        c->bytes[i] = (double)j->row->bytes;
        c->us[i] = j->row->time_us;
        c->expected[i] = known ? j->expected.of.us : NAN;
        c->low[i] = known ? j->expected.interval.low_us : NAN;
        c->high[i] = known ? j->expected.interval.high_us : NAN;
        c->busbw[i] = j->row->busbw_GBps;
        c->expected_busbw[i] = known ? j->row->busbw_GBps / j->ratio : NAN;
    }
}

static void columns_free(struct columns *c)
{
    free(c->bytes);
    free(c->us);
    free(c->expected);
    free(c->low);
    free(c->high);
    free(c->busbw);
    free(c->expected_busbw);
}

static void put_study(struct buf *b, const struct bench_study *s)
{
    struct columns c;
    const char *op = s->op < SPECTER_COMM_OP_COUNT ? specter_comm_op_name(s->op) : s->run->program;
    char time[128], rate[128];
    columns_of(s, &c);
    snprintf(time, sizeof time, "%.60s, %d ranks: time by size", op, s->where.ranks);
    snprintf(rate, sizeof rate, "%.60s, %d ranks: busbw by size, GB/s", op, s->where.ranks);
    const struct plot_series times[] = {
        {"interval of the prediction", PLOT_BAND, 1, c.bytes, c.low, s->gpu != NULL ? c.n : 0,
         c.high},
        {"predicted", PLOT_LINE, 0, c.bytes, c.expected, s->gpu != NULL ? c.n : 0, NULL},
        {"measured", PLOT_POINTS, 2, c.bytes, c.us, c.n, NULL},
    };
    const struct plot_series rates[] = {
        {"predicted", PLOT_LINE, 0, c.bytes, c.expected_busbw, s->gpu != NULL ? c.n : 0, NULL},
        {"measured", PLOT_POINTS, 2, c.bytes, c.busbw, c.n, NULL},
    };
    plot_curves(b, &(struct plot){.title = time,
                                  .x = {"bytes", PLOT_BYTES, true},
                                  .y = {"us", PLOT_US, true},
                                  .series = times,
                                  .nseries = sizeof times / sizeof *times});
    plot_curves(b, &(struct plot){.title = rate,
                                  .x = {"bytes", PLOT_BYTES, true},
                                  .y = {"busbw_GBps", PLOT_GBPS, false},
                                  .series = rates,
                                  .nseries = sizeof rates / sizeof *rates});
    columns_free(&c);
}

/* ---- links ---- */

static double fitted_us(const struct bench_link *l, double bytes)
{
    for (size_t i = 0; i < l->npieces; i++) {
        const struct bench_link_piece *p = &l->pieces[i];
        if (bytes <= (double)p->to || i + 1 == l->npieces)
            return p->alpha_us + bytes / p->beta_GBps / 1e3;
    }
    return NAN;
}

static void put_link(struct buf *b, const struct bench_p2p_log *log, const struct bench_link *l)
{
    struct bench_link_points points;
    double *bytes, *us, *fitted;
    char title[128];
    bench_link_points_of(log, l->src, l->dst, &points);
    bytes = array_new(points.n, sizeof *bytes);
    us = array_new(points.n, sizeof *us);
    fitted = array_new(points.n, sizeof *fitted);
    for (size_t i = 0; i < points.n; i++) {
        struct bench_stats stats;
        bench_stats_of(points.list[i].us, points.list[i].n, &stats);
        bytes[i] = (double)points.list[i].bytes;
        us[i] = stats.median;
        fitted[i] = fitted_us(l, bytes[i]);
    }
    snprintf(title, sizeof title, "GPU %d to GPU %d: %.3g us, %.4g GB/s%s%s%s", l->src, l->dst,
             l->alpha_us, l->beta_GBps, l->slow ? ", slow" : "", l->late ? ", late" : "",
             l->asymmetric ? ", asymmetric" : "");
    const struct plot_series series[] = {
        {"fitted", PLOT_LINE, 0, bytes, fitted, points.n, NULL},
        {"measured", PLOT_POINTS, 2, bytes, us, points.n, NULL},
    };
    plot_curves(b, &(struct plot){.title = title,
                                  .x = {"bytes", PLOT_BYTES, true},
                                  .y = {"us", PLOT_US, true},
                                  .series = series,
                                  .nseries = 2});
    free(bytes);
    free(us);
    free(fitted);
    bench_link_points_release(&points);
}

static int by_rate(const void *a, const void *b)
{
    const struct bench_link *const *x = a, *const *y = b;
    const double rx = (*x)->beta_ratio, ry = (*y)->beta_ratio;
    if (rx < ry || ry < rx)
        return rx < ry ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

static void put_links(struct buf *b, const struct bench_p2p_log *log,
                      const struct bench_links *links)
{
    const int cells = links->ranks * links->ranks;
    const struct bench_link **list = array_new((size_t)cells, sizeof *list);
    double *rate = array_new((size_t)cells, sizeof *rate),
           *late = array_new((size_t)cells, sizeof *late);
    size_t n = 0;
    for (int i = 0; i < cells; i++) {
        const struct bench_link *l = &links->list[i];
        rate[i] = l->npieces > 0 ? l->beta_GBps : NAN;
        late[i] = l->npieces > 0 ? l->alpha_us : NAN;
        if (l->npieces > 0)
            list[n++] = l;
    }
    qsort(list, n, sizeof *list, by_rate);
    buf_puts(b, "<h2>Links</h2><div class=charts>");
    plot_matrix(b, &(struct plot_matrix){"Rate of each link", "GB/s", rate, links->ranks, false});
    plot_matrix(b, &(struct plot_matrix){"Latency of each link", "us", late, links->ranks, true});
    buf_puts(b, "</div>");
    if (n > LINKS_SHOWN)
        buf_printf(b, "<p class=soft>Curves of the %d slowest of %zu links.</p>", LINKS_SHOWN, n);
    buf_puts(b, "<div class=charts>");
    for (size_t i = 0; i < n && i < LINKS_SHOWN; i++)
        put_link(b, log, list[i]);
    buf_puts(b, "</div>");
    free(list);
    free(rate);
    free(late);
}

/* ---- over time ---- */

/* Lines over time, one a GPU or rank. */
struct chart_lines {
    struct plot_series *series; /* owned */
    char (*names)[32];          /* owned */
    double *values;             /* owned: of each line all x, then all y */
    size_t n, points;           /* lines; room of each */
};

static void lines_init(struct chart_lines *l, size_t n, size_t points)
{
    *l = (struct chart_lines){.n = n, .points = points};
    l->series = array_new(n, sizeof *l->series);
    l->names = array_new(n, sizeof *l->names);
    l->values = array_new(2 * n * points, sizeof *l->values);
    for (size_t i = 0; i < n; i++)
        l->series[i] = (struct plot_series){.name = l->names[i],
                                            .colour = (int)(i % COLOURS),
                                            .x = l->values + 2 * i * points,
                                            .y = l->values + (2 * i + 1) * points};
}

static void lines_add(struct chart_lines *l, size_t i, double x, double y)
{
    const size_t at = l->series[i].n++;
    l->values[2 * i * l->points + at] = x;
    l->values[(2 * i + 1) * l->points + at] = y;
}

static void lines_put(struct buf *b, struct chart_lines *l, const char *title, const char *unit)
{
    plot_curves(b, &(struct plot){.title = title,
                                  .x = {"s", PLOT_NUMBER, false},
                                  .y = {unit, PLOT_NUMBER, false},
                                  .series = l->series,
                                  .nseries = l->n});
    free(l->series);
    free(l->names);
    free(l->values);
}

static void put_temperatures(struct buf *b, const struct bench_temperatures *t)
{
    static const struct {
        const char *title, *unit;
        size_t offset;
    } charts[] = {
        {"Temperature over seconds, C", "celsius", offsetof(struct bench_sample, celsius)},
        {"Power over seconds, W", "watts", offsetof(struct bench_sample, watts)},
        {"SM clock over seconds, MHz", "MHz", offsetof(struct bench_sample, MHz)},
    };
    struct idmap ids = {0};
    int64_t *gpus;
    for (size_t i = 0; i < t->n; i++)
        idmap_add(&ids, t->list[i].gpu_id);
    gpus = idmap_ids(&ids);
    buf_puts(b, "<h2>GPUs</h2><div class=charts>");
    for (size_t k = 0; k < sizeof charts / sizeof *charts; k++) {
        struct chart_lines l;
        lines_init(&l, ids.count, t->n);
        for (uint32_t i = 0; i < ids.count; i++)
            snprintf(l.names[i], sizeof l.names[i], "GPU %lld", (long long)gpus[i]);
        for (size_t i = 0; i < t->n; i++) {
            const char *sample = (const char *)&t->list[i];
            lines_add(&l, idmap_find(&ids, t->list[i].gpu_id), t->list[i].elapsed_s,
                      *(const double *)(sample + charts[k].offset));
        }
        lines_put(b, &l, charts[k].title, charts[k].unit);
    }
    free(gpus);
    idmap_release(&ids);
    buf_puts(b, "</div>");
}

static void put_drift(struct buf *b, const struct bench_drift_log *log)
{
    const struct bench_drift_point *const lists[] = {log->gpu, log->host};
    static const char *const titles[] = {"GPU ahead of its host, us over seconds",
                                         "Host ahead of rank 0's, us over seconds"};
    buf_puts(b, "<h2>Clocks</h2><div class=charts>");
    for (int k = 0; k < 2; k++) {
        struct chart_lines l;
        lines_init(&l, (size_t)log->ranks, log->n);
        for (int r = 0; r < log->ranks; r++) {
            snprintf(l.names[r], sizeof l.names[r], "rank %d", r);
            for (size_t i = 0; i < log->n; i++) {
                const struct bench_drift_point *p = &lists[k][i * (size_t)log->ranks + (size_t)r];
                lines_add(&l, (size_t)r, p->s, p->us - lists[k][r].us);
            }
        }
        lines_put(b, &l, titles[k], "us");
    }
    buf_puts(b, "</div>");
}

/* ---- the page ---- */

int bench_page_write(const struct bench_page *p, const char *path, struct err *e)
{
    struct buf b = BUF_INIT;
    struct sink *s;
    int status = sink_open(&s, path, e);
    if (status < 0)
        return -1;
    html_begin(&b, "specter bench");
    buf_puts(&b, "<h1>");
    html_text(&b, p->title);
    buf_puts(&b, "</h1><dl>");
    if (p->run != NULL) {
        char ranks[64];
        snprintf(ranks, sizeof ranks, "%d on %d node%s", p->run->where.ranks, p->run->where.nodes,
                 p->run->where.nodes == 1 ? "" : "s");
        html_fact(&b, "GPU", p->run->gpu[0] != '\0' ? p->run->gpu : NULL);
        html_fact(&b, "library", p->run->library[0] != '\0' ? p->run->library : NULL);
        html_fact(&b, "ranks", p->run->where.ranks > 0 ? ranks : NULL);
    }
    buf_puts(&b, "</dl>");
    if (p->checks != NULL)
        put_checks(&b, p->checks);
    if (p->studies != NULL && p->studies->n > 0) {
        buf_puts(&b, "<h2>Collectives</h2><div class=charts>");
        for (size_t i = 0; i < p->studies->n; i++)
            put_study(&b, &p->studies->list[i]);
        buf_puts(&b, "</div>");
    }
    if (p->links != NULL)
        put_links(&b, p->log, p->links);
    if (p->temperatures != NULL && p->temperatures->n > 0)
        put_temperatures(&b, p->temperatures);
    if (p->drift != NULL && p->drift->n > 0)
        put_drift(&b, p->drift);
    html_end(&b);
    sink_put(s, b.data, b.len);
    buf_release(&b);
    return sink_close(s, e);
}
