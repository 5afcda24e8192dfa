/* SPDX-License-Identifier: MIT
 *
 * Decides the role of each axis: from the names of its groups, else from their operations.
 */
#include "sim/grid/grid_internal.h"

#include "base/buf.h"

#include <string.h>

/* ---- what communicators span once axes have roles ----
 *
 * It is more than their sets say, where an axis has one rank. */

#define ROLE(_r) (1u << GRID_##_r)

/* The number of the only axis; -1: none, or several. */
static int grid_only_axis(unsigned axes)
{
    int a = 0;
    if (axes == 0 || (axes & (axes - 1)) != 0)
        return -1;
    while (!(axes & 1u << a))
        a++;
    return a;
}

/* A tenth of its AllReduces or more come early: they are of activations. */
static bool comes_early(const struct grid_comm *comm)
{
    return comm->did.early > 0 && 10 * comm->did.early >= comm->did.calls[SPECTER_ALLREDUCE];
}

/* The role of a group of one, as a bit; 0 when nothing tells. */
static unsigned grid_single_role(const struct grid_comm *comm)
{
    unsigned named = grid_roles_of_name(comm->name);
    enum grid_pattern pattern = grid_pattern_of(comm);
    if (grid_one_role(named))
        return named;
    if (pattern == PATTERN_NONE || pattern >= PATTERN_EXCHANGE)
        return 0;
    return comes_early(comm) || pattern == PATTERN_BY_TURNS ? ROLE(TP) : ROLE(DP);
}

static unsigned data_single(const struct grid *g)
{
    for (int a = 0; a < g->naxes; a++) {
        if (g->axes[a].size == 1 && g->axes[a].role == GRID_DP)
            return 1u << a;
    }
    return 0;
}

/* Dense gradients are reduced over expert-parallel ranks, too; groups of the whole job that are not
 * what makes its only axis span all there is. */
static unsigned wider(const struct grid *g, const struct grid_comm *comm, unsigned axes)
{
    enum grid_pattern pattern = grid_pattern_of(comm);
    bool reduces =
        pattern > PATTERN_NONE && pattern < PATTERN_EXCHANGE && pattern != PATTERN_BY_TURNS;
    int only = grid_only_axis(axes);
    if (comm->size >= g->world && only < 0)
        return axes | data_single(g);
    if (comm->size >= g->world && pattern == PATTERN_NONE)
        return axes | data_single(g);
    if (reduces && only >= 0 && g->axes[only].role == GRID_EP)
        return axes | data_single(g);
    return axes;
}

/* roles is not 0. */
static enum grid_role lowest_role(unsigned roles)
{
    int role = 0;
    while (!(roles & 1u << role))
        role++;
    return (enum grid_role)role;
}

enum grid_role grid_own_role(const struct grid_comm *comm)
{
    static const enum grid_role of[] = {
        [PATTERN_NONE] = GRID_ROLES,        [PATTERN_REDUCE] = GRID_DP,
        [PATTERN_GATHER_AHEAD] = GRID_FSDP, [PATTERN_BY_TURNS] = GRID_TP,
        [PATTERN_SHARD_ONCE] = GRID_DP,     [PATTERN_EXCHANGE] = GRID_EP,
        [PATTERN_MESSAGES] = GRID_PP,
    };
    unsigned named = grid_roles_of_name(comm->name);
    enum grid_pattern pattern = grid_pattern_of(comm);
    if (grid_one_role(named))
        return lowest_role(named);
    if (pattern == PATTERN_REDUCE && comm->did.placed == 0)
        return GRID_ROLES;
    return pattern == PATTERN_REDUCE && comes_early(comm) ? GRID_TP : of[pattern];
}

/* A group without known members whose size fits several axes belongs to the one of its own role. */
static struct grid_place place_by_role(const struct grid *g, const struct grid_comm *comm)
{
    enum grid_role role = grid_own_role(comm);
    struct grid_place place = {0};
    for (int a = 0; a < g->naxes; a++) {
        if (g->axes[a].role != role || g->axes[a].size != comm->size)
            continue;
        if (place.known)
            return (struct grid_place){0};
        place = (struct grid_place){.axes = 1u << a, .known = true};
    }
    return place;
}

