/* SPDX-License-Identifier: MIT
 *
 * NCCL's tuner (ncclTopoTuneModel()): its constants, and what they make of a search graph. The
 * choice is in nccl_choice.c. The tables are those of 2.30; `older` lists what they held before.
 * Source: src/graph/tuning.cc of NCCL 2.19 to 2.30.
 *
 * RCCL's differences are constants measured on MI300X (gfx942, eight GPUs a node): latencies, and
 * shares of the graph's bandwidth by protocol. Source: RCCL (ROCm 6.4), src/graph/tuning.cc, tuning
 * model 5. Other AMD GPUs are taken as MI300X.
 */
#include "model/nccl_tuner.h"

#include <math.h>

/* The link that a step crosses: the rows of both tuners' latencies. */
enum nccl_link { NCCL_LINK_NVL, NCCL_LINK_PCI, NCCL_LINK_NET, NCCL_LINKS };

/* clang-format off */
enum generation { VOLTA, AMPERE, HOPPER, BLACKWELL, GENERATIONS };
enum scale { ONE_NODE, TWO_NODES, MORE_NODES, SCALES };

/* us; [algorithm][LL, LL128, Simple] */
static const double base_lat[NCCL_ALGOS][NCCL_PROTOS] = {
    [NCCL_TREE] = {6.8, 14.0, 8.4}, [NCCL_RING] = {6.6, 14.0, 8.4}, [NCCL_PAT] = {8.0, 8.0, 8.0},
};

/* us a step, by the link it crosses */
static const double hw_lat[NCCL_LINKS][NCCL_ALGOS][NCCL_PROTOS] = {
    [NCCL_LINK_NVL] = {
        [NCCL_TREE] = {.6, 1.25, 4.0}, [NCCL_RING] = {.6, 1.9, 3.4},
        [NCCL_COLLNET_DIRECT] = {0, 0, 3.7}, [NCCL_COLLNET_CHAIN] = {0, 0, 2.8},
        [NCCL_NVLS] = {0, 0, 25}, [NCCL_NVLS_TREE] = {0, 0, 25}, [NCCL_PAT] = {0, 0, 4.0},
    },
    [NCCL_LINK_PCI] = {
        [NCCL_TREE] = {1.0, 1.9, 4.0}, [NCCL_RING] = {1.0, 2.5, 5.7},
        [NCCL_COLLNET_DIRECT] = {0, 0, 3.7}, [NCCL_COLLNET_CHAIN] = {0, 0, 2.8},
        [NCCL_PAT] = {0, 0, 4.0},
    },
    [NCCL_LINK_NET] = {
        [NCCL_TREE] = {5.0, 8.5, 14}, [NCCL_RING] = {2.7, 4.0, 14},
        [NCCL_COLLNET_DIRECT] = {0, 0, 31}, [NCCL_COLLNET_CHAIN] = {0, 0, 30},
        [NCCL_NVLS] = {0, 0, 18}, [NCCL_NVLS_TREE] = {0, 0, 20.9}, [NCCL_PAT] = {0, 0, 14},
    },
};

/* Upper limits in GB/s: ll_max_bw of a whole communicator, the others of one channel. Columns: one
 * node, two, more. Rows: generations; in ll_max_bw between nodes, rows 0 and 1 are Intel's and AMD's
 * processors. */
static const double ll_max_bw[GENERATIONS][SCALES] = {
    {39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70},
};
static const double ring_ll128_max_bw[GENERATIONS][SCALES] = {
    {20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40},
};
static const double tree_ll128_max_bw[GENERATIONS][SCALES] = {
    {20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20},
};
static const double tree_max_bw[GENERATIONS][SCALES] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24},
};
static const double nvls_tree_max_bw[GENERATIONS][SCALES] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80},
};
static const double nvls_efficiency[GENERATIONS] = {0, 0, .85, .74};

/* Older values of entries of the tables above. Of an entry's lines the first counts that is newer
 * than the communicator's NCCL. 22807: up to 2.28.3; 22907: up to 2.29.2. */
