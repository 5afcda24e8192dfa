/* SPDX-License-Identifier: MIT */
#include "calib/score.h"

#include "base/order.h"
#include "base/stats.h"
#include "calib/predict_row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KiB 1024.0
#define MiB (1024 * KiB)
#define COUNT(array) (sizeof(array) / sizeof *(array))

#define NEAR_APE 0.25 /* of score_stats.within_25 */

/* ---- classes of sizes ---- */

/* A class of sizes: from `from` on, up to the next one. */
struct size_class {
    double from;
    const char *key;
};

static const struct size_class bytes_classes[] = {
    {0, "<64 KiB"},
    {64 * KiB, "64 KiB-1 MiB"},
    {1 * MiB, "1-64 MiB"},
    {64 * MiB, ">=64 MiB"},
};

static const struct size_class m_classes[] = {
    {0, "m 1-16"},
    {17, "m 17-128"},
    {129, "m 129-1024"},
    {1025, "m >1024"},
};

static const struct size_class flops_classes[] = {
    {0, "<1 GFLOP"},
    {1e9, "1-10 GFLOP"},
    {1e10, "10-100 GFLOP"},
    {1e11, ">=100 GFLOP"},
};

static double classify(const struct size_class *classes, size_t count, double value,
                       const char **key)
{
    size_t i = count - 1;
    while (i > 0 && value < classes[i].from)
        i--;
    *key = classes[i].key;
    return classes[i].from;
}

/* ---- keys of rows, one function a `by`: the key, and its order among others ---- */

#define NOT_TOLD (-1.0) /* in place of an order: the row is in no group of this `by` */

static double key_kind(const struct measured_row *row, const char **key)
{
    *key = measured_kind_name(row->kind);
    return row->kind;
}

static double key_size(const struct measured_row *row, const char **key)
{
    return classify(bytes_classes, COUNT(bytes_classes), row->bytes, key);
}

static double key_m(const struct measured_row *row, const char **key)
{
    return classify(m_classes, COUNT(m_classes), (double)row->m, key);
}

static double key_flops(const struct measured_row *row, const char **key)
{
    double flops = 2 * (double)row->m * (double)row->n * (double)row->k * (double)row->batch;
    return classify(flops_classes, COUNT(flops_classes), flops, key);
}

static double key_op(const struct measured_row *row, const char **key)
{
    *key = specter_comm_op_name(row->op);
    return row->op;
}

static double key_dtype(const struct measured_row *row, const char **key)
{
    *key = specter_dtype_name(row->dtype);
    return row->dtype;
}

static double key_gpu(const struct measured_row *row, const char **key)
{
    *key = row->gpu->name;
    return 0;
}

static double key_network(const struct measured_row *row, const char **key)
{
    *key = row->net->name;
    return 0;
}

static double key_source(const struct measured_row *row, const char **key)
{
    *key = row->source;
    return 0;
}

static double key_lib(const struct measured_row *row, const char **key)
{
    *key = row->lib;
    return 0;
}

/* NOT_TOLD where the row does not say it. */
static double key_cache(const struct measured_row *row, const char **key)
{
    *key = row->cache == GEMM_CACHE_COLD ? "cold" : "hot";
    return row->cache == GEMM_CACHE_UNTOLD ? NOT_TOLD : row->cache;
}

/* NOT_TOLD for COMM_TO_NEXT: a row that says nothing is of it. */
static double key_direction(const struct measured_row *row, const char **key)
{
    *key = comm_direction_name(row->direction);
    return row->direction == COMM_TO_NEXT ? NOT_TOLD : row->direction;
}

/* Numbers are their own order; their text follows from it. */
static double key_ranks(const struct measured_row *row, const char **key)
{
    *key = NULL;
    return row->where.ranks;
}

static double key_nodes(const struct measured_row *row, const char **key)
{
    *key = NULL;
    return row->where.nodes;
}

#define OF(kind) (1u << MEASURED_##kind)
#define OF_COMM (OF(COLLECTIVE) | OF(P2P))

