/* SPDX-License-Identifier: MIT
 *
 * The cost of collectives and messages: NCCL's tuner chooses the way (nccl_tuner.h), our model
 * prices it (comm_price.h). What each way asks of the hardware, with n ranks on M nodes, g on the
 * fullest, h on the emptiest, and L = ceil(log2 M):
 *
 *     algorithm                     steps   hops          S on a GPU's links    on a node's NICs
 *     Ring AllGather,               n-1-M   M if M>1      (n-1)/n               (n-1)/n
 *       ReduceScatter; AllReduce: twice
 *     Ring Broadcast, Reduce        n-M     M-1           1, and the last       same
 *                                                         chunk's way
 *     Tree                          2(g-1)  2L            2                     min(2,M/2)
 *     NVLS                          3       2 if M>1      (1+1/g)/s;            1
 *                                                         1/s but for AllReduce
 *     NVLSTree                      3       2L            (1+1/g)/s             min(2,M/2)
 *     CollNetDirect                 4 (2)   2             2(g-1)/g (half)       1
 *     CollNetChain                  2(g-1)  2             2                     1
 *     PAT                           0       ceil(log2 n)  -                     (n-1)/n
 *
 * - Ring: the chunk with the longest way makes n-1 of the ring's n passes and leaves out one within
 *   a node, so that it crosses M boundaries (M-1 with one rank a node; an AllReduce leaves out two
 *   passes of two rounds). Fill (cost.h), of a Broadcast or Reduce: steps, hops and the last
 *   chunk's way (half of its 512 KiB overlaps).
 * - Tree: the double binary tree over nodes, a chain in each. From four nodes on 4 x S/2 leave a
 *   node.
 * - NVLS: S leaves a GPU, S/g comes in as sums; S/g leaves as results, S comes in. Switches sustain
 *   s = 0.81 (Hopper), 0.72 (Blackwell) (*measured*: slope of AllReduces up to 2 GiB; NCCL 0.85,
 *   0.74). Passes over all chunks (channels x g x 128 KiB) add to R.
 *
 * Chunks, slots and block sizes are NCCL's.
 *
 * NCCL has no estimate of sends and receives. A message gets a channel for each 64 KiB (PCIe 16
 * KiB), up to all on NVLink, 2 on PCIe, rate / 14 GB/s between nodes; LL up to 16 KiB a channel,
 * else Simple with a rendezvous of 6.5 us (*measured*: AlltoAlls, A100, H100, B200 alike). Steps
 * are LL's.
 *
 *     t = start + 2*step + (peers in the node - 1)*step/4 + [hop]
 *         + sqrt(((batches-1)*hop)^2 + wire^2) + copy + ramp
 *
 * With LL, wire is at least what a block takes for its part beyond 4 KiB, at 5.8 GB/s (*measured*).
 * Peers on other nodes come in batches of 8, each of which starts while data of others flow. A
 * quarter of a step, and 1.5 of a copy to itself, are *measured*; 8, 14 and 16 KiB are NCCL's.
 *
 *     shares of S                on a GPU's links             on NICs
 *     AlltoAll, AlltoAllv        (g-1)/n                      g(n-g)/n of a node; same for h
 *     Gather, Scatter (root)     (g-1)/n                      (n-g)/n, beside the root
 *     Send, Recv                 1                            1; `flows` senders of a node share
 *                                                             its NICs
 *     both ways at once          1 each way; without P2P 2    1 each way
 *                                on the host's memory
 *     all pairs, S to each peer  g-1                          g(n-g) of a node; same for h
 */
#include "model/cost.h"

#include <math.h>
#include <string.h>

#include "model/comm_price.h"

const char *const model_comm_assumptions[] = {
    "NCCL's tuner chooses algorithm, protocol and channels; the time is that of the choice: "
    "start + steps x latency + bytes / bandwidth + what a large transfer takes to get under way",
    "every NIC of a node carries its share; payload gets the fitted share of each raw rate",
    "nothing else uses the links, and all ranks arrive together",
    "buffers are in no symmetric windows, and no call asks for an algorithm: what comes of these "
    "is not modelled (kernels for symmetric memory since NCCL 2.27, copy engines since 2.28, no "
    "SMs between nodes since 2.30, ncclCollConfig_t since 2.31)",
    NULL,
};