void grid_widen(struct grid *g, const struct grid_input *in)
{
    for (size_t c = 0; c < in->ncomms; c++) {
        const struct grid_comm *comm = &in->comms[c];
        enum grid_pattern pattern = grid_pattern_of(comm);
        if (comm->size == 1) {
            unsigned role = grid_single_role(comm), axes = 0; /* those of the singles that it is */
            for (int a = 0; a < g->naxes; a++) {
                bool its = g->world == 1 || role == 1u << g->axes[a].role;
                axes |= its && g->axes[a].size == 1 ? 1u << a : 0;
            }
            g->comms[c].axes = axes;
        } else if (!g->comms[c].known) {
            g->comms[c] = place_by_role(g, comm);
        } else if (!g->comms[c].part) {
            g->comms[c].axes = wider(g, comm, g->comms[c].axes);
        }
        g->comms[c].by_messages = pattern == PATTERN_EXCHANGE && comm->did.calls[SPECTER_SEND] > 0;
        /* By turns with AllGathers it is activations that are scattered, not gradients. */
        if (pattern == PATTERN_GATHER_AHEAD || pattern == PATTERN_SHARD_ONCE)
            g->comms[c].sharded_bytes = comm->did.bytes[SPECTER_REDUCESCATTER];
        else
            g->comms[c].sharded_bytes = 0;
        g->comms[c].whole_bytes = comm->did.bytes[SPECTER_ALLREDUCE];
    }
}

#define ROLE(_r) (1u << GRID_##_r)

static uint64_t data_calls(const struct grid_comm *comm)
{
    uint64_t all = 0;
    for (int op = 0; comm != NULL && op < SPECTER_COMM_OP_COUNT; op++)
        all += comm->did.calls[op];
    return all;
}

/* ---- evidence ---- */

/* Evidence about one axis. */
struct evidence {
    const struct grid_comm *comm; /* that tells most; NULL */
    const struct grid_comm *named;
    enum grid_pattern pattern;
    uint64_t messages;
    bool group;                    /* some communicator spans just this axis */
    bool forward, backward, wraps; /* messages to the next, the one before, around the end */
    bool one_way;                  /* messages that are not answered at once */
    bool reduced;                  /* a wider communicator reduces over it and others */
    bool decided;
};

struct roles {
    struct grid *g;
    const struct grid_input *in;
    struct evidence of[GRID_AXES_MAX];
};

/* The partners of messages tell most, then the amount of traffic. */
static bool tells_more(const struct grid_comm *a, const struct grid_comm *b)
{
    static const int weight[] = {[PATTERN_EXCHANGE] = 3, [PATTERN_MESSAGES] = 2};
    enum grid_pattern pa = grid_pattern_of(a), pb = b ? grid_pattern_of(b) : PATTERN_NONE;
    int wa = pa >= PATTERN_EXCHANGE ? weight[pa] : 0, wb = pb >= PATTERN_EXCHANGE ? weight[pb] : 0;
    return b == NULL || wa > wb || (wa == wb && data_calls(a) > data_calls(b));
}

static void see_wide(struct roles *r, const struct grid_comm *comm, unsigned axes)
{
    enum grid_pattern pattern = grid_pattern_of(comm);
    if (pattern == PATTERN_NONE || pattern >= PATTERN_EXCHANGE)
        return;
    for (int a = 0; a < r->g->naxes; a++)
        r->of[a].reduced = r->of[a].reduced || axes & 1u << a;
}

static void see_comms(struct roles *r)
{
    for (size_t c = 0; c < r->in->ncomms; c++) {
        const struct grid_comm *comm = &r->in->comms[c];
        struct grid_place place = r->g->comms[c];
        int a = grid_only_axis(place.axes);
        struct evidence *e = a < 0 ? NULL : &r->of[a];
        if (e == NULL) {
            see_wide(r, comm, place.axes);
            continue;
        }
        e->group = e->group || !place.part;
        e->one_way = e->one_way || comm->did.one_way;
        if (grid_one_role(grid_roles_of_name(comm->name)))
            e->named = comm;
        if (tells_more(comm, e->comm))
            e->comm = comm;
        e->pattern = grid_pattern_of(e->comm);
    }
}

