/* SPDX-License-Identifier: MIT
 *
 * NCCL's topology search (src/graph/search.cc, topo.h and connect.cc of 2.30) on regular nodes. The
 * original walks paths and takes from each link what a channel needs; where all GPUs are alike it
 * ends at the budgets below: what a link has, divided by what a channel takes of it.
 */
#include "model/nccl_graph.h"

#include <math.h>
#include <string.h>

#define MAX_GRAPH_CHANNELS 32
#define MAX_COMM_CHANNELS 64
#define FIT_SLACK 1e-6         /* budgets are products of decimal fractions */
#define LEAST_NEXT_SPEED 0.49  /* the search ends where the next speed is less than that share */
#define INTEL_P2P_OVERHEAD 1.2 /* PCIe between GPUs through an Intel CPU costs more */

/* Speeds that a channel may have, from the fastest; ended by 0. */
/* clang-format off */
static const double intra_speeds[][14] = {
    {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3},
    {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3},
    {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18},
};
static const double inter_speeds[][22] = {
    {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12},
    {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12},
    {96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12},
};

/* One NVLink as NCCL counts it: up to this compute capability x 10, raw and NCCL's GB/s. */
static const struct nvlink {
    int cc;
    double raw_GBps, GBps;
} nvlinks[] = {
    {69, 20, 18}, {79, 25, 20}, {85, 25, 20}, {89, 14, 12}, {99, 25, 20.6}, {0, 50, 40.1},
};
/* clang-format on */

static bool is(const char *a, const char *b)
{
    return a != NULL && strcmp(a, b) == 0;
}

static enum nccl_fabric fabric_of(const char *intra)
{
    static const struct {
        const char *name;
        enum nccl_fabric fabric;
    } names[] = {
        {"nvlink_mesh", NCCL_NVLINK_MESH},
        {"xgmi_mesh", NCCL_XGMI_MESH},
        {"pcie", NCCL_PCIE},
        {"pcie_shm", NCCL_PCIE_SHM},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is(intra, names[i].name))
            return names[i].fabric;
    return NCCL_NVSWITCH;
}

/* NCCL's figure for links that give raw_GBps together. RCCL counts 48 of an MI300X link's 64. */
static double link_rate(int cc, double raw_GBps)
{
    if (cc == 0)
        return raw_GBps * 48 / 64;
    const struct nvlink *l = nvlinks;
    while (l->cc != 0 && cc > l->cc)
        l++;
    return raw_GBps / l->raw_GBps * l->GBps;
}

void nccl_topo_of(const struct gpu_profile *gpu, const struct network_profile *net,
                  struct nccl_topo *out)
{
    static const char *const net_names[NCCL_NETS] = {
        [NCCL_NET_EFA] = "efa", [NCCL_NET_TCPX] = "tcpx", [NCCL_NET_TCPXO] = "tcpxo"};
    int gpus = (int)fmax(net->gpus_per_node, 1), ports = (int)net->nics_per_node;
    /* Several ports beside one GPU are one device: aws-ofi-nccl bundles EFA's rails, NCCL (2.24 and
     * later) merges the ports of a card. */
    int bundle = ports > gpus ? ports / gpus : 1;
    int nodes = net->domain_gpus > gpus ? (int)net->domain_gpus / gpus : 1;
    double raw = net->intra_GBps > 0 ? fmin(gpu->nvlink_GBps, net->intra_GBps) : gpu->nvlink_GBps;
    double pair = net->pair_GBps > 0 ? fmin(net->pair_GBps, raw) : raw;
    *out = (struct nccl_topo){
        .cc = (int)gpu->cc,
        .version = (int)net->nccl,
        .fabric = fabric_of(net->intra),
        .cpu = is(net->cpu, "amd")   ? NCCL_CPU_AMD
               : is(net->cpu, "arm") ? NCCL_CPU_ARM
                                     : NCCL_CPU_INTEL,
        .gpus = gpus * nodes,
        .tray = nodes > 1 ? gpus : 0,
        .pcie_GBps = (gpu->pcie_GBps > 0 ? gpu->pcie_GBps : 31.5) * 12 / 15.75, /* 12 on gen 3 */
        .sharp = net->sharp > 0,
        .tuner = net->tuner.first,
        .ntuner = net->tuner.count,
        .nics = ports / bundle * nodes,
        .nic_GBps = bundle * net->nic_Gbps / 8,
        .gdr = !is(net->inter, "ethernet") && !is(net->inter, "slingshot"),
    };
    for (int i = 1; i < NCCL_NETS; i++)
        if (is(net->inter, net_names[i]))
            out->net = (enum nccl_net)i;
    if (raw <= 0 && out->fabric < NCCL_PCIE)
        out->fabric = NCCL_PCIE;
    if (out->fabric < NCCL_PCIE) {
        out->link_GBps = link_rate(out->cc, raw);
        out->pair_GBps = out->fabric == NCCL_NVSWITCH ? out->link_GBps : link_rate(out->cc, pair);
    }
}

