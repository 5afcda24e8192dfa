/* SPDX-License-Identifier: MIT
 *
 * What NCCL's algorithms ask of the hardware: steps on the longest path, and the time of S on the
 * busiest link of each kind. One function an algorithm.
 */
#include "model/comm_price.h"

#include <math.h>

/* Share of a link's payload rate that reduction in NVSwitches sustains: constants, read off
 * measured AllReduces (README.md); NCCL's tuner has 0.85 and 0.74, of (n-1)/n channels. */
#define NVLS_SHARE_HOPPER 0.81
#define NVLS_SHARE_BLACKWELL 0.72
#define CC_BLACKWELL 100

#define NVLS_STEPS 3                  /* all ready, reduced, spread */
#define NVLS_CHUNK (128 * 1024.0)     /* of each rank and channel, in one pass */
#define PIPELINE_CHUNK (512 * 1024.0) /* a slot of NCCL's buffers: what a Broadcast passes on */
#define SWITCH_HOPS 2                 /* up to switches that reduce, and down */

/* An operation that NCCL does in a given way. */
struct nccl_operation {
    const struct topo_view *s;
    enum specter_comm_op op;
    enum nccl_algo algo;
    double bytes;
};

static double log2_up(int n)
{
    int depth = 0;
    while ((INT64_C(1) << depth) < n)
        depth++;
    return depth;
}

/* A channel leaves a node through the NICs beside one GPU. */
static double nic_GBps(const struct nccl_operation *j)
{
    const struct nccl_graph *graph = nccl_graph_of(&j->s->nccl, j->algo);
    double all = comm_nic_GBps(j->s, j->s->least);
    return graph->channels > 0 ? fmin(all, graph->channels * comm_nic_GBps(j->s, 1)) : all;
}

/* `intra` and `inter`: shares of S that cross a GPU's link, and a node's NICs, one way. */
static void flow(const struct nccl_operation *j, double bytes, double intra, double inter,
                 struct comm_demand *l)
{
    const struct topo_view *s = j->s;
    if (s->most > 1) {
        l->link_us = comm_us(bytes, intra, comm_link_GBps(s, s->most - 1));
        l->host_us = comm_host_us(s, bytes, intra);
    }
    if (s->nodes == 1)
        return;
    l->nic_us = comm_us(bytes, inter, nic_GBps(j));
    if (l->proto == NCCL_LL) /* in payload: comm_price() will halve the rate */
        l->nic_us = fmax(l->nic_us,
                         comm_us(bytes, inter * comm_protos[NCCL_LL].payload, s->wire.net_ll_GBps));
}

/* n-1 steps of S/n around the ring, once (AllGather, ReduceScatter) or twice (AllReduce). */
static void ring_rounds(const struct nccl_operation *j, struct comm_demand *l)
{
    double n = j->s->ranks, rounds = j->op == SPECTER_ALLREDUCE ? 2 : 1;
    double share = rounds * (n - 1) / n;
    l->steps = rounds * (n - j->s->nodes);
    l->hops = rounds * (j->s->nodes - 1.0);
    l->copied = j->bytes / n / rounds;
    l->block_step = j->bytes / n / l->channels;
    l->block_ends = j->bytes / 2 / l->channels;
    l->hidden = true;
    flow(j, j->bytes, share, share, l);
}

/* All of S in a pipeline from the root around the ring, or to it, chunk after chunk; the last one
 * has the way past all others still before it, half of it overlapped. */
static void ring_pipeline(const struct nccl_operation *j, struct comm_demand *l)
{
    double chunk = fmin(j->bytes, l->channels * PIPELINE_CHUNK);
    double late = l->proto == NCCL_SIMPLE ? (j->s->ranks - 2.0) / 2 * chunk : 0;
    l->steps = j->s->ranks - j->s->nodes;
    l->hops = j->s->nodes - 1.0;
    l->block_step = j->bytes / l->channels;
    l->one_way = true;
    l->late = late > 0 ? late / (j->bytes + late) : 0;
    flow(j, j->bytes + late, 1, 1, l);
}

static void ring(const struct nccl_operation *j, struct comm_demand *l)
{
    if (j->op == SPECTER_BROADCAST || j->op == SPECTER_REDUCE)
        ring_pipeline(j, l);
    else
        ring_rounds(j, l);
}