static void see_edges(struct roles *r)
{
    const struct grid *g = r->g;
    for (size_t i = 0; i < r->in->nedges; i++) {
        unsigned axes = 0;
        int a, from, to;
        for (int k = 0; k < g->naxes; k++) {
            if (grid_coordinate(&g->axes[k], r->in->edges[i].from) !=
                grid_coordinate(&g->axes[k], r->in->edges[i].to))
                axes |= 1u << k;
        }
        a = grid_only_axis(axes);
        if (a < 0)
            continue;
        from = grid_coordinate(&g->axes[a], r->in->edges[i].from);
        to = grid_coordinate(&g->axes[a], r->in->edges[i].to);
        r->of[a].messages++;
        r->of[a].one_way = r->of[a].one_way || r->in->edges[i].one_way;
        r->of[a].forward = r->of[a].forward || to == from + 1;
        r->of[a].backward = r->of[a].backward || to == from - 1;
        r->of[a].wraps =
            r->of[a].wraps || to - from == g->axes[a].size - 1 || from - to == g->axes[a].size - 1;
        if (r->of[a].pattern != PATTERN_EXCHANGE)
            r->of[a].pattern = PATTERN_MESSAGES;
    }
}

/* ---- decisions ---- */

static void decide(struct roles *r, int a, enum grid_role role, enum grid_trust trust,
                   const char *why)
{
    r->g->axes[a].role = role;
    r->g->axes[a].trust = trust;
    r->g->axes[a].why = why;
    r->of[a].decided = true;
}

static bool any_role(const struct roles *r, enum grid_role role)
{
    for (int a = 0; a < r->g->naxes; a++) {
        if (r->of[a].decided && r->g->axes[a].role == role)
            return true;
    }
    return false;
}

/* A ring of messages is context parallelism, as are messages among ranks whose gradients are summed
 * together; a pipeline sends both ways, one after the other, and its stages share no gradients.
 * Where each message is answered at once no rank comes before another: a mesh is divided, and its
 * parts exchange borders. */
static void decide_messages(struct roles *r, int a)
{
    const struct evidence *e = &r->of[a];
    bool ring = r->g->axes[a].size > 2 && e->wraps && !(e->forward && e->backward);
    if (ring)
        decide(r, a, GRID_CP, GRID_LIKELY, "Send and Recv around a ring");
    else if (e->reduced && r->g->axes[a].size == 2)
        decide(r, a, GRID_CP, GRID_LIKELY, "Send and Recv among ranks that reduce together");
    else if (!e->one_way)
        decide(r, a, GRID_DP, GRID_LIKELY,
               "Send and Recv both ways at once: neighbours exchange borders");
    else
        decide(r, a, GRID_PP, GRID_LIKELY, "Send and Recv between neighbours");
}

/* Where one group of the whole job both exchanges and reduces, as for tables of embeddings beside
 * replicas, growing it grows both. */
static void decide_exchange(struct roles *r, int a)
{
    const struct grid_comm *comm = r->of[a].comm;
    if (comm->size >= r->g->world && comm->did.calls[SPECTER_ALLREDUCE] > 0)
        decide(r, a, GRID_DP, GRID_ASSUMED, "all-to-all and AllReduce over the whole job");
    else
        decide(r, a, GRID_EP, GRID_LIKELY, "all-to-all");
}

static void decide_by_pattern(struct roles *r)
{
    for (int a = 0; a < r->g->naxes; a++) {
        if (r->of[a].decided)
            continue;
        switch (r->of[a].pattern) {
        case PATTERN_EXCHANGE:
            decide_exchange(r, a);
            break;
        case PATTERN_MESSAGES:
            decide_messages(r, a);
            break;
        case PATTERN_GATHER_AHEAD:
            decide(r, a, GRID_FSDP, GRID_LIKELY,
                   "AllGather ahead of use, ReduceScatter: shards of parameters");
            break;
        case PATTERN_SHARD_ONCE:
            decide(r, a, GRID_DP, GRID_LIKELY,
                   "ReduceScatter and AllGather, once each: a sharded optimizer");
            break;
        case PATTERN_BY_TURNS:
            decide(r, a, GRID_TP, GRID_LIKELY,
                   "AllGather and ReduceScatter by turns: sequence parallelism");
            break;
        default:
            break;
        }
    }
}

