/* SPDX-License-Identifier: MIT */
#include "calib/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same_curve(const struct measured_row *a, const struct measured_row *b)
{
    return a->kind == b->kind && a->kind != MEASURED_GEMM && a->op == b->op &&
           a->direction == b->direction && memcmp(&a->where, &b->where, sizeof a->where) == 0;
}

/* Returns which of CROSS_FOLDS parts of its curve, in the order of bytes, row i is in; CROSS_FOLDS
 * where its group of parameters has rows of other curves, too. */
static size_t part_of_curve(const struct fit_rows *rows, size_t i)
{
    const struct fit_row *of = &rows->rows[i];
    size_t below = 0, n = 0;
    for (size_t k = 0; k < rows->nrows; k++) {
        const struct fit_row *other = &rows->rows[k];
        if (other->group != of->group)
            continue;
        if (!same_curve(other->row, of->row))
            return CROSS_FOLDS;
        n++;
        below += other->row->bytes < of->row->bytes;
    }
    return below * CROSS_FOLDS / n;
}

/* Fills part[] of each row; the curves are dealt in the order in which they come. */
static void deal(const struct fit_rows *rows, size_t *part)
{
    size_t next = 0;
    for (size_t i = 0; i < rows->nrows; i++) {
        size_t k = 0;
        while (k < i && !same_curve(rows->rows[k].row, rows->rows[i].row))
            k++;
        part[i] = part_of_curve(rows, i);
        if (part[i] == CROSS_FOLDS)
            part[i] = k < i ? part[k] : next++ % CROSS_FOLDS;
    }
}

/* The machine of the rows that stands for `of`; NULL: none has its kind of rows. */
static struct fit_machine *same_machine(const struct fit_rows *rows, const struct fit_machine *of)
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

/* Fits what c fitted to these rows, from what was known before and from what c found. Where times
 * do not follow a parameter at its value from before (links hide NICs, until these are slow), the
 * former alone would never leave it. */
static bool fit_as(struct calibration *fold, const struct calibration *c, struct fit_rows *rows)
{
    struct err ignored;
    calibration_init(fold, rows);
    fold->starts = 1;
    fold->whole = c;
    for (size_t k = 0; k < fold->nparams; k++) {
        struct calibration_param *p = &fold->params[k];
        if (p->held != CALIBRATION_FITTED)
            continue;
        p->before = c->params[k].before;
        p->held = c->params[k].held;
    }
    return calibration_run(fold, &ignored) == 0;
}

/* start: the machines of c's rows before the fit. */
static void add_part(struct score *out, const struct calibration *c,
                     const struct fit_machine *start, const size_t *part, size_t left_out)
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
    for (size_t i = 0; i < all->nmachines; i++) {
        struct fit_machine *m = same_machine(&rows, &all->machines[i]);
        if (m != NULL)
            *m = start[i];
    }
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

static void cross_validate(struct score *out, const struct calibration *c,
                           const struct fit_machine *start)
{
    size_t *part = array_new(c->rows->nrows, sizeof *part);
    deal(c->rows, part);
    for (size_t left_out = 0; left_out < CROSS_FOLDS; left_out++)
        add_part(out, c, start, part, left_out);
    free(part);
}

/* ---- how many parameters ---- */

/* One try: what was fitted, the machines with it, and rows that had no part in the fit. */
struct trial {
    struct calibration c;
    struct fit_machine *machines;
    struct score left_out;
};

static bool is_gemm(const struct scored_row *s)
{
    return s->row->kind == MEASURED_GEMM;
}

/* Returns the rows' part of what a fit minimises (fit.h), but for a factor, as a mean of the rows;
 * 0 where there are none. */
static double cost_of(const struct score *s, bool gemms)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < s->nrows; i++) {
        double x = log(s->rows[i].predicted.us / s->rows[i].row->time_us) / FIT_TOLERANCE;
        if (is_gemm(&s->rows[i]) == gemms) {
            sum += sqrt(1 + x * x) - 1;
            n++;
        }
    }
    return n > 0 ? sum / (double)n : 0;
}

static void keep_machines(struct trial *t, const struct fit_rows *rows)
{
    t->machines = array_new(rows->nmachines, sizeof *t->machines);
    memcpy(t->machines, rows->machines, rows->nmachines * sizeof *t->machines);
}

/* Keeps the parameters beyond the extent from being fitted. */
static void limit_to(struct calibration *c, enum calibration_extent extent)
{
    static const char *const few[] = {"link_share", "start_us",  "nic_share",
                                      "hop_us",     "mma_share", "mem_share"};
    for (size_t i = 0; i < c->nparams; i++) {
        bool kept = extent == CALIBRATION_ALL;
        for (size_t k = 0; k < sizeof few / sizeof *few && extent == CALIBRATION_FEW; k++)
            kept = kept || strcmp(c->params[i].param->name, few[k]) == 0;
        if (c->params[i].held == CALIBRATION_FITTED && !kept)
            c->params[i].held = CALIBRATION_NO_GAIN;
    }
}