static const struct older {
    int before;
    const double *entry;
    double was;
} older[] = {
    {22300, &base_lat[NCCL_TREE][NCCL_SIMPLE], 0},
    {22300, &hw_lat[NCCL_LINK_NVL][NCCL_TREE][NCCL_SIMPLE], 28},
    {22300, &hw_lat[NCCL_LINK_PCI][NCCL_TREE][NCCL_SIMPLE], 28},
    {22300, &hw_lat[NCCL_LINK_NET][NCCL_TREE][NCCL_SIMPLE], 28},
    {22100, &hw_lat[NCCL_LINK_NVL][NCCL_NVLS][NCCL_SIMPLE], 23},
    {22100, &hw_lat[NCCL_LINK_NVL][NCCL_NVLS_TREE][NCCL_SIMPLE], 23},
    {22807, &hw_lat[NCCL_LINK_NET][NCCL_NVLS_TREE][NCCL_SIMPLE], 14},
    {22100, &ll_max_bw[HOPPER][ONE_NODE], 87.7},
    {22807, &ring_ll128_max_bw[BLACKWELL][TWO_NODES], 73.4},
    {22900, &ring_ll128_max_bw[BLACKWELL][ONE_NODE], 73.4},
    {22900, &ring_ll128_max_bw[BLACKWELL][TWO_NODES], 34.6},
    {22900, &ring_ll128_max_bw[BLACKWELL][MORE_NODES], 73.4},
    {22907, &ring_ll128_max_bw[BLACKWELL][ONE_NODE], 34.5},
    {22907, &ring_ll128_max_bw[BLACKWELL][TWO_NODES], 34.6},
    {22907, &ring_ll128_max_bw[BLACKWELL][MORE_NODES], 34.5},
    {22800, &tree_ll128_max_bw[BLACKWELL][ONE_NODE], 73.4},
    {22800, &tree_ll128_max_bw[BLACKWELL][TWO_NODES], 73.4},
    {22800, &tree_ll128_max_bw[BLACKWELL][MORE_NODES], 58},
    {22800, &tree_max_bw[BLACKWELL][ONE_NODE], 77.4},
    {22800, &tree_max_bw[BLACKWELL][TWO_NODES], 82.8},
    {22800, &tree_max_bw[BLACKWELL][MORE_NODES], 72},
    {22807, &nvls_tree_max_bw[BLACKWELL][MORE_NODES], 43.1},
    {23000, &nvls_tree_max_bw[BLACKWELL][MORE_NODES], 43.8},
};

/* The versions that brought an algorithm, or a protocol as the default on GPUs. */
#define SINCE_NVLS 21700
#define SINCE_NVLS_TREE 21800
#define SINCE_NVLS_GATHER 21900
#define SINCE_COLLNET_GATHER 22000
#define SINCE_PAT 22300
#define SINCE_LL128_BLACKWELL 22500 /* before: 7.0, 8.0 and 9.0 */
#define SINCE_LL128_ALL 22700       /* before: these, 10.0 and 12.0 */
#define SINCE_NVLS_EFFICIENCY 22800

/* RCCL. us; Tree and Ring alike */
static const double rccl_base_lat[NCCL_PROTOS] = {12, 12, 17};

/* us a step; [link][Tree, Ring][protocol] */
static const double rccl_hw_lat[NCCL_LINKS][2][NCCL_PROTOS] = {
    [NCCL_LINK_NVL] = {{.9, .9, 2.3}, {.8, .8, 2.1}},
    [NCCL_LINK_PCI] = {{2.2, 2.2, 5.7}, {2.2, 2.2, 5.7}},
    [NCCL_LINK_NET] = {{10.5, 10.5, 25}, {9.5, 9.5, 320}},
};

/* Share of the graph's bandwidth; [up to two nodes, more][Tree, Ring][protocol] */
static const double rccl_bw_share[2][2][NCCL_PROTOS] = {
    {{.06, .06, .11}, {.08, .08, 1}},
    {{.06, .06, .59}, {.08, .08, 1}},
};
#define RCCL_ROOTED_LL_GAIN 1.65 /* Broadcast and Reduce in a node */

