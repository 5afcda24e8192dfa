/* SPDX-License-Identifier: MIT */
#include "model/cost.h"

#include "model/nccl_graph.h"

#include <math.h>
#include <string.h>

#define BITS_PER_BYTE 8.0

/* Groups of ranks that only the network joins: nodes, or NVLink domains of several nodes. */
struct node_groups {
    double ranks, count;
    double most, least; /* ranks of the fullest and of the emptiest group */
    double nodes;       /* of a full group */
};

static struct node_groups groups_of(const struct network_profile *net, struct layout where)
{
    struct layout groups = nccl_layout(net, where);
    return (struct node_groups){
        .ranks = where.ranks,
        .count = groups.nodes,
        .most = groups.per_node,
        .least = fmin(groups.per_node, layout_fewest(where, groups.nodes)),
        .nodes = ceil((double)where.nodes / groups.nodes),
    };
}

/* Unknown is no limit. */
static double or_unlimited(double GBps)
{
    return GBps > 0 ? GBps : INFINITY;
}

/* Raw rate of one GPU towards `peers` others of its node. */
static double fabric_GBps(const struct gpu_profile *gpu, const struct network_profile *net,
                          double peers)
{
    bool pcie = network_on_pcie(net);
    double own = !pcie && gpu->nvlink_GBps > 0 ? gpu->nvlink_GBps : gpu->pcie_GBps;
    double raw = fmin(or_unlimited(net->intra_GBps), or_unlimited(own));
    return fmin(raw, or_unlimited(net->pair_GBps) * peers);
}

static double us_of(double bytes, double GBps)
{
    return bytes > 0 ? bytes / (GBps * 1e3) : 0;
}

/* Share of S on the links of one GPU. */
static double gpu_share(enum specter_comm_op op, double n, bool in_switch)
{
    switch (op) {
    case SPECTER_ALLREDUCE:
        return in_switch ? 1 : 2 * (n - 1) / n;
    case SPECTER_BROADCAST:
    case SPECTER_REDUCE:
        return 1;
    default:
        return (n - 1) / n;
    }
}

/* Share of S on the ports of one group. */
static double group_share(enum specter_comm_op op, const struct node_groups *g, bool in_switch)
{
    switch (op) {
    case SPECTER_ALLREDUCE:
        return in_switch ? 1 : 2 * (g->count - 1) / g->count;
    case SPECTER_ALLGATHER:
    case SPECTER_REDUCESCATTER:
        return (g->ranks - g->least) / g->ranks;
    case SPECTER_BROADCAST:
    case SPECTER_REDUCE:
        return 1;
    case SPECTER_ALLTOALL:
    case SPECTER_ALLTOALLV:
        return fmax(g->most * (g->ranks - g->most), g->least * (g->ranks - g->least)) / g->ranks;
    default:
        return (g->ranks - g->most) / g->ranks;
    }
}

/* The least that must be read and written in the memory of the busiest GPU, in S. */
static double memory_share(enum specter_comm_op op, double n)
{
    switch (op) {
    case SPECTER_ALLREDUCE:
    case SPECTER_ALLTOALL:
    case SPECTER_ALLTOALLV:
        return 2;
    case SPECTER_ALLGATHER:
    case SPECTER_REDUCESCATTER:
        return 1 + 1 / n;
    default:
        return 1;
    }
}

static struct comm_bound with_largest(struct comm_bound b)
{
    b.us = fmax(b.memory_us, fmax(b.intra_us, b.inter_us));
    return b;
}

struct comm_bound comm_bound(const struct gpu_profile *gpu, const struct network_profile *net,
                             enum specter_comm_op op, double bytes, struct layout where,
                             bool in_switch)
{
    struct node_groups g = groups_of(net, where);
    struct comm_bound b = {0};
    double fabric = g.most > 1 ? fabric_GBps(gpu, net, g.most - 1) : 0;
    if (where.ranks < 2)
        return b;
    b.memory_us = us_of(bytes * memory_share(op, g.ranks), or_unlimited(gpu->mem_GBps));
    if (g.count > 1) {
        b.inter_us =
            us_of(bytes * group_share(op, &g, in_switch),
                  or_unlimited(net->nics_per_node * g.nodes * net->nic_Gbps / BITS_PER_BYTE));
        fabric += or_unlimited(gpu->pcie_GBps);
    }
    b.intra_us = us_of(bytes * gpu_share(op, g.ranks, in_switch), fabric);
    return with_largest(b);
}

struct comm_bound comm_bound_p2p(const struct gpu_profile *gpu, const struct network_profile *net,
                                 double bytes, bool across, int flows)
{
    struct comm_bound b = {.memory_us = us_of(bytes, or_unlimited(gpu->mem_GBps))};
    double beside = ceil(net->nics_per_node / fmax(1, net->gpus_per_node)); /* one GPU */
    double ports = fmin(net->nics_per_node, flows * beside);
    if (across)
        b.inter_us = us_of(bytes * flows, or_unlimited(ports * net->nic_Gbps / BITS_PER_BYTE));
    else
        b.intra_us = us_of(bytes, fabric_GBps(gpu, net, 1));
    return with_largest(b);
}

bool comm_in_switch(const char *algo)
{
    return strncmp(algo, "nvls", 4) == 0 || strncmp(algo, "collnet", 7) == 0;
}

/* ---- what NCCL really does to the memory of a GPU: no bound (cost.h) ---- */

/* Bytes of the busiest GPU: `whole` times S, what it reads of its own and writes of the result, and
 * `passed` times (n-1)/n S, what comes in to be read once more: to be added to, or sent on. */
static const struct {
    double whole, passed;
} traffic[SPECTER_COMM_OP_COUNT] = {
    [SPECTER_ALLREDUCE] = {2, 3}, /* sums are written and read, results are read */
    [SPECTER_ALLGATHER] = {1, 1},
    [SPECTER_REDUCESCATTER] = {2, 1},
    [SPECTER_BROADCAST] = {2, 0}, /* in the middle of the ring */
    [SPECTER_REDUCE] = {3, 0},
    [SPECTER_ALLTOALL] = {2, 0},
    [SPECTER_ALLTOALLV] = {2, 0},
    [SPECTER_GATHER] = {2, -1}, /* the root: all of one buffer, its part of the other */
    [SPECTER_SCATTER] = {2, -1},
    [SPECTER_SEND] = {1, 0},
    [SPECTER_RECV] = {1, 0},
};

double comm_memory_bytes(enum specter_comm_op op, const char *algo, double bytes, int ranks)
{
    double n = ranks;
    if ((unsigned)op >= SPECTER_COMM_OP_COUNT || ranks < 2)
        return 0;
    if (op == SPECTER_ALLREDUCE && comm_in_switch(algo))
        return 2 * bytes;
    return (traffic[op].whole + traffic[op].passed * (n - 1) / n) * bytes;
}