static bool is_early(const struct evidence *e)
{
    return e->comm != NULL && comes_early(e->comm);
}

static const char *const all_through = "AllReduce all through the step";
static const char *const late_in = "AllReduce late in the step";

/* Gradients are reduced by each rank alone: what reduces over others is none of them. */
static bool single_data(const struct roles *r)
{
    for (size_t c = 0; c < r->in->ncomms; c++) {
        if (r->in->comms[c].size == 1 && grid_single_role(&r->in->comms[c]) == ROLE(DP))
            return true;
    }
    return false;
}

/* One axis that reduces, and nothing to compare it with. */
static void decide_alone(struct roles *r, int a)
{
    struct grid_axis *axis = &r->g->axes[a];
    bool data = any_role(r, GRID_DP) || any_role(r, GRID_FSDP), early = is_early(&r->of[a]);
    if (axis->size > 1 && single_data(r)) {
        decide(r, a, GRID_TP, GRID_LIKELY, "AllReduce, and others of gradients by each rank alone");
    } else if (axis->size >= r->g->world) {
        decide(r, a, GRID_DP, GRID_ASSUMED, "AllReduce over the whole job");
        if (early)
            axis->doubt =
                grid_text(r->g, "tp=%d: some AllReduces come early in the step", axis->size);
    } else if (any_role(r, GRID_TP) || (data && !early)) {
        decide(r, a, GRID_DP, GRID_LIKELY, "AllReduce, seldom");
    } else if (early) {
        decide(r, a, GRID_TP, GRID_LIKELY, all_through);
    } else if (r->of[a].comm->did.placed > 0) {
        decide(r, a, GRID_DP, GRID_LIKELY, late_in);
    } else if (axis->stride == 1) {
        decide(r, a, GRID_TP, GRID_ASSUMED, "AllReduce of adjacent ranks");
        axis->doubt =
            grid_text(r->g, "dp=%d:1: where in the step it reduces is not known", axis->size);
    } else {
        decide(r, a, GRID_DP, GRID_ASSUMED, "AllReduce of ranks that are not adjacent");
    }
}

/* Returns the tensor-parallel one of two axes that reduce; -1: nothing tells. */
static int tensor_of_two(const struct roles *r, int a, int b)
{
    uint64_t na = data_calls(r->of[a].comm), nb = data_calls(r->of[b].comm);
    if (is_early(&r->of[a]) != is_early(&r->of[b]))
        return is_early(&r->of[a]) ? a : b;
    return na > nb && r->g->axes[a].stride < r->g->axes[b].stride ? a : -1;
}

/* All that reduce, innermost first; false when nothing tells them apart. */
static bool decide_reducers(struct roles *r)
{
    int list[GRID_AXES_MAX], n = 0, tensor = -1;
    for (int a = 0; a < r->g->naxes; a++) {
        if (!r->of[a].decided && r->of[a].pattern == PATTERN_REDUCE)
            list[n++] = a;
    }
    if (n == 1)
        decide_alone(r, list[0]);
    if (n < 2)
        return true;
    if (!any_role(r, GRID_TP)) {
        tensor = list[0];
        for (int i = 1; i < n && tensor >= 0; i++)
            tensor = tensor_of_two(r, tensor, list[i]);
        if (tensor < 0)
            return false;
        decide(r, tensor, GRID_TP, GRID_LIKELY,
               is_early(&r->of[tensor]) ? all_through : "AllReduce, more often than the others");
    }
    for (int i = 0; i < n; i++) {
        if (list[i] != tensor)
            decide(r, list[i], GRID_DP, GRID_LIKELY,
                   r->of[list[i]].comm->did.placed > 0 && !is_early(&r->of[list[i]])
                       ? late_in
                       : "AllReduce, less often than others");
    }
    return true;
}

