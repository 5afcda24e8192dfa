/* SPDX-License-Identifier: MIT
 *
 * Classes are fitted from wide to narrow, each by fit_run() over the parameters of its group.
 */
#include "calib/fit_classes.h"

#include "calib/stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STARTS_ANY 4 /* of the widest class that is fitted; the others start from it */

/* One class being fitted. */
struct task {
    struct fit_rows *rows;
    size_t *index; /* of rows, owned */
    double *weights;
    size_t n;
    enum param_group group;
    bool *machines; /* whose rows these are */
};

static void task_set(const struct task *t, const double *values)
{
    for (size_t i = 0; i < t->rows->nmachines; i++) {
        if (t->machines[i])
            fit_rows_set(&t->rows->machines[i], t->group, values);
    }
}

static void residuals(const double *values, double *r, void *ctx)
{
    const struct task *t = ctx;
    task_set(t, values);
    for (size_t i = 0; i < t->n; i++)
        r[i] = fit_rows_log_error(t->rows, t->index[i]);
}

/* Returns whether the class `key` is the row's, or a wider one of it. */
static bool is_in_class(const struct fit_rows *rows, size_t i, const char *key)
{
    char of[PARAM_KEY_MAX];
    fit_rows_key(rows, i, of);
    do {
        if (strcmp(of, key) == 0)
            return true;
    } while (params_widen(rows->rows[i].group, of));
    return false;
}

/* The rows of a class, each machine weighing as `flat` says: by its rows, or by their root. */
static void task_init(struct task *t, struct fit_rows *rows, enum param_group group,
                      const char *key, const bool *skip, bool flat)
{
    size_t *per_machine = calloc(rows->nmachines + 1, sizeof *per_machine);
    *t = (struct task){.rows = rows, .group = group};
    t->index = calloc(rows->nrows + 1, sizeof *t->index);
    t->weights = calloc(rows->nrows + 1, sizeof *t->weights);
    t->machines = calloc(rows->nmachines + 1, sizeof *t->machines);
    if (per_machine == NULL || t->index == NULL || t->weights == NULL || t->machines == NULL)
        die("out of memory");
    for (size_t i = 0; i < rows->nrows; i++) {
        if (skip[i] || rows->rows[i].group != group || !is_in_class(rows, i, key))
            continue;
        t->index[t->n++] = i;
        t->machines[rows->rows[i].machine] = true;
        per_machine[rows->rows[i].machine]++;
    }
    for (size_t i = 0; i < t->n; i++) {
        size_t n = per_machine[rows->rows[t->index[i]].machine];
        t->weights[i] = flat ? 1 : 1 / sqrt((double)n);
    }
    free(per_machine);
}

static void task_release(struct task *t)
{
    free(t->index);
    free(t->weights);
    free(t->machines);
}

static void hold(struct fit_param *param)
{
    param->lo = param->hi = param->start;
}

/* Returns the distance from the start, in standard deviations. */
static double shift_of(const struct fit_param *param, const struct fit_estimate *fit)
{
    return fabs(log(fit->value / param->start)) / fit->sd;
}

/* Holds what the rows do not determine: all without effect, else the least certain one, unless it
 * is certain not to be where it started. False when nothing is left to hold. */
static bool hold_open(struct fit_param *params, const struct fit_estimate *fits, size_t n)
{
    size_t worst = n;
    bool any = false;
    for (size_t k = 0; k < n; k++) {
        if (fits[k].verdict == FIT_NO_EFFECT) {
            hold(&params[k]);
            any = true;
        } else if ((fits[k].verdict == FIT_UNCERTAIN || fits[k].verdict == FIT_CORRELATED) &&
                   shift_of(&params[k], &fits[k]) < CLASSES_SIGMAS) {
            worst = worst == n || fits[k].sd > fits[worst].sd ? k : worst;
        }
    }
    if (!any && worst < n)
        hold(&params[worst]);
    return any || worst < n;
}

/* Holds the parameter that differs least from the wider class's, unless all of them differ. */
static bool hold_same(struct fit_param *params, const struct fit_estimate *fits, size_t n)
{
    size_t least = n;
    double least_z = INFINITY;
    for (size_t k = 0; k < n; k++) {
        double z = shift_of(&params[k], &fits[k]), shift = z * fits[k].sd;
        bool same = shift < CLASSES_SHIFT || z < CLASSES_SIGMAS;
        if (fits[k].verdict == FIT_DETERMINED && same && z < least_z) {
            least = k;
            least_z = z;
        }
    }
    if (least < n)
        hold(&params[least]);
    return least < n;
}

