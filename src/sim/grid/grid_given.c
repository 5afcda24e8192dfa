/* SPDX-License-Identifier: MIT
 *
 * --parallel: finds the order of the axes that the user gives in which the groups of the grid are
 * the recorded communicators.
 */
#include "sim/grid/grid_internal.h"

#include <stdlib.h>
#include <string.h>

/* One "role=size[:stride]". */
struct given_axis {
    enum grid_role role;
    int size, stride; /* stride 0: not given */
};

/* Reads a number from 1 to 2^30. Returns where it ends; NULL: it is none. */
static const char *parse_number(const char *at, int *value)
{
    char *end;
    long n = strtol(at, &end, 10);
    if (*at < '0' || *at > '9' || n < 1 || n > 1 << 30)
        return NULL;
    *value = (int)n;
    return end;
}

static const char *parse_one(const char *at, struct given_axis *one)
{
    size_t len = strcspn(at, "=,");
    one->stride = 0;
    if (!grid_role_parse(&one->role, at, len) || at[len] != '=')
        return NULL;
    at = parse_number(at + len + 1, &one->size);
    if (at != NULL && *at == ':')
        at = parse_number(at + 1, &one->stride);
    return at;
}

static int parse(const char *text, struct given_axis *list, struct err *e)
{
    const char *at = text;
    int n = 0;
    do {
        struct given_axis one;
        at = n < GRID_AXES_MAX ? parse_one(at, &one) : NULL;
        if (at == NULL || (*at != ',' && *at != '\0'))
            return err_set(e, ERR_USAGE,
                           "--parallel '%s': not of the form tp=8,pp=2,dp=4 (tp, cp, ep, fsdp, dp, "
                           "pp; a stride may follow, as in dp=2:8)",
                           text);
        list[n++] = one;
    } while (*at++ == ',');
    return n;
}

/* Megatron and DeepSpeed count expert parallelism as part of the data-parallel ranks, replicas or
 * shards. */
static bool fold_experts(struct given_axis *list, int n, int64_t product, int world)
{
    int64_t experts = 1;
    for (int i = 0; i < n; i++) {
        if (list[i].role == GRID_EP && experts <= world)
            experts *= list[i].size;
    }
    if (experts == 1 || experts > world || product != world * experts)
        return false;
    for (int i = 0; i < n; i++) {
        bool data = list[i].role == GRID_DP || list[i].role == GRID_FSDP;
        if (data && list[i].size % experts == 0 && list[i].stride == 0) {
            list[i].size /= (int)experts;
            return true;
        }
    }
    return false;
}

static int check_world(struct given_axis *list, int n, const char *text, int world, struct err *e)
{
    int64_t product = 1;
    bool more = false;
    for (int i = 0; i < n; i++) {
        if (product <= INT32_MAX)
            product *= list[i].size;
        else /* too many in any case */
            more = more || list[i].size > 1;
    }
    if (!more && (product == world || fold_experts(list, n, product, world)))
        return 0;
    return err_set(e, ERR_USAGE,
                   "--parallel '%s': that makes %s%lld ranks, the recorded job has %d", text,
                   more ? "more than " : "", (long long)product, world);
}

static int by_role(const void *pa, const void *pb)
{
    const struct given_axis *a = pa, *b = pb;
    return (int)a->role - (int)b->role;
}

/* Makes the axes in that order; false where an axis was given with another stride. */
static bool lay_out(struct grid *g, const struct given_axis *list, const int *order, int n)
{
    int stride = 1;
    g->naxes = 0;
    for (int i = 0; i < n; i++) {
        const struct given_axis *one = &list[order[i]];
        if (one->stride > 0 && one->stride != stride)
            return false;
        g->axes[g->naxes++] = (struct grid_axis){.role = one->role,
                                                 .size = one->size,
                                                 .stride = stride,
                                                 .trust = GRID_TOLD,
                                                 .why = "--parallel"};
        stride *= one->size;
    }
    return true;
}

/* Returns whether its members are some stages of a pipeline: neighbours, or the first and the last.
 */
static bool is_of_stages(const struct grid *g, const struct grid_comm *comm, unsigned axes)
{
    for (int a = 0; a < g->naxes; a++) {
        if (g->axes[a].role == GRID_PP &&
            (axes != 0 ? axes == 1u << a : comm->size <= g->axes[a].size))
            return true;
    }
    return false;
}

/* The first communicator whose members do not fill whole axes of this grid, or, where not all of
 * them are known, whose size is no product of axes; ncomms: there is none. Parts of a pipeline's
 * stages need not fill any. */
