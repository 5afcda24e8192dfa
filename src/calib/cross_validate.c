/* SPDX-License-Identifier: MIT */
#include "calib/cross_validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same_curve(const struct measured_row *a, const struct measured_row *b)
{
    return a->kind == b->kind && a->kind != MEASURED_GEMM && a->op == b->op &&
           memcmp(&a->where, &b->where, sizeof a->where) == 0;
}

/* Fills part[] of each row; the curves are dealt in the order in which they come. */
static void deal(const struct fit_rows *rows, size_t *part)
{
    size_t next = 0;
    for (size_t i = 0; i < rows->nrows; i++) {
        size_t k = 0;
        while (k < i && !same_curve(rows->rows[k].row, rows->rows[i].row))
            k++;
        part[i] = k < i ? part[k] : next++ % CROSS_FOLDS;
    }
}

/* The machine of the rows that stands for `of`; NULL: none has its kind of rows. */
static const struct fit_machine *same_machine(const struct fit_rows *rows,
                                              const struct fit_machine *of)
{
    for (size_t i = 0; i < rows->nmachines; i++) {
        if (rows->machines[i].of_net == of->of_net)
            return &rows->machines[i];
    }
    return NULL;
}

static bool has_group(const struct fit_rows *rows, enum param_group group)
{
    for (size_t i = 0; i < rows->nrows; i++) {
        if (rows->rows[i].group == group)
            return true;
    }
    return false;
}

/* Fits what c fitted to these rows, from where it came out: one start is enough. */
static bool fit_as(struct calibration *fold, const struct calibration *c, struct fit_rows *rows)
{
    struct err ignored;
    calibration_init(fold, rows);
    fold->starts = 1;
    for (size_t k = 0; k < fold->nparams; k++) {
        struct calibration_param *p = &fold->params[k];
        if (p->held != CALIBRATION_FITTED)
            continue;
        if (c->params[k].held == CALIBRATION_FITTED)
            p->before = c->params[k].fit.value;
        else
            p->held = CALIBRATION_FIXED;
    }
    return calibration_run(fold, &ignored) == 0;
}

static void add_part(struct score *out, const struct calibration *c, const size_t *part,
                     size_t left_out)
{
    const struct fit_rows *all = c->rows;
    struct measured_row *others = array_new(all->nrows, sizeof *others);
    struct calibration fold;
    struct fit_rows rows;
    size_t n = 0;
    for (size_t i = 0; i < all->nrows; i++) {
        if (part[i] != left_out)
            others[n++] = *all->rows[i].row;
    }
    fit_rows_init(&rows, others, n);
    if (fit_as(&fold, c, &rows)) {
        for (size_t i = 0; i < all->nrows; i++) {
            const struct measured_row *row = all->rows[i].row;
            const struct fit_machine *m = same_machine(&rows, &all->machines[all->rows[i].machine]);
            struct row_prediction p;
            if (part[i] == left_out && m != NULL && has_group(&rows, all->rows[i].group) &&
                predict_row(row, &m->gpu, row->kind == MEASURED_GEMM ? NULL : &m->net, &p, NULL) ==
                    0 &&
                isfinite(p.us) && p.us > 0)
                score_add(out, row, &p, false);
        }
    }
    fit_rows_release(&rows);
    free(others);
}

void cross_validate(struct score *out, const struct calibration *c)
{
    size_t *part = array_new(c->rows->nrows, sizeof *part);
    deal(c->rows, part);
    for (size_t left_out = 0; left_out < CROSS_FOLDS; left_out++)
        add_part(out, c, part, left_out);
    free(part);
}

void cross_validate_factors(const struct score *s, struct gpu_profile *gpu,
                            struct network_profile *net)
{
    struct coverage cover[INTERVAL_CLASSES];
    struct network_profile no_net;
    struct gpu_profile no_gpu;
    coverage_of(s, cover);
    gpu = gpu != NULL ? gpu : &no_gpu;
    net = net != NULL ? net : &no_net;
    const struct {
        enum accuracy_class class;
        double *factor50, *factor80;
    } places[] = {
        {INTERVAL_GEMM, &gpu->gemm_factor50, &gpu->gemm_factor80},
        {INTERVAL_NVLINK, &net->node_factor50, &net->node_factor80},
        {INTERVAL_PCIE, &net->node_factor50, &net->node_factor80},
        {INTERVAL_NODES, &net->net_factor50, &net->net_factor80},
        {INTERVAL_MESSAGES, &net->message_factor50, &net->message_factor80},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const struct coverage *c = &cover[places[i].class];
        if (c->rows == 0)
            continue;
        *places[i].factor50 = c->rows < ACCURACY_ROWS_MIN ? 0 : c->factor50;
        *places[i].factor80 = c->rows < ACCURACY_ROWS_MIN ? 0 : c->factor80;
    }
}