/* M nodes pass S up and down NCCL's double binary tree, half of S on each of the two trees. From
 * four nodes on one of them has a parent and two children in one tree and is a leaf of the other:
 * it sends S/2 to each of these three, and S/2 up as a leaf. */
static double tree_share(const struct nccl_operation *j)
{
    return fmin(2, j->s->nodes / 2.0);
}

/* A chain within each node: a GPU passes S up and S down. */
static void tree(const struct nccl_operation *j, struct comm_demand *l)
{
    l->steps = 2 * (j->s->most - 1.0);
    l->hops = 2 * log2_up(j->s->nodes);
    l->stages = l->hops;
    l->block_step = j->bytes / l->channels;
    flow(j, j->bytes, 2, tree_share(j), l);
}

/* An AllReduce's GPU reads its part of the sum, which the switches add up from all (S leaves each
 * GPU, S/g comes in), and writes the result once (S/g leaves, S comes in). */
static double nvls_share(const struct nccl_operation *j)
{
    double sustained = j->s->gpu->cc >= CC_BLACKWELL ? NVLS_SHARE_BLACKWELL : NVLS_SHARE_HOPPER;
    return (j->op == SPECTER_ALLREDUCE ? 1 + 1.0 / j->s->most : 1) / sustained;
}

/* In one pass all ranks' chunks are gathered before anything is spread. */
static void nvls(const struct nccl_operation *j, struct comm_demand *l)
{
    const struct topo_view *s = j->s;
    bool up_the_tree = j->algo == NCCL_NVLS_TREE;
    l->steps = NVLS_STEPS;
    if (s->nodes > 1)
        l->hops = up_the_tree ? 2 * log2_up(s->nodes) : SWITCH_HOPS;
    l->stages = l->hops;
    flow(j, j->bytes, nvls_share(j), up_the_tree ? tree_share(j) : 1, l);
    l->fill_us =
        comm_us(l->channels * NVLS_CHUNK, s->most * nvls_share(j), comm_link_GBps(s, s->most - 1));
}

/* ReduceScatter within a node, the network's switches, AllGather within the node. */
static void collnet_direct(const struct nccl_operation *j, struct comm_demand *l)
{
    double rounds = j->op == SPECTER_ALLREDUCE ? 2 : 1;
    l->steps = 2 * rounds;
    l->hops = SWITCH_HOPS;
    l->stages = l->hops;
    flow(j, j->bytes, rounds * (j->s->most - 1.0) / j->s->most, 1, l);
}

static void collnet_chain(const struct nccl_operation *j, struct comm_demand *l)
{
    l->steps = 2 * (j->s->most - 1.0);
    l->hops = SWITCH_HOPS;
    l->stages = l->hops;
    flow(j, j->bytes, 2, 1, l);
}

/* Parallel aggregated trees: log2 n distances, between nodes of one rank. */
static void pat(const struct nccl_operation *j, struct comm_demand *l)
{
    double n = j->s->ranks;
    l->hops = log2_up(j->s->ranks);
    l->copied = j->bytes / n;
    flow(j, j->bytes, (n - 1) / n, (n - 1) / n, l);
}

static void (*const loads[NCCL_ALGOS])(const struct nccl_operation *j, struct comm_demand *l) = {
    [NCCL_TREE] = tree,
    [NCCL_RING] = ring,
    [NCCL_COLLNET_DIRECT] = collnet_direct,
    [NCCL_COLLNET_CHAIN] = collnet_chain,
    [NCCL_NVLS] = nvls,
    [NCCL_NVLS_TREE] = nvls,
    [NCCL_PAT] = pat,
};

void comm_demand_of(const struct topo_view *s, enum specter_comm_op op, enum nccl_algo algo,
                    enum nccl_proto proto, int channels, double bytes, struct comm_demand *out)
{
    const struct nccl_operation j = {.s = s, .op = op, .algo = algo, .bytes = bytes};
    *out = (struct comm_demand){
        .proto = proto,
        .channels = channels > 0 ? channels : 1,
        .start_us = proto == NCCL_SIMPLE ? s->node.simple_us : 0,
    };
    loads[algo](&j, out);
}