static const struct grouping {
    const char *by;
    unsigned kinds;
    double (*key)(const struct measured_row *row, const char **key);
} groupings[] = {
    {"size", OF_COMM, key_size},
    {"m", OF(GEMM), key_m},
    {"flops", OF(GEMM), key_flops},
    {"dtype", OF(GEMM), key_dtype},
    {"collective", OF(COLLECTIVE), key_op},
    {"direction", OF(P2P), key_direction},
    {"gpu", OF_COMM | OF(GEMM), key_gpu},
    {"network", OF_COMM, key_network},
    {"ranks", OF_COMM, key_ranks},
    {"nodes", OF_COMM, key_nodes},
    {"lib", OF(GEMM), key_lib},
    {"cache", OF(GEMM), key_cache},
    {"source", OF_COMM | OF(GEMM), key_source},
};

static const struct grouping kind_grouping = {"kind", OF_COMM | OF(GEMM), key_kind};

/* ---- groups ---- */

/* A row on its way into a group. */
struct group_member {
    const char *key; /* NULL: `order` written out */
    double order, error;
};

static int by_key(const void *a, const void *b)
{
    const struct group_member *x = a, *y = b;
    int names;
    if (x->order != y->order)
        return ORDER(x->order, y->order);
    names = x->key == y->key ? 0 : strcmp(x->key, y->key);
    return names != 0 ? names : ORDER(x->error, y->error);
}

static bool same_group(const struct group_member *a, const struct group_member *b)
{
    return a->order == b->order && (a->key == b->key || strcmp(a->key, b->key) == 0);
}

/* scratch: room for n numbers. */
static void fill_stats(struct score_stats *out, const struct group_member *members, size_t n,
                       double *scratch)
{
    size_t near = 0;
    for (size_t i = 0; i < n; i++)
        scratch[i] = members[i].error;
    out->n = n;
    out->bias = stats_quantile(scratch, n, 0.5);
    for (size_t i = 0; i < n; i++) {
        scratch[i] = fabs(scratch[i]);
        near += scratch[i] <= NEAR_APE;
    }
    out->median_ape = stats_quantile(scratch, n, 0.5);
    out->p90_ape = stats_quantile(scratch, n, 0.9);
    out->mean_ape = stats_mean(scratch, n);
    out->within_25 = n > 0 ? (double)near / (double)n : NAN;
}

/* The rows of `kinds` with their keys, sorted by them. Returns how many. */
static size_t collect(const struct score *s, unsigned kinds, const struct grouping *how,
                      struct group_member *members)
{
    size_t n = 0;
    for (size_t i = 0; i < s->nrows; i++) {
        const struct measured_row *row = s->rows[i].row;
        if ((kinds >> row->kind & 1) == 0)
            continue;
        members[n].order = how->key(row, &members[n].key);
        if (members[n].order == NOT_TOLD)
            continue;
        members[n++].error = s->rows[i].error;
    }
    qsort(members, n, sizeof *members, by_key);
    return n;
}

static void add_groups(struct score *s, enum measured_kind kind, const struct grouping *how,
                       struct group_member *members, double *scratch)
{
    unsigned kinds = kind == MEASURED_KINDS ? how->kinds : 1u << kind;
    size_t n = collect(s, kinds, how, members);
    for (size_t from = 0, to; from < n; from = to) {
        const struct group_member *first = members + from;
        struct score_group *g;
        for (to = from + 1; to < n && same_group(first, &members[to]);)
            to++;
        ARRAY_GROW(s->groups, s->cap_groups, s->ngroups + 1);
        g = &s->groups[s->ngroups++];
        *g = (struct score_group){.kind = kind, .by = how->by, .order = first->order};
        g->key = first->key != NULL ? arena_strdup(&s->arena, first->key)
                                    : arena_printf(&s->arena, "%.0f", first->order);
        fill_stats(&g->stats, first, to - from, scratch);
    }
}

