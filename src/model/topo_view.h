/* SPDX-License-Identifier: MIT
 *
 * Hardware and ranks of one operation as the time models see them: rates of the links that data
 * crosses, latencies of one step, blocks that move the data. For comm*.c and p2p.c alone; everybody
 * else asks cost.h.
 *
 * "Node" is NCCL's here: GPUs that one NVLink fabric joins, so a rack of NVL72 is one node. Rates
 * are payload, GB/s per direction.
 */
#ifndef SPECTER_MODEL_TOPO_VIEW_H
#define SPECTER_MODEL_TOPO_VIEW_H

#include "model/nccl_tuner.h"

struct topo_view {
    const struct gpu_profile *gpu;
    const struct network_profile *net;
    struct node_params node;
    struct net_params wire;      /* of the transport */
    struct net_params nvls_wire; /* of NVLSTree: between NVLink domains another one */
    struct nccl_comm nccl;
    int ranks, nodes;
    int most, least; /* ranks on the fullest and on the emptiest node */
};

/* The effect of a protocol on a link: a step takes the fitted time of LL or of Simple, `step`
 * times; `payload` of the rate is data. */
struct comm_proto {
    double payload;
    double link; /* share of a link's rate that blocks keep up with */
    double step;
    bool sync; /* waits for whole chunks, as Simple does: sync_us, hop_sync_us instead of LL's */
};

extern const struct comm_proto comm_protos[NCCL_PROTOS];

/* -1 with e filled for what is no number of bytes. */
int comm_check_bytes(double bytes, struct err *e);

/* False with e filled when the profiles lack a figure or the layout is none. */
bool topo_view_init(const struct gpu_profile *gpu, const struct network_profile *net,
                    struct layout where, struct topo_view *out, struct err *e);

/* Payload rate of one GPU to `peers` others of its node together. */
double comm_link_GBps(const struct topo_view *s, int peers);

/* Payload rate of `gpus` GPUs of a node to other nodes together, through the NICs next to them. */
double comm_nic_GBps(const struct topo_view *s, int gpus);

/* What `share` of S on each GPU's link makes of the path through the host: with peer-to-peer access
 * a ring crosses once between sockets, without it all bytes of all GPUs pass host memory. 0 where
 * GPUs have a fabric of their own, or where there are two on one switch. */
double comm_host_us(const struct topo_view *s, double bytes, double share);

/* The same when all GPUs of the node send `share` of S to others, evenly. */
double comm_host_spread_us(const struct topo_view *s, double bytes, double share);

/* The same when two GPUs of a node send S to each other: without peer-to-peer access both pass host
 * memory. */
double comm_host_pair_us(const struct topo_view *s, double bytes);

/* One step between GPUs of a node, and between nodes. */
double comm_step_us(const struct topo_view *s, enum nccl_proto proto);
double comm_hop_us(const struct topo_view *s, enum nccl_proto proto);

/* Time lost while a transfer of `us` at the full rate gets under way: `stages` x us for a short
 * one, which passes as many stages in a row before the next part follows it; `ramp` for a long one.
 */
double comm_ramp_us(double ramp, double stages, double us);

#endif
