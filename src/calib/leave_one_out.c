/* SPDX-License-Identifier: MIT
 *
 * Errors of predictions by fits that had no part of what they predict (score.h).
 */
#include "calib/calibrate.h"
#include "calib/score.h"

#include <stdlib.h>
#include <string.h>

/* The rows that are left out: those of a GPU, of one source where one is named. Both pointers are
 * shared by all rows of that GPU or source. */
struct fold {
    const struct gpu_profile *gpu;
    const char *source; /* NULL: any */
};

struct folds {
    struct fold *list; /* owned */
    size_t n, cap;
};

enum loo_by loo_parse(const char *name)
{
    if (strcmp(name, "source") == 0)
        return LOO_SOURCE;
    return strcmp(name, "gpu") == 0 ? LOO_GPU : LOO_NONE;
}

/* By row: the fold that it is predicted in; owned by the caller. */
static struct fold *choose_folds(const struct fit_rows *rows, enum loo_by by)
{
    struct fold *fold_of = array_new(rows->nrows, sizeof *fold_of);
    const char **first = array_new(rows->nmachines, sizeof *first);
    bool *several = array_new(rows->nmachines, sizeof *several); /* sources measured the machine */
    for (size_t i = 0; i < rows->nrows; i++) {
        const struct fit_row *r = &rows->rows[i];
        if (first[r->machine] == NULL)
            first[r->machine] = r->row->source;
        several[r->machine] |= first[r->machine] != r->row->source;
    }
    for (size_t i = 0; i < rows->nrows; i++) {
        const struct fit_row *r = &rows->rows[i];
        bool is_source = by == LOO_SOURCE && several[r->machine];
        fold_of[i] = (struct fold){r->row->gpu, is_source ? r->row->source : NULL};
    }
    free(several);
    free(first);
    return fold_of;
}

static bool same_fold(const struct fold *a, const struct fold *b)
{
    return a->gpu == b->gpu && a->source == b->source;
}

/* The different ones of fold_of[0..n). */
static void list_folds(struct folds *out, const struct fold *fold_of, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t k = 0; k < out->n && !known; k++)
            known = same_fold(&out->list[k], &fold_of[i]);
        if (known)
            continue;
        ARRAY_GROW(out->list, out->cap, out->n + 1);
        out->list[out->n++] = fold_of[i];
    }
}

/* One fit, and the predictions of the rows that it is for. */
static int run_fold(struct score *s, struct fit_rows *rows, const struct fold *fold,
                    const struct fold *fold_of, bool *leave_out, struct err *e)
{
    struct fitted_classes classes;
    struct row_prediction p;
    int status;
    for (size_t i = 0; i < rows->nrows; i++) {
        const struct measured_row *row = rows->rows[i].row;
        leave_out[i] =
            row->gpu == fold->gpu && (fold->source == NULL || row->source == fold->source);
    }
    status =
        classes_fit(&classes, rows,
                    &(struct classes_opts){.leave_out = leave_out, .gemm_rows = LOO_GEMM_ROWS}, e);
    for (size_t i = 0; i < rows->nrows && status == 0; i++) {
        if (!same_fold(&fold_of[i], fold))
            continue;
        status = fit_rows_predict(rows, i, &p, e); /* its machine is as the fit left it */
        if (status == 0)
            score_add(s, rows->rows[i].row, &p, false);
    }
    classes_release(&classes);
    return status;
}

/* Makes skips of the rows of m that the models refuse, which are not among those to fit. */
static void skip_refused(struct measured *m, const struct fit_rows *rows)
{
    for (size_t i = 0, k = 0; i < m->nrows; i++) {
        const struct measured_row *row = &m->rows[i];
        struct row_prediction p;
        struct err why = {.msg = "the models give it no time"};
        if (k < rows->nrows && rows->rows[k].row == row) {
            k++;
            continue;
        }
        predict_row(row, row->gpu, row->net, &p, &why);
        measured_skip(m, row->file, row->line, false, why.msg);
    }
}

int loo_score(struct score *s, struct measured *m, enum loo_by by, size_t *folds, struct err *e)
{
    struct folds list = {0};
    struct fit_rows rows;
    struct fold *fold_of;
    bool *leave_out;
    int status = 0;
    fit_rows_init(&rows, m->rows, m->nrows);
    skip_refused(m, &rows);
    fold_of = choose_folds(&rows, by);
    leave_out = array_new(rows.nrows, sizeof *leave_out);
    list_folds(&list, fold_of, rows.nrows);
    for (size_t k = 0; k < list.n && status == 0; k++)
        status = run_fold(s, &rows, &list.list[k], fold_of, leave_out, e);
    if (folds != NULL)
        *folds = list.n;
    free(list.list);
    free(leave_out);
    free(fold_of);
    fit_rows_release(&rows);
    return status;
}
