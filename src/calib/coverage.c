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
    const char *source, *gpu; /* its machine */
    double width;             /* |log(measured / predicted)| */
};

static int by_machine(const void *a, const void *b)
{
    const struct covered_row *x = a, *y = b;
    int order = strcmp(x->source, y->source);
    if (order == 0)
        order = strcmp(x->gpu, y->gpu);
    return order != 0 ? order : ORDER(x->width, y->width);
}

static bool same_machine(const struct covered_row *a, const struct covered_row *b)
{
    return strcmp(a->source, b->source) == 0 && strcmp(a->gpu, b->gpu) == 0;
}

/* The rows of one class, sorted by machine; scratch: room for n numbers. */
static void cover(struct coverage *out, const struct covered_row *rows, size_t n, double *scratch)
{
    size_t inside50 = 0, inside80 = 0;
    for (size_t i = 0; i < n; i++)
        scratch[i] = rows[i].width;
    out->rows = n;
    out->factor50 = exp(stats_quantile(scratch, n, 0.5));
    out->factor80 = exp(stats_quantile(scratch, n, 0.8));
    for (size_t from = 0, to; from < n; from = to) {
        size_t others = 0;
        double half, most;
        for (to = from + 1; to < n && same_machine(&rows[from], &rows[to]);)
            to++;
        for (size_t i = 0; i < n; i++) {
            if (i < from || i >= to)
                scratch[others++] = rows[i].width;
        }
        half = stats_quantile(scratch, others, 0.5); /* NAN without others: nothing is inside */
        most = stats_quantile(scratch, others, 0.8);
        for (size_t i = from; i < to; i++) {
            inside50 += rows[i].width <= half;
            inside80 += rows[i].width <= most;
        }
        out->machines++;
    }
    out->inside50 = out->machines > 1 ? (double)inside50 / (double)n : NAN;
    out->inside80 = out->machines > 1 ? (double)inside80 / (double)n : NAN;
}

void coverage_of(const struct score *s, struct coverage out[INTERVAL_CLASSES])
{
    struct covered_row *rows = array_new(s->nrows, sizeof *rows);
    double *scratch = array_new(s->nrows, sizeof *scratch);
    for (int class = 0; class < INTERVAL_CLASSES; class ++) {
        size_t n = 0;
        out[class] = (struct coverage){.inside50 = NAN, .inside80 = NAN};
        for (size_t i = 0; i < s->nrows; i++) {
            const struct scored_row *r = &s->rows[i];
            if (class_of(r->row) != (enum accuracy_class) class)
                continue;
            rows[n++] = (struct covered_row){r->row->source, r->row->gpu->name,
                                             fabs(log(r->row->time_us / r->predicted.us))};
            if (r->row->kind == MEASURED_COLLECTIVE)
                out[class].ops |= 1u << r->row->op;
        }
        if (n > 0) {
            qsort(rows, n, sizeof *rows, by_machine);
            cover(&out[class], rows, n, scratch);
        }
    }
    free(scratch);
    free(rows);
}
