/* SPDX-License-Identifier: MIT */
#include "trace/align.h"

#include "base/arena.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE 128 /* points between which slopes are taken: 16,000 of them */
#define NEAR 3.5   /* standard deviations from its class that a point may lie and be used */
#define ROUNDS 8   /* of choosing the points near the line; it settles in two or three */
#define PARTS 8
#define STEP 1.0         /* least difference of two y: points so near are always used */
#define SCALE_MIN 50.0   /* no class is taken to be more exact than this */
#define MAD_SIGMA 1.4826 /* standard deviation of a normal law over its median deviation */

/* Points of one class, and the line that they lie on: offset + slope * (x - at). */
struct class
{
    size_t first, n; /* in fitting.of */
    double offset, scale, aside;
    double sw, mx, md; /* of those near: sum of weights, mean x - at, mean distance */
};

struct fitting {
    struct clock_fit *f;
    const struct fit_point *points; /* by x */
    size_t n;
    struct class *classes; /* owned, as all below */
    uint32_t nclasses;
    uint32_t *class_of; /* [n] */
    size_t *of;         /* [n]: points, class by class */
    double *work;       /* [n or 2 SAMPLE] */
};

static int by_x(const void *pa, const void *pb)
{
    const struct fit_point *a = pa, *b = pb;
    return ORDER(a->x, b->x);
}

double fit_median(double *list, size_t n)
{
    double upper, lower;
    size_t low = 0, high = n - 1, middle = n / 2;
    if (n == 0)
        return NAN;

    /* Moves the middle one to its place, smaller ones before it, larger ones behind. */
    while (low < high) {
        double pivot = list[low + (high - low) / 2], swap;
        size_t i = low, j = high;
        for (;;) {
            while (list[i] < pivot)
                i++;
            while (list[j] > pivot)
                j--;
            if (i >= j)
                break;
            swap = list[i];
            list[i++] = list[j];
            list[j--] = swap;
        }
        if (middle <= j)
            high = j;
        else
            low = j + 1;
    }
    upper = lower = list[middle];
    if (n % 2 == 0) {
        lower = list[0];
        for (size_t i = 1; i < middle; i++)
            lower = list[i] > lower ? list[i] : lower;
    }
    return (lower + upper) / 2;
}

/* ---- classes ---- */

/* Small classes become class 0. */
static void make_classes(struct fitting *g, uint32_t classes)
{
    size_t *count = array_new((size_t)classes + 1, sizeof *count), at = 0;
    uint32_t *number = array_new((size_t)classes + 1, sizeof *number);
    g->classes = array_new((size_t)classes + 1, sizeof *g->classes);
    g->nclasses = 1;
    for (size_t i = 0; i < g->n; i++)
        count[g->points[i].class]++;
    for (uint32_t c = 0; c < classes; c++)
        number[c] = count[c] >= FIT_POINTS_MIN ? g->nclasses++ : 0;
    for (size_t i = 0; i < g->n; i++) {
        g->class_of[i] = number[g->points[i].class];
        g->classes[g->class_of[i]].n++;
    }
    for (uint32_t c = 0; c < g->nclasses; c++) {
        g->classes[c].first = at;
        at += g->classes[c].n;
        g->classes[c].n = 0;
    }
    for (size_t i = 0; i < g->n; i++) {
        struct class *c = &g->classes[g->class_of[i]];
        g->of[c->first + c->n++] = i;
    }
    for (uint32_t k = 0; k < g->nclasses; k++) {
        struct class *c = &g->classes[k];
        for (size_t i = 0; i < c->n; i++)
            g->work[i] = g->points[g->of[c->first + i]].aside;
        c->aside = fit_median(g->work, c->n);
    }
    free(count);
    free(number);
}

static double above(const struct fitting *g, size_t i)
{
    return g->points[i].y - g->f->slope * (g->points[i].x - g->f->at);
}

static double distance(const struct fitting *g, size_t i)
{
    return above(g, i) - g->classes[g->class_of[i]].offset;
}

/* The offset of each class, and how far its points lie from it. */
static void place_classes(struct fitting *g)
{
    for (uint32_t k = 0; k < g->nclasses; k++) {
        struct class *c = &g->classes[k];
        for (size_t i = 0; i < c->n; i++)
            g->work[i] = above(g, g->of[c->first + i]);
        c->offset = c->n > 0 ? fit_median(g->work, c->n) : 0;
        for (size_t i = 0; i < c->n; i++)
            g->work[i] = fabs(distance(g, g->of[c->first + i]));
        c->scale = c->n > 0 ? fmax(SCALE_MIN, MAD_SIGMA * fit_median(g->work, c->n)) : 0;
    }
}

/* ---- the slope ---- */

static double weight(const struct fitting *g, size_t i)
{
    double scale = g->classes[g->class_of[i]].scale;
    return fabs(distance(g, i)) > NEAR * scale + STEP ? 0 : 1 / (scale * scale);
}

