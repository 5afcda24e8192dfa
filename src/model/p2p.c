/* SPDX-License-Identifier: MIT
 *
 * Sends and receives, and what is made of them.
 */
#include "model/p2p.h"

#include <math.h>
#include <string.h>

#define BATCH 8 /* peers that one kernel works on at a time (NCCL's p2p work batch) */
#define LL_CHANNEL_BYTES 16384 /* of a message, up to which LL is taken (NCCL_P2P_LL_THRESHOLD) */
#define CHUNK_NVLINK (512 * 1024)
#define CHUNK_OTHER (128 * 1024) /* PCIe, and between nodes */
#define PCIE_CHANNELS 2
#define NET_GBPS_PER_CHANNEL 14

#define STEPS 2 /* of a message: posted, seen */

/* Constants read off measured AlltoAlls (README.md). */
#define PEER_STEPS 0.25   /* one more peer in a batch, in steps */
#define RENDEZVOUS_US 6.5 /* Simple: both sides learn of each other's buffers */
#define SELF_COPY 1.5     /* a message to itself has the blocks of one peer, no more */

/* The bytes to one peer, and the number of peers. */
struct exchange {
    double message;      /* bytes */
    int inside, outside; /* peers */
    double link_us, nic_us, host_us;
    double copied;
};

static int pow2_up(double n)
{
    int p = 1;
    while (p < n)
        p *= 2;
    return p;
}

/* Channels that a message gets: one for each eighth of a chunk (half between nodes), up to what the
 * path can use. */
static int message_channels(const struct topo_view *s, double message)
{
    bool nvlink = s->nccl.topo.fabric < NCCL_PCIE;
    int all = pow2_up(s->nccl.graphs.channels), most = nvlink ? all : PCIE_CHANNELS;
    double chunk = (nvlink ? CHUNK_NVLINK : CHUNK_OTHER) / 8.0;
    double wanted;
    if (s->nodes > 1) {
        most = pow2_up(ceil(comm_nic_GBps(s, 1) / NET_GBPS_PER_CHANNEL));
        chunk = CHUNK_OTHER / 2.0;
    }
    if (most > all)
        most = all;
    wanted = ceil(message / chunk);
    return wanted < 1 ? 1 : wanted < most ? (int)wanted : most;
}

static double batches(int peers)
{
    return ceil((double)peers / BATCH);
}

static void price(const struct topo_view *s, const struct exchange *x, enum nccl_proto forced,
                  int channels, double bus_bytes, struct comm_cost *out)
{
    int n = channels > 0 ? channels : message_channels(s, x->message);
    bool ll = forced < NCCL_PROTOS ? forced == NCCL_LL : x->message <= n * LL_CHANNEL_BYTES;
    struct comm_demand l = {
        .proto = ll ? NCCL_LL : NCCL_SIMPLE,
        .channels = n,
        .hops = x->outside > 0 ? 1 : 0,
        .start_us = ll ? 0 : RENDEZVOUS_US,
        .link_us = x->link_us,
        .nic_us = x->nic_us,
        .host_us = x->host_us,
        .copied = x->copied,
        .block_ends = x->message * (x->inside + x->outside) / n, /* peers share its threads */
    };
    if (x->inside > 0)
        l.start_us += (STEPS + (x->inside - 1) * PEER_STEPS) * comm_step_us(s, NCCL_LL);
    if (x->outside > 1)
        l.start_us += (batches(x->outside) - 1) * comm_hop_us(s, NCCL_LL);
    comm_price(s, &l, bus_bytes, out);
    out->algo = "p2p";
    out->proto = nccl_proto_names[l.proto];
}

/* Every rank sends S/n to every other one. `share` ranks of a node send together. */
static void spread_from(const struct topo_view *s, int share, double bytes, struct exchange *x)
{
    double part = bytes / s->ranks, outside = s->ranks - share;
    if (share > 1)
        x->link_us = fmax(x->link_us, comm_us(part, share - 1, comm_link_GBps(s, share - 1)));
    x->host_us = fmax(x->host_us, comm_host_spread_us(s, part, share - 1));
    if (outside > 0)
        x->nic_us = fmax(x->nic_us, comm_us(part, share * outside, comm_nic_GBps(s, share)));
}

/* One rank, on a full node, exchanges S/n with every other one: alone at its links and NICs. */
static void root(const struct topo_view *s, double bytes, struct exchange *x)
{
    double part = bytes / s->ranks;
    if (x->inside > 0)
        x->link_us = comm_us(part, x->inside, comm_link_GBps(s, x->inside));
    if (x->outside > 0)
        x->nic_us = comm_us(part, x->outside, comm_nic_GBps(s, 1));
}

