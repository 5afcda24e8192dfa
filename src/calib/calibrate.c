/* SPDX-License-Identifier: MIT */
#include "calib/calibrate.h"

#include "base/buf.h"
#include "calib/predict_row.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_group(struct calibration *c, enum param_group group)
{
    const struct param_table *t = &param_tables[group];
    const struct fit_machine *m = NULL;
    bool has_rows = false;
    double before[FIT_PARAMS_MAX] = {0};
    char text[128];
    /* The machine whose rows are of the group: products stand in no network. */
    for (size_t i = 0; i < c->rows->nmachines && m == NULL; i++) {
        if ((group == PARAMS_GEMM) == (c->rows->machines[i].of_net == NULL))
            m = &c->rows->machines[i];
    }
    for (size_t i = 0; i < c->rows->nrows; i++)
        has_rows = has_rows || c->rows->rows[i].group == group;
    if (m != NULL)
        fit_rows_get(m, group, before);
    for (size_t k = 0; k < t->count; k++) {
        struct calibration_param *p = &c->params[c->nparams++];
        *p =
            (struct calibration_param){.group = group, .param = &t->params[k], .before = before[k]};
        p->fit = (struct fit_estimate){.value = before[k], .verdict = FIT_HELD};
        if (m == NULL || !has_rows)
            p->held = CALIBRATION_NO_ROWS;
        else if (!calibration_advice(m, group, k, text, sizeof text))
            p->held = CALIBRATION_NO_SENSE;
    }
}