/* Fits the task, holding at `start` what it does not determine and what it leaves there. */
static int task_fit(struct task *t, const double *start, double prior, int starts,
                    struct fitted_class *out, struct err *e)
{
    const struct param_table *table = &param_tables[t->group];
    struct fit_param params[FIT_PARAMS_MAX];
    struct fit_problem p = {.params = params,
                            .nparams = table->count,
                            .nrows = t->n,
                            .weights = t->weights,
                            .residuals = residuals,
                            .ctx = t,
                            .starts = starts};
    double mean = 0;
    for (size_t i = 0; i < t->n; i++)
        mean += t->weights[i] / (double)t->n;
    p.prior = prior * mean;
    for (size_t k = 0; k < table->count; k++)
        params[k] = (struct fit_param){table->params[k].name, start[k], table->params[k].lowest,
                                       table->params[k].highest};
    do {
        if (fit_run(&p, out->fits, NULL, e) < 0)
            return -1;
    } while (hold_open(params, out->fits, table->count) ||
             (prior > 0 && hold_same(params, out->fits, table->count)));
    for (size_t k = 0; k < table->count; k++)
        out->values[k] = out->fits[k].value;
    task_set(t, out->values);
    return 0;
}

static double row_size(const struct measured_row *r)
{
    return r->kind == MEASURED_GEMM
               ? 2 * (double)r->m * (double)r->n * (double)r->k * (double)r->batch
               : r->bytes;
}

/* The rows that the class was fitted on, and its present error; all rows count, also those that
 * fits pass over. */
static struct fit_range range_of(const struct fit_rows *rows, enum param_group group,
                                 const char *key, const bool *left_out)
{
    struct fit_range range = {.smallest = INFINITY};
    double *ape = calloc(rows->nrows + 1, sizeof *ape);
    size_t n = 0;
    if (ape == NULL)
        die("out of memory");
    for (size_t i = 0; i < rows->nrows; i++) {
        const struct measured_row *r = rows->rows[i].row;
        if ((left_out != NULL && left_out[i]) || rows->rows[i].group != group ||
            !is_in_class(rows, i, key))
            continue;
        ape[n++] = fabs(fit_rows_us(rows, i) / r->time_us - 1);
        range.smallest = fmin(range.smallest, row_size(r));
        range.largest = fmax(range.largest, row_size(r));
        range.ranks = fmax(range.ranks, r->where.ranks);
        range.nodes = fmax(range.nodes, r->where.nodes);
    }
    if (n > 0) {
        range.rows = (double)n;
        range.median_ape = stats_quantile(ape, n, 0.5);
    } else {
        range.smallest = 0;
    }
    free(ape);
    return range;
}

static const struct fitted_class *find_class(const struct fitted_classes *c, enum param_group group,
                                             const char *key)
{
    for (size_t i = 0; i < c->nrows; i++) {
        if (c->rows[i].group == group && strcmp(c->rows[i].key, key) == 0)
            return &c->rows[i];
    }
    return NULL;
}

/* The narrowest class at or above `key` that has a row; NULL: none. */
static const struct fitted_class *class_at(const struct fitted_classes *c, enum param_group group,
                                           const char *key)
{
    char wider[PARAM_KEY_MAX];
    const struct fitted_class *found;
    snprintf(wider, sizeof wider, "%s", key);
    while ((found = find_class(c, group, wider)) == NULL && params_widen(group, wider))
        continue;
    return found;
}

/* The start of the widest class. */
static void first_values(enum param_group group, double *values)
{
    static const struct fit_machine unmeasured;
    const struct param_table *t = &param_tables[group];
    fit_rows_get(&unmeasured, group, values);
    for (size_t k = 0; group != PARAMS_NET && k < t->count; k++)
        values[k] = sqrt(t->params[k].lowest * t->params[k].highest);
}

