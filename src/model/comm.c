/* SPDX-License-Identifier: MIT
 *
 * What NCCL operations cost. A table says in which ways an operation can be done; each way yields
 * steps and bytes per link, one function prices those, another one takes the fastest. The choice is
 * thus apart from the price. Derivations: README.md beside this file.
 */
#include "model/cost.h"

#include <math.h>
#include <string.h>

#define BITS_PER_BYTE 8.0
#define P2P_BATCH                                                                  \
    8 /* sends that one NCCL kernel works on at a time (NCCL 2.30, p2p work batch) \
       */

const char *const model_comm_assumptions[] = {
    "time = launch + steps x latency + bytes / bandwidth, for the fastest way to do the operation "
    "(ring, tree or direct; protocol LL or Simple)",
    "every NIC of a node carries its share; payload gets the profile's efficiency of each raw rate",
    "nothing else uses the links, and all ranks arrive together",
    "no reduction in switches (NVLS, SHARP)",
    NULL,
};

/* NCCL's protocols as multiples of the profile's figures. LL sends a flag with every 4 bytes of
 * data: half the rate, but no synchronisation per step. Simple sends whole chunks and synchronises;
 * its step takes 5.2 to 5.7 times as long in NCCL's own tuning constants (3.4 / 0.6 us on
 * NVLink, 5.7 / 1.0 on PCIe, 14 / 2.7 on a network). */
static const struct protocol {
    const char *name;
    double step;    /* x latency */
    double payload; /* share of the bandwidth that is data */
} protocols[] = {
    {"LL", 1, 0.5},
    {"Simple", 5.5, 1},
};

double linear_us(struct linear f, double bytes)
{
    return f.lat_us + f.us_per_byte * bytes;
}

struct layout layout_dense(const struct network_profile *net, int ranks)
{
    int per_node = net->gpus_per_node >= 1 ? (int)net->gpus_per_node : 1;
    return (struct layout){
        .ranks = ranks,
        .nodes = ranks / per_node + (ranks % per_node != 0),
        .per_node = ranks < per_node ? ranks : per_node,
    };
}

/* An operation's hardware and ranks, as the ways below look at them. */
struct place {
    const struct gpu_profile *gpu;
    const struct network_profile *net;
    int ranks, nodes;
    int most, least; /* ranks on the fullest and on the emptiest node */
};

/* What a way asks for: steps on the longest path, and the time that one byte of S takes on the
 * busiest link of each kind when all of a link's payload is data. */
struct demand {
    int64_t intra_steps, inter_steps;
    double intra_us, inter_us; /* per byte */
};

/* 0 in a profile's efficiency: nothing is lost. */
static double payload_GBps(double raw_GBps, double efficiency)
{
    return efficiency > 0 ? raw_GBps * efficiency : raw_GBps;
}

static double lower(double a, double b)
{
    return a < b ? a : b;
}

/* What the GPU itself puts onto the fabric of a node; without links of its own kind it uses PCIe.
 */
static double gpu_link_GBps(const struct gpu_profile *gpu, const struct network_profile *net)
{
    bool pcie = net->intra != NULL && strncmp(net->intra, "pcie", 4) == 0; /* pcie_shm, too */
    double own = !pcie && gpu->nvlink_GBps > 0 ? gpu->nvlink_GBps : gpu->pcie_GBps;
    return own > 0 ? own : INFINITY; /* not known: the network profile alone decides */
}

/* Rate of one GPU towards `peers` others of its node. Through a switch all of it reaches any one of
 * them; in a mesh each pair has its own share. */
static double intra_GBps(const struct place *p, int peers)
{
    const struct network_profile *net = p->net;
    double pair = net->pair_GBps > 0 ? net->pair_GBps : net->intra_GBps;
    double raw = lower(net->intra_GBps, gpu_link_GBps(p->gpu, net));
    return payload_GBps(lower(raw, pair * peers), net->intra_efficiency);
}

/* Rate at which `gpus` GPUs of a node reach other nodes together: through the NICs next to them,
 * which is all NICs for all GPUs, and through their PCIe links. */
static double inter_GBps(const struct place *p, int gpus)
{
    const struct network_profile *net = p->net;
    double nics = lower(net->nics_per_node, gpus * ceil(net->nics_per_node / net->gpus_per_node));
    double raw = nics * net->nic_Gbps / BITS_PER_BYTE;
    if (p->gpu->pcie_GBps > 0)
        raw = lower(raw, gpus * p->gpu->pcie_GBps);
    return payload_GBps(raw, net->inter_efficiency);
}

/* Time for one byte when `share` of it crosses a link of that rate. */
static double us_per_byte(double share, double GBps)
{
    return share > 0 ? share / (GBps * 1e3) : 0;
}

