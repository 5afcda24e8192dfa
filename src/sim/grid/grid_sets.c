/* SPDX-License-Identifier: MIT
 *
 * Strides from rank sets. A set of members is a box of the grid when its sorted ranks repeat at
 * constant distances; each distance, and each extent, is a number at which the numbering of ranks
 * breaks ("cut"). Cuts that all divide each other are the strides of the axes.
 */
#include "sim/grid/grid_internal.h"

#include "base/buf.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* ---- the grid that is asked for, where few members of communicators are known ----
 *
 * One rank recorded tells the sizes of its groups and what they do, but not who else is in them. */

/* Sizes by role, of the communicators that the recorded ranks use. */
struct role_sizes {
    int size[GRID_ROLES]; /* 0: none */
    struct buf words;     /* "of 2 ranks (AllReduce)" */
    bool dp_gathers;      /* those of dp share out parameters or what the optimizer keeps */
    bool twice;           /* two sizes have one role */
};

/* The operation that it calls most; SPECTER_COMM_OP_COUNT: none. */
static int main_op(const struct grid_comm *comm)
{
    const uint64_t *calls = comm->did.calls;
    int top = SPECTER_COMM_OP_COUNT;
    for (int op = 0; op < SPECTER_COMM_OP_COUNT; op++) {
        if (calls[op] > 0 && (top == SPECTER_COMM_OP_COUNT || calls[op] > calls[top]))
            top = op;
    }
    return top;
}

/* When two groups look like dp, and only one gathers, that one holds the shards. */
static enum grid_role tell_shards_from_replicas(struct role_sizes *s, enum grid_role role, int op)
{
    bool gathers = op == SPECTER_ALLGATHER || op == SPECTER_REDUCESCATTER;
    if (role != GRID_DP)
        return role;
    if (s->size[GRID_DP] == 0 || s->size[GRID_FSDP] > 0 || gathers == s->dp_gathers) {
        s->dp_gathers = gathers;
        return GRID_DP;
    }
    if (gathers)
        return GRID_FSDP;
    s->size[GRID_FSDP] = s->size[GRID_DP];
    s->size[GRID_DP] = 0;
    return GRID_DP;
}

/* A role without a group is data parallel, then a pipeline, then tensor parallel. */
static bool add_rest(struct role_sizes *s, int world)
{
    static const enum grid_role order[] = {GRID_DP, GRID_PP, GRID_TP};
    int64_t product = 1;
    for (int role = 0; role < GRID_ROLES; role++)
        product *= s->size[role] > 0 ? s->size[role] : 1;
    if (s->twice || world % product != 0)
        return false;
    if (product == world)
        return true;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        bool shards = order[i] == GRID_DP && s->size[GRID_FSDP] > 0;
        if (s->size[order[i]] > 0 || shards)
            continue;
        s->size[order[i]] = (int)(world / product);
        return true;
    }
    return false;
}

/* For rank sets that do not determine the axes: records which groups were seen, as the problem,
 * and, where their sizes make the world, the grid that they suggest, as a candidate. False when
 * none does. */
static bool grid_ask(struct grid *g, const struct grid_input *in)
{
    struct role_sizes s = {.words = BUF_INIT};
    struct buf text = BUF_INIT;
    for (size_t c = 0; c < in->ncomms; c++) {
        const struct grid_comm *comm = &in->comms[c];
        enum grid_role role = grid_own_role(comm);
        int op = main_op(comm);
        if (comm->size <= 1 || comm->size >= in->world || op == SPECTER_COMM_OP_COUNT ||
            (role < GRID_ROLES && s.size[role] == comm->size))
            continue;
        buf_printf(&s.words, "%sof %d ranks (%s%s%s)", s.words.len > 0 ? ", " : "", comm->size,
                   role < GRID_ROLES ? grid_role_name(role) : "", role < GRID_ROLES ? ": " : "",
                   specter_comm_op_name((enum specter_comm_op)op));
        if (role == GRID_ROLES)
            continue;
        role = tell_shards_from_replicas(&s, role, op);
        s.twice = s.twice || s.size[role] > 0;
        s.size[role] = comm->size;
    }
    if (s.words.len > 0)
        g->problem =
            grid_text(g, "too few members of its groups are known, which are %s", s.words.data);
    if (s.words.len > 0 && add_rest(&s, in->world)) {
        for (int role = 0; role < GRID_ROLES; role++) {
            if (s.size[role] > 0)
                buf_printf(&text, "%s%s=%d", text.len > 0 ? "," : "",
                           grid_role_name((enum grid_role)role), s.size[role]);
        }
        g->candidates[g->ncandidates++] = arena_strndup(&g->arena, text.data, text.len);
    }
    buf_release(&s.words);
    buf_release(&text);
    return g->ncandidates > 0;
}

