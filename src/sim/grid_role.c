/* SPDX-License-Identifier: MIT
 *
 * What an axis is for: from the names of its groups, else from what they do.
 */
#include "sim/grid_inside.h"

#include <ctype.h>
#include <string.h>

/* ---- names ---- */

#define ROLE(_r) (1u << GRID_##_r)

/* Words of Megatron, DeepSpeed, FSDP and torchtitan in the names of their groups. */
static const struct {
    const char *word;
    unsigned roles;
} words[] = {
    {"tp", ROLE(TP)},      {"tensor", ROLE(TP)},    {"mp", ROLE(TP)},        {"cp", ROLE(CP)},
    {"context", ROLE(CP)}, {"sp", ROLE(CP)},        {"sequence", ROLE(CP)},  {"ep", ROLE(EP)},
    {"expert", ROLE(EP)},  {"experts", ROLE(EP)},   {"moe", ROLE(EP)},       {"fsdp", ROLE(FSDP)},
    {"shard", ROLE(FSDP)}, {"sharded", ROLE(FSDP)}, {"zero", ROLE(FSDP)},    {"dp", ROLE(DP)},
    {"ddp", ROLE(DP)},     {"data", ROLE(DP)},      {"replicate", ROLE(DP)}, {"edp", ROLE(DP)},
    {"pp", ROLE(PP)},      {"pipe", ROLE(PP)},      {"pipeline", ROLE(PP)},
};

static unsigned roles_of_word(const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) == len && strncasecmp(words[i].word, word, len) == 0)
            return words[i].roles;
    }
    return 0;
}

/* "dp_shard" is the sharded axis; "expert_data_parallel" the data axis of the experts;
 * "model_parallel" alone is tensor parallelism in DeepSpeed, but beside "tensor" or "pipeline" only
 * a word. */
unsigned grid_roles_of_name(const char *name)
{
    unsigned roles = 0;
    bool model = false;
    for (const char *at = name; *at != '\0';) {
        size_t len = 0;
        while (isalnum((unsigned char)at[len]))
            len++;
        roles |= roles_of_word(at, len);
        model = model || (len == 5 && strncasecmp(at, "model", 5) == 0);
        at += len > 0 ? len : 1;
    }
    if (roles & ROLE(FSDP))
        roles &= ~ROLE(DP);
    if (roles & ROLE(EP) && roles & (ROLE(TP) | ROLE(DP)))
        roles &= ~ROLE(EP);
    return roles == 0 && model ? ROLE(TP) : roles;
}

static bool one_role(unsigned roles)
{
    return roles != 0 && (roles & (roles - 1)) == 0;
}

static enum grid_role role_of_bit(unsigned roles)
{
    int role = 0;
    while (!(roles & 1u << role))
        role++;
    return (enum grid_role)role;
}

/* ---- operations ---- */

/* Where AllGathers run ahead of ReduceScatters, parameters are gathered for each use; where both
 * alternate (a backward pass may gather twice), it is activations. */
static enum grid_pattern pattern_of_shards(const struct grid_traffic *did)
{
    double gathers = (double)did->calls[SPECTER_ALLGATHER];
    double scatters = (double)did->calls[SPECTER_REDUCESCATTER];
    if ((did->gather_run >= 3 && gathers >= 1.4 * scatters) ||
        (did->gather_run >= 2 && gathers >= 1.9 * scatters))
        return PATTERN_GATHER_AHEAD;
    return did->gather_run >= 2 && gathers < 1.4 * scatters ? PATTERN_SHARD_ONCE : PATTERN_BY_TURNS;
}

enum grid_pattern grid_pattern_of(const struct grid_comm *comm)
{
    const struct grid_traffic *did = &comm->did;
    const uint64_t *n = did->calls;
    uint64_t shards = n[SPECTER_ALLGATHER] + n[SPECTER_REDUCESCATTER];
    uint64_t exchanges = n[SPECTER_ALLTOALL] + n[SPECTER_ALLTOALLV];
    uint64_t messages = n[SPECTER_SEND] + n[SPECTER_RECV];
    uint64_t most = n[SPECTER_ALLREDUCE];
    bool to_all =
        did->to_itself || (comm->size > 3 && did->fewest_sent >= (uint32_t)comm->size - 1);
    most = shards > most ? shards : most;
    most = exchanges > most ? exchanges : most;
    most = messages > most ? messages : most;
    if (most == 0)
        return PATTERN_NONE;
    if (most == exchanges || (most == messages && to_all))
        return PATTERN_EXCHANGE;
    if (most == messages)
        return PATTERN_MESSAGES;
    return most == shards ? pattern_of_shards(did) : PATTERN_REDUCE;
}