/* The centre of the near points of each class. */
static void centre_classes(struct fitting *g)
{
    double sw = 0, sx = 0;
    g->f->used = 0;
    for (uint32_t k = 0; k < g->nclasses; k++) {
        struct class *c = &g->classes[k];
        c->sw = c->mx = c->md = 0;
        for (size_t i = c->first; i < c->first + c->n; i++) {
            double w = weight(g, g->of[i]);
            g->f->used += w > 0;
            c->sw += w;
            c->mx += w * (g->points[g->of[i]].x - g->f->at);
            c->md += w * distance(g, g->of[i]);
        }
        sw += c->sw;
        sx += c->mx;
        c->mx = c->sw > 0 ? c->mx / c->sw : 0;
        c->md = c->sw > 0 ? c->md / c->sw : 0;
    }
    for (uint32_t k = 0; k < g->nclasses; k++)
        g->classes[k].mx -= sx / sw;
    for (uint32_t k = 0; k < g->nclasses; k++)
        g->classes[k].offset += g->f->slope * sx / sw;
    g->f->at += sx / sw;
}

/* Least squares over what is near, until that does not change. */
static void settle(struct fitting *g, bool level)
{
    size_t last = 0;
    for (int round = 0; round < ROUNDS && (round == 0 || g->f->used != last); round++) {
        last = g->f->used;
        /* Least squares over the near points, within classes; `level`: the slope stays. */
        double sxx = 0, sxy = 0, srr = 0, slope = 0, freedom;
        size_t parameters = 1;
        centre_classes(g);
        for (size_t i = 0; i < g->n; i++) {
            const struct class *c = &g->classes[g->class_of[i]];
            double w = weight(g, i), dx = g->points[i].x - g->f->at - c->mx;
            double d = distance(g, i) - c->md;
            sxx += w * dx * dx;
            sxy += w * dx * d;
            srr += w * d * d;
        }
        if (!level && sxx > 0) {
            slope = sxy / sxx;
            srr -= sxy * slope;
        }
        for (uint32_t k = 0; k < g->nclasses; k++) {
            struct class *c = &g->classes[k];
            c->offset += c->md - slope * c->mx;
            parameters += c->sw > 0;
        }
        g->f->slope += slope;
        freedom = g->f->used > parameters ? (double)(g->f->used - parameters) : 1;
        g->f->offset_err = sqrt(fmax(srr, 0) / freedom); /* of weight 1; see take_offset() */
        g->f->slope_err = sxx > 0 ? g->f->offset_err / sqrt(sxx) : INFINITY;
        for (uint32_t k = 0; k < g->nclasses; k++) {
            struct class *c = &g->classes[k];
            for (size_t i = 0; i < c->n; i++)
                g->work[i] = fabs(distance(g, g->of[c->first + i]));
            c->scale = c->n > 0 ? fmax(SCALE_MIN, MAD_SIGMA * fit_median(g->work, c->n)) : 0;
        }
    }
}

/* ---- offset and distances ---- */

static double class_weight(const struct fitting *g, const struct class *c)
{
    double err = c->sw > 0 ? g->f->offset_err / sqrt(c->sw) : INFINITY;
    return c->sw > 0 ? 1 / (c->aside * c->aside + err * err) : 0;
}

static int by_offset(const void *pa, const void *pb)
{
    const struct class *a = pa, *b = pb;
    return ORDER(a->offset, b->offset);
}

/* The weighted median of the classes' offsets. Last: it sorts them. */
static void take_offset(struct fitting *g)
{
    double all = 0, sum = 0;
    uint32_t k = 0;
    qsort(g->classes, g->nclasses, sizeof *g->classes, by_offset);
    for (uint32_t i = 0; i < g->nclasses; i++)
        all += class_weight(g, &g->classes[i]);
    for (; k + 1 < g->nclasses; k++) {
        sum += class_weight(g, &g->classes[k]);
        if (sum * 2 >= all)
            break;
    }
    g->f->offset = g->classes[k].offset;
    g->f->aside = g->classes[k].aside;
    g->f->offset_err /= sqrt(g->classes[k].sw);
    for (size_t i = 0; i < g->n; i++)
        g->work[i] = fabs(above(g, i) - g->f->offset);
    g->f->residual = fit_median(g->work, g->n);
}

/* Returns how far the points of one part of the time lie to one side of their lines, of all parts
 * the most. A step of a clock shows here, where the line goes through the middle of it. */
static double wander(const struct fitting *g)
{
    double most = 0;
    for (size_t part = 0; part < PARTS; part++) {
        size_t from = g->n * part / PARTS, to = g->n * (part + 1) / PARTS;
        for (size_t i = from; i < to; i++)
            g->work[i - from] = distance(g, i);
        double off = fabs(fit_median(g->work, to - from));
        most = to - from >= FIT_POINTS_MIN && off > most ? off : most;
    }
    return most;
}

