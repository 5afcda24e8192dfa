/* SPDX-License-Identifier: MIT
 *
 * The choice among a tuning's estimates: what NCCL adds for a size (ncclTopoGetAlgoTime()), the
 * smallest time, and how many channels work on it. Where the estimates come from: nccl_tuner.c.
 */
#include "model/nccl_tuner.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "model/rccl_tuner.h"

const char *const nccl_algo_names[NCCL_ALGOS] = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT",
};
const char *const nccl_proto_names[NCCL_PROTOS] = {"LL", "LL128", "Simple"};
const struct nccl_allowed nccl_any = {~0u, ~0u};

const char *const nccl_why_text[NCCL_WHYS] = {
    [NCCL_ON] = "",
    [NCCL_NOT_FOR_OP] = "not for this operation",
    [NCCL_NO_PROTO] = "has no such protocol",
    [NCCL_ONE_NODE] = "between nodes only",
    [NCCL_NO_NVLS] = "needs NVSwitch and compute capability 9.0",
    [NCCL_NO_SHARP] = "needs reduction in the network's switches",
    [NCCL_NODE_TOO_BIG] = "too many ranks in a node",
    [NCCL_GPUS_PER_NODE] = "needs one rank a node and compute capability 6.0",
    [NCCL_LL128_PATH] = "needs NVLink and NICs beside the GPUs",
    [NCCL_LL128_GPU] = "needs compute capability 7.0",
    [NCCL_RCCL_OFF] = "off in RCCL on one node",
    [NCCL_PRESET_OFF] = "off in this network's settings",
    [NCCL_FORBIDDEN] = "not allowed by the settings",
    [NCCL_NO_GRAPH] = "the search found no channels",
};

/* clang-format off */
/* Share of its bandwidth that a tree's AllReduce reaches at 64, 128, 256 ... bytes */
#define TREE_SIZES 24
static const double tree_share[NCCL_PROTOS][TREE_SIZES] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
};
/* clang-format on */

#define PLATEAU_BYTES 64 /* a channel and rank: from there a ring between nodes has its plateau */

/* "a,b" or "^a,b" as bits; false for a name that is not in the table. */
static bool parse_list(const char *list, const char *const *names, int count, unsigned *bits)
{
    bool negated = *list == '^';
    *bits = 0;
    for (const char *at = list + negated; *at != '\0';) {
        size_t len = strcspn(at, ",");
        int i = 0;
        while (i < count && (strlen(names[i]) != len || strncasecmp(at, names[i], len) != 0))
            i++;
        if (i == count)
            return false;
        *bits |= 1u << i;
        at += len + (at[len] == ',');
    }
    if (negated)
        *bits = ~*bits & ((1u << count) - 1);
    return true;
}

bool nccl_allowed_parse(const char *algos, const char *protos, struct nccl_allowed *out)
{
    struct nccl_allowed a = nccl_any;
    if (algos != NULL && !parse_list(algos, nccl_algo_names, NCCL_ALGOS, &a.algos))
        return false;
    if (protos != NULL && !parse_list(protos, nccl_proto_names, NCCL_PROTOS, &a.protos))
        return false;
    *out = a;
    return true;
}

static int ilog2(uint64_t x)
{
    return 63 - __builtin_clzll(x);
}

/* NCCL's corrections by size. */
static void correct(const struct nccl_comm *c, enum specter_comm_op op, double bytes,
                    struct nccl_candidate *k)
{
    uint64_t n = (uint64_t)fmin(bytes, 0x1p62); /* as NCCL, in whole bytes; more is as much */
    int size = n >= 64 ? ilog2(n >> 6) : -1;
    if (c->topo.cc == 0) {
        k->bw_GBps *= rccl_share(c, k->algo, k->proto, size);
        return;
    }
    if (op != SPECTER_ALLREDUCE)
        return;
    bool tree = k->algo == NCCL_TREE ||
                (k->algo == NCCL_NVLS_TREE && c->topo.cc >= 100 && c->topo.cpu != NCCL_CPU_ARM);
    if (tree && size >= 0 && size < TREE_SIZES)
        k->bw_GBps *= tree_share[k->proto][size];
    uint64_t parts = (uint64_t)c->graphs.channels * (uint64_t)c->where.ranks;
    if (k->algo == NCCL_RING && k->proto == NCCL_SIMPLE && c->where.nodes > 1 &&
        n / parts >= PLATEAU_BYTES)
        k->lat_us *= c->topo.cc < 80 ? 1.9 : 1.4;
}