/* Weighs each row by what its source has: all sources count the same. */
static void weigh_sources(struct score *s, struct group_member *members, double *scratch)
{
    const struct grouping how = {"source", ~0u, key_source};
    size_t n = collect(s, ~0u, &how, members);
    double *weights = scratch + n, sum = 0, close = 0;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && same_group(&members[from], &members[to]);)
            to++;
        for (size_t i = from; i < to; i++)
            weights[i] = 1 / (double)(to - from);
        s->nsources++;
    }
    for (size_t i = 0; i < n; i++)
        scratch[i] = members[i].error;
    s->source_weighted.bias = stats_weighted_quantile(scratch, weights, n, 0.5);
    for (size_t i = 0; i < n; i++) {
        scratch[i] = fabs(scratch[i]);
        sum += weights[i] * scratch[i];
        close += scratch[i] <= NEAR_APE ? weights[i] : 0;
    }
    s->source_weighted.n = n;
    s->source_weighted.median_ape = stats_weighted_quantile(scratch, weights, n, 0.5);
    s->source_weighted.p90_ape = stats_weighted_quantile(scratch, weights, n, 0.9);
    s->source_weighted.mean_ape = n > 0 ? sum / (double)s->nsources : NAN;
    s->source_weighted.within_25 = n > 0 ? close / (double)s->nsources : NAN;
}

/* ---- the score ---- */

static int worst_first(const void *a, const void *b)
{
    const struct scored_row *x = a, *y = b;
    double ape_x = fabs(x->error), ape_y = fabs(y->error);
    int files;
    if (ape_x != ape_y)
        return ORDER(ape_y, ape_x);
    files = strcmp(x->row->file, y->row->file);
    return files != 0 ? files : ORDER(x->row->line, y->row->line);
}

void score_init(struct score *s)
{
    memset(s, 0, sizeof *s);
    arena_init(&s->arena);
}

void score_release(struct score *s)
{
    arena_release(&s->arena);
    free(s->rows);
    free(s->groups);
}

void score_add(struct score *s, const struct measured_row *row, const struct row_prediction *p,
               bool outside)
{
    ARRAY_GROW(s->rows, s->cap_rows, s->nrows + 1);
    s->rows[s->nrows++] = (struct scored_row){row, *p, p->us / row->time_us - 1, outside};
    s->noutside += outside;
}

bool scored_row_interval(const struct scored_row *s, struct accuracy_interval *in)
{
    const struct measured_row *row = s->row;
    *in = (struct accuracy_interval){.known = false};
    if (row->kind == MEASURED_COLLECTIVE)
        accuracy_interval_of_comm(row->gpu, row->net, row->op, row->bytes, row->where, in);
    else if (row->kind == MEASURED_GEMM)
        accuracy_interval_of_gemm(
            row->gpu, 2 * (double)row->m * (double)row->n * (double)row->k * (double)row->batch,
            in);
    else
        accuracy_interval_of_p2p(row->net, in);
    return in->known;
}

void score_finish(struct score *s)
{
    struct group_member *members = NULL;
    double *scratch = NULL;
    size_t cap_members = 0, cap_scratch = 0, n;
    ARRAY_GROW(members, cap_members, s->nrows + 1);
    ARRAY_GROW(scratch, cap_scratch, 2 * s->nrows + 1);
    n = collect(s, ~0u, &kind_grouping, members);
    fill_stats(&s->all, members, n, scratch);
    weigh_sources(s, members, scratch);
    add_groups(s, MEASURED_KINDS, &kind_grouping, members, scratch);
    for (int kind = 0; kind < MEASURED_KINDS; kind++) {
        for (size_t i = 0; i < COUNT(groupings); i++) {
            if (groupings[i].kinds >> kind & 1)
                add_groups(s, (enum measured_kind)kind, &groupings[i], members, scratch);
        }
    }
    if (s->nrows > 0)
        qsort(s->rows, s->nrows, sizeof *s->rows, worst_first);
    free(scratch);
    free(members);
}

void score_predict(struct score *s, struct measured *m)
{
    for (size_t i = 0; i < m->nrows; i++) {
        const struct measured_row *row = &m->rows[i];
        struct row_prediction p;
        struct err why;
        if (predict_row(row, row->gpu, row->net, &p, &why) < 0)
            measured_skip(m, row->file, row->line, false, why.msg);
        else if (!(isfinite(p.us) && p.us > 0)) /* it would hide in every quantile */
            measured_skip(m, row->file, row->line, false, "no time above 0 is predicted");
        else
            score_add(s, row, &p, predict_row_outside(row));
    }
}