/* Adds the row of class `key`, unless its rows are all those of the wider one. */
static int add_class(struct fitted_classes *c, struct fit_rows *rows, enum param_group group,
                     const char *key, const bool *skip, const struct classes_opts *opts,
                     struct err *e)
{
    const struct fitted_class *wider = class_at(c, group, key);
    struct fitted_class row = {.group = group};
    double start[FIT_PARAMS_MAX] = {0};
    struct task t, all;
    int status = 0;
    snprintf(row.key, sizeof row.key, "%s", key);
    task_init(&t, rows, group, key, skip, wider != NULL);
    task_init(&all, rows, group, wider != NULL ? wider->key : key, skip, true);
    if (wider == NULL)
        first_values(group, start);
    else
        memcpy(start, wider->values, sizeof start);
    for (size_t k = 0; k < FIT_PARAMS_MAX; k++)
        row.fits[k] = (struct fit_estimate){.value = start[k], .verdict = FIT_HELD};
    if (wider == NULL && (t.n == 0 || group == PARAMS_NET))
        memcpy(row.values, start, sizeof start);
    else if (t.n > 0 && (wider == NULL || t.n < all.n))
        status = task_fit(&t, start, wider != NULL ? CLASSES_PRIOR : 0,
                          wider == NULL || group == PARAMS_NET ? STARTS_ANY : 1, &row, e);
    if (status == 0 && (wider == NULL || (t.n > 0 && t.n < all.n))) {
        if (wider != NULL || group != PARAMS_NET)
            row.range = range_of(rows, group, key, opts->leave_out);
        ARRAY_GROW(c->rows, c->cap, c->nrows + 1);
        c->rows[c->nrows++] = row;
    }
    task_release(&all);
    task_release(&t);
    return status;
}

struct key_list {
    char (*keys)[PARAM_KEY_MAX]; /* owned */
    size_t n, cap;
};

static int by_key(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The classes of a group at `depth` steps from the narrowest, sorted; "any" is not among them. */
static void list_keys(const struct fit_rows *rows, enum param_group group, const bool *skip,
                      int depth, struct key_list *out)
{
    for (size_t i = 0; i < rows->nrows; i++) {
        char key[PARAM_KEY_MAX];
        bool known = skip[i] || rows->rows[i].group != group;
        if (known)
            continue;
        fit_rows_key(rows, i, key);
        for (int d = 0; d < depth; d++)
            params_widen(group, key);
        for (size_t k = 0; k < out->n && !known; k++)
            known = strcmp(out->keys[k], key) == 0;
        if (known || strcmp(key, "any") == 0)
            continue;
        ARRAY_GROW(out->keys, out->cap, out->n + 1);
        memcpy(out->keys[out->n++], key, sizeof key);
    }
    if (out->n > 0)
        qsort(out->keys, out->n, sizeof *out->keys, by_key);
}

/* "any", then the classes one step narrower, then the narrowest. */
static int fit_group(struct fitted_classes *c, struct fit_rows *rows, enum param_group group,
                     const bool *skip, const struct classes_opts *opts, struct err *e)
{
    int status = add_class(c, rows, group, "any", skip, opts, e);
    for (int depth = 1; depth >= 0 && status == 0; depth--) {
        struct key_list list = {0};
        list_keys(rows, group, skip, depth, &list);
        for (size_t i = 0; i < list.n && status == 0; i++)
            status = add_class(c, rows, group, list.keys[i], skip, opts, e);
        free(list.keys);
    }
    return status;
}

int classes_fit(struct fitted_classes *c, struct fit_rows *rows, const struct classes_opts *opts,
                struct err *e)
{
    bool *skip = fit_rows_thinned(rows, opts->gemm_rows > 0 ? opts->gemm_rows : FIT_GEMM_ROWS);
    int status = 0;
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < rows->nrows; i++)
        skip[i] = skip[i] || (opts->leave_out != NULL && opts->leave_out[i]);
    for (enum param_group g = 0; g < PARAM_GROUPS && status == 0; g++) {
        status = fit_group(c, rows, g, skip, opts, e);
        classes_apply(c, rows);
    }
    free(skip);
    return status;
}

void classes_release(struct fitted_classes *c)
{
    free(c->rows);
    memset(c, 0, sizeof *c);
}

void classes_apply(const struct fitted_classes *c, struct fit_rows *rows)
{
    for (size_t i = 0; i < rows->nmachines; i++) {
        struct fit_machine *m = &rows->machines[i];
        for (enum param_group g = 0; g < PARAM_GROUPS; g++) {
            char key[PARAM_KEY_MAX];
            const struct fitted_class *row;
            params_key(g, &m->gpu, &m->net, key);
            row = class_at(c, g, key);
            if (row != NULL)
                fit_rows_set(m, g, row->values);
        }
    }
}

size_t classes_parameters(const struct fitted_classes *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->nrows; i++) {
        for (size_t k = 0; k < param_tables[c->rows[i].group].count; k++)
            n += c->rows[i].fits[k].verdict != FIT_HELD;
    }
    return n;
}
