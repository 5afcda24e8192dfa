/* SPDX-License-Identifier: MIT */
#include "calib/calibrate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME_SD 0.99 /* parameters that trade with each other are equally uncertain */

/* The parameters requested by calibration_only() so far; before it, everything is fitted. */
static bool is_all_fitted(const struct calibration *c)
{
    for (size_t i = 0; i < c->nparams; i++) {
        if (c->params[i].held == CALIBRATION_FIXED)
            return false;
    }
    return true;
}

static bool has_group(const struct fit_rows *rows, enum param_group group)
{
    for (size_t i = 0; i < rows->nrows; i++) {
        if (rows->rows[i].group == group)
            return true;
    }
    return false;
}

/* The machine whose rows are of the group: products stand in no network. */
static struct fit_machine *machine_for(const struct fit_rows *rows, enum param_group group)
{
    for (size_t i = 0; i < rows->nmachines; i++) {
        if ((group == PARAMS_GEMM) == (rows->machines[i].of_net == NULL))
            return &rows->machines[i];
    }
    return NULL;
}

static void add_group(struct calibration *c, enum param_group group)
{
    const struct param_table *t = &param_tables[group];
    const struct fit_machine *m = machine_for(c->rows, group);
    double before[FIT_PARAMS_MAX] = {0};
    char text[128];
    if (m != NULL)
        fit_rows_get(m, group, before);
    for (size_t k = 0; k < t->count; k++) {
        struct calibration_param *p = &c->params[c->nparams++];
        *p =
            (struct calibration_param){.group = group, .param = &t->params[k], .before = before[k]};
        p->fit = (struct fit_estimate){.value = before[k], .verdict = FIT_HELD};
        if (m == NULL || !has_group(c->rows, group))
            p->held = CALIBRATION_NO_ROWS;
        else if (!calibration_advice(m, group, k, text, sizeof text))
            p->held = CALIBRATION_NO_SENSE;
    }
}

void calibration_init(struct calibration *c, struct fit_rows *rows)
{
    memset(c, 0, sizeof *c);
    c->rows = rows;
    for (enum param_group g = 0; g < PARAM_GROUPS; g++)
        add_group(c, g);
}

static struct calibration_param *named(struct calibration *c, const char *name, struct err *e)
{
    for (size_t i = 0; i < c->nparams; i++) {
        if (strcmp(c->params[i].param->name, name) == 0)
            return &c->params[i];
    }
    err_set(e, ERR_USAGE, "unknown parameter '%.64s' (see 'specter help calibrate')", name);
    return NULL;
}

int calibration_only(struct calibration *c, const char *name, struct err *e)
{
    struct calibration_param *p = named(c, name, e);
    if (p == NULL)
        return -1;
    if (p->held == CALIBRATION_NO_ROWS)
        return err_set(e, ERR_INPUT, "parameter '%s': no row is of %s", name,
                       p->group == PARAMS_GEMM   ? "a GEMM"
                       : p->group == PARAMS_NODE ? "a transfer within a node"
                                                 : "a transfer between nodes");
    if (p->held == CALIBRATION_NO_SENSE)
        return err_set(e, ERR_INPUT, "parameter '%s': this machine has nothing that it means",
                       name);
    if (is_all_fitted(c)) {
        for (size_t i = 0; i < c->nparams; i++) {
            if (c->params[i].held == CALIBRATION_FITTED)
                c->params[i].held = CALIBRATION_FIXED;
        }
    }
    p->held = CALIBRATION_FITTED;
    return 0;
}

int calibration_fix(struct calibration *c, const char *name, struct err *e)
{
    struct calibration_param *p = named(c, name, e);
    if (p == NULL)
        return -1;
    if (p->held == CALIBRATION_FITTED)
        p->held = CALIBRATION_FIXED;
    return 0;
}

/* The vector that is fitted: values of the parameters that are not held, of GEMMs or of
 * communication. No row answers to both. */
struct vector {
    struct calibration *c;
    bool gemms;
    const bool *skip;                     /* rows that are passed over */
    size_t index[CALIBRATION_PARAMS_MAX]; /* into c->params */
    size_t n;
};

static bool is_of(const struct vector *v, enum param_group group)
{
    return v->gemms == (group == PARAMS_GEMM);
}

static bool has_row(const struct vector *v, size_t i)
{
    return is_of(v, v->c->rows->rows[i].group) && !v->skip[i];
}

static void set_values(const struct vector *v, const double *values)
{
    struct calibration *c = v->c;
    for (size_t i = 0; i < v->n; i++) {
        const struct calibration_param *p = &c->params[v->index[i]];
        for (size_t k = 0; k < c->rows->nmachines; k++)
            *param_at(fit_rows_params(&c->rows->machines[k], p->group), p->param) = values[i];
    }
}

