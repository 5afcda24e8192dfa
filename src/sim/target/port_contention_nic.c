/* SPDX-License-Identifier: MIT
 *
 * NICs that several GPUs of a node share.
 */
#include "sim/target/port_contention.h"

#include "base/idmap.h"

#include <stdlib.h>

/* A NIC of the target, in one direction: 2 x its number + the direction. */
struct nic {
    uint32_t link, rank; /* of the first use: its link stands for the NIC */
    bool shared;         /* by several ranks */
};

static bool has_shared_nics(const struct network_profile *net)
{
    return net->nics_per_node >= 1 && net->nics_per_node < net->gpus_per_node;
}

/* The NIC of a rank, numbered through all nodes. */
static int64_t nic_of(const struct retarget *t, size_t rank)
{
    const struct weak_scaling *g = t->growth;
    const struct network_profile *net = t->to.network;
    int64_t gpus = (int64_t)net->gpus_per_node, nics = (int64_t)net->nics_per_node;
    int64_t world = g->world * t->scale;
    int64_t self = weak_scaling_rank(g, t->run->ranks[rank].rank, t->scale);
    int64_t node = placement_node(&g->target, net, self, world);
    return node * nics + placement_slot(&g->target, net, self, world) * nics / gpus;
}

/* By rank; owned by the caller. */
static int64_t *list_nics(const struct retarget *t)
{
    int64_t *list = array_new(t->run->nranks, sizeof *list);
    for (size_t r = 0; r < t->run->nranks; r++)
        list[r] = nic_of(t, r);
    return list;
}

static void own_links(struct port_contention *l)
{
    for (size_t i = 0; i < l->count; i++) {
        l->uses[i].link = l->uses[i].own;
        l->uses[i].unshared = true;
    }
}

/* When one transfer uses a NIC several times, the first use stands for all: the model's load on the
 * node's NICs is for each of them. */
static bool is_again(const struct port_contention *l, size_t i)
{
    const struct link_use *u = &l->uses[i];
    for (size_t k = i; k > 0 && l->uses[k - 1].cost == u->cost; k--) {
        if (l->uses[k - 1].link == u->link)
            return true;
    }
    return false;
}

void port_contention_place(struct port_contention *l, const struct retarget *t)
{
    struct nic *nics;
    int64_t *number;
    struct idmap seen = {0};
    own_links(l);
    if (!has_shared_nics(t->to.network))
        return;
    nics = array_new(l->count, sizeof *nics);
    number = list_nics(t);
    for (size_t i = 0; i < l->count; i++) {
        const struct link_use *u = &l->uses[i];
        size_t known = seen.count;
        struct nic *nic;
        nic = &nics[idmap_add(&seen, number[u->rank] * 2 + u->direction)];
        if (seen.count > known)
            *nic = (struct nic){u->own, u->rank, false};
        nic->shared = nic->shared || nic->rank != u->rank;
    }
    for (size_t i = 0; i < l->count; i++) {
        struct link_use *u = &l->uses[i];
        const struct nic *nic;
        nic = &nics[idmap_add(&seen, number[u->rank] * 2 + u->direction)];
        u->link = nic->link;
        u->unshared = !nic->shared || is_again(l, i);
    }
    idmap_release(&seen);
    free(nics);
    free(number);
}
