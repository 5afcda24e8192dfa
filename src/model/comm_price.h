/* SPDX-License-Identifier: MIT
 *
 * From what an operation asks of the hardware to a time: topo_view has the hardware and the ranks,
 * a load says what is asked of them, comm_price() prices it. For comm.c alone; others ask
 * cost.h. What each algorithm asks for is at the top of comm.c.
 *
 *     t = start + hops*hop + flow + copy + blocks
 *     flow = steps*step + wire + ramp between nodes      LL, LL128
 *     flow = sqrt((steps*step)^2 + wire^2) + ramps       Simple, ring: latency and data of steps
 *                                                        overlap in part
 *     flow = steps*step + wire + ramps                   Simple, others
 *     wire = max(S on a GPU's links, on the host's path, on a node's NICs) / payload; with LL at
 *            least what a block takes
 *     ramp = R*k*wire/(k*wire+R)
 *
 * Names are parameters (params.h) and fields of profiles (profile.h); *measured*: a constant read
 * off the tables that the parameters are fitted on.
 *
 * - Start: start_us, and simple_us with Simple.
 * - Step: in a node intra_lat_us + step_us (LL), + 2.5 step_us (LL128: between NCCL's 2.1 for Tree
 *   and 3.2 for Ring), + sync_us (Simple; down to half of it, *measured*, where a block has less
 *   than 32 KiB a step, and in a Broadcast or Reduce, where bytes count apart). Hop: inter_lat_us +
 *   hop_us, or hop_sync_us (Simple).
 * - Links to p peers: min(intra_GBps, the GPU's own, pair_GBps*p) * link_share.
 * - NICs next to p GPUs: min(all, p*ceil(nics_per_node/gpus_per_node)) x nic_Gbps/8, at most
 *   p*pcie_GBps, over oversubscription, x nic_share; of the emptiest node, at most as many as
 *   channels.
 * - Payload: LL half, LL128 120/128, of which blocks keep up with 0.7 on NVLink (*measured*). With
 *   LL at most net_ll_GBps leave a node, 22.5/39 of it on AMD's hosts (NCCL's bounds).
 * - Host's path, of PCIe machines: host_share x the GPU's pcie_GBps (intra_GBps where that is not
 *   known): a newer PCIe comes with faster sockets and memory. With P2P a quarter of what an
 *   all-to-all moves crosses it each way.
 * - Copy of a GPU's own part (S/n; half in an AllReduce) at copy_ratio x the link's rate. Blocks:
 *   with LL a block moves its part of a step (up to 4 KiB) at ll_GBps, twice at the ends; the rest
 *   of a message, or of a Broadcast's part, is no faster than its block.
 * - Ramps: in a node, with Simple, k = 1/2, R = ramp_us; between nodes, with any protocol, R =
 *   net_ramp_us on top, k = 1 in a ring, else hops.
 */
#ifndef SPECTER_MODEL_COMM_PRICE_H
#define SPECTER_MODEL_COMM_PRICE_H

#include "model/nccl_tuner.h"

/* Hardware and ranks of one operation as the time models see them: rates of the links that data
 * crosses, latencies of one step, blocks that move the data.
 *
 * "Node" is NCCL's here: GPUs that one NVLink fabric joins, so a rack of NVL72 is one node. Rates
 * are payload, GB/s per direction. */
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

/* Bytes that the threads of a block take at once with LL: 512 x 8. Beyond it a block's work on a
 * ring overlaps the link's. */
#define LL_BLOCK_BYTES 4096.0

/* The effect of a protocol on a link: a step takes the fitted time of LL or of Simple, `step`
 * times; `payload` of the rate is data. */
struct comm_proto {
    double payload;
    double link; /* share of a link's rate that blocks keep up with */
    double step;
    bool sync; /* waits for whole chunks, as Simple does: sync_us, hop_sync_us instead of LL's */
};

extern const struct comm_proto comm_protos[NCCL_PROTOS];

/* 0, or -1 with e filled when the profiles lack a figure or the layout is none. */
int topo_view_init(const struct gpu_profile *gpu, const struct network_profile *net,
                   struct layout where, struct topo_view *out, struct err *e);

/* NCCL's estimates for an operation, until the thread asks for another's; NULL: it has none. */
const struct nccl_tuning *comm_tuning(const struct topo_view *s, enum specter_comm_op op,
                                      const struct nccl_allowed *allowed);

/* Payload rate of one GPU to `peers` others of its node together. */
double comm_link_GBps(const struct topo_view *s, int peers);

/* Payload rate of `gpus` GPUs of a node to other nodes together, through the NICs next to them. */
double comm_nic_GBps(const struct topo_view *s, int gpus);

/* Returns the time on the path through the host where each GPU's link carries `share` of S. With
 * peer-to-peer access a ring crosses once between sockets, without it all bytes of all GPUs pass
 * host memory. 0 where GPUs have a fabric of their own, or where there are two on one switch. */
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

/* S: the operation's bytes (cost.h). */
struct comm_demand {
    enum nccl_proto proto;
    int channels;
    double steps, hops; /* on the longest path, within nodes and between them */
    double start_us;    /* beside what every operation and protocol takes to start */
    double batch_us;    /* starts of all batches of messages but the first; hidden as far as the
                         * data of others take as long */
    /* The time of S, when all of a link's rate is data, */
    double link_us;    /* on the links of the busiest GPU, */
    double nic_us;     /* on the NICs of the busiest node, */
    double host_us;    /* on the path through the host. */
    double fill_us;    /* until the first part of S has passed all stages */
    double copied;     /* bytes that a GPU copies to itself */
    double block_step; /* bytes that a block moves in a step, with LL and Simple; INFINITY: full */
    double block_ends; /* and at both ends, with LL */
    double block_us;   /* with LL, that a block takes for all but its first round: no link of it is
                        * faster */
    double stages;     /* between nodes, that a part of S passes in a row */
    double late;       /* of a way from member to member: share of the time on the wire in which
                        * the last member still waits */
    bool one_way;      /* around a ring, from the root or to it */
    bool hidden;       /* steps of Simple go on while data flows: a ring's */
};

/* t(bytes): `share` of them at that rate. */
double comm_us(double bytes, double share, double GBps);

/* `bus_bytes`: S x bus factor, for the rate that is reported. */
void comm_price(const struct topo_view *s, const struct comm_demand *load, double bus_bytes,
                struct comm_cost *out);

/* A collective that NCCL does in a given way, whose combination NCCL allows. */
struct nccl_operation {
    enum specter_comm_op op;
    enum nccl_algo algo;
    enum nccl_proto proto;
    int channels;
    double bytes;
};

/* Its load. */
void comm_demand_of(const struct topo_view *s, const struct nccl_operation *o,
                    struct comm_demand *out);

#endif
