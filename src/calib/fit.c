/* SPDX-License-Identifier: MIT
 *
 * Levenberg-Marquardt on reweighted rows, in log coordinates, within bounds. Small and dense: tens
 * of parameters, thousands of rows.
 */
#include "calib/fit.h"

#include "base/arena.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define STEP 1e-4         /* of the forward differences, in log(value) */
#define ITERATIONS 60     /* at most */
#define GLANCE 8          /* so many from each start; the best one then goes on */
#define CONVERGED 1e-7    /* relative gain of an accepted step that ends the search */
#define LAMBDA_START 1e-3 /* Marquardt's damping, relative to the diagonal */
#define LAMBDA_MAX 1e10   /* no shorter step helps: a minimum, or a kink */
#define SPREAD 1.0        /* further starts lie within a factor of e of the first */

/* The search. J is by columns: j[col * nrows + row]. */
struct fit_search {
    const struct fit_problem *p;
    size_t n;      /* parameters */
    double c;      /* tolerance */
    double *u;     /* log values */
    double *try_u; /* a step's end */
    double *values;
    double *r, *try_r;
    double *w;      /* weights of the rows, robust ones included */
    double *j;      /* Jacobian */
    double *h, *g;  /* J'WJ and J'Wr; with the prior while searching */
    double *chol;   /* factor of a damped h */
    double *delta;  /* step */
    bool *is_bound; /* at a bound, and pushed against it */
};

static double start_u(const struct fit_search *s, size_t k)
{
    return log(s->p->params[k].start);
}

static double clamp_u(const struct fit_search *s, size_t k, double u)
{
    return fmin(fmax(u, log(s->p->params[k].lo)), log(s->p->params[k].hi));
}

static bool is_held(const struct fit_search *s, size_t k)
{
    return !(s->p->params[k].hi > s->p->params[k].lo);
}

/* Residuals at u; false when a row has none. */
static bool evaluate(struct fit_search *s, const double *u, double *r)
{
    for (size_t k = 0; k < s->n; k++)
        s->values[k] = is_held(s, k) ? s->p->params[k].start : exp(u[k]);
    s->p->residuals(s->values, r, s->p->ctx);
    for (size_t i = 0; i < s->p->nrows; i++) {
        if (!isfinite(r[i]))
            return false;
    }
    return true;
}

static double row_weight(const struct fit_search *s, size_t i)
{
    return s->p->weights != NULL ? s->p->weights[i] : 1;
}

static double cost_at(const struct fit_search *s, const double *u, const double *r)
{
    double sum = 0;
    for (size_t i = 0; i < s->p->nrows; i++) {
        double x = r[i] / s->c;
        sum += row_weight(s, i) * 2 * s->c * s->c * (sqrt(1 + x * x) - 1);
    }
    for (size_t k = 0; k < s->n; k++) {
        double off = u[k] - start_u(s, k);
        sum += s->p->prior * off * off;
    }
    return sum;
}

/* One column: forward, or backward at the upper bound or where forward has no value. */
static void difference(struct fit_search *s, size_t k)
{
    double *column = s->j + k * s->p->nrows, at = s->u[k];
    double step = at + STEP > log(s->p->params[k].hi) ? -STEP : STEP;
    bool ok = false;
    memset(column, 0, s->p->nrows * sizeof *column);
    if (is_held(s, k))
        return;
    for (int turn = 0; turn < 2 && !ok; turn++, step = ok ? step : -step) {
        s->u[k] = at + step;
        ok = evaluate(s, s->u, s->try_r);
        for (size_t i = 0; ok && i < s->p->nrows; i++)
            column[i] = (s->try_r[i] - s->r[i]) / step;
    }
    s->u[k] = at;
}