struct factor {
    int size, stride;
};

/* A set of ranks as a box. */
struct box {
    const char *id;
    int *ranks; /* [size] in order */
    int size;
    struct factor factors[GRID_AXES_MAX];
    int nfactors; /* 0: no box, or a box that lies across the grid it would make */
    bool whole;   /* boxes like it partition the world */
};

struct sets {
    struct grid *g;
    struct box *boxes; /* owned */
    size_t count, cap;
    int cuts[GRID_AXES_MAX + 1]; /* in order; each divides the next */
    const char *by[GRID_AXES_MAX + 1];
    int ncuts;
    struct arena arena;
};

/* ---- boxes ---- */

/* Counts how often the first `length` members come again, each time the same distance on. */
static int repeats(const struct box *box, int length)
{
    int distance = box->ranks[length] - box->ranks[0], times = 1;
    while ((times + 1) * length <= box->size) {
        for (int i = 0; i < length; i++) {
            if (box->ranks[times * length + i] != box->ranks[i] + times * distance)
                return times;
        }
        times++;
    }
    return times;
}

static void find_factors(struct box *box, int world)
{
    int n = 0;
    for (int length = 1; length < box->size; n++) {
        int times = repeats(box, length), stride = box->ranks[length] - box->ranks[0];
        bool fits =
            times > 1 && stride > 0 && n < GRID_AXES_MAX && box->size % (length * times) == 0;
        if (!fits || world % stride != 0 || world / stride % times != 0 ||
            box->ranks[0] / stride % times != 0)
            return;
        box->factors[n] = (struct factor){times, stride};
        length *= times;
    }
    box->nfactors = n;
}

/* Lists the ranks where all members are known, or at least two on a line by their order. */
static bool known_members(const struct grid_comm *comm, int world, int *ranks)
{
    int first = -1, second = -1, step;
    bool all = true;
    for (int i = 0; i < comm->size; i++) {
        ranks[i] = comm->ranks[i];
        all = all && ranks[i] >= 0;
        if (ranks[i] >= 0 && first < 0)
            first = i;
        else if (ranks[i] >= 0 && second < 0)
            second = i;
    }
    if (all)
        return true;
    if (second < 0 || (ranks[second] - ranks[first]) % (second - first) != 0)
        return false;
    step = (ranks[second] - ranks[first]) / (second - first);
    for (int i = 0; i < comm->size; i++) {
        int64_t rank = ranks[first] + (int64_t)(i - first) * step;
        if (step < 1 || rank < 0 || rank >= world || (ranks[i] >= 0 && ranks[i] != rank))
            return false;
        ranks[i] = (int)rank;
    }
    return true;
}

static void add_box(struct sets *s, const char *id, int *ranks, int size)
{
    struct box *box;
    ARRAY_GROW(s->boxes, s->cap, s->count + 1);
    box = &s->boxes[s->count];
    *box = (struct box){.id = id, .ranks = ranks, .size = size};
    qsort(ranks, (size_t)size, sizeof *ranks, order_ints);
    for (int i = 0; i < size; i++) {
        if (ranks[i] < 0 || ranks[i] >= s->g->world || (i > 0 && ranks[i] == ranks[i - 1]))
            return;
    }
    find_factors(box, s->g->world);
    s->count++;
}

/* ---- neighbours ---- */

#define DISTANCES_MAX 8

/* Pairs at one distance that share ranks are links of a chain: a pipeline. */
struct chains {
    int *next; /* [world] -1 */
    int *from; /* [world] -1 */
    int distance;
};

static bool is_pair(const struct grid_comm *comm)
{
    return comm->size == 2 && comm->ranks[0] >= 0 && comm->ranks[1] >= 0 &&
           comm->ranks[0] != comm->ranks[1];
}

