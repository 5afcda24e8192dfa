/* SPDX-License-Identifier: MIT */
#include "model/topo_view.h"

#include <math.h>
#include <string.h>

#define BITS_PER_BYTE 8.0

/* LL: a flag beside every 4 bytes of data. LL128: 8 bytes of 128 are flags; in NCCL's constants a
 * step takes 2.1 (Tree) to 3.2 times (Ring) LL's. That its blocks keep up with 0.7 of NVLink is a
 * constant read off measurements (README.md). */
const struct comm_proto comm_protos[NCCL_PROTOS] = {
    [NCCL_LL] = {.payload = 0.5, .link = 1, .step = 1},
    [NCCL_LL128] = {.payload = 120.0 / 128, .link = 0.7, .step = 2.5},
    [NCCL_SIMPLE] = {.payload = 1, .link = 1, .step = 1, .sync = true},
};

static double lower(double a, double b)
{
    return a < b ? a : b;
}

static bool on_pcie(const struct network_profile *net)
{
    return net->intra != NULL && strncmp(net->intra, "pcie", 4) == 0;
}

static bool through_memory(const struct network_profile *net)
{
    return net->intra != NULL && strcmp(net->intra, "pcie_shm") == 0;
}

/* The bandwidth of the GPU itself onto the fabric of a node; without links of its own kind it uses
 * PCIe. */
static double gpu_link_GBps(const struct topo_view *s)
{
    double own =
        !on_pcie(s->net) && s->gpu->nvlink_GBps > 0 ? s->gpu->nvlink_GBps : s->gpu->pcie_GBps;
    return own > 0 ? own : INFINITY; /* not known: the network profile alone decides */
}

/* Through a switch all of a GPU's rate reaches any one peer; in a mesh each pair has its share. */
double comm_link_GBps(const struct topo_view *s, int peers)
{
    const struct network_profile *net = s->net;
    double pair = net->pair_GBps > 0 ? net->pair_GBps : net->intra_GBps;
    double raw = lower(net->intra_GBps, gpu_link_GBps(s));
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

static double host_us(const struct topo_view *s, double bytes, double times)
{
    bool used = on_pcie(s->net) && s->most > 2;
    return used ? bytes * times / (s->node.host_GBps * 1e3) : 0;
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
    return through_memory(s->net) ? bytes * 2 / (s->node.host_GBps * 1e3) : 0;
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

int comm_check_bytes(double bytes, struct err *e)
{
    if (bytes >= 0 && isfinite(bytes))
        return 0;
    return err_set(e, ERR_USAGE, "%g is no number of bytes", bytes);
}

static bool lacks(const struct network_profile *net, const char *field, struct err *e)
{
    err_set(e, ERR_USAGE, "network profile '%s' lacks %s", net->name, field);
    return false;
}

/* The figures that ranks in one node, and ranks in several, cannot do without. */
static bool check_network(const struct network_profile *net, int per_node, int nodes, struct err *e)
{
    if (per_node > 1 && !(net->intra_GBps > 0))
        return lacks(net, "intra_GBps", e);
    if (nodes > 1 && !(net->nic_Gbps > 0))
        return lacks(net, "nic_Gbps", e);
    return true;
}

static bool check_layout(const struct network_profile *net, struct layout w, struct err *e)
{
    int trays;
    if (!(net->gpus_per_node >= 1))
        return lacks(net, "gpus_per_node", e);
    trays = net->domain_gpus > 0 ? (int)(net->domain_gpus / net->gpus_per_node) : 1;
    if (w.ranks < 1 || w.nodes < 1 || w.per_node < 1 || w.per_node > w.ranks - (w.nodes - 1) ||
        (int64_t)w.per_node * w.nodes < w.ranks) {
        err_set(e, ERR_USAGE, "%d ranks cannot sit on %d nodes with up to %d each", w.ranks,
                w.nodes, w.per_node);
        return false;
    }
    if (w.nodes > (trays > 1 ? trays : 1) && !(net->nics_per_node >= 1)) {
        err_set(e, ERR_USAGE,
                "network '%s' has no network between nodes (nics_per_node is 0): "
                "%d ranks need %d nodes",
                net->name, w.ranks, w.nodes);
        return false;
    }
    if (!check_network(net, w.per_node, w.nodes, e))
        return false;
    if (w.per_node > net->gpus_per_node) {
        err_set(e, ERR_USAGE, "a node of network '%s' has %g GPUs: %d ranks do not fit", net->name,
                net->gpus_per_node, w.per_node);
        return false;
    }
    return true;
}

/* The class of a transport between domains was fitted on NVLSTree, which uses few of a rack's NICs.
 * What else crosses the network has the transport's own. */
static struct net_params transport(const struct network_profile *net)
{
    struct network_profile apart = *net;
    apart.domain_gpus = 0;
    return params_net(&apart);
}

bool topo_view_init(const struct gpu_profile *gpu, const struct network_profile *net,
                    struct layout where, struct topo_view *out, struct err *e)
{
    struct nccl_topo topo;
    struct layout wide;
    int64_t rest;
    if (!check_layout(net, where, e))
        return false;
    wide = nccl_layout(net, where);
    rest = wide.ranks - (int64_t)wide.per_node * (wide.nodes - 1); /* all other nodes full */
    nccl_topo_of(gpu, net, &topo);
    *out = (struct topo_view){
        .gpu = gpu,
        .net = net,
        .node = params_node(gpu, net),
        .wire = transport(net),
        .nvls_wire = params_net(net),
        .ranks = wide.ranks,
        .nodes = wide.nodes,
        .most = wide.per_node,
        .least = rest < 1 ? 1 : (int)rest,
    };
    nccl_comm_init(&topo, wide, &out->nccl);
    return true;
}
