/* SPDX-License-Identifier: MIT */
#include "model/comm_price.h"

#include "base/hash.h"

#include <math.h>
#include <string.h>

#define BITS_PER_BYTE 8.0

/* LL: a flag beside every 4 bytes of data. LL128: 8 bytes of 128 are flags; in NCCL's constants a
 * step takes 2.1 (Tree) to 3.2 times (Ring) LL's. That its blocks keep up with 0.7 of NVLink is a
 * constant read off measurements. */
const struct comm_proto comm_protos[NCCL_PROTOS] = {
    [NCCL_LL] = {.payload = 0.5, .link = 1, .step = 1},
    [NCCL_LL128] = {.payload = 120.0 / 128, .link = 0.7, .step = 2.5},
    [NCCL_SIMPLE] = {.payload = 1, .link = 1, .step = 1, .sync = true},
};

static double lower(double a, double b)
{
    return a < b ? a : b;
}

static bool through_memory(const struct network_profile *net)
{
    return net->intra != NULL && strcmp(net->intra, "pcie_shm") == 0;
}

/* Through a switch all of a GPU's rate reaches any one peer; in a mesh each pair has its share. */
double comm_link_GBps(const struct topo_view *s, int peers)
{
    const struct network_profile *net = s->net;
    double pair = net->pair_GBps > 0 ? net->pair_GBps : net->intra_GBps;
    double raw = net->intra_GBps;
    /* The GPU's own; without links of its own kind it uses PCIe. */
    double own =
        !network_on_pcie(net) && s->gpu->nvlink_GBps > 0 ? s->gpu->nvlink_GBps : s->gpu->pcie_GBps;
    if (own > 0) /* not known: the network profile alone decides */
        raw = lower(raw, own);
    return lower(raw, pair * peers) * s->node.link_share;
}

double comm_nic_GBps(const struct topo_view *s, int gpus)
{
    const struct network_profile *net = s->net;
    double trays = ceil((double)s->most / net->gpus_per_node);
    double beside = ceil(net->nics_per_node / net->gpus_per_node);
    double nics = lower(net->nics_per_node * trays, gpus * beside);
    double raw = nics * net->nic_Gbps / BITS_PER_BYTE;
    if (s->gpu->pcie_GBps > 0)
        raw = lower(raw, gpus * s->gpu->pcie_GBps);
    if (net->oversubscription > 1)
        raw /= net->oversubscription;
    return raw * s->wire.nic_share;
}

static double over_host_us(const struct topo_view *s, double bytes, double times)
{
    return comm_us(bytes, times, params_host_GBps(s->gpu, s->net, &s->node));
}

static double host_us(const struct topo_view *s, double bytes, double times)
{
    bool used = network_on_pcie(s->net) && s->most > 2;
    return used ? over_host_us(s, bytes, times) : 0;
}

double comm_host_us(const struct topo_view *s, double bytes, double share)
{
    return host_us(s, bytes, share * (through_memory(s->net) ? s->most : 1));
}

/* Half of what all send goes to the other socket, half of that each way. */
double comm_host_spread_us(const struct topo_view *s, double bytes, double share)
{
    return host_us(s, bytes, share * s->most * (through_memory(s->net) ? 1 : 1.0 / 4));
}

double comm_host_pair_us(const struct topo_view *s, double bytes)
{
    return through_memory(s->net) ? over_host_us(s, bytes, 2) : 0;
}

double comm_step_us(const struct topo_view *s, enum nccl_proto proto)
{
    const struct comm_proto *p = &comm_protos[proto];
    return s->net->intra_lat_us + (p->sync ? s->node.sync_us : s->node.step_us) * p->step;
}

double comm_hop_us(const struct topo_view *s, enum nccl_proto proto)
{
    const struct comm_proto *p = &comm_protos[proto];
    return s->net->inter_lat_us + (p->sync ? s->wire.hop_sync_us : s->wire.hop_us) * p->step;
}

double comm_ramp_us(double ramp, double stages, double us)
{
    double serial = stages * us;
    return serial > 0 ? ramp * serial / (serial + ramp) : 0;
}

static int lacks(const struct network_profile *net, const char *field, struct err *e)
{
    return err_set(e, ERR_USAGE, "network profile '%s' lacks %s", net->name, field);
}