/* The operations that an algorithm does, as 1 << class. */
#define BIT(_class) (1u << (_class))
static const unsigned supported_ops[NCCL_ALGOS] = {
    [NCCL_TREE] = BIT(NCCL_CLASS_ALLREDUCE),
    [NCCL_RING] = BIT(NCCL_CLASS_ALLREDUCE) | BIT(NCCL_CLASS_GATHER) | BIT(NCCL_CLASS_ROOTED),
    [NCCL_COLLNET_DIRECT] = BIT(NCCL_CLASS_ALLREDUCE) | BIT(NCCL_CLASS_GATHER),
    [NCCL_COLLNET_CHAIN] = BIT(NCCL_CLASS_ALLREDUCE),
    [NCCL_NVLS] = BIT(NCCL_CLASS_ALLREDUCE) | BIT(NCCL_CLASS_GATHER),
    [NCCL_NVLS_TREE] = BIT(NCCL_CLASS_ALLREDUCE),
    [NCCL_PAT] = BIT(NCCL_CLASS_GATHER),
};

/* NCCL_ALGO and NCCL_PROTO as networks come with them. EFA before Hopper may reorder a message, so
 * that aws-ofi-nccl sets Simple (its pull request 280 frees P5 from it); Google's guides for A3 High
 * and A3 Mega set the others. */
static const struct nccl_allowed presets[NCCL_NETS] = {
    [NCCL_NET_FREE] = {~0u, ~0u},
    [NCCL_NET_EFA] = {~0u, BIT(NCCL_SIMPLE)},
    [NCCL_NET_TCPX] = {BIT(NCCL_RING) | BIT(NCCL_TREE), BIT(NCCL_SIMPLE)},
    [NCCL_NET_TCPXO] = {BIT(NCCL_RING) | BIT(NCCL_TREE), BIT(NCCL_SIMPLE) | BIT(NCCL_LL128)},
};
/* clang-format on */

#define NVLS_MAX_LOCAL_RANKS 32 /* beyond AllReduce */
#define COLLNET_MAX_LOCAL_RANKS 8
#define NET_OVERHEAD_US 1.0 /* to hand one message to the NIC */
#define NET_OVERHEAD_AMD_US 2.0

static int lower(int a, int b)
{
    return a < b ? a : b;
}

bool nccl_before(const struct nccl_topo *topo, int version)
{
    return topo->version != 0 && topo->version < version && topo->cc != 0;
}

/* An entry of the tables in the communicator's version of NCCL. */
static double table_value(const struct nccl_comm *c, const double *at)
{
    if (c->topo.version != 0)
        for (size_t i = 0; i < sizeof older / sizeof *older; i++)
            if (older[i].entry == at && nccl_before(&c->topo, older[i].before))
                return older[i].was;
    return *at;
}

static enum generation generation_of(const struct nccl_comm *c)
{
    int cc = c->topo.cc;
    return cc >= 100 ? BLACKWELL : cc >= 90 ? HOPPER : cc >= 80 ? AMPERE : VOLTA;
}

static enum scale scale_of(const struct nccl_comm *c)
{
    return (enum scale)(lower(c->where.nodes, 3) - 1);
}

/* False for operations that NCCL has no estimate for. */
static bool class_of(enum specter_comm_op op, enum nccl_class *out)
{
    switch (op) {
    case SPECTER_ALLREDUCE:
        *out = NCCL_CLASS_ALLREDUCE;
        return true;
    case SPECTER_ALLGATHER:
    case SPECTER_REDUCESCATTER:
        *out = NCCL_CLASS_GATHER;
        return true;
    case SPECTER_BROADCAST:
    case SPECTER_REDUCE:
        *out = NCCL_CLASS_ROOTED;
        return true;
    default:
        return false;
    }
}

static bool is_collnet(enum nccl_algo a)
{
    return a == NCCL_COLLNET_DIRECT || a == NCCL_COLLNET_CHAIN;
}

static bool is_nvls(enum nccl_algo a)
{
    return a == NCCL_NVLS || a == NCCL_NVLS_TREE;
}

const struct nccl_graph *nccl_graph_of(const struct nccl_comm *c, enum nccl_algo a)
{
    const struct nccl_graphs *g = &c->graphs;
    return a == NCCL_RING  ? &g->ring
           : is_collnet(a) ? &g->collnet
           : is_nvls(a)    ? &g->nvls
                           : &g->tree;
}

