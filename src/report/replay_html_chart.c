/* SPDX-License-Identifier: MIT
 *
 * Charts of all scales. GPUs are on a logarithmic axis; scales stand in the order of their numbers.
 */
#include "report/replay_html_internal.h"

#include "report/table.h"

#include <math.h>
#include <stdlib.h>

#define WIDTH 360.0
#define HEIGHT 200.0
#define LEFT 56.0
#define RIGHT 14.0
#define TOP 12.0
#define BOTTOM 26.0
#define TICKS 4
#define LABEL 26.0 /* of a number of GPUs */

/* One chart: values of the scales over GPUs. */
struct chart {
    const struct replay *rep;
    const struct replay_scale **sorted; /* [nscales] by GPUs; owned */
    double top;                         /* of the vertical axis */
    double least, most;                 /* log2 of GPUs */
};

static int by_gpus(const void *pa, const void *pb)
{
    const struct replay_scale *const *a = pa, *const *b = pb;
    return ((*a)->gpus > (*b)->gpus) - ((*a)->gpus < (*b)->gpus);
}

static void chart_init(struct chart *c, const struct replay *rep)
{
    *c = (struct chart){.rep = rep, .sorted = malloc(rep->nscales * sizeof *c->sorted)};
    if (c->sorted == NULL)
        die("out of memory");
    for (size_t i = 0; i < rep->nscales; i++)
        c->sorted[i] = &rep->scales[i];
    qsort(c->sorted, rep->nscales, sizeof *c->sorted, by_gpus);
    c->least = log2((double)c->sorted[0]->gpus);
    c->most = log2((double)c->sorted[rep->nscales - 1]->gpus);
}

static double x_of(const struct chart *c, const struct replay_scale *s)
{
    double room = WIDTH - LEFT - RIGHT - 24;
    if (!(c->most > c->least))
        return LEFT + 12 + room / 2;
    return LEFT + 12 + room * (log2((double)s->gpus) - c->least) / (c->most - c->least);
}

static double y_of(const struct chart *c, double value)
{
    double part = c->top > 0 ? fmin(fmax(value / c->top, 0), 1) : 0;
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part;
}

/* 65536 -> "64Ki": powers of two are what scales mostly are. */
static void gpus_label(char *buf, size_t size, int64_t gpus)
{
    if (gpus >= 1 << 20 && gpus % (1 << 20) == 0)
        snprintf(buf, size, "%lldMi", (long long)gpus >> 20);
    else if (gpus >= 1 << 14 && gpus % (1 << 10) == 0)
        snprintf(buf, size, "%lldKi", (long long)gpus >> 10);
    else
        snprintf(buf, size, "%lld", (long long)gpus);
}

static void put_grid(struct buf *b, const struct chart *c, bool percent)
{
    double free = 0; /* where the next label may be */
    char label[32];
    for (int i = 0; i <= TICKS; i++) {
        double value = c->top * i / TICKS, y = y_of(c, value);
        buf_printf(b, "<line class=axis x1=%.1f x2=%.1f y1=%.1f y2=%.1f />", LEFT, WIDTH - RIGHT, y,
                   y);
        if (percent)
            snprintf(label, sizeof label, "%.0f %%", 100 * value);
        else
            text_ns(label, sizeof label, value);
        buf_printf(b, "<text x=%.1f y=%.1f text-anchor=end>%s</text>", LEFT - 6, y + 4, label);
    }
    for (size_t i = 0; i < c->rep->nscales; i++) {
        if (x_of(c, c->sorted[i]) < free)
            continue;
        free = x_of(c, c->sorted[i]) + LABEL;
        gpus_label(label, sizeof label, c->sorted[i]->gpus);
        buf_printf(b, "<text x=%.1f y=%.1f text-anchor=middle>%s</text>", x_of(c, c->sorted[i]),
                   HEIGHT - 8, label);
    }
}

/* Scales of which it is not known have no mark. */
static void put_curve(struct buf *b, const struct chart *c,
                      double (*value)(const struct replay_scale *))
{
    buf_puts(b, "<polyline class=curve points=\"");
    for (size_t i = 0; i < c->rep->nscales; i++) {
        if (isfinite(value(c->sorted[i])))
            buf_printf(b, "%.1f,%.1f ", x_of(c, c->sorted[i]), y_of(c, value(c->sorted[i])));
    }
    buf_puts(b, "\"/>");
    for (size_t i = 0; i < c->rep->nscales; i++) {
        if (isfinite(value(c->sorted[i])))
            buf_printf(b, "<circle class=mark r=3.5 cx=%.1f cy=%.1f />", x_of(c, c->sorted[i]),
                       y_of(c, value(c->sorted[i])));
    }
}