struct layout layout_dense(const struct network_profile *net, int ranks)
{
    int per_node = net->gpus_per_node >= 1 ? (int)net->gpus_per_node : 1;
    return (struct layout){
        .ranks = ranks,
        .nodes = ranks / per_node + (ranks % per_node != 0),
        .per_node = ranks < per_node ? ranks : per_node,
    };
}

static bool is_p2p(enum specter_comm_op op)
{
    return op == SPECTER_ALLTOALL || op == SPECTER_ALLTOALLV || op == SPECTER_GATHER ||
           op == SPECTER_SCATTER;
}

/* -1 with e filled for what is no number of bytes. */
static int check_bytes(double bytes, struct err *e)
{
    if (bytes >= 0 && isfinite(bytes))
        return 0;
    return err_set(e, ERR_USAGE, "%g is no number of bytes", bytes);
}

static int check_op(enum specter_comm_op op, double bytes, struct err *e)
{
    if ((unsigned)op >= SPECTER_COMM_OP_COUNT || specter_comm_op_is_p2p(op))
        return err_set(e, ERR_USAGE, "'%s' is no collective", specter_comm_op_name(op));
    return check_bytes(bytes, e);
}

/* ---- sends and receives, and what is made of them ----
 *
 * AlltoAll(v), Gather and Scatter: NCCL has no estimate of them.
 */

#define BATCH 8 /* peers that one kernel works on at a time (NCCL's p2p work batch) */
#define LL_CHANNEL_BYTES 16384 /* of a message, up to which LL is taken (NCCL_P2P_LL_THRESHOLD) */
#define CHUNK_NVLINK (512 * 1024)
#define CHUNK_OTHER (128 * 1024) /* PCIe, and between nodes */
#define PCIE_CHANNELS 2
#define NET_GBPS_PER_CHANNEL 14

#define STEPS 2 /* of a message: posted, seen */

/* Constants read off measured AlltoAlls. */
#define PEER_STEPS 0.25   /* one more peer in a batch, in steps */
#define RENDEZVOUS_US 6.5 /* Simple: both sides learn of each other's buffers */
#define SELF_COPY 1.5     /* a message to itself has the blocks of one peer, no more */

/* The same, with LL, of a block beyond its first round: 256 threads send, 8 bytes each, and wait
 * 0.35 us for memory. A100, H100, B200 and GB200 alike. */
#define LL_MESSAGE_GBPS 5.8

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

/* Messages to different peers start on different channels, and share the threads of blocks only
 * when there are more of them. */
static double peers_per_block(const struct topo_view *s, const struct exchange *x, int channels)
{
    double blocks = (double)(x->inside + x->outside) * channels;
    return fmax(1, ceil(blocks / pow2_up(s->nccl.graphs.channels)));
}

static void price(const struct topo_view *s, const struct exchange *x, enum nccl_proto forced,
                  int channels, double bus_bytes, struct comm_cost *out)
{
    int n = channels > 0 ? channels : message_channels(s, x->message);
    bool ll = forced < NCCL_PROTOS ? forced == NCCL_LL : x->message <= n * LL_CHANNEL_BYTES;
    double rest = ll ? fmax(0, x->message / n - LL_BLOCK_BYTES) : 0; /* after a first round */
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
        .block_us = peers_per_block(s, x, n) * comm_us(rest, 1, LL_MESSAGE_GBPS),
    };
    if (x->inside > 0)
        l.start_us += (STEPS + (x->inside - 1) * PEER_STEPS) * comm_step_us(s, NCCL_LL);
    if (x->outside > 1)
        l.batch_us = (ceil((double)x->outside / BATCH) - 1) * comm_hop_us(s, NCCL_LL);
    comm_price(s, &l, bus_bytes, out);
    out->algo = "p2p";
    out->proto = nccl_protos[l.proto].name;
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

/* ---- collectives ---- */