static enum nccl_why nvls_unavailable(const struct nccl_comm *c, enum nccl_class class,
                                      enum nccl_algo a)
{
    int since = a == NCCL_NVLS_TREE          ? SINCE_NVLS_TREE
                : class == NCCL_CLASS_GATHER ? SINCE_NVLS_GATHER
                                             : SINCE_NVLS;
    if (c->graphs.nvls.channels < 2)
        return NCCL_NO_NVLS;
    if (nccl_before(&c->topo, since))
        return NCCL_TOO_OLD;
    if (a == NCCL_NVLS_TREE)
        return c->where.nodes == 1 ? NCCL_ONE_NODE : NCCL_ON;
    if (c->where.nodes > 1 && !c->topo.sharp)
        return NCCL_NO_SHARP;
    int most = c->where.nodes > 1 ? c->graphs.nvls.channels : NVLS_MAX_LOCAL_RANKS;
    return class != NCCL_CLASS_ALLREDUCE && c->where.per_node > most ? NCCL_NODE_TOO_BIG : NCCL_ON;
}

static enum nccl_why collnet_unavailable(const struct nccl_comm *c, enum nccl_class class)
{
    if (c->where.nodes == 1)
        return NCCL_ONE_NODE;
    if (!c->topo.sharp || c->graphs.collnet.channels == 0)
        return NCCL_NO_SHARP;
    if (class == NCCL_CLASS_GATHER && nccl_before(&c->topo, SINCE_COLLNET_GATHER))
        return NCCL_TOO_OLD;
    int most = class == NCCL_CLASS_GATHER ? c->graphs.collnet.channels : COLLNET_MAX_LOCAL_RANKS;
    return c->where.per_node > most ? NCCL_NODE_TOO_BIG : NCCL_ON;
}

static enum nccl_why ll128_unavailable(const struct nccl_comm *c, const struct nccl_graph *g)
{
    enum nccl_path most = c->topo.cc >= 90 ? NCCL_PATH_PXN : NCCL_PATH_PXB;
    if (g->type_intra > NCCL_PATH_NVL || g->type_inter > most)
        return NCCL_LL128_PATH;
    int cc = c->topo.cc;
    bool first = cc == 70 || cc == 80 || cc == 90, blackwell = cc == 100 || cc == 120;
    if (cc != 0 && cc < 70)
        return NCCL_LL128_GPU;
    if (first || (blackwell && !nccl_before(&c->topo, SINCE_LL128_BLACKWELL)))
        return NCCL_ON;
    return nccl_before(&c->topo, SINCE_LL128_ALL) ? NCCL_LL128_OLD : NCCL_ON;
}

static enum nccl_why why_unavailable(const struct nccl_comm *c, enum nccl_class class,
                                     enum nccl_algo a, enum nccl_proto p)
{
    enum nccl_why why = NCCL_ON;
    if ((supported_ops[a] & BIT(class)) == 0)
        return NCCL_NOT_FOR_OP;
    if (a > NCCL_RING && p != NCCL_SIMPLE)
        return NCCL_NO_PROTO;
    if (is_nvls(a))
        why = nvls_unavailable(c, class, a);
    else if (is_collnet(a))
        why = collnet_unavailable(c, class);
    else if (a == NCCL_PAT && c->topo.cc == 0)
        why = NCCL_RCCL_NO_PAT;
    else if (a == NCCL_PAT && nccl_before(&c->topo, SINCE_PAT))
        why = NCCL_TOO_OLD;
    else if (a == NCCL_PAT && (c->where.ranks != c->where.nodes || c->topo.cc < 60))
        why = NCCL_GPUS_PER_NODE;
    else if (p == NCCL_LL128)
        why = ll128_unavailable(c, nccl_graph_of(c, a));
    /* RCCL has no Tree with Simple within a node. */
    bool rccl_off = c->topo.cc == 0 && a == NCCL_TREE && p == NCCL_SIMPLE && c->where.nodes == 1;
    return why == NCCL_ON && rccl_off ? NCCL_RCCL_OFF : why;
}

/* Bandwidth of one NVLS channel before 2.28. */
static double old_nvls_bw(const struct nccl_comm *c, enum nccl_class class, enum nccl_algo a)
{
    const struct nccl_graph *g = &c->graphs.nvls;
    double ppn = (double)c->where.ranks / c->where.nodes;
    double in = g->bw_intra, out = g->bw_inter;
    if (a == NCCL_NVLS_TREE)
        return fmin(in, c->where.nodes <= 2 ? out : out / 2);
    if (class == NCCL_CLASS_GATHER && !nccl_before(&c->topo, 22700))
        return fmin(in * (ppn - 1) / ppn, .9 * out);
    return fmin(in, out);
}

