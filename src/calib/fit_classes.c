/* SPDX-License-Identifier: MIT
 *
 * Classes are fitted from wide to narrow, each by fit_run() over the parameters of its group.
 */
#include "calib/calibrate.h"

#include "base/stats.h"

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

/* The class of row i's machine, in row i's group. */
static void row_key(const struct fit_rows *f, size_t i, char key[PARAM_KEY_MAX])
{
    const struct fit_machine *m = &f->machines[f->rows[i].machine];
    params_key(f->rows[i].group, &m->gpu, &m->net, key);
}

/* Returns whether the class `key` is the row's, or a wider one of it. */
static bool is_in_class(const struct fit_rows *rows, size_t i, const char *key)
{
    char of[PARAM_KEY_MAX];
    row_key(rows, i, of);
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
    size_t *per_machine = array_new(rows->nmachines, sizeof *per_machine);
    *t = (struct task){.rows = rows, .group = group};
    t->index = array_new(rows->nrows, sizeof *t->index);
    t->weights = array_new(rows->nrows, sizeof *t->weights);
    t->machines = array_new(rows->nmachines, sizeof *t->machines);
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

/* Fits the task. Without a draw (`prior` 0), holds at `start` what the rows do not determine; with
 * one, what comes out as it is there. */
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
    } while ((prior > 0 ? hold_same : hold_open)(params, out->fits, table->count));
    for (size_t k = 0; k < table->count; k++) {
        if (prior > 0 && fabs(log(out->fits[k].value / start[k])) < CLASSES_SHIFT)
            out->fits[k] = (struct fit_estimate){.value = start[k], .verdict = FIT_HELD};
        out->values[k] = out->fits[k].value;
    }
    task_set(t, out->values);
    return 0;
}

/* The rows that the class was fitted on, and its present error; all rows count, also those that
 * fits pass over. */