static size_t first_misfit(const struct grid *g, const struct grid_input *in)
{
    bool any_used = grid_any_used(in);
    size_t c = 0;
    for (; c < in->ncomms; c++) {
        const struct grid_comm *comm = &in->comms[c];
        struct grid_place place = grid_place_of(g, comm);
        if ((place.part || !grid_size_fits(g, comm)) && !is_of_stages(g, comm, place.axes) &&
            grid_is_evidence(comm, any_used))
            break;
    }
    return c;
}

/* Counts the axes that have the role, size and stride of the grid found without --parallel. */
static int agreement(const struct grid *g, const struct grid *found)
{
    int same = 0;
    for (int a = 0; a < g->naxes; a++) {
        for (int b = 0; found->state == GRID_FOUND && b < found->naxes; b++)
            same += g->axes[a].role == found->axes[b].role &&
                    g->axes[a].size == found->axes[b].size &&
                    g->axes[a].stride == found->axes[b].stride && g->axes[a].size > 1;
    }
    return same;
}

struct order_search {
    const struct grid_input *in;
    const struct given_axis *list;
    int n;
    struct grid found; /* without --parallel */
    int best[GRID_AXES_MAX], score;
    size_t misfit; /* the farthest that any order came */
    bool strides;  /* some order has the strides that were given */
};

/* Returns whether the order is the one that is tried of those that make the same axes: in it an
 * axis of size 1 without a stride stays behind the one before it in the list, and two that were
 * given alike stay in the list's order. */
static bool is_first_of_alike(const struct order_search *s, const int *order)
{
    for (int i = 0; i < s->n; i++) {
        const struct given_axis *one = &s->list[order[i]];
        if (one->size == 1 && one->stride == 0 && order[i] != (i > 0 ? order[i - 1] + 1 : 0))
            return false;
        for (int k = i + 1; k < s->n; k++) {
            if (order[k] < order[i] && memcmp(&s->list[order[k]], one, sizeof *one) == 0)
                return false;
        }
    }
    return true;
}

static void try_order(struct order_search *s, const int *order)
{
    struct grid trial = {.world = s->in->world};
    size_t misfit;
    int score;
    if (!is_first_of_alike(s, order) || !lay_out(&trial, s->list, order, s->n))
        return;
    s->strides = true;
    misfit = first_misfit(&trial, s->in);
    if (misfit > s->misfit)
        s->misfit = misfit;
    score = misfit == s->in->ncomms ? agreement(&trial, &s->found) : -1;
    if (score > s->score) {
        s->score = score;
        memcpy(s->best, order, (size_t)s->n * sizeof *order);
    }
}

/* " (0, 1, ...)"; "" where the trace does not write its members. */
static const char *members_text(struct grid *g, const struct grid_comm *comm)
{
    if (comm->size < 2 || comm->ranks[0] < 0 || comm->ranks[1] < 0)
        return "";
    return grid_text(g, " (%d, %d%s)", comm->ranks[0], comm->ranks[1],
                     comm->size > 2 ? ", ..." : "");
}

static int found_or_error(struct order_search *s, const char *text, struct err *e)
{
    const struct grid_comm *comm;
    if (s->score >= 0)
        return 0;
    if (!s->strides)
        return err_set(e, ERR_USAGE, "--parallel '%s': no order of these axes has these strides",
                       text);
    comm = &s->in->comms[s->misfit];
    return err_set(e, ERR_USAGE,
                   "--parallel '%s': communicator '%s' of %d ranks%s is none of its groups, in "
                   "whatever order%s%s",
                   text, comm->name[0] ? comm->name : comm->id, comm->size,
                   members_text(&s->found, comm), s->found.ncandidates > 0 ? "; perhaps " : "",
                   s->found.ncandidates > 0 ? s->found.candidates[0] : "");
}

int grid_from_text(struct grid *g, const struct grid_input *in, const char *text, struct err *e)
{
    struct given_axis list[GRID_AXES_MAX];
    struct order_search s = {.in = in, .list = list, .score = -1};
    int order[GRID_AXES_MAX] = {0, 1, 2, 3, 4, 5, 6, 7}, rc;
    grid_init(g, in);
    s.n = parse(text, list, e);
    if (s.n < 0 || check_world(list, s.n, text, in->world, e) < 0)
        return -1;
    qsort(list, (size_t)s.n, sizeof *list, by_role);
    grid_find(&s.found, in);
    do
        try_order(&s, order);
    while (grid_next_order(order, s.n));
    rc = found_or_error(&s, text, e);
    if (rc == 0) {
        lay_out(g, list, s.best, s.n);
        g->state = GRID_FOUND;
        grid_place_all(g, in);
        grid_complete(g, in);
    }
    grid_release(&s.found);
    return rc;
}