/* Bandwidth of one NVLS channel: the lower of what NVLink and the network allow. */
static double nvls_bw(const struct nccl_comm *c, enum nccl_class class, enum nccl_algo a)
{
    const struct nccl_graph *g = &c->graphs.nvls;
    enum generation gen = generation_of(c);
    double ppn = (double)c->where.ranks / c->where.nodes;
    if (nccl_before(&c->topo, SINCE_NVLS_EFFICIENCY))
        return old_nvls_bw(c, class, a);
    double in = g->bw_intra * nvls_efficiency[gen] * (g->channels - 1) / g->channels;
    in *= class == NCCL_CLASS_ALLREDUCE ? 2 : (ppn - 1) / ppn;
    if (a == NCCL_NVLS)
        return fmin(in, g->bw_inter);
    double out = g->bw_inter * (c->where.nodes <= 2 ? 2 : 1);
    return fmin(fmin(in, out), table_value(c, &nvls_tree_max_bw[gen][scale_of(c)]));
}

/* The share of a ring's bandwidth that LL and LL128 have. */
static double ring_share(const struct nccl_comm *c, enum nccl_class class, enum nccl_proto p)
{
    if (p == NCCL_LL && nccl_before(&c->topo, 22100))
        return c->where.nodes > 1 && class == NCCL_CLASS_ALLREDUCE ? 1 / 4.0 : 1 / 3.0;
    if (p == NCCL_LL)
        return .5;
    bool one_each = c->where.ranks < 2.0 * c->where.nodes;
    return one_each && nccl_before(&c->topo, 22300) ? .7 : .92;
}

static double ring_busbw(const struct nccl_comm *c, enum nccl_class class, enum nccl_proto p,
                         double bw)
{
    /* Between nodes LL is bound by the CPU: rows of Intel and AMD. */
    enum generation gen = generation_of(c);
    enum scale scale = scale_of(c);
    unsigned row = c->where.nodes == 1 ? (unsigned)gen : c->topo.cpu == NCCL_CPU_AMD;
    if (p == NCCL_SIMPLE)
        return bw;
    bw *= ring_share(c, class, p);
    return fmin(bw, p == NCCL_LL
                        ? table_value(c, &ll_max_bw[row][scale])
                        : c->graphs.ring.channels * table_value(c, &ring_ll128_max_bw[gen][scale]));
}

static double tree_busbw(const struct nccl_comm *c, enum nccl_proto p, double bw)
{
    enum generation gen = generation_of(c);
    enum scale scale = scale_of(c);
    int channels = c->graphs.tree.channels;
    unsigned row = scale == ONE_NODE ? (unsigned)gen : c->topo.cpu == NCCL_CPU_AMD;
    bw = fmin(bw * .92, channels * table_value(c, &tree_max_bw[gen][scale]));
    if (p == NCCL_LL)
        bw = fmin(bw / 3.8, table_value(c, &ll_max_bw[row][scale]));
    if (p == NCCL_LL128)
        bw = fmin(bw * (scale == ONE_NODE ? 7.0 / 9 : 120.0 / 128),
                  channels * table_value(c, &tree_ll128_max_bw[gen][scale]));
    return c->graphs.tree.plain_tree ? bw * .85 : bw;
}

static double collnet_direct_busbw(const struct nccl_comm *c, enum nccl_class class, double bw)
{
    const struct nccl_graph *g = &c->graphs.collnet;
    double ppn = (double)c->where.ranks / c->where.nodes;
    if (class == NCCL_CLASS_GATHER &&
        nccl_before(&c->topo, 22700)) /* .95 for one rank to .85 for 8 */
        return ppn * fmin(g->bw_intra, g->bw_inter) * (.95 - .1 * (ppn - 1) / 7);
    if (class == NCCL_CLASS_GATHER)
        return ppn * fmin(g->bw_intra, .9 * g->bw_inter);
    double gpus_per_nic = ppn / g->channels;
    bw /= gpus_per_nic - (gpus_per_nic - 1) / 2;
    return c->topo.cc >= 90 ? bw * .85 : bw;
}