static struct fit_range range_of(const struct fit_rows *rows, enum param_group group,
                                 const char *key, const bool *left_out)
{
    struct fit_range range = {.smallest = INFINITY};
    double *ape = array_new(rows->nrows, sizeof *ape);
    size_t n = 0;
    for (size_t i = 0; i < rows->nrows; i++) {
        const struct measured_row *r = rows->rows[i].row;
        double flops = 2 * (double)r->m * (double)r->n * (double)r->k * (double)r->batch;
        double size = r->kind == MEASURED_GEMM ? flops : r->bytes;
        if ((left_out != NULL && left_out[i]) || rows->rows[i].group != group ||
            !is_in_class(rows, i, key))
            continue;
        ape[n++] = fabs(fit_rows_us(rows, i) / r->time_us - 1);
        range.smallest = fmin(range.smallest, size);
        range.largest = fmax(range.largest, size);
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

/* A fit of all classes. */
struct class_fit {
    struct fitted_classes *classes;
    struct fit_rows *rows;
    const bool *skip;     /* rows that are not fitted on */
    const bool *left_out; /* of them, those that the caller leaves out; NULL: none */
};

/* Adds the row of class `key`, unless its rows are all those of the wider one. */
static int add_class(const struct class_fit *f, enum param_group group, const char *key,
                     struct err *e)
{
    static const struct fit_machine unmeasured;
    const struct param_table *table = &param_tables[group];
    struct fitted_classes *c = f->classes;
    const struct fitted_class *wider = class_at(c, group, key);
    struct fitted_class row = {.group = group};
    double start[FIT_PARAMS_MAX] = {0};
    struct task t, all;
    int status = 0;
    snprintf(row.key, sizeof row.key, "%s", key);
    task_init(&t, f->rows, group, key, f->skip, wider != NULL);
    task_init(&all, f->rows, group, wider != NULL ? wider->key : key, f->skip, true);
    if (wider != NULL) {
        memcpy(start, wider->values, sizeof start);
    } else {
        fit_rows_get(&unmeasured, group, start);
        for (size_t k = 0; group != PARAMS_NET && k < table->count; k++)
            start[k] = sqrt(table->params[k].lowest * table->params[k].highest);
    }
    for (size_t k = 0; k < FIT_PARAMS_MAX; k++)
        row.fits[k] = (struct fit_estimate){.value = start[k], .verdict = FIT_HELD};
    if (wider == NULL && (t.n == 0 || group == PARAMS_NET))
        memcpy(row.values, start, sizeof start);
    else if (t.n > 0 && (wider == NULL || t.n < all.n))
        status = task_fit(&t, start, wider != NULL ? CLASSES_PRIOR : 0,
                          wider == NULL || group == PARAMS_NET ? STARTS_ANY : 1, &row, e);
    if (status == 0 && (wider == NULL || (t.n > 0 && t.n < all.n))) {
        if (wider != NULL || group != PARAMS_NET)
            row.range = range_of(f->rows, group, key, f->left_out);
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
        row_key(rows, i, key);
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
static int fit_group(const struct class_fit *f, enum param_group group, struct err *e)
{
    int status = add_class(f, group, "any", e);
    for (int depth = 1; depth >= 0 && status == 0; depth--) {
        struct key_list list = {0};
        list_keys(f->rows, group, f->skip, depth, &list);
        for (size_t i = 0; i < list.n && status == 0; i++)
            status = add_class(f, group, list.keys[i], e);
        free(list.keys);
    }
    return status;
}

/* Gives every machine the parameters of its classes. */
static void apply(const struct fitted_classes *c, struct fit_rows *rows)
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

int classes_fit(struct fitted_classes *c, struct fit_rows *rows, const struct classes_opts *opts,
                struct err *e)
{
    bool *skip = fit_rows_thinned(rows, opts->gemm_rows > 0 ? opts->gemm_rows : FIT_GEMM_ROWS);
    const struct class_fit f = {c, rows, skip, opts->leave_out};
    int status = 0;
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < rows->nrows; i++)
        skip[i] = skip[i] || (opts->leave_out != NULL && opts->leave_out[i]);
    for (enum param_group g = 0; g < PARAM_GROUPS && status == 0; g++) {
        status = fit_group(&f, g, e);
        apply(c, rows);
    }
    free(skip);
    return status;
}

void classes_release(struct fitted_classes *c)
{
    free(c->rows);
    memset(c, 0, sizeof *c);
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

/* ---- fitted classes as the text of profiles/fitted.def ---- */

/* Whole numbers as such, others with as many digits as a fit is good for. */
static void write_number(FILE *out, const char *name, double value)
{
    fprintf(out, ", .%s = %.*g", name, value == floor(value) && value < 1e15 ? 15 : 4, value);
}

static void write_class(FILE *out, const struct fitted_class *c)
{
    static const char *const macros[PARAM_GROUPS] = {"GEMM", "NODE", "NET"};
    const struct param_table *t = &param_tables[c->group];
    const struct fit_range *r = &c->range;
    bool any = strcmp(c->key, "any") == 0, none = true;
    fprintf(out, "\n%s(\"%s\", ", macros[c->group], c->key);
    fprintf(out, "RANGE(.rows = %.0f", r->rows);
    if (r->rows > 0) {
        write_number(out, "median_ape", r->median_ape);
        write_number(out, "smallest", r->smallest);
        write_number(out, "largest", r->largest);
    }
    if (r->ranks > 0) {
        write_number(out, "ranks", r->ranks);
        write_number(out, "nodes", r->nodes);
    }
    fputc(')', out);
    for (size_t k = 0; k < t->count; k++) {
        if (!any && c->fits[k].verdict == FIT_HELD)
            continue;
        fprintf(out, ",\n    .%s = %.4g", t->params[k].name, c->values[k]);
        none = false;
    }
    if (none) /* C11 wants one */
        fprintf(out, ", .%s = 0", t->params[0].name);
    fputs(")\n", out);
}

/* Estimated classes without measurements stay as they are. */
static void write_estimates(FILE *out, const struct fitted_classes *c, enum param_group group)
{
    const struct param_table *t = &param_tables[group];
    size_t count;
    const struct param_row *known = params_rows(group, &count);
    for (size_t i = 0; i < count; i++) {
        struct fitted_class row = {.group = group};
        if (known[i].range.rows > 0 || find_class(c, group, known[i].key) != NULL)
            continue;
        snprintf(row.key, sizeof row.key, "%s", known[i].key);
        for (size_t k = 0; k < t->count; k++) {
            row.values[k] = param_value(known[i].values, &t->params[k]);
            row.fits[k].verdict = row.values[k] > 0 ? FIT_DETERMINED : FIT_HELD;
        }
        write_class(out, &row);
    }
}

void classes_write(const struct fitted_classes *c, FILE *out)
{
    fputs("/* SPDX-License-Identifier: MIT\n"
          " *\n"
          " * Fitted parameters: GROUP(class, range, values). Written by `make fit` "
          "(docs/calibrate.md).\n"
          " * What a parameter means, its unit and bounds, what a range says: src/model/params.h.\n"
          " * RANGE(.rows = 0): not fitted. A value that is 0 or not listed is the next wider "
          "class's.\n"
          " */\n"
          "/* clang-format off */\n",
          out);
    for (size_t i = 0; i < c->nrows; i++)
        write_class(out, &c->rows[i]);
    for (enum param_group g = 0; g < PARAM_GROUPS; g++)
        write_estimates(out, c, g);
}