static int check_layout(const struct network_profile *net, struct layout w, struct err *e)
{
    int trays;
    if (!(net->gpus_per_node >= 1))
        return lacks(net, "gpus_per_node", e);
    trays = net->domain_gpus > 0 ? (int)(net->domain_gpus / net->gpus_per_node) : 1;
    if (w.ranks < 1 || w.nodes < 1 || w.per_node < 1 || w.per_node > w.ranks - (w.nodes - 1) ||
        (int64_t)w.per_node * w.nodes < w.ranks)
        return err_set(e, ERR_USAGE, "%d ranks cannot sit on %d nodes with up to %d each", w.ranks,
                       w.nodes, w.per_node);
    if (w.nodes > (trays > 1 ? trays : 1) && !(net->nics_per_node >= 1))
        return err_set(e, ERR_USAGE,
                       "network '%s' has no network between nodes (nics_per_node is 0): "
                       "%d ranks need %d nodes",
                       net->name, w.ranks, w.nodes);
    /* The figures that ranks in one node, and ranks in several, cannot do without. */
    if (w.per_node > 1 && !(net->intra_GBps > 0))
        return lacks(net, "intra_GBps", e);
    if (w.nodes > 1 && !(net->nic_Gbps > 0))
        return lacks(net, "nic_Gbps", e);
    if (w.per_node > net->gpus_per_node)
        return err_set(e, ERR_USAGE, "a node of network '%s' has %g GPUs: %d ranks do not fit",
                       net->name, net->gpus_per_node, w.per_node);
    return 0;
}

/* ---- what is asked again ----
 *
 * Many prices of one communicator follow each other, one a size, and its graphs and NCCL's
 * estimates take longer than a price. Each thread keeps those of the last communicators. They are
 * used where all bytes that they depend on are equal, so that results are as without. */

#define KEPT 32

static size_t place_of(const struct nccl_topo *t, struct layout where, uint64_t more)
{
    uint64_t key = hash_mix(more, (uint64_t)where.ranks << 32 | (uint32_t)where.per_node);
    key = hash_mix(key, (uint64_t)t->version << 32 | (uint32_t)t->ntuner);
    return (size_t)(hash_mix(key, (uint64_t)t->cc << 32 | (uint32_t)t->nics) % KEPT);
}

static void find_comm(const struct nccl_topo *topo, struct layout where, struct nccl_comm *out)
{
    static _Thread_local struct nccl_comm kept[KEPT];
    struct nccl_comm *c = &kept[place_of(topo, where, 0)];
    if (memcmp(&c->topo, topo, sizeof *topo) != 0 || memcmp(&c->where, &where, sizeof where) != 0)
        nccl_comm_init(topo, where, c);
    *out = *c;
}

struct kept_tuning {
    struct nccl_comm comm;
    struct nccl_allowed allowed;
    struct nccl_tuning tuning;
};

const struct nccl_tuning *comm_tuning(const struct topo_view *s, enum specter_comm_op op,
                                      const struct nccl_allowed *allowed)
{
    static _Thread_local struct kept_tuning kept[KEPT];
    const uint64_t asked = (uint64_t)op << 32 | allowed->protos;
    struct kept_tuning *k = &kept[place_of(&s->nccl.topo, s->nccl.where, asked)];
    if (k->tuning.op == op && memcmp(&k->allowed, allowed, sizeof *allowed) == 0 &&
        memcmp(&k->comm, &s->nccl, sizeof s->nccl) == 0)
        return &k->tuning;
    if (!nccl_tune(&s->nccl, op, allowed, &k->tuning)) {
        k->comm.where.ranks = 0; /* nothing is kept here */
        return NULL;
    }
    k->comm = s->nccl;
    k->allowed = *allowed;
    return &k->tuning;
}

int topo_view_init(const struct gpu_profile *gpu, const struct network_profile *net,
                   struct layout where, struct topo_view *out, struct err *e)
{
    struct nccl_topo topo;
    struct layout wide;
    if (check_layout(net, where, e) < 0)
        return -1;
    wide = nccl_layout(net, where);
    nccl_topo_of(gpu, net, &topo);
    if (topo.tray > 0)
        topo.tray = where.per_node;
    out->gpu = gpu;
    out->net = net;
    out->node = params_node(gpu, net);
    out->wire = out->nvls_wire = params_net(net);
    if (net->domain_gpus > net->gpus_per_node) {
        /* The class of a transport between domains was fitted on NVLSTree, which uses few of a
         * rack's NICs. What else crosses the network has the transport's own. */
        struct network_profile apart = *net;
        apart.domain_gpus = 0;
        out->wire = params_net(&apart);
    }
    out->ranks = wide.ranks;
    out->nodes = wide.nodes;
    out->most = wide.per_node;
    out->least = nccl_fewest(&topo, wide);
    find_comm(&topo, wide, &out->nccl);
    return 0;
}

