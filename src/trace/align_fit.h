/* SPDX-License-Identifier: MIT
 *
 * A line through points of which many may be far off: how one clock runs against another.
 *
 *     y = offset + slope * (x - at)
 *
 * First the median over the points of the median slope to all others (Siegel's repeated medians:
 * up to half of the points may be anywhere), then least squares over the points that lie near it.
 * The slope is kept only where the points tell it from 0.
 */
#ifndef SPECTER_TRACE_ALIGN_FIT_H
#define SPECTER_TRACE_ALIGN_FIT_H

#include <stdbool.h>
#include <stddef.h>

struct fit_point {
    double x, y;
    double sigma; /* > 0: how far off it is expected to be, against other points */
};

struct fit {
    double at;                    /* centre of the points that were used */
    double offset, slope;         /* slope 0 where it is not known to be another */
    double offset_err, slope_err; /* standard errors; slope_err also where the slope is 0 */
    size_t used;                  /* points near the line */
    double residual;              /* median distance of all points from the line */
    double wander;                /* largest median distance of one of eight parts in x: large where
                                     the points are no line */
};

/* Least of points for a fit: two numbers are fitted, and how far off they are is told by the rest.
 */
#define FIT_POINTS_MIN 8

/* False with fewer than FIT_POINTS_MIN points, all points, or near the line. Sorts the points by
 * x. */
bool fit_line(struct fit *f, struct fit_point *points, size_t n);

/* NAN of an empty list; the mean of the two in the middle of an even one. Reorders it. No NAN in
 * it.
 */
double fit_median(double *list, size_t n);

#endif
