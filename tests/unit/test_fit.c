/* SPDX-License-Identifier: MIT */
#include "calib/fit.h"
#include "test.h"

#include <math.h>
#include <string.h>

#define N 60

/* Rows of a model y = f(x): what is measured, and at which x. */
struct model_rows {
    double x[N], y[N];
    double (*model)(const double *values, double x);
    size_t n;
};

static void residuals(const double *values, double *r, void *ctx)
{
    struct model_rows *rows = ctx;
    for (size_t i = 0; i < rows->n; i++)
        r[i] = log(rows->model(values, rows->x[i]) / rows->y[i]);
}

/* Latency and bandwidth: the model all others are made of. */
static double line(const double *v, double x)
{
    return v[0] + x / v[1];
}

static double decay(const double *v, double x)
{
    return v[0] * exp(-x / v[1]);
}

/* Only the product of the two can be seen. */
static double product(const double *v, double x)
{
    return v[0] * v[1] * x;
}

static double first_only(const double *v, double x)
{
    return v[0] * x;
}

/* Noise without a generator: quantiles of the normal distribution in a fixed, mixed order. */
static double noise(size_t i)
{
    size_t rank = i * 37 % N;
    double p = ((double)rank + 0.5) / N, t = sqrt(-2 * log(p < 0.5 ? p : 1 - p));
    double z = t - (2.515517 + 0.802853 * t + 0.010328 * t * t) /
                       (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
    return p < 0.5 ? -z : z;
}

static void make(struct model_rows *rows, double (*model)(const double *, double),
                 const double *truth, double scatter)
{
    rows->model = model;
    rows->n = N;
    for (size_t i = 0; i < N; i++) {
        rows->x[i] = pow(1.3, (double)i);
        rows->y[i] = model(truth, rows->x[i]) * exp(scatter * noise(i));
    }
}

static struct fit_problem problem(struct model_rows *rows, const struct fit_param *params, size_t n)
{
    return (struct fit_problem){
        .params = params, .nparams = n, .nrows = N, .residuals = residuals, .ctx = rows};
}

TEST(fit_finds_a_line)
{
    const struct fit_param params[] = {{"lat", 1, 0.1, 1000}, {"bw", 1, 0.01, 1e4}};
    const double truth[] = {20, 50};
    struct model_rows rows;
    struct fit_problem p = problem(&rows, params, 2);
    struct fit_estimate got[2];
    struct fit_summary sum;
    make(&rows, line, truth, 0);
    CHECK_INT(fit_run(&p, got, &sum, NULL), 0);
    CHECK_DOUBLE(got[0].value, 20, 1e-5);
    CHECK_DOUBLE(got[1].value, 50, 1e-5);
    CHECK_INT(got[0].verdict, FIT_DETERMINED);
    CHECK_INT(got[1].verdict, FIT_DETERMINED);
    CHECK_DOUBLE(sum.sigma, FIT_NOISE, 0);
    CHECK(sum.iterations < 30);
}

TEST(fit_is_not_led_astray_by_outliers)
{
    const struct fit_param params[] = {{"lat", 5, 0.1, 1000}, {"bw", 5, 0.01, 1e4}};
    const double truth[] = {20, 50};
    struct model_rows rows;
    struct fit_problem p = problem(&rows, params, 2);
    struct fit_estimate got[2];
    make(&rows, line, truth, 0.01);
    for (size_t i = 0; i < N; i += 6)
        rows.y[i] *= 5;
    CHECK_INT(fit_run(&p, got, NULL, NULL), 0);
    CHECK_DOUBLE(got[0].value, 20, 0.02);
    CHECK_DOUBLE(got[1].value, 50, 0.02);
}

TEST(fit_of_an_exponential)
{
    const struct fit_param params[] = {{"height", 1, 1e-3, 1e3}, {"tau", 1, 1e-2, 1e3}};
    const double truth[] = {7, 4};
    struct model_rows rows;
    struct fit_problem p = problem(&rows, params, 2);
    struct fit_estimate got[2];
    make(&rows, decay, truth, 0);
    for (size_t i = 0; i < N; i++) {
        rows.x[i] = 0.2 * (double)i;
        rows.y[i] = decay(truth, rows.x[i]) * (i % 9 == 0 ? 0.2 : 1);
    }
    CHECK_INT(fit_run(&p, got, NULL, NULL), 0);
    CHECK_DOUBLE(got[0].value, 7, 0.03);
    CHECK_DOUBLE(got[1].value, 4, 0.03);
}

TEST(fit_uncertainties_are_those_of_least_squares)
{
    /* log y = log a + log x + noise: the standard error of log a is that of a mean. */
    const struct fit_param params[] = {{"a", 1, 1e-3, 1e3}};
    const double truth[] = {3}, scatter = 0.1;
    struct model_rows rows;
    struct fit_problem p = problem(&rows, params, 1);
    struct fit_estimate got[1];
    struct fit_summary sum;
    double squares = 0;
    p.tolerance = 100; /* plain squares */
    make(&rows, first_only, truth, scatter);
    for (size_t i = 0; i < N; i++)
        squares += pow(scatter * noise(i), 2);
    CHECK_INT(fit_run(&p, got, &sum, NULL), 0);
    CHECK_DOUBLE(got[0].value, 3, 1e-3);
    CHECK_DOUBLE(sum.sigma, sqrt(squares / (N - 1)), 1e-3);
    CHECK_DOUBLE(got[0].sd, sqrt(squares / (N - 1) / N), 1e-3);
}

TEST(fit_weights_are_relative)
{
    const struct fit_param params[] = {{"a", 1, 1e-3, 1e3}};
    const double truth[] = {3};
    double weights[N];
    struct model_rows rows;
    struct fit_problem p = problem(&rows, params, 1);
    struct fit_estimate plain, weighted;
    make(&rows, first_only, truth, 0.1);
    for (size_t i = 0; i < N; i++)
        weights[i] = 7;
    CHECK_INT(fit_run(&p, &plain, NULL, NULL), 0);
    p.weights = weights;
    CHECK_INT(fit_run(&p, &weighted, NULL, NULL), 0);
    CHECK_DOUBLE(weighted.value, plain.value, 1e-9);
    CHECK_DOUBLE(weighted.sd, plain.sd, 1e-6);
    for (size_t i = 0; i < N; i++) { /* half of the rows say something else, and weigh nothing */
        weights[i] = i % 2 ? 1 : 1e-9;
        rows.y[i] = rows.x[i] * (i % 2 ? 3 : 9);
    }
    CHECK_INT(fit_run(&p, &weighted, NULL, NULL), 0);
    CHECK_DOUBLE(weighted.value, 3, 1e-4);
}

TEST(fit_stays_within_bounds_and_says_so)
{
    const struct fit_param params[] = {{"lat", 5, 0.1, 10}, {"bw", 5, 1, 1e4}, {"no", 2, 2, 2}};
    const double truth[] = {20, 50};
    struct model_rows rows;
    struct fit_problem p = problem(&rows, params, 3);
    struct fit_estimate got[3];
    make(&rows, line, truth, 0);
    CHECK_INT(fit_run(&p, got, NULL, NULL), 0);
    CHECK_DOUBLE(got[0].value, 10, 1e-12);
    CHECK_INT(got[0].verdict, FIT_AT_HIGH);
    CHECK_INT(got[1].verdict, FIT_DETERMINED);
    CHECK_INT(got[2].verdict, FIT_HELD);
    CHECK_DOUBLE(got[2].value, 2, 0);
}

TEST(fit_tells_what_the_rows_do_not_determine)
{
    const struct fit_param pair[] = {{"a", 2, 0.1, 1000}, {"b", 5, 0.01, 1e4}};
    const double truth[] = {20, 50};
    struct model_rows rows;
    struct fit_problem p = problem(&rows, pair, 2);
    struct fit_estimate got[2];
    make(&rows, first_only, truth, 0.02);
    CHECK_INT(fit_run(&p, got, NULL, NULL), 0);
    CHECK_INT(got[0].verdict, FIT_DETERMINED);
    CHECK_INT(got[1].verdict, FIT_NO_EFFECT);
    CHECK_DOUBLE(got[1].value, 5, 1e-12);
    CHECK(isinf(got[1].sd));

    make(&rows, product, truth, 0.02);
    CHECK_INT(fit_run(&p, got, NULL, NULL), 0);
    CHECK_INT(got[0].verdict, FIT_CORRELATED);
    CHECK_INT(got[1].verdict, FIT_CORRELATED);
    CHECK_INT((int)got[0].with, 1);
    CHECK_INT((int)got[1].with, 0);
    CHECK_DOUBLE(got[0].value * got[1].value, 1000, 0.02);

    make(&rows, line, truth, 0.02); /* sizes so large that the latency is a thousandth of them */
    for (size_t i = 0; i < N; i++) {
        rows.x[i] = 1e6 + (double)i * 1e4;
        rows.y[i] = line(truth, rows.x[i]) * exp(0.02 * noise(i));
    }
    CHECK_INT(fit_run(&p, got, NULL, NULL), 0);
    CHECK(got[0].verdict != FIT_DETERMINED);
    CHECK_INT(got[1].verdict, FIT_DETERMINED);
}

TEST(fit_prior_holds_what_rows_leave_open)
{
    const struct fit_param pair[] = {{"a", 2, 0.1, 1000}, {"b", 5, 0.01, 1e4}};
    const double truth[] = {20, 50};
    struct model_rows rows;
    struct fit_problem p = problem(&rows, pair, 2);
    struct fit_estimate got[2];
    p.prior = 0.5;
    make(&rows, product, truth, 0);
    CHECK_INT(fit_run(&p, got, NULL, NULL), 0);
    CHECK_DOUBLE(got[0].value / 2, got[1].value / 5, 1e-3); /* both move by the same factor */
    CHECK_INT(got[0].verdict, FIT_CORRELATED);              /* and neither is known for it */

    p.prior = 1e6;
    CHECK_INT(fit_run(&p, got, NULL, NULL), 0);
    CHECK_DOUBLE(got[0].value, 2, 1e-2);
}

/* A minimum of two ways, as models have them: from the wrong side one start sees one way only. */
static double two_ways(const double *v, double x)
{
    return fmin(v[0] + x, v[1] + x / 10);
}

TEST(fit_starts_are_deterministic_and_help)
{
    const struct fit_param pair[] = {{"a", 20, 0.1, 1000}, {"b", 15, 0.01, 1e4}};
    const double truth[] = {1, 40};
    struct model_rows rows;
    struct fit_problem p = problem(&rows, pair, 2);
    struct fit_estimate one[2], many[2], again[2];
    struct fit_summary from_one, from_many;
    make(&rows, two_ways, truth, 0);
    CHECK_INT(fit_run(&p, one, &from_one, NULL), 0);
    p.starts = 8;
    CHECK_INT(fit_run(&p, many, &from_many, NULL), 0);
    CHECK_INT(fit_run(&p, again, NULL, NULL), 0);
    CHECK(from_one.cost > 0.1 && from_many.cost < 1e-6);
    CHECK_DOUBLE(many[0].value, again[0].value, 0);
    CHECK_DOUBLE(many[1].value, again[1].value, 0);
    CHECK_DOUBLE(many[0].value, 1, 1e-3);
    CHECK_DOUBLE(many[1].value, 40, 1e-3);
}

static double nowhere(const double *v, double x)
{
    return v[0] * x > 0 ? NAN : 0;
}

TEST(fit_refuses_what_cannot_be_fitted)
{
    const struct fit_param one[] = {{"a", 2, 0.1, 1000}};
    const double truth[] = {3};
    struct model_rows rows;
    struct fit_problem p = problem(&rows, one, 1);
    struct fit_estimate got[1];
    struct err e;
    make(&rows, first_only, truth, 0);
    rows.model = nowhere;
    CHECK_INT(fit_run(&p, got, NULL, &e), -1);
    CHECK_HAS(e.msg, "no prediction");
    p.nrows = 0;
    CHECK_INT(fit_run(&p, got, NULL, &e), -1);
    CHECK_HAS(e.msg, "nothing to fit");
    p.nparams = FIT_PARAMS_MAX + 1;
    p.nrows = N;
    CHECK_INT(fit_run(&p, got, NULL, &e), -1);
    CHECK_HAS(e.msg, "at most");
}

TEST(fit_of_one_row_knows_no_scatter)
{
    const struct fit_param one[] = {{"a", 2, 0.1, 1000}};
    const double truth[] = {3};
    struct model_rows rows;
    struct fit_problem p = problem(&rows, one, 1);
    struct fit_estimate got[1];
    make(&rows, first_only, truth, 0);
    p.nrows = rows.n = 1;
    CHECK_INT(fit_run(&p, got, NULL, NULL), 0);
    CHECK(got[0].verdict != FIT_DETERMINED);
    CHECK_STR(fit_verdict_name(FIT_CORRELATED), "correlated");
}

/* A class of three rows must not lose the one parameter that it can tell for those that are held.
 */
TEST(fit_counts_only_what_it_fits_against_the_rows)
{
    const struct fit_param params[] = {
        {"rate", 2, 0.1, 100}, {"a", 1, 1, 1}, {"b", 1, 1, 1}, {"c", 1, 1, 1}};
    struct model_rows rows = {.x = {1, 2, 3}, .y = {3, 6.2, 8.8}, .model = first_only, .n = 3};
    struct fit_problem p = problem(&rows, params, 4);
    struct fit_estimate got[4];
    struct fit_summary sum;
    p.nrows = 3;
    CHECK_INT(fit_run(&p, got, &sum, NULL), 0);
    CHECK_INT(got[0].verdict, FIT_DETERMINED);
    CHECK_DOUBLE(got[0].value, 3, 0.02);
    CHECK(isfinite(sum.sigma) && got[0].sd < 0.05);
}