/* J, the rows' weights, and from them h and g of the rows alone. */
static void linearise(struct fit_search *s)
{
    size_t rows = s->p->nrows, n = s->n;
    for (size_t i = 0; i < rows; i++) {
        double x = s->r[i] / s->c;
        s->w[i] = row_weight(s, i) / sqrt(1 + x * x);
    }
    for (size_t k = 0; k < n; k++)
        difference(s, k);
    for (size_t a = 0; a < n; a++) {
        const double *ja = s->j + a * rows;
        s->g[a] = 0;
        for (size_t i = 0; i < rows; i++)
            s->g[a] += ja[i] * s->w[i] * s->r[i];
        for (size_t b = 0; b <= a; b++) {
            const double *jb = s->j + b * rows;
            double sum = 0;
            for (size_t i = 0; i < rows; i++)
                sum += ja[i] * s->w[i] * jb[i];
            s->h[a * n + b] = s->h[b * n + a] = sum;
        }
    }
}

/* A parameter at its bound whose gradient points outwards stays there for this step. */
static void mark_bounds(struct fit_search *s)
{
    for (size_t k = 0; k < s->n; k++) {
        bool low = s->u[k] <= clamp_u(s, k, -INFINITY), high = s->u[k] >= clamp_u(s, k, INFINITY);
        s->is_bound[k] = is_held(s, k) || (low && s->g[k] > 0) || (high && s->g[k] < 0);
    }
}

/* chol = lower factor of h with `damp` added to its diagonal, relatively; parameters at bounds and
 * those without effect are cut out (a 1 on their diagonal). False when h is not positive there. */
static bool factor(struct fit_search *s, double damp)
{
    size_t n = s->n;
    double *l = s->chol;
    for (size_t a = 0; a < n; a++) {
        bool out = s->is_bound[a] || !(s->h[a * n + a] > 0);
        for (size_t b = 0; b <= a; b++) {
            bool cut = out || s->is_bound[b] || !(s->h[b * n + b] > 0);
            double sum = cut ? (a == b) : s->h[a * n + b] * (a == b ? 1 + damp : 1);
            for (size_t k = 0; k < b; k++)
                sum -= l[a * n + k] * l[b * n + k];
            if (a == b && !(sum > 0))
                return false;
            l[a * n + b] = a == b ? sqrt(sum) : sum / l[b * n + b];
        }
    }
    return true;
}

/* x = (L L')^-1 x */
static void solve(const struct fit_search *s, double *x)
{
    size_t n = s->n;
    const double *l = s->chol;
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < a; b++)
            x[a] -= l[a * n + b] * x[b];
        x[a] /= l[a * n + a];
    }
    for (size_t a = n; a-- > 0;) {
        for (size_t b = a + 1; b < n; b++)
            x[a] -= l[b * n + a] * x[b];
        x[a] /= l[a * n + a];
    }
}

/* Takes the step for one damping when it lowers the cost. */
static bool try_step(struct fit_search *s, double lambda, double *cost)
{
    double next;
    if (!factor(s, lambda))
        return false;
    for (size_t k = 0; k < s->n; k++)
        s->delta[k] = s->is_bound[k] ? 0 : -s->g[k];
    solve(s, s->delta);
    for (size_t k = 0; k < s->n; k++)
        s->try_u[k] = clamp_u(s, k, s->u[k] + s->delta[k]);
    if (!evaluate(s, s->try_u, s->try_r))
        return false;
    next = cost_at(s, s->try_u, s->try_r);
    if (!(next < *cost))
        return false;
    *cost = next;
    memcpy(s->u, s->try_u, s->n * sizeof *s->u);
    memcpy(s->r, s->try_r, s->p->nrows * sizeof *s->r);
    return true;
}

/* From s->u towards a minimum near it. Returns the cost; INFINITY when a row cannot be predicted.
 */
static double descend(struct fit_search *s, int most, int *iterations)
{
    double lambda = LAMBDA_START, cost;
    if (!evaluate(s, s->u, s->r))
        return INFINITY;
    cost = cost_at(s, s->u, s->r);
    for (int i = 0; i < most && lambda < LAMBDA_MAX; i++) {
        double before = cost;
        linearise(s);
        for (size_t k = 0; k < s->n; k++) {
            s->h[k * s->n + k] += s->p->prior;
            s->g[k] += s->p->prior * (s->u[k] - start_u(s, k));
        }
        mark_bounds(s);
        (*iterations)++;
        while (lambda < LAMBDA_MAX && !try_step(s, lambda, &cost))
            lambda *= 8;
        if (before - cost <= CONVERGED * before)
            break;
        lambda = fmax(lambda / 16, 1e-9);
    }
    return cost;
}