void calibration_init(struct calibration *c, struct fit_rows *rows)
{
    memset(c, 0, sizeof *c);
    c->rows = rows;
    c->starts = CALIBRATION_STARTS;
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
    bool is_first = true; /* before the first call everything is fitted */
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
    for (size_t i = 0; i < c->nparams; i++)
        is_first = is_first && c->params[i].held != CALIBRATION_FIXED;
    for (size_t i = 0; i < c->nparams && is_first; i++) {
        if (c->params[i].held == CALIBRATION_FITTED)
            c->params[i].held = CALIBRATION_FIXED;
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

bool calibration_fits(const struct calibration *c)
{
    for (size_t i = 0; i < c->nparams; i++) {
        if (c->params[i].held == CALIBRATION_FITTED)
            return true;
    }
    return false;
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

static void keep(const struct vector *v, struct fit_estimate *fits)
{
    double values[FIT_PARAMS_MAX];
    for (size_t i = 0; i < v->n; i++) {
        struct calibration_param *p = &v->c->params[v->index[i]];
        /* Enough digits for a figure that people read; what is reported is what is then written. */
        double scale = pow(10, 4 - floor(log10(fits[i].value)));
        double rounded = round(fits[i].value * scale) / scale;
        values[i] = fits[i].value = fmin(fmax(rounded, p->param->lowest), p->param->highest);
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
    double also[FIT_PARAMS_MAX];
    struct vector v = {.c = c, .gemms = gemms, .skip = skip};
    struct fit_summary freely;
    struct fit_problem p = {.params = params,
                            .residuals = residuals,
                            .ctx = &v,
                            .prior = CALIBRATION_PRIOR_MIN,
                            .starts = c->starts,
                            .also = c->whole != NULL ? also : NULL};
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
        if (c->whole != NULL)
            also[v.n] = c->whole->params[i].fit.value;
        v.index[v.n++] = i;
    }
    p.nparams = v.n;
    if (v.n == 0)
        return 0;
    if (fit_run(&p, fits, &freely, e) < 0)
        return -1;
    p.prior = fmin(
        fmax(CALIBRATION_PRIOR * pow(freely.sigma / CALIBRATION_SCATTER, 2), CALIBRATION_PRIOR_MIN),
        CALIBRATION_PRIOR_MAX);
    if (fit_run(&p, fits, NULL, e) < 0)
        return -1;
    keep(&v, fits);
    return 0;
}

int calibration_run(struct calibration *c, struct err *e)
{
    bool *skip;
    int status;
    if (!calibration_fits(c))
        return err_set(e, ERR_INPUT, "no parameter is left to fit");
    skip = fit_rows_thinned(c->rows, FIT_GEMM_ROWS);
    status = run_half(c, true, skip, e) < 0 || run_half(c, false, skip, e) < 0 ? -1 : 0;
    free(skip);
    return status;
}

bool calibration_is_open(const struct calibration_param *p)
{
    return p->held == CALIBRATION_FITTED &&
           (p->fit.verdict == FIT_NO_EFFECT || p->fit.verdict == FIT_UNCERTAIN ||
            p->fit.verdict == FIT_CORRELATED);
}

/* ---- advice ----
 *
 * Finds the measurement whose time follows a parameter most, by asking the models over a grid of
 * what people measure.
 */

#define NUDGE 1.02
#define ANSWERS 0.02 /* a time that follows a parameter by less than this does not answer to it */
#define CLEARLY 0.9  /* of the best answer: the first such row of the grid is named */

struct sensitivity {
    double share; /* d log(time) / d log(parameter) */
    struct measured_row row;
};

static double time_with(const struct fit_machine *machine, const struct measured_row *row,
                        enum param_group group, const double *values)
{
    struct fit_machine m = *machine;
    struct row_prediction p;
    fit_rows_set(&m, group, values);
    return predict_row(row, &m.gpu, row->kind == MEASURED_GEMM ? NULL : &m.net, &p, NULL) < 0
               ? NAN
               : p.us;
}

static void ask(const struct fit_machine *m, const struct measured_row *row, enum param_group group,
                size_t param, struct sensitivity *best)
{
    const struct param *p = &param_tables[group].params[param];
    double values[FIT_PARAMS_MAX], base, share;
    double nudge;
    fit_rows_get(m, group, values);
    nudge = values[param] * NUDGE <= p->highest ? NUDGE : 1 / NUDGE;
    base = time_with(m, row, group, values);
    values[param] *= nudge;
    share = fabs(log(time_with(m, row, group, values) / base) / log(nudge));
    if (share >= ANSWERS && share > best->share / CLEARLY)
        *best = (struct sensitivity){share, *row};
}

static void ask_products(const struct fit_machine *m, size_t param, struct sensitivity *best)
{
    static const uint64_t sizes[] = {16, 128, 1024, 4096, 16384};
    static const enum specter_dtype types[] = {SPECTER_BF16, SPECTER_FP8E4M3, SPECTER_FP4,
                                               SPECTER_FP32, SPECTER_FP64};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t i = 0; i < 5 * 5 * 5; i++) {
            struct measured_row row = {.kind = MEASURED_GEMM,
                                       .dtype = types[t],
                                       .m = sizes[i % 5],
                                       .n = sizes[i / 5 % 5],
                                       .k = sizes[i / 25],
                                       .batch = 1};
            ask(m, &row, PARAMS_GEMM, param, best);
        }
    }
}

static void ask_transfers(const struct fit_machine *m, enum param_group group, size_t param,
                          struct sensitivity *best)
{
    static const enum specter_comm_op ops[] = {SPECTER_ALLREDUCE,     SPECTER_ALLGATHER,
                                               SPECTER_REDUCESCATTER, SPECTER_ALLTOALL,
                                               SPECTER_BROADCAST,     SPECTER_SEND};
    int node = m->net.gpus_per_node >= 2 ? (int)m->net.gpus_per_node : 1;
    struct layout places[] = {{2, 1, 2}, {node, 1, node}, {2 * node, 2, node}, {8 * node, 8, node}};
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        for (size_t w = 0; w < sizeof places / sizeof *places; w++) {
            for (double bytes = 1024; bytes <= 16 * 1024.0 * 1024 * 1024; bytes *= 4) {
                struct measured_row row = {.kind = ops[o] == SPECTER_SEND ? MEASURED_P2P
                                                                          : MEASURED_COLLECTIVE,
                                           .op = ops[o],
                                           .bytes = bytes,
                                           .where = places[w]};
                ask(m, &row, group, param, best);
            }
        }
    }
}