static void price_nccl(const struct topo_view *s, const struct nccl_operation *o,
                       struct comm_cost *out)
{
    struct comm_demand load;
    struct topo_view by_nvls;
    if (o->algo == NCCL_NVLS || o->algo == NCCL_NVLS_TREE) {
        by_nvls = *s;
        by_nvls.wire = s->nvls_wire;
        s = &by_nvls;
    }
    comm_demand_of(s, o, &load);
    comm_price(s, &load, o->bytes * specter_comm_op_bus_factor(o->op, (uint64_t)s->ranks), out);
    out->algo = nccl_algos[o->algo].name;
    out->proto = nccl_protos[o->proto].name;
}

/* The values that a choice allows NCCL. False for names that it does not know. */
static bool allowed_by(const struct comm_choice *choice, struct nccl_allowed *out)
{
    *out = nccl_any;
    return choice == NULL || nccl_allowed_parse(choice->algo, choice->proto, out);
}

static int refuse_choice(const struct comm_choice *choice, enum specter_comm_op op, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s cannot be done with %s%s%s here", specter_comm_op_name(op),
                   choice != NULL && choice->algo != NULL ? choice->algo : "",
                   choice != NULL && choice->algo != NULL && choice->proto != NULL ? " and " : "",
                   choice != NULL && choice->proto != NULL ? choice->proto : "");
}

/* NCCL_PROTOS: NCCL chooses; -1: sends and receives cannot be done so. */
static int p2p_proto(const struct comm_choice *choice)
{
    if (choice == NULL)
        return NCCL_PROTOS;
    struct nccl_allowed allowed;
    if ((choice->algo != NULL && strcmp(choice->algo, "p2p") != 0) ||
        !nccl_allowed_parse(NULL, choice->proto, &allowed))
        return -1;
    const bool ll = allowed.protos >> NCCL_LL & 1, simple = allowed.protos >> NCCL_SIMPLE & 1;
    return ll && simple ? NCCL_PROTOS : ll ? NCCL_LL : simple ? NCCL_SIMPLE : -1;
}

static int price_p2p(const struct topo_view *s, enum specter_comm_op op, double bytes,
                     const struct comm_choice *choice, struct comm_cost *out, struct err *e)
{
    double part = bytes / s->ranks;
    struct exchange x = {
        .message = part,
        .inside = s->most - 1,
        .outside = s->ranks - s->most,
        .copied = SELF_COPY * bytes / s->ranks,
    };
    int proto = p2p_proto(choice);
    if (proto < 0)
        return refuse_choice(choice, op, e);
    if (op == SPECTER_GATHER || op == SPECTER_SCATTER) {
        /* The root, on a full node, exchanges S/n with every other one: alone at its links and
         * NICs. */
        if (x.inside > 0)
            x.link_us = comm_us(part, x.inside, comm_link_GBps(s, x.inside));
        if (x.outside > 0)
            x.nic_us = comm_us(part, x.outside, comm_nic_GBps(s, 1));
    } else {
        spread_from(s, s->most, bytes, &x);
        spread_from(s, s->least, bytes, &x);
    }
    price(s, &x, (enum nccl_proto)proto, choice != NULL ? choice->channels : 0,
          bytes * specter_comm_op_bus_factor(op, (uint64_t)s->ranks), out);
    return 0;
}

int model_collective_as(const struct gpu_profile *gpu, const struct network_profile *net,
                        enum specter_comm_op op, double bytes, struct layout where,
                        const struct comm_choice *choice, struct comm_cost *out, struct err *e)
{
    const struct nccl_tuning *tuning;
    struct nccl_allowed allowed;
    struct nccl_choice chosen;
    struct nccl_operation o;
    struct topo_view s;
    if (check_op(op, bytes, e) < 0 || topo_view_init(gpu, net, where, &s, e) < 0)
        return -1;
    if (where.ranks == 1) {
        *out = (struct comm_cost){
            .us = s.node.start_us,
            .lat_us = s.node.start_us,
            .algo = "none",
            .proto = "none",
            .bound = "latency",
        };
        return 0;
    }
    if (is_p2p(op))
        return price_p2p(&s, op, bytes, choice, out, e);
    if (!allowed_by(choice, &allowed) || (tuning = comm_tuning(&s, op, &allowed)) == NULL ||
        !nccl_choose(&s.nccl, tuning, bytes, &chosen))
        return refuse_choice(choice, op, e);
    o = (struct nccl_operation){op, chosen.algo, chosen.proto, chosen.channels, bytes};
    if (choice != NULL && choice->channels > 0)
        o.channels = choice->channels;
    price_nccl(&s, &o, out);
    return 0;
}