static uint64_t data_calls(const struct grid_comm *comm)
{
    uint64_t all = 0;
    for (int op = 0; comm != NULL && op < SPECTER_COMM_OP_COUNT; op++)
        all += comm->did.calls[op];
    return all;
}

/* ---- evidence ---- */

/* Of one axis. */
struct evidence {
    const struct grid_comm *comm; /* that tells most; NULL */
    const struct grid_comm *named;
    enum grid_pattern pattern;
    uint64_t messages;
    bool group;                    /* some communicator spans just this axis */
    bool forward, backward, wraps; /* messages to the next, the one before, around the end */
    bool reduced;                  /* a wider communicator reduces over it and others */
    bool decided;
};

struct roles {
    struct grid *g;
    const struct grid_input *in;
    struct evidence of[GRID_AXES_MAX];
};

/* Who talks to whom tells most, then who does more. */
static bool tells_more(const struct grid_comm *a, const struct grid_comm *b)
{
    static const int weight[] = {[PATTERN_EXCHANGE] = 3, [PATTERN_MESSAGES] = 2};
    enum grid_pattern pa = grid_pattern_of(a), pb = b ? grid_pattern_of(b) : PATTERN_NONE;
    int wa = pa >= PATTERN_EXCHANGE ? weight[pa] : 0, wb = pb >= PATTERN_EXCHANGE ? weight[pb] : 0;
    return b == NULL || wa > wb || (wa == wb && data_calls(a) > data_calls(b));
}

