/* SPDX-License-Identifier: MIT
 *
 * RCCL's tuner on MI300X: constants of its tuning model 5 (gfx942, eight GPUs a node).
 */
#include "model/rccl_tuner.h"

/* clang-format off */
/* us; Tree and Ring alike */
static const double base_lat[NCCL_PROTOS] = {12, 12, 17};

/* us a step; [link][Tree, Ring][protocol] */
static const double hw_lat[NCCL_LINKS][2][NCCL_PROTOS] = {
    [NCCL_LINK_NVL] = {{.9, .9, 2.3}, {.8, .8, 2.1}},
    [NCCL_LINK_PCI] = {{2.2, 2.2, 5.7}, {2.2, 2.2, 5.7}},
    [NCCL_LINK_NET] = {{10.5, 10.5, 25}, {9.5, 9.5, 320}},
};

/* Share of the graph's bandwidth; [up to two nodes, more][Tree, Ring][protocol] */
static const double bw_share[2][2][NCCL_PROTOS] = {
    {{.06, .06, .11}, {.08, .08, 1}},
    {{.06, .06, .59}, {.08, .08, 1}},
};
#define ROOTED_LL_GAIN 1.65 /* Broadcast and Reduce in a node */

/* And of that at 64, 128, 256 ... bytes; LL128's are LL's. Rings have it between nodes only. */
#define SIZES 27
static const double size_share[2][2][SIZES] = {
    { /* Tree: LL, Simple */
        {.1, .1, .1, .1, .1, .1, 1, 1, 1, 1, 1, .6, 1, .9, 1, 1,
         .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
        {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .7,
         1, 1, 1, 1, 1, .7, .7, .5, .6, .6, .6},
    },
    { /* Ring: LL, Simple */
        {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1, .2, 1, .4, .4,
         .1, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1},
        {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
         .1, .1, .1, .1, .1, .1, 1, .8, 1, 1, 1},
    },
};

/* Between nodes: the largest bytes per rank for LL, and those for LL128; else Simple. */
static const struct range {
    enum specter_comm_op op;
    double ll_most, ll128_above, ll128_most;
} ranges[] = {
    {SPECTER_ALLREDUCE, 1048576, 1048576, 9437184},
    {SPECTER_ALLGATHER, 98304, 98304, 5046272},
    {SPECTER_REDUCESCATTER, 655360, 131072, 3211264},
};
/* clang-format on */
#define LL128_MANY_NODES 3.8              /* x ll128_most of an AllReduce on more than two nodes */
#define NODE_REDUCESCATTER_LL_MOST 352128 /* bytes per rank, within a node */

double rccl_base_lat(enum nccl_algo a, enum nccl_proto p)
{
    return a <= NCCL_RING ? base_lat[p] : 8; /* 8: PAT */
}

double rccl_hw_lat(enum nccl_link link, enum nccl_algo a, enum nccl_proto p)
{
    return hw_lat[link][a == NCCL_TREE ? 0 : 1][p];
}

/* Tree and Ring are what there is: no NVLS, no SHARP, and PAT is off unless asked for. */
enum nccl_why rccl_gate(const struct nccl_comm *c, enum nccl_algo a, enum nccl_proto p)
{
    return a == NCCL_TREE && p == NCCL_SIMPLE && c->where.nodes == 1 ? NCCL_RCCL_OFF : NCCL_ON;
}

double rccl_busbw(const struct nccl_comm *c, enum nccl_class class, enum nccl_algo a,
                  enum nccl_proto p, double bw)
{
    if (a > NCCL_RING)
        return 0;
    bw *= bw_share[c->where.nodes > 2][a][p];
    bool rooted_ll = class == NCCL_CLASS_ROOTED && p == NCCL_LL && c->where.nodes == 1;
    return rooted_ll ? bw * ROOTED_LL_GAIN : bw;
}

double rccl_share(const struct nccl_comm *c, enum nccl_algo a, enum nccl_proto p, int size)
{
    if (a > NCCL_RING || (a == NCCL_RING && c->where.nodes == 1))
        return 1;
    int i = size < 0 ? 0 : size < SIZES ? size : SIZES - 1;
    return size_share[a][p == NCCL_SIMPLE][i];
}

static enum nccl_proto set_proto(const struct nccl_comm *c, enum specter_comm_op op, double bytes,
                                 enum nccl_proto chosen)
{
    double part = op == SPECTER_ALLREDUCE ? bytes : bytes / c->where.ranks;
    if (c->where.nodes == 1)
        return op == SPECTER_REDUCESCATTER && part <= NODE_REDUCESCATTER_LL_MOST ? NCCL_LL : chosen;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const struct range *r = &ranges[i];
        if (r->op != op)
            continue;
        double most = r->ll128_most;
        if (op == SPECTER_ALLREDUCE && c->where.nodes > 2)
            most *= LL128_MANY_NODES;
        if (part > r->ll128_above && part <= most)
            return NCCL_LL128;
        return part <= r->ll_most ? NCCL_LL : NCCL_SIMPLE;
    }
    return chosen;
}

/* A user's NCCL_PROTO is left alone. */
static bool proto_is_free(const struct nccl_tuning *tuning, enum nccl_algo a)
{
    for (int p = 0; p < NCCL_PROTOS; p++)
        if (tuning->of[a][p].why == NCCL_FORBIDDEN)
            return false;
    return true;
}

bool rccl_sets_proto(const struct nccl_comm *c, const struct nccl_tuning *tuning, double bytes,
                     enum nccl_algo a, enum nccl_proto *p)
{
    enum nccl_proto set = set_proto(c, tuning->op, bytes, *p);
    if (set == *p || !proto_is_free(tuning, a) || tuning->of[a][set].why != NCCL_ON)
        return false;
    *p = set;
    return true;
}