/* `share` of S passes each link of a ring; the emptiest node has the fewest NICs. */
static void ring_bytes(const struct place *p, double share, struct demand *d)
{
    if (p->most > 1)
        d->intra_us = us_per_byte(share, intra_GBps(p, p->most - 1));
    if (p->nodes > 1)
        d->inter_us = us_per_byte(share, inter_GBps(p, p->least));
}

/* n-1 steps of S/n around the ring, once (AllGather, ReduceScatter) or twice (AllReduce). */
static void ring_rounds(const struct place *p, int rounds, struct demand *d)
{
    d->inter_steps = rounds * (p->nodes - (int64_t)1);
    d->intra_steps = rounds * ((int64_t)p->ranks - p->nodes);
    ring_bytes(p, rounds * (p->ranks - 1.0) / p->ranks, d);
}

static void ring_once(const struct place *p, struct demand *d)
{
    ring_rounds(p, 1, d);
}

static void ring_twice(const struct place *p, struct demand *d)
{
    ring_rounds(p, 2, d);
}

/* All of S in a pipeline from the root around the ring, or to it. */
static void ring_pipeline(const struct place *p, struct demand *d)
{
    d->inter_steps = p->nodes - 1;
    d->intra_steps = p->ranks - p->nodes;
    ring_bytes(p, 1, d);
}

/* Up and down a double binary tree over nodes, a chain in each node; S passes each link twice. */
static void tree(const struct place *p, struct demand *d)
{
    int depth = 0;
    while ((INT64_C(1) << depth) < p->nodes)
        depth++;
    d->inter_steps = 2 * depth;
    d->intra_steps = 2 * (p->most - (int64_t)1);
    ring_bytes(p, 2, d);
}

static int64_t batches(int peers)
{
    return ((int64_t)peers + P2P_BATCH - 1) / P2P_BATCH;
}

/* Every rank sends S/n to every other one. `share` ranks of a node send together. */
static void spread_from(const struct place *p, int share, struct demand *d)
{
    double part = 1.0 / p->ranks, outside = p->ranks - share;
    if (share > 1)
        d->intra_us = fmax(d->intra_us, us_per_byte((share - 1) * part, intra_GBps(p, share - 1)));
    if (outside > 0)
        d->inter_us = fmax(d->inter_us, us_per_byte(share * outside * part, inter_GBps(p, share)));
}

static void spread(const struct place *p, struct demand *d)
{
    d->intra_steps = batches(p->most - 1);
    d->inter_steps = batches(p->ranks - p->most);
    spread_from(p, p->most, d);
    spread_from(p, p->least, d);
}

/* One rank, on a full node, exchanges S/n with every other one: alone at its links and NICs. */
static void rooted(const struct place *p, struct demand *d)
{
    int inside = p->most - 1, outside = p->ranks - p->most;
    d->intra_steps = batches(inside);
    d->inter_steps = batches(outside);
    if (inside > 0)
        d->intra_us = us_per_byte((double)inside / p->ranks, intra_GBps(p, inside));
    if (outside > 0)
        d->inter_us = us_per_byte((double)outside / p->ranks, inter_GBps(p, 1));
}

/* The ways to do each operation; with equal times the first one is taken. */
static const struct way {
    enum specter_comm_op op;
    const char *algo;
    void (*demand)(const struct place *p, struct demand *d);
} ways[] = {
    {SPECTER_ALLREDUCE, "ring", ring_twice},
    {SPECTER_ALLREDUCE, "tree", tree},
    {SPECTER_ALLGATHER, "ring", ring_once},
    {SPECTER_REDUCESCATTER, "ring", ring_once},
    {SPECTER_BROADCAST, "ring", ring_pipeline},
    {SPECTER_REDUCE, "ring", ring_pipeline},
    {SPECTER_ALLTOALL, "p2p", spread},
    {SPECTER_ALLTOALLV, "p2p", spread},
    {SPECTER_GATHER, "p2p", rooted},
    {SPECTER_SCATTER, "p2p", rooted},
};

static struct linear price(const struct network_profile *net, const struct demand *d,
                           const struct protocol *proto)
{
    double steps_us =
        (double)d->intra_steps * net->intra_lat_us + (double)d->inter_steps * net->inter_lat_us;
    return (struct linear){
        .lat_us = net->launch_us + proto->step * steps_us,
        .us_per_byte = fmax(d->intra_us, d->inter_us) / proto->payload,
    };
}

static const char *bound_of(const struct demand *d, struct linear cost, double bytes)
{
    if (cost.lat_us >= cost.us_per_byte * bytes)
        return "latency";
    return d->intra_us >= d->inter_us ? "intra" : "inter";
}

/* Takes the cheapest protocol for the demand if it beats what *out holds. */
static void offer(const struct network_profile *net, const char *algo, const struct demand *d,
                  double bytes, double bus_factor, struct comm_cost *out)
{
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
        struct linear cost = price(net, d, &protocols[i]);
        double us = linear_us(cost, bytes);
        if (!(us < out->us))
            continue;
        out->us = us;
        out->lat_us = cost.lat_us;
        out->bw_GBps = cost.us_per_byte > 0 ? bus_factor / (cost.us_per_byte * 1e3) : 0;
        out->algo = algo;
        out->proto = protocols[i].name;
        out->bound = bound_of(d, cost, bytes);
    }
}

