/* SPDX-License-Identifier: MIT
 *
 * Bounded, robust least squares by relative error: the parameters of a model that bring
 * log(predicted / measured) nearest to 0.
 *
 *     struct fit_param params[] = {{"lat_us", 5, 0.1, 100}, {"bw_GBps", 10, 1, 1000}};
 *     struct fit_problem p = {.params = params, .nparams = 2, .nrows = n,
 *                             .residuals = my_residuals, .ctx = &rows};
 *     struct fit_estimate got[2];
 *     if (fit_run(&p, got, NULL, e) < 0)
 *         return -1;
 *
 * The fit minimises, over u = log(value) within the bounds:
 *
 *     sum_i weight_i rho(r_i) + prior sum_j (u_j - log start_j)^2
 *     rho(r) = 2 c^2 (sqrt(1 + (r/c)^2) - 1)        r^2 for small r, 2 c |r| for outliers
 *
 * by Levenberg-Marquardt (Marquardt 1963) on iteratively reweighted rows (weight x 1 / sqrt(1 +
 * (r/c)^2)), with forward differences and steps projected onto the bounds. The same input gives the
 * same output; nothing is random.
 *
 * The uncertainty is that of weighted least squares, sigma^2 (J' W J)^-1 with sigma^2 = sum w r^2 /
 * (rows - parameters not held), from the rows alone, without the prior: a prior can hold a
 * parameter in place, it cannot make it known. sigma is never taken below FIT_NOISE. It counts what
 * rows scatter around the model; a flaw of the model that all rows share is not in it.
 */
#ifndef SPECTER_CALIB_FIT_H
#define SPECTER_CALIB_FIT_H

#include "base/err.h"

#include <stddef.h>

#define FIT_PARAMS_MAX 48

#define FIT_NOISE 0.01      /* measurements are taken to repeat no better than this */
#define FIT_TOLERANCE 0.05  /* c above, where the problem says 0: an error that counts as small */
#define FIT_SD_LIMIT 0.35   /* a standard deviation of log(value) above it: not determined */
#define FIT_CORR_LIMIT 0.98 /* and above this the parameters' effects cannot be told apart */

struct fit_param {
    const char *name;
    double start;  /* within the bounds */
    double lo, hi; /* 0 < lo <= hi; equal: held */
};

struct fit_problem {
    const struct fit_param *params;
    size_t nparams; /* at most FIT_PARAMS_MAX */
    size_t nrows;
    const double *weights; /* one a row, positive; NULL: 1 */
    /* r[i] = log(predicted / measured) of row i. A row that cannot be predicted with these values
     * is NaN: the step is not taken; at the start it is an error. */
    void (*residuals)(const double *values, double *r, void *ctx);
    void *ctx;
    double prior;       /* how many rows a parameter's start weighs; 0: none */
    double tolerance;   /* 0: FIT_TOLERANCE */
    int starts;         /* 0 or 1: from `start` only; else further ones around it, the best wins */
    const double *also; /* one more start, nparams values above 0; NULL: none */
};

enum fit_verdict {
    FIT_DETERMINED,
    FIT_NO_EFFECT,  /* no row answers to it */
    FIT_UNCERTAIN,  /* its standard deviation is beyond FIT_SD_LIMIT */
    FIT_CORRELATED, /* as UNCERTAIN, because the rows cannot tell it from parameter `with` */
    FIT_AT_LOW,     /* the rows push it to a bound */
    FIT_AT_HIGH,
    FIT_HELD, /* its bounds are equal */
};

struct fit_estimate {
    double value;
    double sd; /* standard deviation of log(value): 0.1 is about 10 %; INFINITY: unknown */
    enum fit_verdict verdict;
    size_t with; /* FIT_CORRELATED: the parameter it trades with most */
};

struct fit_summary {
    double cost;  /* what was minimised */
    double sigma; /* of the rows around the model */
    int iterations;
};

/* out: nparams estimates. summary may be NULL. Returns 0, or -1 with e filled (ERR_INPUT): no rows,
 * or a row that cannot be predicted at the start. */
int fit_run(const struct fit_problem *p, struct fit_estimate *out, struct fit_summary *summary,
            struct err *e);

/* "determined", "no effect", ... */
const char *fit_verdict_name(enum fit_verdict verdict);

#endif