struct layout nccl_layout(const struct network_profile *net, struct layout where)
{
    int gpus = (int)fmax(net->gpus_per_node, 1);
    int most = net->domain_gpus > gpus ? (int)net->domain_gpus / gpus : 1;
    int domains = where.nodes / most + (where.nodes % most > 0);
    int per_node = where.per_node * (where.nodes / domains + (where.nodes % domains > 0));
    return (struct layout){
        .ranks = where.ranks,
        .nodes = domains,
        .per_node = per_node < where.ranks ? per_node : where.ranks,
    };
}

int layout_fewest(struct layout where, int groups)
{
    int64_t missing = (int64_t)where.nodes * where.per_node - where.ranks;
    int64_t fewest = (int64_t)where.per_node * (where.nodes / groups) - missing;
    return fewest < 1 ? 1 : (int)fewest;
}

int nccl_fewest(const struct nccl_topo *topo, struct layout where)
{
    struct layout nodes = where;
    int fewest;
    if (topo->tray > 0 && where.nodes > 1) { /* whose nodes are full trays, but for one */
        nodes.nodes = where.ranks / topo->tray + (where.ranks % topo->tray > 0);
        nodes.per_node = topo->tray;
    }
    fewest = layout_fewest(nodes, where.nodes);
    return fewest < where.per_node ? fewest : where.per_node;
}

/* The bandwidth that the channels of one node may take together. */
struct budget {
    const struct nccl_topo *topo;
    int gpus;           /* of this communicator on the node */
    double fabric_GBps; /* out of one GPU; INFINITY for a single one */
    int nics;           /* within reach; 0: a single node */
    double nic_GBps;    /* of one, its GPU's PCIe link counted */
};

static int fit(double budget, double each)
{
    return (int)fmin(budget / each + FIT_SLACK, MAX_GRAPH_CHANNELS);
}

static int lower(int a, int b)
{
    return a < b ? a : b;
}

/* Boards with more than four PCIe GPUs have two sockets and a switch on each. */
static bool two_sockets(const struct nccl_topo *t)
{
    return t->gpus > 4;
}

static bool crosses_sockets(const struct nccl_topo *t, int gpus)
{
    return two_sockets(t) && gpus > t->gpus / 2;
}

/* A ring over PCIe takes each GPU's link once each way and the link between sockets once. Without
 * peer access all of it goes up to the CPU, and the GPUs behind a switch share its uplink. */
static double pcie_GBps(const struct nccl_topo *t, int gpus)
{
    static const double socket_GBps[] = {
        [NCCL_CPU_INTEL] = 10, [NCCL_CPU_AMD] = 16, [NCCL_CPU_ARM] = 6};
    bool through_cpu = t->fabric == NCCL_PCIE_SHM || !two_sockets(t);
    double rate = t->pcie_GBps;
    if (t->fabric == NCCL_PCIE_SHM && two_sockets(t))
        rate /= lower(gpus, t->gpus / 2);
    if (through_cpu && t->cpu == NCCL_CPU_INTEL)
        rate /= INTEL_P2P_OVERHEAD;
    if (crosses_sockets(t, gpus)) {
        bool sapphire_rapids = t->cpu == NCCL_CPU_INTEL && t->pcie_GBps > 40; /* PCIe 5.0 */
        rate = fmin(rate, sapphire_rapids ? 22 : socket_GBps[t->cpu]);
    }
    return rate;
}

static bool is_mesh(const struct nccl_topo *t)
{
    return t->fabric == NCCL_NVLINK_MESH || t->fabric == NCCL_XGMI_MESH;
}

static void budget_of(const struct nccl_topo *t, int gpus, bool inter, struct budget *b)
{
    *b = (struct budget){.topo = t, .gpus = gpus, .fabric_GBps = INFINITY};
    if (gpus > 1)
        b->fabric_GBps = t->fabric < NCCL_PCIE ? t->link_GBps : pcie_GBps(t, gpus);
    if (inter) {
        b->nics = t->nics >= t->gpus ? gpus : (gpus * t->nics + t->gpus - 1) / t->gpus;
        b->nic_GBps = fmin(t->nic_GBps, t->pcie_GBps);
    }
}

/* Directed rings through a mesh, each pair of GPUs `k` times connected at that speed. A complete
 * mesh splits into as many as a GPU has peers, but for 4 and 6 GPUs with odd k, where one is lost
 * (Tillson 1980; NVIDIA/nccl issue 713 shows it). Eight GPUs with six links each are the cube mesh
 * of the DGX-1, where four of a GPU's links stay in its half. */