static int check_bytes(double bytes, struct err *e)
{
    if (bytes >= 0 && isfinite(bytes))
        return 0;
    return err_set(e, ERR_USAGE, "%g is no number of bytes", bytes);
}

static int lacks(const char *kind, const char *profile, const char *field, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s profile '%s' lacks %s", kind, profile, field);
}

/* The figures that ranks in one node, and ranks in several, cannot do without. */
static int check_network(const struct network_profile *net, int per_node, int nodes, struct err *e)
{
    if (!(net->gpus_per_node >= 1))
        return lacks("network", net->name, "gpus_per_node", e);
    if (per_node > 1 && !(net->intra_GBps > 0))
        return lacks("network", net->name, "intra_GBps", e);
    if (nodes > 1 && !(net->nic_Gbps > 0))
        return lacks("network", net->name, "nic_Gbps", e);
    return 0;
}

#define NO_INTER "network '%s' has no network between nodes (nics_per_node is 0): "

static int check_layout(const struct network_profile *net, struct layout w, struct err *e)
{
    if (w.ranks < 1 || w.nodes < 1 || w.per_node < 1 || w.per_node > w.ranks - (w.nodes - 1) ||
        (int64_t)w.per_node * w.nodes < w.ranks)
        return err_set(e, ERR_USAGE, "%d ranks cannot sit on %d nodes with up to %d each", w.ranks,
                       w.nodes, w.per_node);
    if (w.nodes > 1 && !(net->nics_per_node >= 1))
        return err_set(e, ERR_USAGE, NO_INTER "%d ranks need %d nodes", net->name, w.ranks,
                       w.nodes);
    if (check_network(net, w.per_node, w.nodes, e) < 0)
        return -1;
    if (w.per_node > net->gpus_per_node)
        return err_set(e, ERR_USAGE, "a node of network '%s' has %g GPUs: %d ranks do not fit",
                       net->name, net->gpus_per_node, w.per_node);
    return 0;
}

static struct place place_of(const struct gpu_profile *gpu, const struct network_profile *net,
                             struct layout w)
{
    int64_t rest = w.ranks - (int64_t)w.per_node * (w.nodes - 1); /* all other nodes full */
    return (struct place){
        .gpu = gpu,
        .net = net,
        .ranks = w.ranks,
        .nodes = w.nodes,
        .most = w.per_node,
        .least = rest < 1 ? 1 : (int)rest,
    };
}

int model_collective(const struct gpu_profile *gpu, const struct network_profile *net,
                     enum specter_comm_op op, double bytes, struct layout where,
                     struct comm_cost *out, struct err *e)
{
    struct comm_cost best = {.us = INFINITY};
    struct place p;
    if ((unsigned)op >= SPECTER_COMM_OP_COUNT || specter_comm_op_is_p2p(op))
        return err_set(e, ERR_USAGE, "'%s' is no collective", specter_comm_op_name(op));
    if (check_bytes(bytes, e) < 0 || check_layout(net, where, e) < 0)
        return -1;
    if (where.ranks == 1) {
        *out = (struct comm_cost){
            .us = net->launch_us,
            .lat_us = net->launch_us,
            .algo = "none",
            .proto = "none",
            .bound = "latency",
        };
        return 0;
    }
    p = place_of(gpu, net, where);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct demand d = {0};
        if (ways[i].op != op)
            continue;
        ways[i].demand(&p, &d);
        offer(net, ways[i].algo, &d, bytes, specter_comm_op_bus_factor(op, (uint64_t)where.ranks),
              &best);
    }
    *out = best;
    return 0;
}

int model_p2p(const struct gpu_profile *gpu, const struct network_profile *net, double bytes,
              bool across, struct comm_cost *out, struct err *e)
{
    const struct place p = {.gpu = gpu, .net = net, .ranks = 2};
    struct comm_cost best = {.us = INFINITY};
    struct demand d = {0};
    if (check_bytes(bytes, e) < 0)
        return -1;
    if (across && !(net->nics_per_node >= 1))
        return err_set(e, ERR_USAGE, NO_INTER "a message cannot leave the node", net->name);
    if (check_network(net, across ? 1 : 2, across ? 2 : 1, e) < 0)
        return -1;
    if (across) {
        d.inter_steps = 1;
        d.inter_us = us_per_byte(1, inter_GBps(&p, 1));
    } else {
        d.intra_steps = 1;
        d.intra_us = us_per_byte(1, intra_GBps(&p, 1));
    }
    offer(net, "p2p", &d, bytes, 1, &best);
    *out = best;
    return 0;
}