static double rccl_busbw(const struct nccl_comm *c, enum nccl_class class, enum nccl_algo a,
                         enum nccl_proto p, double bw)
{
    if (a > NCCL_RING)
        return 0;
    bw *= rccl_bw_share[c->where.nodes > 2][a == NCCL_TREE ? 0 : 1][p];
    bool rooted_ll = class == NCCL_CLASS_ROOTED && p == NCCL_LL && c->where.nodes == 1;
    return rooted_ll ? bw * RCCL_ROOTED_LL_GAIN : bw;
}

static double busbw(const struct nccl_comm *c, enum nccl_class class, enum nccl_algo a,
                    enum nccl_proto p)
{
    const struct nccl_graph *g = nccl_graph_of(c, a);
    double bw = g->channels * (c->where.nodes <= 2 || is_collnet(a) ? g->bw_intra : g->bw_inter);
    if (c->topo.cc == 0)
        return rccl_busbw(c, class, a, p, bw);
    switch (a) {
    case NCCL_TREE:
        return tree_busbw(c, p, bw);
    case NCCL_RING:
        return ring_busbw(c, class, p, bw);
    case NCCL_COLLNET_DIRECT:
        return collnet_direct_busbw(c, class, bw);
    case NCCL_NVLS:
    case NCCL_NVLS_TREE:
        return g->channels * nvls_bw(c, class, a);
    case NCCL_PAT:
        return bw * .75;
    default:
        return bw;
    }
}

/* Steps of a ring: the divisor of bus to algorithm bandwidth, and the latency's factor. */
static double ring_steps(double ranks, enum nccl_class class)
{
    return class == NCCL_CLASS_ALLREDUCE ? 2 * (ranks - 1)
           : class == NCCL_CLASS_GATHER  ? ranks - 1
                                         : ranks;
}

/* From bus to algorithm bandwidth. NCCL leaves AllGather and ReduceScatter as they are, but for
 * rings. */
static double algbw(const struct nccl_comm *c, enum nccl_class class, enum nccl_algo a, double bw)
{
    bool old_nvls = is_nvls(a) && nccl_before(&c->topo, SINCE_NVLS_EFFICIENCY);
    bool lossy = class == NCCL_CLASS_ALLREDUCE || nccl_before(&c->topo, 22300);
    if (old_nvls)
        return lossy ? bw * 5 / 6 : bw;
    if (a != NCCL_RING && class == NCCL_CLASS_GATHER)
        return bw;
    if (a == NCCL_RING || is_nvls(a))
        return bw * c->where.ranks / ring_steps(c->where.ranks, class);
    return bw * .5;
}

static int ilog2(uint64_t x)
{
    return 63 - __builtin_clzll(x);
}

/* The latency of a step on the links that an algorithm uses. */
struct step_latency {
    double intra, inter;
};

static double step_us(const struct nccl_comm *c, enum nccl_link link, enum nccl_algo a,
                      enum nccl_proto p)
{
    return c->topo.cc == 0 ? rccl_hw_lat[link][a == NCCL_TREE ? 0 : 1][p]
                           : table_value(c, &hw_lat[link][a][p]);
}

static enum nccl_link intra_link(const struct nccl_graph *g)
{
    return g->type_intra == NCCL_PATH_NVL ? NCCL_LINK_NVL : NCCL_LINK_PCI;
}

static double ring_lat(const struct nccl_comm *c, enum nccl_class class, enum nccl_proto p,
                       struct step_latency s)
{
    int nodes = c->where.nodes;
    double steps = ring_steps(c->where.ranks, class);
    const struct nccl_graph *g = &c->graphs.ring;
    if (class == NCCL_CLASS_ROOTED) {
        enum nccl_link link = nodes == 1 ? intra_link(g) : NCCL_LINK_NET;
        if (g->same_channels)
            return step_us(c, link, NCCL_RING, p);
        return steps * step_us(c, link, p == NCCL_SIMPLE ? NCCL_TREE : NCCL_RING, p);
    }
    double post = c->topo.cpu == NCCL_CPU_AMD ? NET_OVERHEAD_AMD_US : NET_OVERHEAD_US;
    if (nodes > 1)
        s.intra = fmax(s.intra, p == NCCL_SIMPLE ? 3 * post : post);
    double inter = ring_steps(nodes, class);
    if (nodes > 1 && class == NCCL_CLASS_ALLREDUCE && nccl_before(&c->topo, 22300))
        inter = 2.0 * nodes;
    return (steps - inter) * s.intra + inter * s.inter;
}

