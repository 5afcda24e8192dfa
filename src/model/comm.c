/* SPDX-License-Identifier: MIT
 *
 * What collectives cost: NCCL's tuner chooses the way (nccl_tuner.h), our model prices it
 * (comm_price.h). Derivations: README.md beside this file.
 */
#include "model/cost.h"

#include <math.h>
#include <string.h>

#include "model/comm_price.h"
#include "model/p2p.h"

const char *const model_comm_assumptions[] = {
    "NCCL's tuner chooses algorithm, protocol and channels; the time is that of the choice: "
    "start + steps x latency + bytes / bandwidth + what a large transfer takes to get under way",
    "every NIC of a node carries its share; payload gets the fitted share of each raw rate",
    "nothing else uses the links, and all ranks arrive together",
    NULL,
};

#define NAME_MAX_LEN 32

struct layout layout_dense(const struct network_profile *net, int ranks)
{
    int per_node = net->gpus_per_node >= 1 ? (int)net->gpus_per_node : 1;
    return (struct layout){
        .ranks = ranks,
        .nodes = ranks / per_node + (ranks % per_node != 0),
        .per_node = ranks < per_node ? ranks : per_node,
    };
}

/* As struct comm_cost names them. */
static const char *const algo_names[NCCL_ALGOS] = {
    [NCCL_TREE] = "tree",
    [NCCL_RING] = "ring",
    [NCCL_COLLNET_DIRECT] = "collnet_direct",
    [NCCL_COLLNET_CHAIN] = "collnet_chain",
    [NCCL_NVLS] = "nvls",
    [NCCL_NVLS_TREE] = "nvls_tree",
    [NCCL_PAT] = "pat",
};

static bool is_p2p(enum specter_comm_op op)
{
    return op == SPECTER_ALLTOALL || op == SPECTER_ALLTOALLV || op == SPECTER_GATHER ||
           op == SPECTER_SCATTER;
}

static int check_op(enum specter_comm_op op, double bytes, struct err *e)
{
    if ((unsigned)op >= SPECTER_COMM_OP_COUNT || specter_comm_op_is_p2p(op))
        return err_set(e, ERR_USAGE, "'%s' is no collective", specter_comm_op_name(op));
    return comm_check_bytes(bytes, e);
}

static void price_one_rank(const struct topo_view *s, struct comm_cost *out)
{
    *out = (struct comm_cost){
        .us = s->node.start_us,
        .lat_us = s->node.start_us,
        .algo = "none",
        .proto = "none",
        .bound = "latency",
    };
}

static void price(const struct topo_view *s, enum specter_comm_op op, enum nccl_algo algo,
                  enum nccl_proto proto, int channels, double bytes, struct comm_cost *out)
{
    struct comm_demand load;
    struct topo_view site = *s;
    if (algo == NCCL_NVLS || algo == NCCL_NVLS_TREE)
        site.wire = s->nvls_wire;
    comm_demand_of(&site, op, algo, proto, channels, bytes, &load);
    comm_price(&site, &load, bytes * specter_comm_op_bus_factor(op, (uint64_t)s->ranks), out);
    out->algo = algo_names[algo];
    out->proto = nccl_proto_names[proto];
}

/* As NCCL spells it: without the '_' of struct comm_cost's names. */
static const char *nccl_spelling(const char *name, char out[NAME_MAX_LEN])
{
    size_t n = 0;
    if (name == NULL)
        return NULL;
    for (; *name != '\0' && n + 1 < NAME_MAX_LEN; name++) {
        if (*name != '_')
            out[n++] = *name;
    }
    out[n] = '\0';
    return out;
}

/* The values that a choice allows NCCL. False for names that it does not know. */
static bool allowed_by(const struct comm_choice *choice, struct nccl_allowed *out)
{
    char algo[NAME_MAX_LEN], proto[NAME_MAX_LEN];
    *out = nccl_any;
    return choice == NULL || nccl_allowed_parse(nccl_spelling(choice->algo, algo),
                                                nccl_spelling(choice->proto, proto), out);
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
    if (choice->algo != NULL && strcmp(choice->algo, "p2p") != 0)
        return -1;
    if (choice->proto == NULL)
        return NCCL_PROTOS;
    if (strcmp(choice->proto, nccl_proto_names[NCCL_LL]) == 0)
        return NCCL_LL;
    return strcmp(choice->proto, nccl_proto_names[NCCL_SIMPLE]) == 0 ? NCCL_SIMPLE : -1;
}

