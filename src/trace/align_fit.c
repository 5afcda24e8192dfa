/* SPDX-License-Identifier: MIT */
#include "trace/align_fit.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE 128     /* points between which slopes are taken: 16,000 of them */
#define NEAR 3.5       /* standard deviations from the line that a point may lie and be used */
#define ROUNDS 8       /* of choosing the points near the line; it settles in two or three */
#define SLOPE_SURE 4.0 /* standard errors that a slope must be from 0 */
#define PARTS 8
#define STEP 1.0         /* least difference of two y: points so near are always used */
#define MAD_SIGMA 1.4826 /* standard deviation of a normal law over its median deviation */

static int by_x(const void *pa, const void *pb)
{
    const struct fit_point *a = pa, *b = pb;
    return (a->x > b->x) - (a->x < b->x);
}

/* Moves the k-th smallest to list[k], smaller ones before it, larger ones behind. */
static void select_nth(double *list, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;
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
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
}

double fit_median(double *list, size_t n)
{
    double upper, lower;
    if (n == 0)
        return NAN;
    select_nth(list, n, n / 2);
    upper = lower = list[n / 2];
    if (n % 2 == 0) {
        lower = list[0];
        for (size_t i = 1; i < n / 2; i++)
            lower = list[i] > lower ? list[i] : lower;
    }
    return (lower + upper) / 2;
}

static double distance(const struct fit *f, const struct fit_point *p)
{
    return p->y - f->offset - f->slope * (p->x - f->at);
}

/* The points are in order of x, so that every so many of them are spread as all are. */
static double repeated_median(const struct fit_point *points, size_t n, double *work)
{
    double *slopes = work, *medians = work + SAMPLE;
    size_t step = n > SAMPLE ? n / SAMPLE : 1, count = 0;
    for (size_t i = 0; i < n && count < SAMPLE; i += step) {
        size_t k = 0;
        for (size_t j = 0, seen = 0; j < n && seen < SAMPLE; j += step, seen++) {
            double dx = points[j].x - points[i].x;
            if (dx != 0)
                slopes[k++] = (points[j].y - points[i].y) / dx;
        }
        if (k > 0)
            medians[count++] = fit_median(slopes, k);
    }
    return count > 0 ? fit_median(medians, count) : 0;
}

static double median_offset(const struct fit *f, const struct fit_point *points, size_t n,
                            double *work)
{
    for (size_t i = 0; i < n; i++)
        work[i] = points[i].y - f->slope * (points[i].x - f->at);
    return fit_median(work, n);
}

/* Median distance from the line; in units of each point's sigma when `scaled`. */
static double median_distance(const struct fit *f, const struct fit_point *points, size_t n,
                              bool scaled, double *work)
{
    for (size_t i = 0; i < n; i++)
        work[i] = fabs(distance(f, &points[i])) / (scaled ? points[i].sigma : 1);
    return fit_median(work, n);
}

/* Least squares over the points within `near` sigmas of the line; f becomes that line, through the
 * centre of these points. The slope stays when they have no extent, or `level`. */
static void least_squares(struct fit *f, const struct fit_point *points, size_t n, double near,
                          bool level)
{
    double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, srr = 0;
    struct fit old = *f;
    f->used = 0;
    for (size_t i = 0; i < n; i++) {
        double w = 1 / (points[i].sigma * points[i].sigma);
        if (fabs(distance(&old, &points[i])) > near * points[i].sigma + STEP)
            continue;
        f->used++;
        sw += w;
        sx += w * (points[i].x - old.at);
        sy += w * distance(&old, &points[i]);
    }
    f->at = old.at + sx / sw;
    for (size_t i = 0; i < n; i++) {
        double w = 1 / (points[i].sigma * points[i].sigma), dx = points[i].x - f->at;
        double d = distance(&old, &points[i]);
        if (fabs(d) > near * points[i].sigma + STEP)
            continue;
        sxx += w * dx * dx;
        sxy += w * dx * (d - sy / sw);
        srr += w * (d - sy / sw) * (d - sy / sw);
    }
    if (!level && sxx > 0) {
        f->slope = old.slope + sxy / sxx;
        srr -= sxy * sxy / sxx;
    }
    f->offset = old.offset + old.slope * (f->at - old.at) + sy / sw;
    srr = srr > 0 ? srr : 0;
    f->offset_err = sqrt(srr / (double)(f->used > 2 ? f->used - 2 : 1) / sw);
    f->slope_err = sxx > 0 ? f->offset_err * sqrt(sw / sxx) : INFINITY;
}

/* Least squares over what is near, until that does not change. */
static void settle(struct fit *f, const struct fit_point *points, size_t n, bool level,
                   double *work)
{
    size_t last = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double near = NEAR * MAD_SIGMA * median_distance(f, points, n, true, work);
        struct fit next = *f;
        least_squares(&next, points, n, near, level);
        *f = next;
        if (next.used == last)
            break;
        last = next.used;
    }
}

/* How far the points of one part of the time lie to one side of the line. A step of a clock shows
 * here, where the line goes through the middle of it. */
static double wander(const struct fit *f, const struct fit_point *points, size_t n, double *work)
{
    double most = 0;
    for (size_t part = 0; part < PARTS; part++) {
        size_t from = n * part / PARTS, to = n * (part + 1) / PARTS;
        for (size_t i = from; i < to; i++)
            work[i - from] = distance(f, &points[i]);
        double off = fabs(fit_median(work, to - from));
        most = to - from >= FIT_POINTS_MIN && off > most ? off : most;
    }
    return most;
}

bool fit_line(struct fit *f, struct fit_point *points, size_t n)
{
    double *work = NULL;
    size_t cap = 0;
    memset(f, 0, sizeof *f);
    if (n < FIT_POINTS_MIN)
        return false;
    ARRAY_GROW(work, cap, n > 2 * SAMPLE ? n : 2 * SAMPLE);
    qsort(points, n, sizeof *points, by_x);
    f->at = points[n / 2].x;
    f->slope = repeated_median(points, n, work);
    f->offset = median_offset(f, points, n, work);
    settle(f, points, n, false, work);
    if (!(fabs(f->slope) > SLOPE_SURE * f->slope_err)) {
        double slope_err = f->slope_err;
        f->slope = 0;
        f->offset = median_offset(f, points, n, work);
        settle(f, points, n, true, work);
        f->slope_err = slope_err;
    }
    f->residual = median_distance(f, points, n, false, work);
    f->wander = wander(f, points, n, work);
    free(work);
    return f->used >= FIT_POINTS_MIN;
}