static int mesh_rings(const struct budget *b, double speed)
{
    const struct nccl_topo *t = b->topo;
    int peers = (int)(t->link_GBps / t->pair_GBps + 0.5), k = fit(t->pair_GBps, speed);
    bool complete = peers >= t->gpus - 1;
    bool half = !complete && b->gpus == t->gpus / 2;
    int rings = k * lower(peers, half ? b->gpus : b->gpus - 1);
    return rings - (complete && (b->gpus == 4 || b->gpus == 6) && k % 2 == 1);
}

/* Rings of that speed that a node's own links can hold, and its NICs. */
static int rings_at(const struct budget *b, double speed)
{
    int n = MAX_GRAPH_CHANNELS; /* of a single GPU */
    if (b->gpus > 1)
        n = is_mesh(b->topo) ? lower(mesh_rings(b, speed), n) : fit(b->fabric_GBps, speed);
    if (b->nics > 0)
        n = lower(n, b->nics * fit(b->nic_GBps, speed));
    return n;
}

static enum nccl_path type_intra(const struct nccl_topo *t, int gpus)
{
    if (gpus == 1)
        return NCCL_PATH_LOC;
    if (t->fabric < NCCL_PCIE)
        return NCCL_PATH_NVL;
    if (crosses_sockets(t, gpus))
        return NCCL_PATH_SYS;
    return t->fabric == NCCL_PCIE && two_sockets(t) ? NCCL_PATH_PXB : NCCL_PATH_PHB;
}

/* A ring leaves a node at another GPU than it came in. Up to A100 two GPUs and their NICs share a
 * PCIe switch; later GPUs have their own, and the way out is over NVLink to the NIC's GPU. */
static enum nccl_path type_inter(const struct nccl_topo *t, int gpus)
{
    if (!t->gdr || t->fabric >= NCCL_PCIE)
        return NCCL_PATH_PHB;
    return gpus == 1 ? NCCL_PATH_PIX : t->cc >= 90 ? NCCL_PATH_PXN : NCCL_PATH_PXB;
}

static void describe(const struct budget *b, struct nccl_graph *g)
{
    g->type_intra = type_intra(b->topo, b->gpus);
    g->type_inter = b->nics > 0 ? type_inter(b->topo, b->gpus) : NCCL_PATH_PIX;
    g->same_channels = b->nics > 0 ? b->nics == 1 : !is_mesh(b->topo);
}

/* The speed at which the rings carry most, as NCCL looks for it: downwards, a slower one only when
 * strictly better, until all of a GPU's links is used or the next speed is half of the best one. */
static void find_ring(const struct budget *b, const double *speed, struct nccl_graph *g)
{
    double most = b->topo->fabric < NCCL_PCIE ? b->topo->link_GBps : b->topo->pcie_GBps;
    for (; *speed > 0; speed++) {
        if (g->channels > 0 && (*speed <= LEAST_NEXT_SPEED * g->bw_inter ||
                                g->channels * g->bw_inter >= most - FIT_SLACK))
            break;
        int n = rings_at(b, *speed);
        if (n * *speed > g->channels * g->bw_inter)
            *g = (struct nccl_graph){.channels = n, .bw_intra = *speed, .bw_inter = *speed};
    }
    if (g->channels == 0) /* what NCCL falls back to */
        *g = (struct nccl_graph){.channels = 1, .bw_intra = 0.1, .bw_inter = 0.1};
    describe(b, g);
    /* Fast channels are split in two, so that more of the GPU works on them. */
    if (g->bw_intra >= 25 && (b->topo->cc <= 80 || g->bw_intra >= 50 || g->channels <= 4)) {
        int channels = lower(2 * g->channels, MAX_GRAPH_CHANNELS);
        g->bw_intra *= (double)g->channels / channels;
        g->bw_inter = g->bw_intra;
        g->channels = channels;
    }
}

/* The next speed above `now`; 0 at the list's head. */
static double faster(const double *speed, double now)
{
    double above = 0;
    for (; *speed > now + FIT_SLACK; speed++)
        above = *speed;
    return above;
}

/* Trees take the ring's channels. With fast links in the node they then go faster there, up to
 * twice the rate between nodes. */
static void find_tree(const struct budget *b, const double *speed, const struct nccl_graph *ring,
                      struct nccl_graph *g)
{
    *g = *ring;
    for (double next; g->bw_intra < 2 * g->bw_inter; g->bw_intra = next) {
        next = faster(speed, g->bw_intra);
        if (next == 0)
            break;
        if (b->gpus > 1 &&
            rings_at(
                &(struct budget){.topo = b->topo, .gpus = b->gpus, .fabric_GBps = b->fabric_GBps},
                next) < g->channels)
            break;
    }
}