static int price_p2p(const struct topo_view *s, enum specter_comm_op op, double bytes,
                     const struct comm_choice *choice, struct comm_cost *out, struct err *e)
{
    int proto = p2p_proto(choice);
    if (proto < 0)
        return refuse_choice(choice, op, e);
    p2p_collective(s, op, (enum nccl_proto)proto, choice != NULL ? choice->channels : 0, bytes,
                   out);
    return 0;
}

int model_collective_as(const struct gpu_profile *gpu, const struct network_profile *net,
                        enum specter_comm_op op, double bytes, struct layout where,
                        const struct comm_choice *choice, struct comm_cost *out, struct err *e)
{
    struct nccl_allowed allowed;
    struct nccl_tuning tuning;
    struct nccl_choice chosen;
    struct topo_view s;
    if (check_op(op, bytes, e) < 0 || !topo_view_init(gpu, net, where, &s, e))
        return -1;
    if (where.ranks == 1) {
        price_one_rank(&s, out);
        return 0;
    }
    if (is_p2p(op))
        return price_p2p(&s, op, bytes, choice, out, e);
    if (!allowed_by(choice, &allowed) || !nccl_tune(&s.nccl, op, &allowed, &tuning) ||
        !nccl_choose(&s.nccl, &tuning, bytes, &chosen))
        return refuse_choice(choice, op, e);
    if (choice != NULL && choice->channels > 0)
        chosen.channels = choice->channels;
    price(&s, op, chosen.algo, chosen.proto, chosen.channels, bytes, out);
    return 0;
}

int model_collective(const struct gpu_profile *gpu, const struct network_profile *net,
                     enum specter_comm_op op, double bytes, struct layout where,
                     struct comm_cost *out, struct err *e)
{
    return model_collective_as(gpu, net, op, bytes, where, NULL, out, e);
}

static void explain(const struct topo_view *s, enum specter_comm_op op, double bytes,
                    const struct nccl_candidate *from, struct comm_candidate *to)
{
    *to = (struct comm_candidate){
        .nccl_lat_us = from->lat_us,
        .nccl_GBps = from->bw_GBps,
        .nccl_us = from->us,
        .off = from->why == NCCL_ON ? NULL : nccl_why_text[from->why],
    };
    if (from->why == NCCL_ON)
        price(s, op, from->algo, from->proto,
              nccl_channels(&s->nccl, from->algo, from->proto, bytes), bytes, &to->cost);
    to->cost.algo = algo_names[from->algo];
    to->cost.proto = nccl_proto_names[from->proto];
}

int model_collective_candidates(const struct gpu_profile *gpu, const struct network_profile *net,
                                enum specter_comm_op op, double bytes, struct layout where,
                                struct comm_candidate out[COMM_CANDIDATES_MAX], struct err *e)
{
    struct nccl_candidate all[NCCL_ALGOS * NCCL_PROTOS];
    struct nccl_tuning tuning;
    struct nccl_choice chosen;
    struct topo_view s;
    int count = 0;
    if (check_op(op, bytes, e) < 0 || !topo_view_init(gpu, net, where, &s, e))
        return -1;
    if (where.ranks == 1 || is_p2p(op)) {
        out[0] = (struct comm_candidate){.chosen = true};
        return model_collective(gpu, net, op, bytes, where, &out[0].cost, e) < 0 ? -1 : 1;
    }
    if (!nccl_tune(&s.nccl, op, &nccl_any, &tuning) ||
        !nccl_choose(&s.nccl, &tuning, bytes, &chosen))
        return err_set(e, ERR_USAGE, "NCCL has no way to do %s here", specter_comm_op_name(op));
    nccl_candidates(&s.nccl, &tuning, bytes, all);
    for (int i = 0; i < NCCL_ALGOS * NCCL_PROTOS; i++) {
        if (all[i].why == NCCL_NOT_FOR_OP || all[i].why == NCCL_NO_PROTO)
            continue;
        explain(&s, op, bytes, &all[i], &out[count]);
        out[count++].chosen = all[i].algo == chosen.algo && all[i].proto == chosen.proto;
    }
    return count;
}
