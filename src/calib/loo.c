/* SPDX-License-Identifier: MIT */
#include "calib/loo.h"

#include "calib/fit_classes.h"
#include "calib/predict_row.h"

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

/* The machines that two sources have measured; owned by the caller. */
static bool *two_sources(const struct fit_rows *rows)
{
    const char **first = calloc(rows->nmachines + 1, sizeof *first);
    bool *two = calloc(rows->nmachines + 1, sizeof *two);
    if (first == NULL || two == NULL)
        die("out of memory");
    for (size_t i = 0; i < rows->nrows; i++) {
        const struct fit_row *r = &rows->rows[i];
        if (first[r->machine] == NULL)
            first[r->machine] = r->row->source;
        two[r->machine] |= first[r->machine] != r->row->source;
    }
    free(first);
    return two;
}

/* The fold that each row is predicted in; owned by the caller. */
static struct fold *choose_folds(const struct fit_rows *rows, enum loo_by by)
{
    struct fold *of = calloc(rows->nrows + 1, sizeof *of);
    bool *two = two_sources(rows);
    if (of == NULL)
        die("out of memory");
    for (size_t i = 0; i < rows->nrows; i++) {
        const struct fit_row *r = &rows->rows[i];
        bool is_source = by == LOO_SOURCE && two[r->machine];
        of[i] = (struct fold){r->row->gpu, is_source ? r->row->source : NULL};
    }
    free(two);
    return of;
}

static bool same_fold(const struct fold *a, const struct fold *b)
{
    return a->gpu == b->gpu && a->source == b->source;
}

static void list_folds(struct folds *out, const struct fold *of, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t k = 0; k < out->n && !known; k++)
            known = same_fold(&out->list[k], &of[i]);
        if (known)
            continue;
        ARRAY_GROW(out->list, out->cap, out->n + 1);
        out->list[out->n++] = of[i];
    }
}

static bool is_left_out(const struct measured_row *row, const struct fold *fold)
{
    return row->gpu == fold->gpu && (fold->source == NULL || row->source == fold->source);
}

/* Scores a row with its machine's parameters as the fit left them. */
static int add_row(struct score *s, const struct fit_rows *rows, const struct fit_row *r,
                   struct err *e)
{
    const struct fit_machine *machine = &rows->machines[r->machine];
    struct row_prediction p;
    if (predict_row(r->row, &machine->gpu, machine->of_net != NULL ? &machine->net : NULL, &p, e) <
        0)
        return -1;
    score_add(s, r->row, &p, false);
    return 0;
}

/* One fit, and the predictions of the rows that it is for. */
static int run_fold(struct score *s, struct fit_rows *rows, const struct fold *fold,
                    const struct fold *of, bool *leave_out, struct err *e)
{
    struct fitted_classes classes;
    int status;
    for (size_t i = 0; i < rows->nrows; i++)
        leave_out[i] = is_left_out(rows->rows[i].row, fold);
    status =
        classes_fit(&classes, rows,
                    &(struct classes_opts){.leave_out = leave_out, .gemm_rows = LOO_GEMM_ROWS}, e);
    for (size_t i = 0; i < rows->nrows && status == 0; i++) {
        if (same_fold(&of[i], fold))
            status = add_row(s, rows, &rows->rows[i], e);
    }
    classes_release(&classes);
    return status;
}

/* Rows of m that are not among those to fit. */
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
    struct fold *of;
    bool *leave_out;
    int status = 0;
    fit_rows_init(&rows, m->rows, m->nrows);
    skip_refused(m, &rows);
    of = choose_folds(&rows, by);
    leave_out = calloc(rows.nrows + 1, sizeof *leave_out);
    if (leave_out == NULL)
        die("out of memory");
    list_folds(&list, of, rows.nrows);
    for (size_t k = 0; k < list.n && status == 0; k++)
        status = run_fold(s, &rows, &list.list[k], of, leave_out, e);
    if (folds != NULL)
        *folds = list.n;
    free(list.list);
    free(leave_out);
    free(of);
    fit_rows_release(&rows);
    return status;
}
