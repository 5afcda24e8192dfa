/* SPDX-License-Identifier: MIT
 *
 * A line through points of which many may be far off: how one clock runs against another.
 *
 *     y = offset + slope * (x - at)
 *
 * Points come in classes that may each lie to one side of the line by a constant of their own:
 * collectives of one kind and size end on one host somewhat before the other, every time. The slope
 * is taken within classes: first the median over points of the median slope to all others (Siegel's
 * repeated medians: up to half of the points may be anywhere), then least squares over the points
 * near the line. It is kept only where the points tell it from 0. The offset is the median of the
 * classes', each with the weight that its constant is expected to leave it.
 */
#ifndef SPECTER_TRACE_ALIGN_FIT_H
#define SPECTER_TRACE_ALIGN_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fit_point {
    double x, y;
    double aside;   /* > 0: how far its class may lie to one side; the median counts */
    uint32_t class; /* below the number of classes */
};

struct clock_fit {
    double at;                    /* centre of the points that were used */
    double offset, slope;         /* slope 0 where it is not known to be another */
    double offset_err, slope_err; /* standard errors; slope_err also where the slope is 0 */
    double aside;                 /* of the class whose offset was taken */
    size_t used;                  /* points near the line */
    double residual;              /* median distance of all points from the line */
    double wander;                /* largest median distance, in one of eight parts in x, from the
                                     lines of their classes: large where the points are no line */
};

/* Least of points for a fit: two numbers are fitted, and how far off they are is told by the rest.
 */
#define FIT_POINTS_MIN 8

/* So many standard errors must a slope be from 0. */
#define FIT_SLOPE_SURE 4.0

/* False with fewer than FIT_POINTS_MIN points, all points, or near the line. Sorts the points by
 * x. Classes of fewer than FIT_POINTS_MIN points are taken as one. */
bool fit_line(struct clock_fit *f, struct fit_point *points, size_t n, uint32_t classes);

/* NAN of an empty list; the mean of the two in the middle of an even one. Reorders it. No NAN in
 * it. */
double fit_median(double *list, size_t n);

#endif