/* Start number `i` of the search: 0 is the given one, the others are a Halton sequence around it.
 */
static void set_start(struct fit_search *s, int i)
{
    static const int primes[] = {2, 3, 5, 7, 11, 13, 17, 19};
    for (size_t k = 0; k < s->n; k++) {
        size_t turn = k / (sizeof primes / sizeof *primes);
        int base = primes[k % (sizeof primes / sizeof *primes)];
        double x = 0, part = 1; /* of the van der Corput sequence, which spreads evenly over 0..1 */
        for (int rest = i + (int)turn; rest > 0; rest /= base) {
            part /= base;
            x += part * (rest % base);
        }
        s->u[k] = clamp_u(s, k, start_u(s, k) + (i == 0 ? 0 : SPREAD * (2 * x - 1)));
    }
}

/* Start number `starts` is p->also. */
static void set_any_start(struct fit_search *s, int i, int starts)
{
    if (i < starts) {
        set_start(s, i);
        return;
    }
    for (size_t k = 0; k < s->n; k++)
        s->u[k] = clamp_u(s, k, log(s->p->also[k]));
}

/* Leaves s->u at a minimum: that of the most promising start. Returns its cost. */
static double search_all(struct fit_search *s, double *best_u, int *iterations)
{
    const int starts = s->p->starts > 1 ? s->p->starts : 1;
    const int all = starts + (s->p->also != NULL);
    double best = INFINITY;
    for (int i = 0; all > 1 && i < all; i++) {
        double cost;
        set_any_start(s, i, starts);
        cost = descend(s, GLANCE, iterations);
        if (i == 0 || cost < best) {
            best = cost;
            memcpy(best_u, s->u, s->n * sizeof *best_u);
        }
    }
    if (all > 1)
        memcpy(s->u, best_u, s->n * sizeof *best_u);
    else
        set_start(s, 0);
    return descend(s, ITERATIONS, iterations);
}

/* Returns the parameter that k trades with most, by the inverse's row; n when with none beyond the
 * limit. */
static size_t partner(const struct fit_search *s, size_t k, const double *row,
                      const double *variance)
{
    double most = FIT_CORR_LIMIT;
    size_t with = s->n;
    for (size_t i = 0; i < s->n; i++) {
        double corr = fabs(row[i]) / sqrt(variance[i] * variance[k]);
        if (i != k && !s->is_bound[i] && corr >= most) {
            most = corr;
            with = i;
        }
    }
    return with;
}

/* Of the rows around the model. */
static double sigma_of(const struct fit_search *s)
{
    double sum = 0, weight = 0;
    size_t fitted = 0, free_rows;
    for (size_t k = 0; k < s->n; k++)
        fitted += !is_held(s, k);
    free_rows = s->p->nrows > fitted ? s->p->nrows - fitted : 0;
    for (size_t i = 0; i < s->p->nrows; i++) {
        sum += s->w[i] * s->r[i] * s->r[i];
        weight += row_weight(s, i);
    }
    if (free_rows == 0)
        return INFINITY;
    /* Weights are relative: their mean counts as 1. */
    return fmax(sqrt(sum / weight * (double)s->p->nrows / (double)free_rows), FIT_NOISE);
}

/* Row k of the inverse of h, from its factor. */
static void inverse_row(const struct fit_search *s, size_t k, double *row)
{
    memset(row, 0, s->n * sizeof *row);
    row[k] = 1;
    solve(s, row);
}