static void link_pair(struct chains *c, int world, int a, int b)
{
    int low = a < b ? a : b, high = a < b ? b : a;
    if (low < 0 || high >= world || high - low != c->distance)
        return;
    c->next[low] = high;
    c->from[high] = low;
}

static void add_chains(struct sets *s, const struct chains *c, const char *what, int fewest)
{
    for (int r = 0; r < s->g->world; r++) {
        int n = 1, *ranks;
        if (c->from[r] >= 0 || c->next[r] < 0)
            continue;
        for (int at = r; c->next[at] >= 0; at = c->next[at])
            n++;
        if (n < fewest)
            continue;
        ranks = arena_alloc(&s->arena, (size_t)n * sizeof *ranks);
        for (int at = r, i = 0; i < n; at = c->next[at])
            ranks[i++] = at;
        add_box(s, what, ranks, n);
    }
}

static void unlink_all(struct chains *c, int world)
{
    for (int r = 0; r < world; r++)
        c->next[r] = c->from[r] = -1;
}

static void add_distance(int *list, int *n, int distance)
{
    for (int i = 0; i < *n; i++) {
        if (list[i] == distance)
            return;
    }
    if (distance > 0 && *n < DISTANCES_MAX)
        list[(*n)++] = distance;
}

/* Messages between the same two ranks, in a communicator of more. */
static void chain_edges(struct sets *s, const struct grid_input *in, struct chains *c)
{
    int distances[DISTANCES_MAX], n = 0;
    for (size_t i = 0; i < in->nedges; i++)
        add_distance(distances, &n, abs(in->edges[i].from - in->edges[i].to));
    for (int d = 0; d < n; d++) {
        c->distance = distances[d];
        unlink_all(c, in->world);
        for (size_t i = 0; i < in->nedges; i++)
            link_pair(c, in->world, in->edges[i].from, in->edges[i].to);
        add_chains(s, c, "messages between neighbours", 2);
    }
}

static bool is_link(const struct chains *c, const struct grid_comm *comm)
{
    int low = comm->ranks[0] < comm->ranks[1] ? comm->ranks[0] : comm->ranks[1];
    int high = comm->ranks[0] + comm->ranks[1] - low;
    return low < 0 || c->next[low] == high;
}

/* Communicators of two that are links: chained[] is set, as none of them is a box of its own. */
static void chain_pairs(struct sets *s, const struct grid_input *in, struct chains *c,
                        bool *chained)
{
    int distances[DISTANCES_MAX], n = 0;
    for (size_t i = 0; i < in->ncomms; i++) {
        if (is_pair(&in->comms[i]) && grid_pattern_of(&in->comms[i]) == PATTERN_MESSAGES)
            add_distance(distances, &n, abs(in->comms[i].ranks[0] - in->comms[i].ranks[1]));
    }
    for (int d = 0; d < n; d++) {
        bool longer = false;
        c->distance = distances[d];
        unlink_all(c, in->world);
        for (size_t i = 0; i < in->ncomms; i++) {
            if (is_pair(&in->comms[i]))
                link_pair(c, in->world, in->comms[i].ranks[0], in->comms[i].ranks[1]);
        }
        for (int r = 0; r < in->world; r++)
            longer = longer || (c->next[r] >= 0 && c->from[r] >= 0);
        for (size_t i = 0; longer && i < in->ncomms; i++)
            chained[i] = chained[i] || (is_pair(&in->comms[i]) && is_link(c, &in->comms[i]));
        add_chains(s, c, "communicators of neighbours", 3);
    }
}

/* ---- cuts ---- */

/* The cut that does not divide it, nor is divided by it; -1. */
static int refuses(const struct sets *s, int cut)
{
    for (int i = 0; i < s->ncuts; i++) {
        if (s->cuts[i] % cut != 0 && cut % s->cuts[i] != 0)
            return i;
    }
    return -1;
}

static void add_cut(struct sets *s, int cut, const char *by)
{
    int at = 0;
    while (at < s->ncuts && s->cuts[at] < cut)
        at++;
    if ((at < s->ncuts && s->cuts[at] == cut) || s->ncuts > GRID_AXES_MAX)
        return;
    memmove(s->cuts + at + 1, s->cuts + at, (size_t)(s->ncuts - at) * sizeof *s->cuts);
    memmove(s->by + at + 1, s->by + at, (size_t)(s->ncuts - at) * sizeof *s->by);
    s->cuts[at] = cut;
    s->by[at] = by;
    s->ncuts++;
}