void p2p_collective(const struct topo_view *s, enum specter_comm_op op, enum nccl_proto forced,
                    int channels, double bytes, struct comm_cost *out)
{
    struct exchange x = {
        .message = bytes / s->ranks,
        .inside = s->most - 1,
        .outside = s->ranks - s->most,
        .copied = SELF_COPY * bytes / s->ranks,
    };
    if (op == SPECTER_GATHER || op == SPECTER_SCATTER) {
        root(s, bytes, &x);
    } else {
        spread_from(s, s->most, bytes, &x);
        spread_from(s, s->least, bytes, &x);
    }
    price(s, &x, forced, channels, bytes * specter_comm_op_bus_factor(op, (uint64_t)s->ranks), out);
}

int model_p2p(const struct gpu_profile *gpu, const struct network_profile *net, double bytes,
              bool across, struct comm_cost *out, struct err *e)
{
    return model_p2p_flows(gpu, net, bytes, across, 1, out, e);
}

static int price_pair(const struct gpu_profile *gpu, const struct network_profile *net,
                      double bytes, const struct comm_messages *m, struct comm_cost *out,
                      struct err *e)
{
    bool across = m->where.nodes > 1;
    struct exchange x = {.message = bytes};
    struct topo_view s;
    struct layout where = {.ranks = 2, .nodes = across ? 2 : 1, .per_node = across ? 1 : 2};
    struct network_profile apart;
    if (across && !(net->nics_per_node >= 1))
        return err_set(e, ERR_USAGE,
                       "network '%s' has no network between nodes (nics_per_node is 0): "
                       "a message cannot leave the node",
                       net->name);
    if (across && net->domain_gpus > 0) { /* to another NVLink domain */
        apart = *net;
        apart.domain_gpus = 0;
        net = &apart;
    }
    if (!topo_view_init(gpu, net, where, &s, e))
        return -1;
    if (across) {
        x.outside = 1;
        x.nic_us = comm_us(bytes, m->flows, comm_nic_GBps(&s, m->flows));
    } else {
        x.inside = 1;
        x.link_us = comm_us(bytes, 1, comm_link_GBps(&s, 1));
        if (m->direction == COMM_BOTH_WAYS)
            x.host_us = comm_host_pair_us(&s, bytes);
    }
    price(&s, &x, NCCL_PROTOS, 0, bytes, out);
    return 0;
}

/* As an AlltoAll without the part that stays. */
static int price_all_pairs(const struct gpu_profile *gpu, const struct network_profile *net,
                           double bytes, struct layout where, struct comm_cost *out, struct err *e)
{
    struct exchange x = {.message = bytes};
    struct topo_view s;
    if (!topo_view_init(gpu, net, where, &s, e))
        return -1;
    x.inside = s.most - 1;
    x.outside = s.ranks - s.most;
    spread_from(&s, s.most, bytes * s.ranks, &x);
    spread_from(&s, s.least, bytes * s.ranks, &x);
    price(&s, &x, NCCL_PROTOS, 0, bytes * (s.ranks - 1), out);
    return 0;
}

int model_messages(const struct gpu_profile *gpu, const struct network_profile *net, double bytes,
                   const struct comm_messages *messages, struct comm_cost *out, struct err *e)
{
    if (comm_check_bytes(bytes, e) < 0)
        return -1;
    if (messages->direction == COMM_ALL_PAIRS)
        return price_all_pairs(gpu, net, bytes, messages->where, out, e);
    return price_pair(gpu, net, bytes, messages, out, e);
}

int model_p2p_flows(const struct gpu_profile *gpu, const struct network_profile *net, double bytes,
                    bool across, int flows, struct comm_cost *out, struct err *e)
{
    const struct comm_messages one = {COMM_ONE_WAY, {2, across ? 2 : 1, across ? 1 : 2}, flows};
    return model_messages(gpu, net, bytes, &one, out, e);
}

static const char *const direction_names[COMM_DIRECTIONS] = {"to_next", "one_way", "both", "all"};

const char *comm_direction_name(enum comm_direction direction)
{
    return direction_names[direction];
}

enum comm_direction comm_direction_parse(const char *word)
{
    int i = 0;
    while (i < COMM_DIRECTIONS && strcmp(word, direction_names[i]) != 0)
        i++;
    return (enum comm_direction)i;
}