/* ---- prices ---- */

/* Bytes of a block at once with Simple: 512 x 64, below which NCCL takes fewer channels and
 * threads. A step takes sync_us with a full block; half of it, a constant read off small AllReduces
 * of p4d and AllGathers of A3 Mega, moves the bytes. NCCL's tuner has 3.4 us a step. */
#define SIMPLE_BLOCK_BYTES 32768.0
#define SIMPLE_MOVES 0.5

/* Within a node half of a slice waits for the other half. */
#define NODE_STAGES 0.5

double comm_us(double bytes, double share, double GBps)
{
    return share > 0 ? bytes * share / (GBps * 1e3) : 0;
}

/* The part of a step's time with Simple that a block which is not full does not need. */
static double unused_us(const struct topo_view *s, const struct comm_demand *l)
{
    double full = fmin(1, l->block_step / SIMPLE_BLOCK_BYTES);
    return comm_protos[l->proto].sync ? s->node.sync_us * SIMPLE_MOVES * (1 - full) : 0;
}

void comm_price(const struct topo_view *s, const struct comm_demand *l, double bus_bytes,
                struct comm_cost *out)
{
    const struct comm_proto *p = &comm_protos[l->proto];
    double start = s->node.start_us + l->start_us;
    double steps = l->steps * (comm_step_us(s, l->proto) - unused_us(s, l));
    double hops = l->hops > 0 ? l->hops * comm_hop_us(s, l->proto) : 0;
    double wire = fmax(fmax(l->link_us / p->link, l->host_us), l->nic_us) / p->payload;
    if (l->proto == NCCL_LL)
        wire = fmax(wire, l->block_us);
    double copy = comm_us(l->copied, 1, comm_link_GBps(s, s->most) * s->node.copy_ratio);
    double data = hypot(l->batch_us, wire); /* a batch's data flow while others begin */
    double flow = p->sync && l->hidden ? hypot(steps, data) : steps + data;
    double blocks = 0;
    if (l->proto == NCCL_LL)
        blocks = comm_us((l->steps + l->hops) * fmin(l->block_step, LL_BLOCK_BYTES) +
                             2 * fmin(l->block_ends, LL_BLOCK_BYTES),
                         1, s->node.ll_GBps);
    if (p->sync)
        flow += comm_ramp_us(s->node.ramp_us + l->fill_us, NODE_STAGES, wire);
    if (l->nic_us > 0)
        flow += comm_ramp_us(s->wire.net_ramp_us, fmax(1, l->stages), wire);
    out->lat_us = start + steps + hops + l->batch_us;
    out->us = start + hops + flow + copy + blocks;
    out->fill_us = l->one_way ? steps + hops + l->late * wire : 0;
    out->bw_GBps = wire + copy > 0 ? bus_bytes / ((wire + copy) * 1e3) : 0;
    out->bound = out->lat_us >= wire + copy                 ? "latency"
                 : l->nic_us > fmax(l->link_us, l->host_us) ? "inter"
                                                            : "intra";
    out->channels = l->channels;
    out->link_us = l->link_us / p->link / p->payload;
    out->nic_us = l->nic_us / p->payload;
}

/* ---- loads ----
 *
 * The demands of NCCL's algorithms on the hardware: steps on the longest path, and the time of S on
 * the busiest link of each kind. One function an algorithm.
 */

/* Share of a link's payload rate that reduction in NVSwitches sustains: constants, read off
 * measured AllReduces; NCCL's tuner has 0.85 and 0.74, of (n-1)/n channels. */
#define NVLS_SHARE_HOPPER 0.81
#define NVLS_SHARE_BLACKWELL 0.72
#define CC_BLACKWELL 100