/* Uncertainties and verdicts at s->u, from the rows alone. */
static double judge(struct fit_search *s, struct fit_estimate *out)
{
    double variance[FIT_PARAMS_MAX], row[FIT_PARAMS_MAX], sigma, scale, mean = 0;
    evaluate(s, s->u, s->r);
    linearise(s);
    mark_bounds(s);
    sigma = sigma_of(s);
    for (size_t i = 0; i < s->p->nrows; i++)
        mean += row_weight(s, i) / (double)s->p->nrows;
    scale = sigma * sqrt(mean);
    for (double damp = 1e-12; !factor(s, damp) && damp < 1; damp *= 10)
        continue;
    for (size_t k = 0; k < s->n; k++) {
        inverse_row(s, k, row);
        variance[k] = row[k];
    }
    for (size_t k = 0; k < s->n; k++) {
        struct fit_estimate *o = &out[k];
        o->verdict = FIT_DETERMINED;
        if (is_held(s, k))
            o->verdict = FIT_HELD;
        else if (!(s->h[k * s->n + k] > 0))
            o->verdict = FIT_NO_EFFECT;
        else if (s->is_bound[k])
            o->verdict = s->g[k] > 0 ? FIT_AT_LOW : FIT_AT_HIGH;
        o->value = o->verdict == FIT_HELD ? s->p->params[k].start : exp(s->u[k]);
        o->sd = o->verdict == FIT_HELD         ? 0
                : o->verdict == FIT_DETERMINED ? scale * sqrt(variance[k])
                                               : INFINITY;
        o->with = s->n;
        if (o->verdict != FIT_DETERMINED || o->sd <= FIT_SD_LIMIT)
            continue;
        inverse_row(s, k, row);
        o->with = partner(s, k, row, variance);
        o->verdict = o->with < s->n ? FIT_CORRELATED : FIT_UNCERTAIN;
    }
    return sigma;
}

int fit_run(const struct fit_problem *p, struct fit_estimate *out, struct fit_summary *summary,
            struct err *e)
{
    double best_u[FIT_PARAMS_MAX], cost, sigma;
    size_t n = p->nparams, rows = p->nrows;
    struct fit_search s = {.p = p, .n = n, .c = p->tolerance > 0 ? p->tolerance : FIT_TOLERANCE};
    struct arena a;
    int iterations = 0;
    if (p->nrows == 0 || p->nparams == 0)
        return err_set(e, ERR_INPUT, "nothing to fit: %zu rows, %zu parameters", p->nrows,
                       p->nparams);
    if (p->nparams > FIT_PARAMS_MAX)
        return err_set(e, ERR_INPUT, "%zu parameters at once: at most %d", p->nparams,
                       FIT_PARAMS_MAX);
    arena_init(&a);
    s.u = arena_alloc(&a, n * sizeof *s.u);
    s.try_u = arena_alloc(&a, n * sizeof *s.u);
    s.values = arena_alloc(&a, n * sizeof *s.u);
    s.r = arena_alloc(&a, rows * sizeof *s.r);
    s.try_r = arena_alloc(&a, rows * sizeof *s.r);
    s.w = arena_alloc(&a, rows * sizeof *s.w);
    s.j = arena_alloc(&a, n * rows * sizeof *s.j);
    s.h = arena_alloc(&a, n * n * sizeof *s.h);
    s.chol = arena_alloc(&a, n * n * sizeof *s.chol);
    s.g = arena_alloc(&a, n * sizeof *s.g);
    s.delta = arena_alloc(&a, n * sizeof *s.delta);
    s.is_bound = arena_alloc(&a, n * sizeof *s.is_bound);
    cost = search_all(&s, best_u, &iterations);
    if (isfinite(cost)) {
        sigma = judge(&s, out);
        if (summary != NULL)
            *summary = (struct fit_summary){cost, sigma, iterations};
    }
    arena_release(&a);
    return isfinite(cost) ? 0 : err_set(e, ERR_INPUT, "a row has no prediction at the start");
}

const char *fit_verdict_name(enum fit_verdict verdict)
{
    static const char *const names[] = {
        [FIT_DETERMINED] = "determined",
        [FIT_NO_EFFECT] = "no effect",
        [FIT_UNCERTAIN] = "uncertain",
        [FIT_CORRELATED] = "correlated",
        [FIT_AT_LOW] = "at its bound",
        [FIT_AT_HIGH] = "at its bound",
        [FIT_HELD] = "held",
    };
    return names[verdict];
}