int model_collective(const struct gpu_profile *gpu, const struct network_profile *net,
                     enum specter_comm_op op, double bytes, struct layout where,
                     struct comm_cost *out, struct err *e)
{
    return model_collective_as(gpu, net, op, bytes, where, NULL, out, e);
}

int model_collective_candidates(const struct gpu_profile *gpu, const struct network_profile *net,
                                enum specter_comm_op op, double bytes, struct layout where,
                                struct comm_candidate out[COMM_CANDIDATES_MAX], struct err *e)
{
    struct nccl_candidate all[NCCL_ALGOS * NCCL_PROTOS];
    struct nccl_symmetric symmetric;
    const struct nccl_tuning *tuning;
    struct nccl_choice chosen;
    struct topo_view s;
    int count = 0;
    if (check_op(op, bytes, e) < 0 || topo_view_init(gpu, net, where, &s, e) < 0)
        return -1;
    if (where.ranks == 1 || is_p2p(op)) {
        out[0] = (struct comm_candidate){.chosen = true};
        return model_collective(gpu, net, op, bytes, where, &out[0].cost, e) < 0 ? -1 : 1;
    }
    tuning = comm_tuning(&s, op, &nccl_any);
    if (tuning == NULL || !nccl_choose(&s.nccl, tuning, bytes, &chosen))
        return err_set(e, ERR_USAGE, "NCCL has no way to do %s here", specter_comm_op_name(op));
    nccl_candidates(&s.nccl, tuning, bytes, all);
    for (int i = 0; i < NCCL_ALGOS * NCCL_PROTOS; i++) {
        const struct nccl_candidate *from = &all[i];
        struct comm_candidate *to = &out[count];
        struct nccl_operation o = {op, from->algo, from->proto, 0, bytes};
        if (from->why == NCCL_NOT_FOR_OP || from->why == NCCL_NO_PROTO)
            continue;
        *to = (struct comm_candidate){
            .nccl_lat_us = from->lat_us,
            .nccl_GBps = from->bw_GBps,
            .nccl_us = from->us,
            .off = from->why == NCCL_ON ? NULL : nccl_why_text[from->why],
            .chosen = from->algo == chosen.algo && from->proto == chosen.proto,
        };
        to->by_tuner = to->chosen && chosen.by_tuner;
        o.channels =
            to->chosen ? chosen.channels : nccl_channels(&s.nccl, from->algo, from->proto, bytes);
        if (from->why == NCCL_ON)
            price_nccl(&s, &o, &to->cost);
        to->cost.algo = nccl_algos[from->algo].name;
        to->cost.proto = nccl_protos[from->proto].name;
        count++;
    }
    if (nccl_symmetric(&s.nccl, op, bytes, &symmetric))
        out[count++] = (struct comm_candidate){
            .cost = {.algo = "symmetric", .proto = symmetric.kernel, .channels = symmetric.blocks},
            .nccl_us = symmetric.us,
            .off = "needs both buffers in symmetric windows (ncclCommWindowRegister)",
        };
    return count;
}

/* ---- messages ---- */

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
    if (topo_view_init(gpu, net, where, &s, e) < 0)
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
    if (topo_view_init(gpu, net, where, &s, e) < 0)
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
    if (check_bytes(bytes, e) < 0)
        return -1;
    if (messages->direction == COMM_ALL_PAIRS)
        return price_all_pairs(gpu, net, bytes, messages->where, out, e);
    return price_pair(gpu, net, bytes, messages, out, e);
}

int model_p2p(const struct gpu_profile *gpu, const struct network_profile *net, double bytes,
              bool across, struct comm_cost *out, struct err *e)
{
    const struct comm_messages one = {COMM_ONE_WAY, {2, across ? 2 : 1, across ? 1 : 2}, 1};
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