#define NVLS_STEPS 3                  /* all ready, reduced, spread */
#define NVLS_CHUNK (128 * 1024.0)     /* of each rank and channel, in one pass */
#define PIPELINE_CHUNK (512 * 1024.0) /* a slot of NCCL's buffers: what a Broadcast passes on */
#define SWITCH_HOPS 2                 /* up to switches that reduce, and down */

/* LL passes the host's memory: NCCL's bounds on two nodes are 22.5 GB/s on AMD's hosts, else 39. */
#define AMD_HOST_LL (22.5 / 39)

static double log2_up(int n)
{
    int depth = 0;
    while ((INT64_C(1) << depth) < n)
        depth++;
    return depth;
}

/* `intra` and `inter`: shares of S that cross a GPU's link, and a node's NICs, one way. */
static void flow(const struct topo_view *s, const struct nccl_operation *o, double bytes,
                 double intra, double inter, struct comm_demand *l)
{
    const struct nccl_graph *graph;
    double nic_GBps;
    if (s->most > 1) {
        l->link_us = comm_us(bytes, intra, comm_link_GBps(s, s->most - 1));
        l->host_us = comm_host_us(s, bytes, intra);
    }
    if (s->nodes == 1)
        return;
    graph = nccl_graph_of(&s->nccl, o->algo);
    nic_GBps = comm_nic_GBps(s, s->least);
    if (graph->channels > 0) /* a channel leaves a node through the NICs beside one GPU */
        nic_GBps = fmin(nic_GBps, graph->channels * comm_nic_GBps(s, 1));
    l->nic_us = comm_us(bytes, inter, nic_GBps);
    if (l->proto == NCCL_LL) { /* in payload: comm_price() will halve the rate */
        double host = s->nccl.topo.cpu == NCCL_CPU_AMD ? AMD_HOST_LL : 1;
        l->nic_us = fmax(l->nic_us, comm_us(bytes, inter * comm_protos[NCCL_LL].payload,
                                            s->wire.net_ll_GBps * host));
    }
}

/* Returns how often the chunk with the longest way leaves a node. Of its rounds x (n-1) passes it
 * may begin and end anywhere, so that the edges of the ring that it leaves out, one a round and all
 * in a row, lie within one node where they have room. */
static double ring_hops(const struct topo_view *s, double rounds)
{
    return s->nodes > 1 ? rounds * s->nodes - fmax(0, rounds - (s->most - 1)) : 0;
}

/* n-1 steps of S/n around the ring, once (AllGather, ReduceScatter) or twice (AllReduce). */
static void ring_rounds(const struct topo_view *s, const struct nccl_operation *o,
                        struct comm_demand *l)
{
    double n = s->ranks, rounds = o->op == SPECTER_ALLREDUCE ? 2 : 1;
    double share = rounds * (n - 1) / n;
    l->hops = ring_hops(s, rounds);
    l->steps = rounds * (n - 1) - l->hops;
    l->copied = o->bytes / n / rounds;
    l->block_step = o->bytes / n / l->channels;
    l->block_ends = o->bytes / 2 / l->channels;
    l->hidden = true;
    flow(s, o, o->bytes, share, share, l);
}

/* All of S in a pipeline from the root around the ring, or to it, chunk after chunk; the last one
 * has the way past all others still before it, half of it overlapped. */
static void ring_pipeline(const struct topo_view *s, const struct nccl_operation *o,
                          struct comm_demand *l)
{
    double chunk = fmin(o->bytes, l->channels * PIPELINE_CHUNK);
    double late = l->proto == NCCL_SIMPLE ? (s->ranks - 2.0) / 2 * chunk : 0;
    l->steps = s->ranks - s->nodes;
    l->hops = s->nodes - 1.0;
    if (l->proto == NCCL_LL) {
        l->block_step = o->bytes / l->channels;
        l->block_us = comm_us(fmax(0, l->block_step - LL_BLOCK_BYTES), 1, s->node.ll_GBps);
    } /* with Simple `late` holds the time in which a block moves the bytes of a step */
    l->one_way = true;
    l->late = late > 0 ? late / (o->bytes + late) : 0;
    flow(s, o, o->bytes + late, 1, 1, l);
}

static void ring(const struct topo_view *s, const struct nccl_operation *o, struct comm_demand *l)
{
    if (o->op == SPECTER_BROADCAST || o->op == SPECTER_REDUCE)
        ring_pipeline(s, o, l);
    else
        ring_rounds(s, o, l);
}