static int only_axis(unsigned axes)
{
    int a = 0;
    if (axes == 0 || (axes & (axes - 1)) != 0)
        return -1;
    while (!(axes & 1u << a))
        a++;
    return a;
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
        int a = only_axis(place.axes);
        struct evidence *e = a < 0 ? NULL : &r->of[a];
        if (e == NULL) {
            see_wide(r, comm, place.axes);
            continue;
        }
        e->group = e->group || !place.part;
        if (one_role(grid_roles_of_name(comm->name)))
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
        a = only_axis(axes);
        if (a < 0)
            continue;
        from = grid_coordinate(&g->axes[a], r->in->edges[i].from);
        to = grid_coordinate(&g->axes[a], r->in->edges[i].to);
        r->of[a].messages++;
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

static void decide_named(struct roles *r)
{
    for (int a = 0; a < r->g->naxes; a++) {
        const struct grid_comm *named = r->of[a].named;
        if (named != NULL)
            decide(r, a, role_of_bit(grid_roles_of_name(named->name)), GRID_NAMED,
                   grid_words(r->g, "its group is named '%s'", named->name));
    }
}

/* A ring of messages is context parallelism, as are messages among ranks whose gradients are summed
 * together; a pipeline sends both ways and its stages share no gradients. */
static void decide_messages(struct roles *r, int a)
{
    const struct evidence *e = &r->of[a];
    bool ring = r->g->axes[a].size > 2 && e->wraps && !(e->forward && e->backward);
    if (ring)
        decide(r, a, GRID_CP, GRID_LIKELY, "Send and Recv around a ring");
    else if (e->reduced && r->g->axes[a].size == 2)
        decide(r, a, GRID_CP, GRID_LIKELY, "Send and Recv among ranks that reduce together");
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
    return e->comm != NULL && 10 * e->comm->did.early >= e->comm->did.calls[SPECTER_ALLREDUCE] &&
           e->comm->did.early > 0;
}

static const char *const all_through = "AllReduce all through the step";
static const char *const late_in = "AllReduce late in the step";

/* Of a group of one: 0 when nothing tells. */
static unsigned single_role(const struct grid_comm *comm)
{
    unsigned named = grid_roles_of_name(comm->name);
    enum grid_pattern pattern = grid_pattern_of(comm);
    if (one_role(named))
        return named;
    if (pattern == PATTERN_NONE || pattern >= PATTERN_EXCHANGE)
        return 0;
    return comm->did.early > 0 || pattern == PATTERN_BY_TURNS ? ROLE(TP) : ROLE(DP);
}

/* Gradients are reduced by each rank alone: what reduces over others is none of them. */
static bool single_data(const struct roles *r)
{
    for (size_t c = 0; c < r->in->ncomms; c++) {
        if (r->in->comms[c].size == 1 && single_role(&r->in->comms[c]) == ROLE(DP))
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
            r->g->doubt =
                grid_words(r->g, "tp=%d: some AllReduces come early in the step", axis->size);
    } else if (any_role(r, GRID_TP) || (data && !early)) {
        decide(r, a, GRID_DP, GRID_LIKELY, "AllReduce, seldom");
    } else if (early) {
        decide(r, a, GRID_TP, GRID_LIKELY, all_through);
    } else if (r->of[a].comm->did.placed > 0) {
        decide(r, a, GRID_DP, GRID_LIKELY, late_in);
    } else if (axis->stride == 1) {
        decide(r, a, GRID_TP, GRID_ASSUMED, "AllReduce of adjacent ranks");
        r->g->doubt =
            grid_words(r->g, "dp=%d:1: where in the step it reduces is not known", axis->size);
    } else {
        decide(r, a, GRID_DP, GRID_ASSUMED, "AllReduce of ranks that are not adjacent");
    }
}

/* Of two that reduce: which is the tensor-parallel one? -1: nothing tells. */
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
        if (r->of[a].reduced && !r->of[a].group) {
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

/* ---- single ranks ---- */

/* Groups of one that have a name or do something are an axis of size 1. */
static void add_singles(struct grid *g, const struct grid_input *in)
{
    unsigned added = 0;
    for (size_t c = 0; c < in->ncomms; c++) {
        unsigned role = single_role(&in->comms[c]);
        if (in->comms[c].size != 1 || role == 0 || added & role)
            continue;
        added |= role;
        grid_add_single(g, role_of_bit(role));
    }
}

/* Of the singles: those that a group of one is. */
static unsigned single_axes(const struct grid *g, const struct grid_comm *comm)
{
    unsigned role = single_role(comm), axes = 0;
    for (int a = 0; a < g->naxes; a++) {
        bool its = g->world == 1 || role == 1u << g->axes[a].role;
        axes |= its && g->axes[a].size == 1 ? 1u << a : 0;
    }
    return axes;
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
    int only = only_axis(axes);
    if (comm->size >= g->world && only < 0)
        return axes | data_single(g);
    if (comm->size >= g->world && pattern == PATTERN_NONE)
        return axes | data_single(g);
    if (reduces && only >= 0 && g->axes[only].role == GRID_EP)
        return axes | data_single(g);
    return axes;
}

/* What a communicator looks like by itself; GRID_ROLES when it does nothing that tells. */
static enum grid_role own_role(const struct grid_comm *comm)
{
    static const enum grid_role of[] = {
        [PATTERN_NONE] = GRID_ROLES,        [PATTERN_REDUCE] = GRID_DP,
        [PATTERN_GATHER_AHEAD] = GRID_FSDP, [PATTERN_BY_TURNS] = GRID_TP,
        [PATTERN_SHARD_ONCE] = GRID_DP,     [PATTERN_EXCHANGE] = GRID_EP,
        [PATTERN_MESSAGES] = GRID_PP,
    };
    unsigned named = grid_roles_of_name(comm->name);
    enum grid_pattern pattern = grid_pattern_of(comm);
    if (one_role(named))
        return role_of_bit(named);
    if (pattern == PATTERN_REDUCE && comm->did.placed == 0)
        return GRID_ROLES;
    return pattern == PATTERN_REDUCE && comm->did.early > 0 ? GRID_TP : of[pattern];
}

/* Where its members are not written and its size fits several axes: the one of its own role. */
static struct grid_place place_by_role(const struct grid *g, const struct grid_comm *comm)
{
    enum grid_role role = own_role(comm);
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
        if (comm->size == 1)
            g->comms[c].axes = single_axes(g, comm);
        else if (!g->comms[c].known)
            g->comms[c] = place_by_role(g, comm);
        else if (g->comms[c].known && !g->comms[c].part)
            g->comms[c].axes = wider(g, comm, g->comms[c].axes);
        g->comms[c].by_messages =
            grid_pattern_of(comm) == PATTERN_EXCHANGE && comm->did.calls[SPECTER_SEND] > 0;
    }
}

void grid_find_roles(struct grid *g, const struct grid_input *in)
{
    struct roles r = {.g = g, .in = in};
    bool told = false;
    see_comms(&r);
    see_edges(&r);
    decide_named(&r);
    decide_by_pattern(&r);
    told = decide_reducers(&r) && decide_rest(&r);
    if (told)
        g->state = GRID_FOUND;
    else
        name_candidates(&r);
    add_singles(g, in);
}