static void price(const struct nccl_comm *c, const struct nccl_tuning *t, double bytes,
                  struct nccl_candidate *k)
{
    const struct nccl_estimate *e = &t->of[k->algo][k->proto];
    k->why = e->why;
    k->lat_us = e->lat_us;
    k->bw_GBps = e->bw_GBps;
    k->us = HUGE_VAL;
    if (e->why != NCCL_ON)
        return;
    correct(c, t->op, bytes, k);
    k->us = k->lat_us + bytes / (1000 * k->bw_GBps);
}

void nccl_candidates(const struct nccl_comm *c, const struct nccl_tuning *tuning, double bytes,
                     struct nccl_candidate out[NCCL_ALGOS * NCCL_PROTOS])
{
    for (int i = 0; i < NCCL_ALGOS * NCCL_PROTOS; i++) {
        out[i].algo = i / NCCL_PROTOS;
        out[i].proto = i % NCCL_PROTOS;
        price(c, tuning, bytes, &out[i]);
    }
}

/* Returns whether a tuner plugin's rule of sizes, if there is one, allows the algorithm. A rule has
 * nothing to say where only one of both is left. */
static bool by_size(const struct nccl_comm *c, const struct nccl_tuning *t, enum nccl_algo a,
                    enum nccl_proto p, double bytes)
{
    enum nccl_algo other = a == NCCL_TREE ? NCCL_RING : NCCL_TREE;
    if (!(c->topo.tree_max_bytes > 0) || a > NCCL_RING || t->of[other][p].why != NCCL_ON)
        return true;
    return (a == NCCL_TREE) == (bytes <= c->topo.tree_max_bytes);
}

static bool cheapest(const struct nccl_comm *c, const struct nccl_tuning *tuning, double bytes,
                     struct nccl_candidate *best)
{
    best->us = HUGE_VAL;
    for (int a = 0; a < NCCL_ALGOS; a++) {
        for (int p = 0; p < NCCL_PROTOS; p++) {
            struct nccl_candidate k = {.algo = a, .proto = p};
            if (tuning->of[a][p].why != NCCL_ON || !by_size(c, tuning, a, p, bytes))
                continue;
            price(c, tuning, bytes, &k);
            if (k.us < best->us)
                *best = k;
        }
    }
    return best->us < HUGE_VAL;
}

bool nccl_choose(const struct nccl_comm *c, const struct nccl_tuning *tuning, double bytes,
                 struct nccl_choice *out)
{
    struct nccl_candidate best;
    if (c->where.ranks == 1) {
        *out = (struct nccl_choice){.algo = NCCL_RING, .proto = NCCL_SIMPLE, .channels = 1};
        return true;
    }
    if (!cheapest(c, tuning, bytes, &best))
        return false;
    if (c->topo.cc == 0 && rccl_sets_proto(c, tuning, bytes, best.algo, &best.proto))
        price(c, tuning, bytes, &best);
    *out = (struct nccl_choice){
        .algo = best.algo,
        .proto = best.proto,
        .channels = nccl_channels(c, best.algo, best.proto, bytes),
        .lat_us = best.lat_us,
        .bw_GBps = best.bw_GBps,
        .us = best.us,
    };
    return true;
}

/* Ring and Tree start fewer channels when the threads of all would have too little to do. */
int nccl_channels(const struct nccl_comm *c, enum nccl_algo a, enum nccl_proto p, double bytes)
{
    static const double threads[NCCL_PROTOS] = {512, 640, 512},
                        bytes_each[NCCL_PROTOS] = {8, 8, 64};
    if (a == NCCL_NVLS || a == NCCL_NVLS_TREE)
        return c->graphs.nvls_channels;
    int channels = c->graphs.channels;
    if (a > NCCL_RING)
        return channels;
    double least = threads[p] * bytes_each[p];
    const struct nccl_graph *ring = &c->graphs.ring;
    if (a == NCCL_RING && p == NCCL_LL)
        least *= c->where.ranks;
    if (a == NCCL_RING && p == NCCL_SIMPLE && ring->channels * ring->bw_intra <= 12)
        least /= 2;
    double worth = bytes / least;
    return worth >= channels ? channels : worth < 1 ? 1 : (int)worth;
}

void nccl_comm_init(const struct nccl_topo *topo, struct layout where, struct nccl_comm *out)
{
    out->topo = *topo;
    out->where = where;
    nccl_graphs_find(topo, where, &out->graphs);
}

bool nccl_pick(const struct nccl_topo *topo, struct layout where, enum specter_comm_op op,
               double bytes, const struct nccl_allowed *allowed, struct nccl_comm *comm,
               struct nccl_choice *out)
{
    struct nccl_tuning tuning;
    nccl_comm_init(topo, where, comm);
    return nccl_tune(comm, op, allowed, &tuning) && nccl_choose(comm, &tuning, bytes, out);
}