/* Finds a set of the box that others refuse, or 0; *with is the one that refuses it. */
static int refused_cut(const struct sets *s, const struct box *box, int *with)
{
    for (int i = 0; i < box->nfactors; i++) {
        int ends[] = {box->factors[i].stride, box->factors[i].stride * box->factors[i].size};
        for (int k = 0; k < 2; k++) {
            *with = refuses(s, ends[k]);
            if (*with >= 0)
                return ends[k];
        }
    }
    return 0;
}

static void add_cuts(struct sets *s, const struct box *box)
{
    for (int i = 0; i < box->nfactors; i++) {
        add_cut(s, box->factors[i].stride, box->id);
        add_cut(s, box->factors[i].stride * box->factors[i].size, box->id);
    }
}

static int by_shape(const void *pa, const void *pb)
{
    const struct box *a = pa, *b = pb;
    if (a->size != b->size)
        return ORDER(a->size, b->size);
    if (a->nfactors != b->nfactors)
        return ORDER(a->nfactors, b->nfactors);
    return memcmp(a->factors, b->factors, sizeof a->factors);
}

/* Boxes of one shape, aligned as they are, are equal or disjoint: they partition the world when
 * together they hold every rank. */
static void find_partitions(struct sets *s)
{
    int world = s->g->world;
    char *seen = arena_alloc(&s->arena, (size_t)world);
    if (s->count > 0)
        qsort(s->boxes, s->count, sizeof *s->boxes, by_shape);
    for (size_t i = 0, end; i < s->count; i = end) {
        int held = 0;
        for (end = i; end < s->count && by_shape(&s->boxes[i], &s->boxes[end]) == 0; end++) {
            for (int k = 0; k < s->boxes[end].size; k++) {
                held += !seen[s->boxes[end].ranks[k]];
                seen[s->boxes[end].ranks[k]] = 1;
            }
        }
        for (size_t k = i; k < end; k++) {
            s->boxes[k].whole = held == world && s->boxes[k].nfactors > 0;
            for (int m = 0; m < s->boxes[k].size; m++)
                seen[s->boxes[k].ranks[m]] = 0;
        }
    }
}

/* Sets that partition the world must agree; others are taken where they do. */
static bool find_cuts(struct sets *s)
{
    int with;
    add_cut(s, 1, "the job");
    add_cut(s, s->g->world, "the job");
    for (size_t i = 0; i < s->count; i++) {
        const struct box *box = &s->boxes[i];
        if (box->whole && refused_cut(s, box, &with) > 0) {
            s->g->problem =
                grid_text(s->g,
                          "communicators '%s' and '%s' cannot be of one grid: their ranks lie %d "
                          "and %d apart",
                          box->id, s->by[with], refused_cut(s, box, &with), s->cuts[with]);
            return false;
        }
        if (box->whole)
            add_cuts(s, box);
    }
    for (size_t i = 0; i < s->count; i++) {
        if (!s->boxes[i].whole && refused_cut(s, &s->boxes[i], &with) == 0)
            add_cuts(s, &s->boxes[i]);
    }
    if (s->ncuts <= GRID_AXES_MAX)
        return true;
    s->g->problem = grid_text(s->g, "the rank sets make more than %d axes", GRID_AXES_MAX - 1);
    return false;
}

/* ---- where members are not written ---- */

/* Axes of those sizes in that order, without roles. */
static void grid_set_axes(struct grid *g, const int *sizes, const int *order, int n)
{
    int stride = 1;
    g->naxes = n;
    for (int i = 0; i < n; i++) {
        g->axes[i] = (struct grid_axis){.size = sizes[order[i]], .stride = stride};
        stride *= sizes[order[i]];
    }
}

static bool all_fit(const struct grid *g, const struct grid_input *in)
{
    bool any_used = grid_any_used(in);
    for (size_t c = 0; c < in->ncomms; c++) {
        struct grid_place place = grid_place_of(g, &in->comms[c]);
        if ((!place.known || place.part) && grid_is_evidence(&in->comms[c], any_used))
            return false;
    }
    return true;
}

static bool same_sizes(const int *sizes, const int *a, const int *b, int n)
{
    for (int i = 0; i < n; i++) {
        if (sizes[a[i]] != sizes[b[i]])
            return false;
    }
    return true;
}