/* NVLS: a channel for each GPU, which pulls the others' data through the switch. Each GPU's links
 * carry all channels, and its own once more. More channels are better than fast ones. */
static void find_nvls(const struct budget *b, const double *speed, struct nccl_graph *g)
{
    int heads = lower(b->gpus, MAX_GRAPH_CHANNELS);
    for (const double *s = speed; *s > 0; s++) {
        if (g->channels > 0 && *s <= LEAST_NEXT_SPEED * g->bw_inter)
            break;
        int n = lower(heads, (int)(b->fabric_GBps / *s + FIT_SLACK) - 1);
        if (b->nics > 0 && *s > b->nic_GBps + FIT_SLACK)
            continue;
        if (n > g->channels || n * *s > g->channels * g->bw_inter)
            *g = (struct nccl_graph){.channels = n, .bw_intra = *s, .bw_inter = *s};
    }
    describe(b, g);
    for (double next; g->bw_inter < 2 * g->bw_intra; g->bw_inter = next) {
        next = faster(speed, g->bw_inter);
        if (next == 0 || (b->nics > 0 && next > b->nic_GBps + FIT_SLACK))
            break;
    }
}

/* CollNet: each NIC's GPU gathers the others' data and sends it to the switches, which reduce. */
static void find_collnet(const struct budget *b, const double *speed, struct nccl_graph *g)
{
    for (; *speed > 0; speed++) {
        bool fits = *speed <= b->nic_GBps + FIT_SLACK &&
                    (b->gpus == 1 || *speed * (b->gpus - 1) <= b->fabric_GBps + FIT_SLACK);
        if (!fits)
            continue;
        *g = (struct nccl_graph){.channels = b->nics, .bw_intra = *speed, .bw_inter = *speed};
        describe(b, g);
        return;
    }
}

/* connect.cc: each channel of the graph twice, and again where few fast ones leave the node. */
static int comm_channels(const struct nccl_topo *t, bool inter, const struct nccl_graphs *g)
{
    int n = 2 * g->ring.channels;
    if (t->cc >= 90 && inter && g->ring.bw_intra > 45 && n < 16)
        n *= 2;
    if (g->collnet.channels > 0 && g->collnet.bw_intra > g->collnet.bw_inter)
        n += n / 2;
    return lower(n, MAX_COMM_CHANNELS);
}

/* RCCL on AMD's mesh takes the rings from a table of known boards: every link of an MI300X carries
 * four channels of each of its rings. The four, and the rate between nodes, are estimated. */
#define XGMI_CHANNELS_PER_RING 4

static void find_xgmi(const struct budget *b, struct nccl_graphs *out)
{
    int rings = b->gpus > 1 ? mesh_rings(b, b->topo->pair_GBps) : 1;
    double total = b->gpus > 1 ? rings * b->topo->pair_GBps : INFINITY;
    if (b->nics > 0)
        total = fmin(total, b->nics * b->nic_GBps);
    int n = lower(rings * XGMI_CHANNELS_PER_RING, MAX_GRAPH_CHANNELS);
    out->ring = (struct nccl_graph){.channels = n, .bw_intra = total / n, .bw_inter = total / n};
    describe(b, &out->ring);
    out->tree = out->ring;
    out->channels = lower(2 * n, MAX_COMM_CHANNELS);
}

void nccl_graphs_find(const struct nccl_topo *topo, struct layout where, struct nccl_graphs *out)
{
    int fewest = nccl_fewest(topo, where);
    int generation = topo->cc >= 100 ? 2 : topo->cc >= 90;
    bool inter = where.nodes > 1;
    const double *list = inter ? inter_speeds[generation] : intra_speeds[generation];
    struct budget b;
    *out = (struct nccl_graphs){0};
    budget_of(topo, fewest, inter, &b);
    if (topo->cc == 0 && topo->fabric < NCCL_PCIE) {
        find_xgmi(&b, out);
        return;
    }
    find_ring(&b, list, &out->ring);
    find_tree(&b, list, &out->ring, &out->tree);
    if (topo->fabric == NCCL_NVSWITCH && topo->cc >= 90 && b.gpus > 1)
        find_nvls(&b, list, &out->nvls);
    if (topo->sharp && inter)
        find_collnet(&b, list, &out->collnet);
    out->channels = comm_channels(topo, inter, out);
    if (out->nvls.channels > 0)
        out->nvls_channels = topo->cc < 100 ? 16 : inter ? 32 : 24;
}