/* Fits `extent` of what c would fit, from the machines as they are in `start`. */
static int try_extent(struct trial *t, const struct calibration *c, const struct trial *start,
                      enum calibration_extent extent, struct err *e)
{
    struct fit_rows *rows = c->rows;
    int status = 0;
    t->c = *c;
    score_init(&t->left_out);
    memcpy(rows->machines, start->machines, rows->nmachines * sizeof *rows->machines);
    limit_to(&t->c, extent);
    if (calibration_fits(&t->c)) {
        status = calibration_run(&t->c, e);
        if (status == 0)
            cross_validate(&t->left_out, &t->c, start->machines);
    }
    keep_machines(t, rows);
    return status;
}

/* The same rows as `of` has, predicted by the machines as they were. */
static void score_start(struct trial *start, const struct fit_rows *rows, const struct score *of)
{
    for (size_t i = 0; i < of->nrows; i++) {
        const struct measured_row *row = of->rows[i].row;
        struct row_prediction p;
        size_t k = 0;
        while (rows->rows[k].row != row)
            k++;
        const struct fit_machine *m = &start->machines[rows->rows[k].machine];
        if (predict_row(row, &m->gpu, row->kind == MEASURED_GEMM ? NULL : &m->net, &p, NULL) == 0 &&
            isfinite(p.us) && p.us > 0)
            score_add(&start->left_out, row, &p, false);
    }
}

/* Of the tries that predict left-out rows clearly better than those of fewer parameters, the last.
 */
static enum calibration_extent choose(const struct trial *tries, bool gemms)
{
    enum calibration_extent best = CALIBRATION_NONE;
    for (int i = CALIBRATION_FEW; i < CALIBRATION_EXTENTS; i++) {
        if (tries[i].left_out.nrows > 0 &&
            cost_of(&tries[i].left_out, gemms) <
                (1 - CROSS_GAIN) * cost_of(&tries[best].left_out, gemms))
            best = (enum calibration_extent)i;
    }
    return best;
}

static void copy_half(struct score *to, const struct score *from, bool gemms)
{
    for (size_t i = 0; i < from->nrows; i++) {
        const struct scored_row *s = &from->rows[i];
        if (is_gemm(s) == gemms)
            score_add(to, s->row, &s->predicted, s->outside);
    }
}

/* Takes over what was chosen for GEMMs, or for communication. */
static void take(struct calibration *c, struct cross_validation *v, const struct trial *tries,
                 bool gemms)
{
    const struct trial *t = &tries[v->took[gemms]];
    for (size_t i = 0; i < c->nparams; i++) {
        if ((c->params[i].group == PARAMS_GEMM) == gemms)
            c->params[i] = t->c.params[i];
    }
    for (size_t i = 0; i < c->rows->nmachines; i++) {
        if ((c->rows->machines[i].of_net == NULL) == gemms)
            c->rows->machines[i] = t->machines[i];
    }
    copy_half(&v->before, &tries[CALIBRATION_NONE].left_out, gemms);
    copy_half(&v->left_out, &t->left_out, gemms);
}

int cross_validate_run(struct calibration *c, struct cross_validation *v, struct err *e)
{
    struct trial tries[CALIBRATION_EXTENTS] = {0};
    struct trial *start = &tries[CALIBRATION_NONE];
    const struct score *judged = &tries[CALIBRATION_ALL].left_out;
    int status = 0;
    if (!calibration_fits(c))
        return err_set(e, ERR_INPUT, "no parameter is left to fit");
    score_init(&v->before);
    score_init(&v->left_out);
    start->c = *c;
    limit_to(&start->c, CALIBRATION_NONE);
    score_init(&start->left_out);
    keep_machines(start, c->rows);
    for (int i = CALIBRATION_FEW; status == 0 && i < CALIBRATION_EXTENTS; i++)
        status = try_extent(&tries[i], c, start, (enum calibration_extent)i, e);
    if (status == 0 && judged->nrows == 0)
        status = err_set(e, ERR_INPUT,
                         "%zu row%s cannot show what a fit to them is worth: measure at least "
                         "five sizes",
                         c->rows->nrows, c->rows->nrows == 1 ? "" : "s");
    if (status == 0) {
        score_start(start, c->rows, judged);
        for (int gemms = 0; gemms < 2; gemms++) {
            v->took[gemms] = choose(tries, gemms);
            take(c, v, tries, gemms);
        }
        score_finish(&v->before);
        score_finish(&v->left_out);
    }
    if (status < 0)
        cross_validation_release(v);
    for (int i = 0; i < CALIBRATION_EXTENTS; i++) {
        free(tries[i].machines);
        score_release(&tries[i].left_out);
    }
    return status;
}

void cross_validation_release(struct cross_validation *v)
{
    score_release(&v->before);
    score_release(&v->left_out);
}

void cross_validate_factors(const struct score *s, struct gpu_profile *gpu,
                            struct network_profile *net)
{
    struct coverage cover[INTERVAL_CLASSES][SIZE_CLASSES];
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
        const struct coverage *c = &cover[places[i].class][SIZE_ALL];
        if (c->rows == 0)
            continue;
        *places[i].factor50 = c->rows < ACCURACY_ROWS_MIN ? 0 : c->factor50;
        *places[i].factor80 = c->rows < ACCURACY_ROWS_MIN ? 0 : c->factor80;
    }
}
