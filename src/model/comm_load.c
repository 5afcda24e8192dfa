/* SPDX-License-Identifier: MIT
 *
 * What NCCL's algorithms ask of the hardware: steps on the longest path, time on the busiest link.
 */
#include "model/comm_price.h"

#include <math.h>

/* What reduction in NVSwitches sustains of a link's payload rate. */
#define NVLS_SHARE_HOPPER 0.81
#define NVLS_SHARE_BLACKWELL 0.72
#define BLACKWELL 100
#define NVLS_STEPS 3 /* ready, reduced, spread */

#define BCAST_CHUNK (512 * 1024.0) /* a slot of NCCL's buffers: what is passed on at once */

static double log2_up(int n)
{
    int depth = 0;
    while ((INT64_C(1) << depth) < n)
        depth++;
    return depth;
}

/* A channel of a ring or tree leaves a node through the NICs beside one GPU. */
static double nic_GBps(const struct comm_site *s, const struct nccl_graph *graph)
{
    double all = comm_nic_GBps(s, s->least);
    double used = graph->channels > 0 ? graph->channels * comm_nic_GBps(s, 1) : all;
    return fmin(all, used);
}

/* `intra` and `inter`: shares of S that cross a GPU's link, and a node's NICs. */
static void flow(const struct comm_site *s, double bytes, double intra, double inter,
                 const struct nccl_graph *graph, struct comm_load *l)
{
    if (s->most > 1) {
        l->link_us = comm_us(bytes, intra, comm_link_GBps(s, s->most - 1));
        l->socket_us = comm_us(bytes, intra, comm_socket_GBps(s));
    }
    if (s->nodes > 1)
        l->nic_us = comm_us(bytes, inter, nic_GBps(s, graph));
}

/* n-1 steps of S/n around the ring, once (AllGather, ReduceScatter) or twice (AllReduce). */
static void ring_rounds(const struct comm_site *s, int rounds, double bytes, struct comm_load *l)
{
    double n = s->ranks, share = rounds * (n - 1) / n;
    l->steps = rounds * (n - s->nodes);
    l->hops = rounds * (s->nodes - 1.0);
    l->copied = bytes / n / rounds;
    l->block_step = bytes / n / l->channels;
    l->block_ends = bytes / 2 / l->channels;
    l->hidden = true;
    flow(s, bytes, share, share, &s->nccl.graphs.ring, l);
}

/* All of S in a pipeline from the root around the ring, or to it: a chunk after the other, the last
 * one has all steps still before it. */
static void ring_pipeline(const struct comm_site *s, double bytes, struct comm_load *l)
{
    double chunk = fmin(bytes, l->channels * BCAST_CHUNK);
    double depth = s->ranks - 2.0;
    l->steps = s->ranks - s->nodes;
    l->hops = s->nodes - 1.0;
    l->block_step = bytes / l->channels;
    flow(s, bytes + (l->proto == NCCL_SIMPLE ? depth * chunk / 2 : 0), 1, 1, &s->nccl.graphs.ring,
         l);
}

/* Up and down a double binary tree over nodes, a chain in each: a GPU passes S up and S down; each
 * of M nodes sends on average 2(M-1)/M S. */
static void tree(const struct comm_site *s, double bytes, struct comm_load *l)
{
    l->steps = 2 * (s->most - 1.0);
    l->hops = 2 * log2_up(s->nodes);
    l->block_step = fmin(bytes / l->channels, bytes);
    flow(s, bytes, 2, 2 * (s->nodes - 1.0) / s->nodes, &s->nccl.graphs.tree, l);
}

/* A GPU reads its part of the sum, which switches add up from all (S leaves each GPU, S/g comes in),
 * and writes the result once (S/g leaves, S comes in). */
static double nvls_share(const struct comm_site *s, enum specter_comm_op op)
{
    double efficiency = s->gpu->cc >= BLACKWELL ? NVLS_SHARE_BLACKWELL : NVLS_SHARE_HOPPER;
    return (op == SPECTER_ALLREDUCE ? 1 + 1.0 / s->most : 1) / efficiency;
}

static void nvls(const struct comm_site *s, enum specter_comm_op op, double bytes,
                 struct comm_load *l)
{
    l->steps = NVLS_STEPS;
    l->hops = s->nodes > 1 ? 2 : 0; /* up to the network's switches and down */
    flow(s, bytes, nvls_share(s, op), 1, &s->nccl.graphs.nvls, l);
}

static void nvls_tree(const struct comm_site *s, double bytes, struct comm_load *l)
{
    l->steps = NVLS_STEPS;
    l->hops = 2 * log2_up(s->nodes);
    flow(s, bytes, nvls_share(s, SPECTER_ALLREDUCE), 2 * (s->nodes - 1.0) / s->nodes,
         &s->nccl.graphs.nvls, l);
}

/* ReduceScatter within a node, the network's switches, AllGather within the node. */
static void collnet_direct(const struct comm_site *s, enum specter_comm_op op, double bytes,
                           struct comm_load *l)
{
    double rounds = op == SPECTER_ALLREDUCE ? 2 : 1;
    l->steps = 2 * rounds;
    l->hops = 2;
    flow(s, bytes, rounds * (s->most - 1.0) / s->most, 1, &s->nccl.graphs.collnet, l);
}

static void collnet_chain(const struct comm_site *s, double bytes, struct comm_load *l)
{
    l->steps = 2 * (s->most - 1.0);
    l->hops = 2;
    flow(s, bytes, 2, 1, &s->nccl.graphs.collnet, l);
}

/* Bruck's exchange over log2 n distances, between nodes of one rank. */
static void pat(const struct comm_site *s, double bytes, struct comm_load *l)
{
    double n = s->ranks;
    l->hops = log2_up(s->ranks);
    l->copied = bytes / n;
    flow(s, bytes, 0, (n - 1) / n, &s->nccl.graphs.ring, l);
}

void comm_load_of(const struct comm_site *s, enum specter_comm_op op, enum nccl_algo algo,
                  enum nccl_proto proto, int channels, double bytes, struct comm_load *out)
{
    bool pipeline = op == SPECTER_BROADCAST || op == SPECTER_REDUCE;
    *out = (struct comm_load){
        .proto = proto,
        .channels = channels > 0 ? channels : 1,
        .start_us = proto == NCCL_SIMPLE ? s->node.simple_us : 0,
    };
    switch (algo) {
    case NCCL_TREE:
        tree(s, bytes, out);
        break;
    case NCCL_COLLNET_DIRECT:
        collnet_direct(s, op, bytes, out);
        break;
    case NCCL_COLLNET_CHAIN:
        collnet_chain(s, bytes, out);
        break;
    case NCCL_NVLS:
        nvls(s, op, bytes, out);
        break;
    case NCCL_NVLS_TREE:
        nvls_tree(s, bytes, out);
        break;
    case NCCL_PAT:
        pat(s, bytes, out);
        break;
    default:
        if (pipeline)
            ring_pipeline(s, bytes, out);
        else
            ring_rounds(s, op == SPECTER_ALLREDUCE ? 2 : 1, bytes, out);
    }
}
