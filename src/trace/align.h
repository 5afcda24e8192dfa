/* SPDX-License-Identifier: MIT
 *
 * One clock for the ranks of all hosts; docs/clocks.md says how and when.
 *
 *     align.c       which ranks share a clock, and what is said of the others
 *     align_tree.c  what two clocks have in common, the ends of collectives; from clock to clock
 *     align_fit.c   a line through them; the times of a rank on another clock
 */
#ifndef SPECTER_TRACE_ALIGN_H
#define SPECTER_TRACE_ALIGN_H

#include "trace/run.h"

/* Sets rank->domain, run->domains, clock_aligned and clock_residual_ns, and moves the times of all
 * domains to the clock of the first: by collectives where these say enough, else, where both are
 * dated, by the wall clock. A note tells which. Needs numbered ranks and communicators. */
void clocks_align(struct run *run);

/* Returns whether both are surely on the clock of one host. Needs their numbers where the trace
 * names no host. */
bool ranks_share_clock(const struct rank *a, const struct rank *b);

/* ---- inside: align_fit.c ----
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
 * classes', each with the weight that its constant is expected to leave it. */

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

/* From one clock to another: mapped = t + offset + drift * (t - at), in integers, so that the order
 * of times stays as it is and what ends where the next begins does so afterwards. */
struct clock_line {
    int64_t offset_ns, at_ns;
    double drift; /* believable: |drift| < 0.5 */
};

/* UNKNOWN_NS for UNKNOWN_NS, and for what leaves the believable range. */
int64_t clock_line_map(const struct clock_line *line, int64_t t_ns);

/* First `first`, then `then`. */
struct clock_line clock_line_join(const struct clock_line *first, const struct clock_line *then);

/* The way back. */
struct clock_line clock_line_inverse(const struct clock_line *line);

/* Every time of the rank but mono_ns, as rank_shift() does. Operations keep their ends to the
 * nanosecond: durations become those of the other clock. */
void rank_map(struct rank *rank, const struct clock_line *line);

/* ---- inside: align_tree.c ----
 *
 * From the pairs of domains that have collectives in common to a mapping of every domain to the
 * first: along the path on which the errors of the pairs add up to least. */

/* So far off may a mapped time be at most: what is reported between ranks of several hosts are
 * starts that differ by more, and a clock that is worse is steered or stepped, not steady. */
#define ALIGN_ERROR_MAX_NS 100e3

/* No clock of a computer runs so much faster than another: a slope that is larger is none.
 * (Crystals keep 100 ppm, and Linux steers by 500 ppm at most.) */
#define ALIGN_DRIFT_MAX 1e-3
#define CRYSTAL_DRIFT 100e-6

/* The reason why a domain has no mapping. */
enum unaligned {
    ALIGNED,
    NOT_JOINED, /* by no collective to what is aligned */
    JOINED_BY_FEW,
    NOT_STEADY,  /* the ends lie on no line, or on that of no clock */
    NOT_CERTAIN, /* they do, but the mapping may be off by too much */
};

struct domain_map {
    enum unaligned why;
    struct clock_line line;
    double offset_err_ns, drift_err;
    double residual_ns, error_ns;
    uint64_t anchors;
};

/* maps[n]: of every domain to domain 0. The run's ranks have their own times still, and their
 * domains. *one_sided: timed operations over several domains that do not end together. */
void tree_map(struct domain_map *maps, int n, const struct run *run, uint64_t *one_sided);

#endif