/* Axes whose groups do nothing, or that have none: what is left over, when that is one. */
static bool decide_rest(struct roles *r)
{
    int rest = -1, n = 0;
    for (int a = 0; a < r->g->naxes; a++) {
        if (r->of[a].decided)
            continue;
        if (r->of[a].reduced) {
            decide(r, a, GRID_DP, GRID_LIKELY, "reduced together with another axis");
            continue;
        }
        rest = a;
        n++;
    }
    if (n == 0)
        return true;
    if (n > 1 || (any_role(r, GRID_DP) && r->of[rest].group))
        return false;
    decide(r, rest, GRID_DP, GRID_ASSUMED,
           r->of[rest].group ? "its groups do nothing in a step" : "no communicator spans just it");
    return true;
}

/* ---- ambiguity ---- */

static bool equal_sizes(const struct grid *g)
{
    for (int a = 0; a < g->naxes; a++) {
        for (int b = a + 1; b < g->naxes; b++) {
            if (g->axes[a].size == g->axes[b].size && g->axes[a].size > 1)
                return true;
        }
    }
    return false;
}

const char *grid_spell(struct grid *g)
{
    struct buf text = BUF_INIT;
    const char *copy;
    bool strides = equal_sizes(g), any = false;
    for (int a = 0; a < g->naxes; a++) {
        if (g->axes[a].size == 1 && g->world > 1)
            continue;
        buf_printf(&text, "%s%s=%d", any ? "," : "", grid_role_name(g->axes[a].role),
                   g->axes[a].size);
        if (strides)
            buf_printf(&text, ":%d", g->axes[a].stride);
        any = true;
    }
    copy = any ? arena_strndup(&g->arena, text.data, text.len) : "dp=1";
    buf_release(&text);
    return copy;
}

static void add_candidate(struct roles *r)
{
    struct grid *g = r->g;
    const char *text = grid_spell(g);
    for (int i = 0; i < g->ncandidates; i++) {
        if (strcmp(g->candidates[i], text) == 0)
            return;
    }
    if (g->ncandidates < GRID_CANDIDATES_MAX)
        g->candidates[g->ncandidates++] = text;
}

/* Each of the undecided in turn is the tensor-parallel one and the others are data-parallel; of a
 * single one, each role that nothing else has. */
static void name_candidates(struct roles *r)
{
    static const enum grid_role alone[] = {GRID_TP, GRID_DP, GRID_PP};
    int list[GRID_AXES_MAX], n = 0;
    for (int a = 0; a < r->g->naxes; a++) {
        if (!r->of[a].decided)
            list[n++] = a;
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++)
            r->g->axes[list[k]].role = i == k && !any_role(r, GRID_TP) ? GRID_TP : GRID_DP;
        add_candidate(r);
    }
    for (size_t i = 0; n == 1 && i < sizeof alone / sizeof *alone; i++) {
        r->g->axes[list[0]].role = alone[i];
        if (!any_role(r, alone[i]))
            add_candidate(r);
    }
    for (int i = 0; i < n; i++)
        r->g->axes[list[i]].why = "what its groups do tells nothing";
    r->g->state = GRID_AMBIGUOUS;
    r->g->problem = "the operations do not tell which axis is which";
}

/* ---- all ---- */

void grid_find_roles(struct grid *g, const struct grid_input *in)
{
    struct roles r = {.g = g, .in = in};
    unsigned added = 0;
    bool decided = false;
    see_comms(&r);
    see_edges(&r);
    for (int a = 0; a < g->naxes; a++) {
        const struct grid_comm *named = r.of[a].named;
        if (named != NULL)
            decide(&r, a, lowest_role(grid_roles_of_name(named->name)), GRID_NAMED,
                   grid_text(g, "its group is named '%s'", named->name));
    }
    decide_by_pattern(&r);
    decided = decide_reducers(&r) && decide_rest(&r);
    if (decided)
        g->state = GRID_FOUND;
    else
        name_candidates(&r);
    /* Groups of one that have a name or do something are an axis of size 1. */
    for (size_t c = 0; c < in->ncomms; c++) {
        unsigned role = grid_single_role(&in->comms[c]);
        if (in->comms[c].size != 1 || role == 0 || added & role)
            continue;
        added |= role;
        grid_add_single(g, lowest_role(role));
    }
}