/* Grids from sizes alone, where ranks did not write their members: the orders of the axes that fit
 * all that is known of the members. Returns how many; the first GRID_CANDIDATES_MAX are spelled in
 * orders[][], as permutations of sizes. */
static int grid_orders(const struct grid_input *in, const int *sizes, int n,
                       int orders[GRID_CANDIDATES_MAX][GRID_AXES_MAX])
{
    struct grid trial = {.world = in->world};
    int order[GRID_AXES_MAX] = {0, 1, 2, 3, 4, 5, 6, 7}, found = 0;
    do {
        bool known = false;
        grid_set_axes(&trial, sizes, order, n);
        for (int i = 0; i < found && i < GRID_CANDIDATES_MAX; i++)
            known = known || same_sizes(sizes, orders[i], order, n);
        if (known || !all_fit(&trial, in))
            continue;
        if (found < GRID_CANDIDATES_MAX)
            memcpy(orders[found], order, sizeof order);
        found++;
    } while (found < GRID_CANDIDATES_MAX && grid_next_order(order, n));
    return found;
}

/* Sizes of the communicators that fit no axes, each an axis, and what is left of the world. */
static int unplaced_sizes(const struct grid *g, const struct grid_input *in, int *sizes)
{
    int n = 0, left = g->world;
    bool any_used = grid_any_used(in);
    for (size_t c = 0; c < in->ncomms; c++) {
        int size = in->comms[c].size;
        bool known = size <= 1 || size >= g->world || !grid_is_evidence(&in->comms[c], any_used);
        for (int i = 0; i < n; i++)
            known = known || sizes[i] == size;
        if (known || grid_place_of(g, &in->comms[c]).known)
            continue;
        if (n == GRID_AXES_MAX - 1 || left % size != 0)
            return 0;
        left /= size;
        sizes[n++] = size;
    }
    if (n > 0 && left > 1)
        sizes[n++] = left;
    return n;
}

/* Ranks did not write their members, and there is one axis so far. */
static bool axes_from_sizes(struct grid *g, const struct grid_input *in)
{
    int sizes[GRID_AXES_MAX], orders[GRID_CANDIDATES_MAX][GRID_AXES_MAX], found;
    int n = g->naxes <= 1 ? unplaced_sizes(g, in, sizes) : 0;
    if (n == 0)
        return true;
    found = grid_orders(in, sizes, n, orders);
    if (found == 1) {
        grid_set_axes(g, sizes, orders[0], n);
        return true;
    }
    g->problem = grid_text(g,
                           found == 0 ? "the sizes of its communicators make no grid of %d ranks"
                                      : "too few members of its communicators are known to tell "
                                        "in what order %d ranks are numbered",
                           g->world);
    if (grid_ask(g, in) || found > 0)
        g->state = GRID_AMBIGUOUS;
    return false;
}

bool grid_axes_from_sets(struct grid *g, const struct grid_input *in)
{
    struct sets s = {.g = g};
    struct chains chains;
    bool found, any_used = grid_any_used(in), *chained;
    arena_init(&s.arena);
    chained = arena_alloc(&s.arena, in->ncomms * sizeof *chained);
    chains.next = arena_alloc(&s.arena, (size_t)in->world * sizeof *chains.next);
    chains.from = arena_alloc(&s.arena, (size_t)in->world * sizeof *chains.from);
    chain_pairs(&s, in, &chains, chained);
    chain_edges(&s, in, &chains);
    for (size_t c = 0; c < in->ncomms; c++) {
        const struct grid_comm *comm = &in->comms[c];
        int *ranks;
        if (comm->size < 2 || comm->size >= in->world || chained[c] ||
            !grid_is_evidence(comm, any_used))
            continue;
        ranks = arena_alloc(&s.arena, (size_t)comm->size * sizeof *ranks);
        if (known_members(comm, in->world, ranks))
            add_box(&s, comm->id, ranks, comm->size);
    }
    find_partitions(&s);
    found = find_cuts(&s);
    for (int i = 0; found && i + 1 < s.ncuts; i++)
        g->axes[g->naxes++] =
            (struct grid_axis){.size = s.cuts[i + 1] / s.cuts[i], .stride = s.cuts[i]};
    free(s.boxes);
    arena_release(&s.arena);
    return found && axes_from_sizes(g, in);
}