bool fit_line(struct clock_fit *f, struct fit_point *points, size_t n, uint32_t classes)
{
    struct fitting g = {.f = f, .points = points, .n = n};
    memset(f, 0, sizeof *f);
    if (n < FIT_POINTS_MIN)
        return false;
    qsort(points, n, sizeof *points, by_x);
    f->at = points[n / 2].x;
    g.class_of = array_new(n, sizeof *g.class_of);
    g.of = array_new(n, sizeof *g.of);
    g.work = array_new(n > 2 * SAMPLE ? n : 2 * SAMPLE, sizeof *g.work);
    make_classes(&g, classes);
    for (int round = 0; round < ROUNDS / 2; round++) {
        /* The medians of `slopes` are corrections of the slope. The points are in order of x, so
         * that a sample of every so many of them is spread as all are. */
        double *slopes = g.work, *medians = g.work + SAMPLE;
        size_t step = g.n > SAMPLE ? g.n / SAMPLE : 1, count = 0;
        for (size_t i = 0; i < g.n && count < SAMPLE; i += step) {
            size_t k = 0;
            for (size_t j = 0, seen = 0; j < g.n && seen < SAMPLE; j += step, seen++) {
                double dx = g.points[j].x - g.points[i].x;
                if (dx != 0)
                    slopes[k++] = (distance(&g, j) - distance(&g, i)) / dx;
            }
            if (k > 0)
                medians[count++] = fit_median(slopes, k);
        }
        g.f->slope += count > 0 ? fit_median(medians, count) : 0;
        place_classes(&g);
    }
    settle(&g, false);
    if (!(fabs(g.f->slope) > FIT_SLOPE_SURE * g.f->slope_err)) {
        double slope_err = g.f->slope_err;
        g.f->slope = 0;
        place_classes(&g);
        settle(&g, true);
        g.f->slope_err = slope_err;
    }
    g.f->wander = wander(&g);
    take_offset(&g);
    free(g.class_of);
    free(g.of);
    free(g.work);
    free(g.classes);
    return f->used >= FIT_POINTS_MIN;
}

/* ---- a line between clocks ---- */

__extension__ typedef __int128 i128;

#define DRIFT_BITS 60 /* of the fraction by which a drift is multiplied: 2^60 * 0.5 fits */

int64_t clock_line_map(const struct clock_line *line, int64_t t_ns)
{
    int64_t shifted = ns_add(t_ns, line->offset_ns);
    i128 scaled;
    if (line->drift == 0 || shifted == UNKNOWN_NS)
        return shifted;
    scaled = ((i128)t_ns - line->at_ns) * (int64_t)ldexp(line->drift, DRIFT_BITS);
    scaled = (scaled + ((i128)1 << (DRIFT_BITS - 1))) >> DRIFT_BITS;
    if (scaled > RUN_TIME_MAX || scaled < -RUN_TIME_MAX)
        return UNKNOWN_NS;
    return ns_add(shifted, (int64_t)scaled);
}

struct clock_line clock_line_join(const struct clock_line *first, const struct clock_line *then)
{
    int64_t at = ns_add(first->at_ns, first->offset_ns), mapped = clock_line_map(then, at);
    return (struct clock_line){
        .offset_ns = mapped != UNKNOWN_NS ? mapped - first->at_ns : UNKNOWN_NS,
        .at_ns = first->at_ns,
        .drift = (1 + first->drift) * (1 + then->drift) - 1,
    };
}

struct clock_line clock_line_inverse(const struct clock_line *line)
{
    return (struct clock_line){
        .offset_ns = -line->offset_ns,
        .at_ns = line->at_ns + line->offset_ns,
        .drift = -line->drift / (1 + line->drift),
    };
}

static void map_pair(const struct clock_line *line, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = clock_line_map(line, *start_ns);
    *end_ns = clock_line_map(line, *end_ns);
}

void rank_map(struct rank *rank, const struct clock_line *line)
{
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        int64_t end_ns = clock_line_map(line, ns_add(op->start_ns, op->dur_ns));
        map_pair(line, &op->host_ns, &op->host_end_ns);
        op->start_ns = clock_line_map(line, op->start_ns);
        if (line->drift != 0 && end_ns != UNKNOWN_NS && op->start_ns != UNKNOWN_NS)
            op->dur_ns = end_ns - op->start_ns;
    }
    for (size_t i = 0; i < rank->nsync_calls; i++)
        map_pair(line, &rank->sync_calls[i].host_ns, &rank->sync_calls[i].host_end_ns);
    for (size_t i = 0; i < rank->nsteps; i++)
        map_pair(line, &rank->steps[i].start_ns, &rank->steps[i].end_ns);
    for (size_t i = 0; i < rank->nlaunches; i++)
        map_pair(line, &rank->launches[i].host_ns, &rank->launches[i].host_end_ns);
    for (size_t i = 0; i < rank->nmarks; i++)
        map_pair(line, &rank->marks[i].start_ns, &rank->marks[i].end_ns);
    map_pair(line, &rank->end_ns, &rank->dump_ns);
}

void rank_shift(struct rank *rank, int64_t by_ns)
{
    rank_map(rank, &(struct clock_line){.offset_ns = by_ns});
}
