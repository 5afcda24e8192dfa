/* SPDX-License-Identifier: MIT */
#include "analysis/expected.h"

#include "analysis/pairs.h"
#include "model/accuracy.h"

#include <math.h>

void machine_find(struct machine *m, const struct run *run, const struct gpu_profile *gpu,
                  const struct network_profile *net)
{
    *m = (struct machine){
        .gpu = gpu, .net = net, .by = net != NULL ? NETWORK_TOLD : NETWORK_UNKNOWN};
    for (size_t r = 0; gpu == NULL && r < run->nranks; r++) {
        const char *name = run->ranks[r].gpu;
        const struct gpu_profile *own = name[0] != '\0' ? gpu_profile_of_device(name) : NULL;
        m->mixed = m->mixed || (own != NULL && m->gpu != NULL && own != m->gpu);
        if (m->gpu == NULL)
            m->gpu = own;
    }
    if (m->mixed)
        m->gpu = NULL;
    if (m->net != NULL || m->gpu == NULL || m->gpu->network == NULL)
        return;
    m->net = network_profile_find(m->gpu->network, NULL);
    if (m->net != NULL)
        m->by = NETWORK_USUAL;
}

bool expected_layout(const struct node_map *node_map, const struct run *run,
                     const struct comm_instance *in, struct layout *out)
{
    int src, dst, across;
    if (!in->p2p)
        return node_map_layout(node_map, run, in->comm, out);
    pair_of(in, run, &src, &dst);
    across = node_map_across(node_map, run, src, dst, in->comm);
    *out = (struct layout){2, across > 0 ? 2 : 1, across > 0 ? 1 : 2};
    return across >= 0;
}

double expected_ns(const struct machine *m, const struct node_map *node_map, const struct run *run,
                   const struct comm_instance *in)
{
    struct layout where;
    struct comm_cost cost;
    struct err e;
    double bytes = (double)in->bytes;
    int rc;
    if (m->gpu == NULL || m->net == NULL || in->grouped || !in->bytes_known ||
        in->op >= SPECTER_COMM_OP_COUNT || !expected_layout(node_map, run, in, &where))
        return NAN;
    if (in->op == SPECTER_ALLTOALLV && in->sized > 0)
        bytes = in->sent / in->sized;
    if (in->p2p)
        rc = model_p2p(m->gpu, m->net, bytes, where.nodes > 1, &cost, &e);
    else
        rc =
            model_collective(m->gpu, m->net, (enum specter_comm_op)in->op, bytes, where, &cost, &e);
    return rc == 0 && cost.us > 0 ? 1e3 * cost.us : NAN;
}

double expected_error(const struct machine *m, bool p2p)
{
    bool known = false;
    double error;
    for (size_t i = 0; i < network_profile_count && !known; i++)
        known = m->net == &network_profiles[i]; /* not a user's file of that name */
    if (!known)
        return NAN;
    error = accuracy_of(p2p ? ACCURACY_P2P : ACCURACY_COLLECTIVE, m->net->name, &known);
    return known ? error : NAN;
}