/* M nodes pass S up and down NCCL's double binary tree, half of S on each of the two trees. From
 * four nodes on one of them has a parent and two children in one tree and is a leaf of the other:
 * it sends S/2 to each of these three, and S/2 up as a leaf. */
static double tree_share(const struct topo_view *s)
{
    return fmin(2, s->nodes / 2.0);
}

/* A chain within each node: a GPU passes S up and S down. */
static void tree(const struct topo_view *s, const struct nccl_operation *o, struct comm_demand *l)
{
    l->steps = 2 * (s->most - 1.0);
    l->hops = 2 * log2_up(s->nodes);
    l->stages = l->hops;
    l->block_step = o->bytes / l->channels;
    flow(s, o, o->bytes, 2, tree_share(s), l);
}

/* An AllReduce's GPU reads its part of the sum, which the switches add up from all (S leaves each
 * GPU, S/g comes in), and writes the result once (S/g leaves, S comes in). */
static double nvls_share(const struct topo_view *s, const struct nccl_operation *o)
{
    double sustained = s->gpu->cc >= CC_BLACKWELL ? NVLS_SHARE_BLACKWELL : NVLS_SHARE_HOPPER;
    return (o->op == SPECTER_ALLREDUCE ? 1 + 1.0 / s->most : 1) / sustained;
}

/* In one pass all ranks' chunks are gathered before anything is spread. */
static void nvls(const struct topo_view *s, const struct nccl_operation *o, struct comm_demand *l)
{
    bool up_the_tree = o->algo == NCCL_NVLS_TREE;
    l->steps = NVLS_STEPS;
    l->block_step = INFINITY;
    if (s->nodes > 1)
        l->hops = up_the_tree ? 2 * log2_up(s->nodes) : SWITCH_HOPS;
    l->stages = l->hops;
    flow(s, o, o->bytes, nvls_share(s, o), up_the_tree ? tree_share(s) : 1, l);
    l->fill_us = comm_us(l->channels * NVLS_CHUNK, s->most * nvls_share(s, o),
                         comm_link_GBps(s, s->most - 1));
}

/* ReduceScatter within a node, the network's switches, AllGather within the node. */
static void collnet_direct(const struct topo_view *s, const struct nccl_operation *o,
                           struct comm_demand *l)
{
    double rounds = o->op == SPECTER_ALLREDUCE ? 2 : 1;
    l->steps = 2 * rounds;
    l->block_step = INFINITY;
    l->hops = SWITCH_HOPS;
    l->stages = l->hops;
    flow(s, o, o->bytes, rounds * (s->most - 1.0) / s->most, 1, l);
}

static void collnet_chain(const struct topo_view *s, const struct nccl_operation *o,
                          struct comm_demand *l)
{
    l->steps = 2 * (s->most - 1.0);
    l->block_step = INFINITY;
    l->hops = SWITCH_HOPS;
    l->stages = l->hops;
    flow(s, o, o->bytes, 2, 1, l);
}

/* Parallel aggregated trees: log2 n distances, between nodes of one rank. */
static void pat(const struct topo_view *s, const struct nccl_operation *o, struct comm_demand *l)
{
    double n = s->ranks;
    l->hops = log2_up(s->ranks);
    l->copied = o->bytes / n;
    flow(s, o, o->bytes, (n - 1) / n, (n - 1) / n, l);
}

static void (*const loads[NCCL_ALGOS])(const struct topo_view *s, const struct nccl_operation *o,
                                       struct comm_demand *l) = {
    [NCCL_TREE] = tree,
    [NCCL_RING] = ring,
    [NCCL_COLLNET_DIRECT] = collnet_direct,
    [NCCL_COLLNET_CHAIN] = collnet_chain,
    [NCCL_NVLS] = nvls,
    [NCCL_NVLS_TREE] = nvls,
    [NCCL_PAT] = pat,
};

void comm_demand_of(const struct topo_view *s, const struct nccl_operation *o,
                    struct comm_demand *out)
{
    *out = (struct comm_demand){
        .proto = o->proto,
        .channels = o->channels > 0 ? o->channels : 1,
        .start_us = o->proto == NCCL_SIMPLE ? s->node.simple_us : 0,
    };
    loads[o->algo](s, o, out);
}
