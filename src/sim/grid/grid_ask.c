/* SPDX-License-Identifier: MIT
 *
 * The grid that is asked for, where few members of communicators are known: one rank recorded tells
 * the sizes of its groups and what they do, but not who else is in them.
 */
#include "sim/grid/grid_internal.h"

#include "base/buf.h"

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

static void see(struct role_sizes *s, const struct grid_comm *comm)
{
    enum grid_role role = grid_own_role(comm);
    int op = main_op(comm);
    if (op == SPECTER_COMM_OP_COUNT || (role < GRID_ROLES && s->size[role] == comm->size))
        return;
    buf_printf(&s->words, "%sof %d ranks (%s%s%s)", s->words.len > 0 ? ", " : "", comm->size,
               role < GRID_ROLES ? grid_role_name(role) : "", role < GRID_ROLES ? ": " : "",
               specter_comm_op_name((enum specter_comm_op)op));
    if (role == GRID_ROLES)
        return;
    role = tell_shards_from_replicas(s, role, op);
    s->twice = s->twice || s->size[role] > 0;
    s->size[role] = comm->size;
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

bool grid_ask(struct grid *g, const struct grid_input *in)
{
    struct role_sizes s = {.words = BUF_INIT};
    struct buf text = BUF_INIT;
    for (size_t c = 0; c < in->ncomms; c++) {
        if (in->comms[c].size > 1 && in->comms[c].size < in->world)
            see(&s, &in->comms[c]);
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