static void residuals(const double *values, double *r, void *ctx)
{
    const struct vector *v = ctx;
    size_t n = 0;
    set_values(v, values);
    for (size_t i = 0; i < v->c->rows->nrows; i++) {
        if (has_row(v, i))
            r[n++] = fit_rows_log_error(v->c->rows, i);
    }
}

/* Enough digits for a figure that people read; what is reported is what is then written. */
static double rounded(double x)
{
    double scale = pow(10, 4 - floor(log10(x)));
    return round(x * scale) / scale;
}

static void keep(const struct vector *v, struct fit_estimate *fits)
{
    double values[FIT_PARAMS_MAX];
    for (size_t i = 0; i < v->n; i++) {
        struct calibration_param *p = &v->c->params[v->index[i]];
        values[i] = fits[i].value =
            fmin(fmax(rounded(fits[i].value), p->param->lowest), p->param->highest);
        if (fits[i].with < v->n)
            fits[i].with = v->index[fits[i].with];
        p->fit = fits[i];
    }
    set_values(v, values);
}

static int run_half(struct calibration *c, bool gemms, const bool *skip, struct err *e)
{
    struct fit_param params[FIT_PARAMS_MAX];
    struct fit_estimate fits[FIT_PARAMS_MAX];
    struct vector v = {.c = c, .gemms = gemms, .skip = skip};
    struct fit_problem p = {.params = params,
                            .residuals = residuals,
                            .ctx = &v,
                            .prior = CALIBRATION_PRIOR,
                            .starts = CALIBRATION_STARTS};
    for (size_t i = 0; i < c->rows->nrows; i++)
        p.nrows += has_row(&v, i);
    for (size_t i = 0; i < c->nparams; i++) {
        const struct calibration_param *a = &c->params[i];
        if (a->held != CALIBRATION_FITTED || !is_of(&v, a->group))
            continue;
        if (v.n == FIT_PARAMS_MAX)
            return err_set(e, ERR_INPUT, "more than %d parameters at once", FIT_PARAMS_MAX);
        params[v.n] = (struct fit_param){a->param->name,
                                         fmin(fmax(a->before, a->param->lowest), a->param->highest),
                                         a->param->lowest, a->param->highest};
        v.index[v.n++] = i;
    }
    p.nparams = v.n;
    if (v.n == c->nfitted[gemms]) /* none, or as in the last run */
        return 0;
    if (v.n > 0 && fit_run(&p, fits, NULL, e) < 0)
        return -1;
    c->nfitted[gemms] = v.n;
    keep(&v, fits);
    return 0;
}

int calibration_run(struct calibration *c, struct err *e)
{
    bool *skip = fit_rows_thinned(c->rows, FIT_GEMM_ROWS);
    int status = run_half(c, true, skip, e) < 0 || run_half(c, false, skip, e) < 0 ? -1 : 0;
    free(skip);
    if (status == 0 && c->nfitted[true] + c->nfitted[false] == 0)
        status = err_set(e, ERR_INPUT, "no parameter is left to fit");
    return status;
}

bool calibration_is_unlike(const struct calibration_param *p)
{
    return p->held == CALIBRATION_FITTED &&
           (p->fit.verdict == FIT_UNCERTAIN || p->fit.verdict == FIT_CORRELATED) &&
           fabs(log(p->fit.value / p->before)) > CALIBRATION_UNLIKE * p->fit.sd;
}

bool calibration_is_open(const struct calibration_param *p)
{
    return p->held == CALIBRATION_FITTED && !calibration_is_unlike(p) &&
           (p->fit.verdict == FIT_NO_EFFECT || p->fit.verdict == FIT_UNCERTAIN ||
            p->fit.verdict == FIT_CORRELATED);
}

static void leave_out(struct calibration *c, struct calibration_param *p)
{
    p->held = CALIBRATION_FIXED;
    for (size_t k = 0; k < c->rows->nmachines; k++)
        *param_at(fit_rows_params(&c->rows->machines[k], p->group), p->param) = p->before;
}

bool calibration_leave_open(struct calibration *c)
{
    struct calibration_param *worst = NULL;
    bool any = false;
    for (size_t i = 0; i < c->nparams; i++) {
        struct calibration_param *p = &c->params[i];
        if (!calibration_is_open(p))
            continue;
        if (p->fit.verdict == FIT_NO_EFFECT) {
            leave_out(c, p);
            any = true;
        } else if (worst == NULL || p->fit.sd >= SAME_SD * worst->fit.sd) {
            worst = p;
        }
    }
    if (!any && worst != NULL)
        leave_out(c, worst);
    return any || worst != NULL;
}