static double latency(const struct nccl_comm *c, enum nccl_class class, enum nccl_algo a,
                      enum nccl_proto p)
{
    int ranks = c->where.ranks, nodes = c->where.nodes, local = ranks / nodes;
    double base =
        c->topo.cc != 0 || a > NCCL_RING ? table_value(c, &base_lat[a][p]) : rccl_base_lat[p];
    bool as_tree = ranks == nodes && !nccl_before(&c->topo, 22300);
    struct step_latency s = {
        step_us(c, intra_link(nccl_graph_of(c, a)), a, p),
        step_us(c, NCCL_LINK_NET, as_tree ? NCCL_TREE : a, p),
    };
    switch (a) {
    case NCCL_TREE:
        return base + 2 * ((local - 1) * s.intra + ilog2((uint64_t)nodes) * s.inter);
    case NCCL_RING:
        return base + ring_lat(c, class, p, s);
    case NCCL_COLLNET_DIRECT: /* 0.4 us for each peer that a GPU serves */
        return base + 2 * (lower(1, local - 1) * s.intra + (local - 1) * .4) + s.inter;
    case NCCL_COLLNET_CHAIN:
        return base + 2 * (local - 1) * s.intra + s.inter;
    case NCCL_NVLS:
        return s.intra + (nodes > 1 ? s.inter : 0);
    case NCCL_NVLS_TREE:
        return base + s.intra + 2 * ilog2((uint64_t)nodes) * s.inter;
    default: /* PAT: logarithmic in nodes, with a linear part of the proxies' work */
        return base + ilog2((uint64_t)nodes) * (s.inter / 3.5) + ranks * 2.8;
    }
}

/* Settings leave out what they do not name, and switch LL128 on where it is off by default. */
static enum nccl_why apply_settings(const struct nccl_allowed *allowed,
                                    const struct nccl_allowed *preset, enum nccl_algo a,
                                    enum nccl_proto p, enum nccl_why why)
{
    bool named = allowed->protos != nccl_any.protos || preset->protos != nccl_any.protos;
    if (named && (why == NCCL_LL128_PATH || why == NCCL_LL128_GPU || why == NCCL_LL128_OLD))
        why = NCCL_ON;
    if (why != NCCL_ON)
        return why;
    if ((allowed->algos >> a & allowed->protos >> p & 1) == 0)
        return NCCL_FORBIDDEN;
    return (preset->algos >> a & preset->protos >> p & 1) == 0 ? NCCL_PRESET_OFF : NCCL_ON;
}

/* The network's preset, which matters between nodes only, for what a user's settings leave open. */
static struct nccl_allowed preset_of(const struct nccl_comm *c, const struct nccl_allowed *allowed)
{
    bool no_preset = c->where.nodes == 1 || (c->topo.net == NCCL_NET_EFA && c->topo.cc >= 90);
    struct nccl_allowed p = presets[no_preset ? NCCL_NET_FREE : c->topo.net];
    if (allowed->algos != nccl_any.algos)
        p.algos = nccl_any.algos;
    if (allowed->protos != nccl_any.protos)
        p.protos = nccl_any.protos;
    return p;
}

bool nccl_tune(const struct nccl_comm *c, enum specter_comm_op op,
               const struct nccl_allowed *allowed, struct nccl_tuning *out)
{
    enum nccl_class class;
    if (!class_of(op, &class))
        return false;
    struct nccl_allowed preset = preset_of(c, allowed);
    out->op = op;
    for (int a = 0; a < NCCL_ALGOS; a++) {
        for (int p = 0; p < NCCL_PROTOS; p++) {
            struct nccl_estimate *e = &out->of[a][p];
            *e = (struct nccl_estimate){
                .why = apply_settings(allowed, &preset, a, p, why_unavailable(c, class, a, p))};
            if (e->why != NCCL_ON || c->where.ranks == 1)
                continue;
            e->lat_us = latency(c, class, a, p);
            e->bw_GBps = algbw(c, class, a, busbw(c, class, a, p));
            if (e->bw_GBps <= 0)
                e->why = NCCL_NO_GRAPH;
        }
    }
    return true;
}