static void say(const struct measured_row *r, char *text, size_t size)
{
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    double n = r->bytes / 1024;
    size_t unit = 0;
    if (r->kind == MEASURED_GEMM) {
        snprintf(text, size, "a %s GEMM of m %llu, n %llu, k %llu", specter_dtype_name(r->dtype),
                 (unsigned long long)r->m, (unsigned long long)r->n, (unsigned long long)r->k);
        return;
    }
    for (; n >= 1024 && unit < 2; unit++)
        n /= 1024;
    snprintf(text, size, "%s of %g %s by %d ranks on %d node%s", specter_comm_op_name(r->op), n,
             units[unit], r->where.ranks, r->where.nodes, r->where.nodes == 1 ? "" : "s");
}

bool calibration_advice(const struct fit_machine *machine, enum param_group group, size_t param,
                        char *text, size_t size)
{
    struct sensitivity best = {0};
    if (group == PARAMS_GEMM)
        ask_products(machine, param, &best);
    else
        ask_transfers(machine, group, param, &best);
    if (best.share > 0)
        say(&best.row, text, size);
    return best.share > 0;
}

#define LEAST 0.001 /* as in the profile: 0 would be "not known" */
#define MOST 20.0

/* The share that the collective takes of what bounds the GEMM; 0: the models do not know it. */
static double load_of(const struct measured_overlap *r)
{
    const struct gpu_profile *gpu = r->of.gpu;
    struct network_profile copy;
    const struct network_profile *net = network_with_nccl(r->of.net, r->of.nccl, &copy);
    struct comm_cost cost;
    if (model_collective(gpu, net, r->of.op, r->of.bytes, r->of.where, &cost, NULL) < 0)
        return 0;
    if (!r->memory)
        return gpu->sms > 0 ? (r->channels > 0 ? r->channels : cost.channels) / gpu->sms : 0;
    return gpu->mem_GBps > 0
               ? comm_memory_bytes(r->of.op, cost.algo, r->of.bytes, r->of.where.ranks) / 1e3 /
                     r->of.time_us / gpu->mem_GBps
               : 0;
}

static double loss_of(const struct measured_overlap *r)
{
    return 1 - r->gemm_us / r->gemm_beside_us;
}

/* Of GEMMs with one bound. Where the library chose the channels in some rows of compute-bound ones,
 * only these. */
static bool counts(const struct measured_overlap *rows, size_t n, size_t i, bool memory)
{
    if (rows[i].memory != memory || !(load_of(&rows[i]) > 0))
        return false;
    for (size_t k = 0; k < n && !memory && rows[i].channels > 0; k++) {
        if (!rows[k].memory && rows[k].channels == 0)
            return false;
    }
    return true;
}

static struct overlap_figure fit_bound(const struct measured_overlap *rows, size_t n, bool memory)
{
    struct overlap_figure f = {0, NAN, 0};
    double squares = 0, products = 0, rest = 0;
    for (size_t i = 0; i < n; i++) {
        if (!counts(rows, n, i, memory))
            continue;
        squares += load_of(&rows[i]) * load_of(&rows[i]);
        products += load_of(&rows[i]) * loss_of(&rows[i]);
        f.rows++;
    }
    if (f.rows == 0)
        return f;
    f.factor = products / squares;
    for (size_t i = 0; i < n; i++) {
        double off = loss_of(&rows[i]) - f.factor * load_of(&rows[i]);
        rest += counts(rows, n, i, memory) ? off * off : 0;
    }
    if (f.rows > 1)
        f.off = sqrt(rest / (double)(f.rows - 1) / squares);
    f.factor = fmin(MOST, fmax(LEAST, f.factor));
    return f;
}

struct overlap_fit overlap_fit(const struct measured_overlap *rows, size_t n)
{
    return (struct overlap_fit){.sm = fit_bound(rows, n, false),
                                .memory = fit_bound(rows, n, true)};
}
