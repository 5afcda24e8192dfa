/* SPDX-License-Identifier: MIT
 *
 * The choice among a tuning's estimates: what NCCL adds for a size (ncclTopoGetAlgoTime()), the
 * smallest time, and how many channels work on it. Where the estimates come from: nccl_tuner.c.
 *
 * Of RCCL: its corrections by size, and the sizes at which it sets a protocol whatever the estimate
 * says. Source: RCCL (ROCm 6.4), src/graph/tuning.cc, tuning model 5 (MI300X), and src/misc's
 * protocol override.
 */
#include "model/nccl_tuner.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define X(id, name, setting) {name, setting},
const struct nccl_name nccl_algos[NCCL_ALGOS] = {SPECTER_NCCL_ALGOS(X)};
const struct nccl_name nccl_protos[NCCL_PROTOS] = {SPECTER_NCCL_PROTOS(X)};
#undef X

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
    [NCCL_LL128_OLD] = "off by default on this GPU in this version of NCCL",
    [NCCL_RCCL_NO_PAT] = "not modelled for RCCL",
    [NCCL_RCCL_OFF] = "off in RCCL on one node",
    [NCCL_TOO_OLD] = "not in this version of NCCL",
    [NCCL_PRESET_OFF] = "off in this network's settings",
    [NCCL_FORBIDDEN] = "not allowed by the settings",
    [NCCL_NO_GRAPH] = "the search found no channels",
};

/* clang-format off */
/* Share of its bandwidth that a tree's AllReduce reaches at 64, 128, 256 ... bytes */
#define TREE_SIZES 23
#define NVLS_TREE_SIZES 24
static const double tree_share[NCCL_PROTOS][NVLS_TREE_SIZES] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
};

/* RCCL: share of the bandwidth at 64, 128, 256 ... bytes; LL128's are LL's. Rings have it between
 * nodes only. */