static void put_bars(struct buf *b, const struct chart *c)
{
    for (size_t i = 0; i < c->rep->nscales; i++) {
        const struct replay_scale *s = c->sorted[i];
        double x = x_of(c, s), low = y_of(c, s->time.span_ns * (1 - s->error.share));
        double high = y_of(c, s->time.span_ns * (1 + s->error.share));
        if (!(low - high >= 0.5))
            continue;
        buf_printf(
            b, "<path class=\"bar%s\" fill=none d=\"M%.1f %.1fV%.1fM%.1f %.1fh8M%.1f %.1fh8\"/>",
            replay_unmeasured(s) ? " guess" : "", x, low, high, x - 4, low, x - 4, high);
    }
}

/* P50 to P95 of single iterations, beside the bar. */
static void put_varied(struct buf *b, const struct chart *c)
{
    for (size_t i = 0; i < c->rep->nscales; i++) {
        const struct replay_scale *s = c->sorted[i];
        double high = y_of(c, s->jitter.p95_ns);
        if (s->jitter.samples == 0)
            continue;
        buf_printf(b, "<rect class=varied x=%.1f width=5 y=%.1f height=%.1f />", x_of(c, s) + 7,
                   high, fmax(y_of(c, s->jitter.p50_ns) - high, 1));
    }
}

static double iteration_of(const struct replay_scale *s)
{
    return s->time.span_ns;
}

static double efficiency_of(const struct replay_scale *s)
{
    return s->efficiency;
}

static void begin(struct buf *b, const char *title)
{
    buf_printf(b,
               "<figure><figcaption>%s</figcaption><svg viewBox=\"0 0 %.0f %.0f\" role=img "
               "aria-label=\"%s\">",
               title, WIDTH, HEIGHT, title);
}

void html_scaling(struct buf *b, const struct replay *rep)
{
    struct chart c;
    double most = 0;
    chart_init(&c, rep);
    for (size_t i = 0; i < rep->nscales; i++)
        most = fmax(most,
                    fmax(rep->scales[i].jitter.p95_ns,
                         rep->scales[i].time.span_ns * (1 + fmin(rep->scales[i].error.share, 1))));
    buf_puts(b, "<div class=charts>");
    begin(b, "Iteration by GPUs");
    c.top = html_round_up(most);
    put_grid(b, &c, false);
    put_curve(b, &c, iteration_of);
    put_bars(b, &c);
    put_varied(b, &c);
    buf_puts(b, "</svg></figure>");
    begin(b, "Efficiency by GPUs");
    for (size_t i = 0; i < rep->nscales; i++)
        most = fmax(i == 0 ? 0 : most, rep->scales[i].efficiency);
    c.top = most > 1.0005 ? html_round_up(most) : 1;
    put_grid(b, &c, true);
    put_curve(b, &c, efficiency_of);
    buf_printf(b,
               "</svg></figure></div><p class=soft>Bars: what the prediction may be off; dashed "
               "where part of that is not measured.%s</p>",
               rep->scales[0].jitter.samples > 0 ? " Beside them: P50 to P95 of single iterations."
                                                 : "");
    free(c.sorted);
}

/* ---- where the step goes ---- */

void html_shares(struct buf *b, const struct replay *rep)
{
    buf_puts(b, "<div class=keys>");
    for (int k = 0; k < REPLAY_SHARES; k++) {
        if (replay_share_seen(rep, k))
            html_key(b, k, replay_shares[k].name);
    }
    buf_puts(b, "</div>");
    for (size_t i = 0; i < rep->nscales; i++) {
        const struct replay_scale *s = &rep->scales[i];
        buf_printf(b, "<div class=row><span>%lld GPU%s</span><div class=stack>", (long long)s->gpus,
                   s->gpus > 1 ? "s" : "");
        for (int k = 0; k < REPLAY_SHARES; k++) {
            double share = 100 * replay_share_of(&s->time, k);
            if (share > 0)
                buf_printf(b, "<i class=k%d style=\"width:%.3f%%\" title=\"%s %.1f %%\"></i>", k,
                           share, replay_shares[k].name, share);
        }
        buf_puts(b, "</div></div>");
    }
}
