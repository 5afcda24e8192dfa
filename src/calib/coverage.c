/* SPDX-License-Identifier: MIT */
#include "calib/score.h"

#include "base/order.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum accuracy_class class_of(const struct measured_row *row)
{
    switch (row->kind) {
    case MEASURED_COLLECTIVE:
        return accuracy_class_of(row->net, row->where);
    case MEASURED_GEMM:
        return INTERVAL_GEMM;
    default:
        return INTERVAL_MESSAGES;
    }
}

/* A row of one class. */
struct covered_row {
    const char *source, *gpu, *network; /* its machine */
    double width;                       /* |log(measured / predicted)| */
};

static int by_machine(const void *a, const void *b)
{
    const struct covered_row *x = a, *y = b;
    int order = strcmp(x->source, y->source);
    if (order == 0)
        order = strcmp(x->gpu, y->gpu);
    if (order == 0)
        order = strcmp(x->network, y->network);
    return order != 0 ? order : ORDER(x->width, y->width);
}

static bool same_machine(const struct covered_row *a, const struct covered_row *b)
{
    return strcmp(a->source, b->source) == 0 && strcmp(a->gpu, b->gpu) == 0 &&
           strcmp(a->network, b->network) == 0;
}

/* Widths and weights of rows, for quantiles. */
struct widths {
    double *list, *weights; /* owned; room for all rows */
    size_t n;
};

static void widths_add(struct widths *w, const struct covered_row *rows, size_t n)
{
    double weight = fmin(1, (double)n / ACCURACY_ROWS_MIN) / (double)n;
    for (size_t i = 0; i < n; i++) {
        w->list[w->n] = rows[i].width;
        w->weights[w->n++] = weight;
    }
}

static double widths_quantile(const struct widths *w, double q)
{
    return stats_weighted_quantile(w->list, w->weights, w->n, q);
}

/* The row behind those of the machine that begins at `from`. */
static size_t machine_end(const struct covered_row *rows, size_t n, size_t from)
{
    size_t to = from + 1;
    while (to < n && same_machine(&rows[from], &rows[to]))
        to++;
    return to;
}

/* The rows of one class, sorted by machine. */
static void cover(struct coverage *out, const struct covered_row *rows, size_t n, struct widths *w)
{
    double inside50 = 0, inside80 = 0, all = 0;
    for (size_t from = 0, to; from < n; from = to, out->machines++) {
        double half, most;
        to = machine_end(rows, n, from);
        w->n = 0;
        for (size_t i = 0, end; i < n; i = end) {
            end = machine_end(rows, n, i);
            if (i != from)
                widths_add(w, &rows[i], end - i);
        }
        half = widths_quantile(w, 0.5); /* NAN without others: nothing is inside */
        most = widths_quantile(w, 0.8);
        w->n = 0;
        widths_add(w, &rows[from], to - from);
        for (size_t i = 0; i < w->n; i++) {
            inside50 += w->list[i] <= half ? w->weights[i] : 0;
            inside80 += w->list[i] <= most ? w->weights[i] : 0;
            all += w->weights[i];
        }
    }
    w->n = 0;
    for (size_t from = 0, to; from < n; from = to) {
        to = machine_end(rows, n, from);
        widths_add(w, &rows[from], to - from);
    }
    out->rows = n;
    out->factor50 = exp(widths_quantile(w, 0.5));
    out->factor80 = exp(widths_quantile(w, 0.8));
    out->inside50 = out->machines > 1 ? inside50 / all : NAN;
    out->inside80 = out->machines > 1 ? inside80 / all : NAN;
}

static bool is_of(const struct measured_row *row, enum accuracy_class class,
                  enum accuracy_size size)
{
    return class_of(row) == class && (size == SIZE_ALL || (row->kind == MEASURED_COLLECTIVE &&
                                                           accuracy_size_of(row->bytes) == size));
}

void coverage_of(const struct score *s, struct coverage out[INTERVAL_CLASSES][SIZE_CLASSES])
{
    struct covered_row *rows = array_new(s->nrows, sizeof *rows);
    struct widths w = {array_new(s->nrows, sizeof *w.list), array_new(s->nrows, sizeof *w.weights),
                       0};
    for (int k = 0; k < INTERVAL_CLASSES * SIZE_CLASSES; k++) {
        enum accuracy_class class = (enum accuracy_class)(k / SIZE_CLASSES);
        enum accuracy_size size = (enum accuracy_size)(k % SIZE_CLASSES);
        struct coverage *c = &out[class][size];
        size_t n = 0;
        *c = (struct coverage){.inside50 = NAN, .inside80 = NAN};
        for (size_t i = 0; i < s->nrows; i++) {
            const struct scored_row *r = &s->rows[i];
            if (!is_of(r->row, class, size))
                continue;
            rows[n++] = (struct covered_row){r->row->source, r->row->gpu->name,
                                             r->row->net != NULL ? r->row->net->name : "",
                                             fabs(log(r->row->time_us / r->predicted.us))};
            if (r->row->kind == MEASURED_COLLECTIVE)
                c->ops |= 1u << r->row->op;
        }
        if (n > 0) {
            qsort(rows, n, sizeof *rows, by_machine);
            cover(c, rows, n, &w);
        }
    }
    free(w.list);
    free(w.weights);
    free(rows);
}