#define RCCL_SIZES 27
static const double rccl_size_share[2][2][RCCL_SIZES] = {
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

/* RCCL between nodes: the largest bytes per rank for LL, and those for LL128; else Simple. */
static const struct rccl_range {
    enum specter_comm_op op;
    double ll_most, ll128_above, ll128_most;
} rccl_ranges[] = {
    {SPECTER_ALLREDUCE, 1048576, 1048576, 9437184},
    {SPECTER_ALLGATHER, 98304, 98304, 5046272},
    {SPECTER_REDUCESCATTER, 655360, 131072, 3211264},
};
/* clang-format on */
#define RCCL_LL128_MANY_NODES 3.8 /* x ll128_most of an AllReduce on more than two nodes */
#define RCCL_NODE_REDUCESCATTER_LL_MOST 352128 /* bytes per rank, within a node */

#define PLATEAU_BYTES 64 /* a channel and rank: from there a ring between nodes has its plateau */

/* Returns whether the text is that name, in any case and without its underscores: "NVLSTree" is
 * "nvls_tree". */
static bool same_name(const char *name, const char *text, size_t len)
{
    size_t at = 0;
    for (; *name != '\0'; name++) {
        if (at < len && tolower((unsigned char)text[at]) == tolower((unsigned char)*name))
            at++;
        else if (*name != '_')
            return false;
    }
    return at == len;
}

int nccl_algo_parse(const char *name, size_t len)
{
    for (int i = 0; i < NCCL_ALGOS; i++) {
        if (same_name(nccl_algos[i].name, name, len))
            return i;
    }
    return -1;
}

int nccl_proto_parse(const char *name, size_t len)
{
    for (int i = 0; i < NCCL_PROTOS; i++) {
        if (same_name(nccl_protos[i].name, name, len))
            return i;
    }
    return -1;
}

const char *nccl_version_text(int version, char out[16])
{
    const unsigned parts = (unsigned)version % 100000;
    const unsigned major = parts / 10000, minor = parts / 100 % 100, patch = parts % 100;
    if (patch == 99)
        snprintf(out, 16, "%u.%u", major, minor);
    else
        snprintf(out, 16, "%u.%u.%u", major, minor, patch);
    return out;
}

const char *nccl_list_parse(const char *list, int (*parse)(const char *name, size_t len), int count,
                            unsigned *bits)
{
    bool negated = *list == '^';
    *bits = 0;
    for (const char *at = list + negated;; at++) {
        size_t len = strcspn(at, ",");
        int i = parse(at, len);
        if (i < 0)
            return at;
        *bits |= 1u << i;
        at += len;
        if (*at == '\0')
            break;
    }
    if (negated)
        *bits = ~*bits & ((1u << count) - 1);
    return NULL;
}

bool nccl_allowed_parse(const char *algos, const char *protos, struct nccl_allowed *out)
{
    struct nccl_allowed a = nccl_any;
    if (algos != NULL && nccl_list_parse(algos, nccl_algo_parse, NCCL_ALGOS, &a.algos) != NULL)
        return false;
    if (protos != NULL && nccl_list_parse(protos, nccl_proto_parse, NCCL_PROTOS, &a.protos) != NULL)
        return false;
    *out = a;
    return true;
}

/* Applies NCCL's corrections by size. */
static void correct(const struct nccl_comm *c, enum specter_comm_op op, double bytes,
                    struct nccl_candidate *k)
{
    uint64_t n = (uint64_t)fmin(bytes, 0x1p62); /* as NCCL, in whole bytes; more is as much */
    int size = n >= 64 ? 63 - __builtin_clzll(n >> 6) : -1; /* 64 << size bytes */
    if (c->topo.cc == 0) {
        int at = size < 0 ? 0 : size < RCCL_SIZES ? size : RCCL_SIZES - 1;
        if (k->algo == NCCL_TREE || (k->algo == NCCL_RING && c->where.nodes > 1))
            k->bw_GBps *= rccl_size_share[k->algo][k->proto == NCCL_SIMPLE][at];
        return;
    }
    if (op != SPECTER_ALLREDUCE)
        return;
    bool tree =
        k->algo == NCCL_TREE || (k->algo == NCCL_NVLS_TREE && c->topo.cc >= 100 &&
                                 c->topo.cpu != NCCL_CPU_ARM && !nccl_before(&c->topo, 22900));
    if (tree && size >= 0 && size < (k->algo == NCCL_TREE ? TREE_SIZES : NVLS_TREE_SIZES))
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

static bool row_matches(const struct tuner_row *row, const struct nccl_comm *c,
                        enum specter_comm_op op, double bytes)
{
    return (row->op == NULL || strcmp(row->op, specter_comm_op_name(op)) == 0) &&
           bytes >= row->min_bytes && (row->max_bytes == 0 || bytes <= row->max_bytes) &&
           c->where.ranks >= row->min_ranks &&
           (row->max_ranks == 0 || c->where.ranks <= row->max_ranks) &&
           (row->ranks_per_node == 0 || c->where.ranks == row->ranks_per_node * c->where.nodes);
}

/* Returns the row of the network's tuner that chooses, its algorithm and protocol in *k; NULL where
 * NCCL's estimates do. */
static const struct tuner_row *row_that_chooses(const struct nccl_comm *c,
                                                const struct nccl_tuning *tuning, double bytes,
                                                struct nccl_candidate *k)
{
    for (size_t i = 0; i < c->topo.ntuner; i++) {
        const struct tuner_row *row = &c->topo.tuner[i];
        if (!row_matches(row, c, tuning->op, bytes))
            continue;
        int algo = nccl_algo_parse(row->algo, strlen(row->algo));
        int proto = nccl_proto_parse(row->proto, strlen(row->proto));
        if (tuning->of[algo][proto].why != NCCL_ON)
            continue;
        *k = (struct nccl_candidate){.algo = (enum nccl_algo)algo, .proto = (enum nccl_proto)proto};
        return row;
    }
    return NULL;
}

/* The candidate with the smallest estimate; its us is HUGE_VAL where all are out. */
static struct nccl_candidate smallest_estimate(const struct nccl_comm *c,
                                               const struct nccl_tuning *tuning, double bytes)
{
    struct nccl_candidate best = {.us = HUGE_VAL};
    for (int a = 0; a < NCCL_ALGOS; a++) {
        for (int p = 0; p < NCCL_PROTOS; p++) {
            struct nccl_candidate k = {.algo = a, .proto = p};
            if (tuning->of[a][p].why != NCCL_ON)
                continue;
            price(c, tuning, bytes, &k);
            if (k.us < best.us)
                best = k;
        }
    }
    return best;
}

/* Returns the protocol that RCCL takes by an operation's bytes per rank; `chosen` where it has no
 * rule for it. */
static enum nccl_proto rccl_proto(const struct nccl_comm *c, enum specter_comm_op op, double bytes,
                                  enum nccl_proto chosen)
{
    double part = op == SPECTER_ALLREDUCE ? bytes : bytes / c->where.ranks;
    if (c->where.nodes == 1)
        return op == SPECTER_REDUCESCATTER && part <= RCCL_NODE_REDUCESCATTER_LL_MOST ? NCCL_LL
                                                                                      : chosen;
    for (size_t i = 0; i < sizeof rccl_ranges / sizeof *rccl_ranges; i++) {
        const struct rccl_range *r = &rccl_ranges[i];
        if (r->op != op)
            continue;
        double most = r->ll128_most;
        if (op == SPECTER_ALLREDUCE && c->where.nodes > 2)
            most *= RCCL_LL128_MANY_NODES;
        if (part > r->ll128_above && part <= most)
            return NCCL_LL128;
        return part <= r->ll_most ? NCCL_LL : NCCL_SIMPLE;
    }
    return chosen;
}

/* Returns whether RCCL sets another protocol for the chosen algorithm; *p is that one then. A
 * user's NCCL_PROTO is left alone. */
static bool rccl_sets_proto(const struct nccl_comm *c, const struct nccl_tuning *tuning,
                            double bytes, enum nccl_algo a, enum nccl_proto *p)
{
    enum nccl_proto set = rccl_proto(c, tuning->op, bytes, *p);
    for (int each = 0; each < NCCL_PROTOS; each++)
        if (tuning->of[a][each].why == NCCL_FORBIDDEN)
            return false;
    if (set == *p || tuning->of[a][set].why != NCCL_ON)
        return false;
    *p = set;
    return true;
}

bool nccl_choose(const struct nccl_comm *c, const struct nccl_tuning *tuning, double bytes,
                 struct nccl_choice *out)
{
    const struct tuner_row *row;
    struct nccl_candidate best;
    if (c->where.ranks == 1) {
        *out = (struct nccl_choice){.algo = NCCL_RING, .proto = NCCL_SIMPLE, .channels = 1};
        return true;
    }
    row = row_that_chooses(c, tuning, bytes, &best);
    if (row != NULL)
        price(c, tuning, bytes, &best);
    else
        best = smallest_estimate(c, tuning, bytes);
    if (!(best.us < HUGE_VAL))
        return false;
    if (c->topo.cc == 0 && row == NULL && rccl_sets_proto(c, tuning, bytes, best.algo, &best.proto))
        price(c, tuning, bytes, &best);
    *out = (struct nccl_choice){
        .algo = best.algo,
        .proto = best.proto,
        .channels = row != NULL && row->channels > 0
                        ? (int)row->channels
                        : nccl_channels(c, best.algo, best.proto, bytes),
        .by_tuner = row != NULL,
        .lat_us = best.lat_us,
        .bw_GBps = best.bw_GBps,
        .us = best.us,
    };
    return true;
}

/* Ring and Tree start fewer channels where the threads of all channels would have too little to do.
 */
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
