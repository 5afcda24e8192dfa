/* SPDX-License-Identifier: MIT */
#include "sim/target/slow_links.h"

#include <math.h>
#include <string.h>

static double slower(const struct retarget *t, double slow, int rank)
{
    return rank >= 0 && rank < t->growth->world ? fmax(slow, t->slow_link[rank]) : slow;
}

double slow_link_factor(const struct retarget *t, const struct rank *rank, const struct op *op,
                        bool p2p)
{
    const struct comm *comm = &t->run->comms[op->coll.comm];
    const int *members = weak_scaling_members(t->growth, op->coll.comm);
    double slow = 1;
    if (t->slow_link == NULL)
        return 1;
    if (p2p && op->coll.peer >= 0 && op->coll.peer < comm->size)
        return slower(t, slower(t, 1, rank->rank), weak_scaling_peer(t->growth, op));
    for (int i = 0; i < comm->size; i++)
        slow = slower(t, slow, members != NULL ? members[i] : comm->ranks[i]);
    return slow;
}

bool slow_link_is_met(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    const struct rank *rank = &t->run->ranks[cost->rank];
    bool p2p = specter_comm_op_is_p2p((enum specter_comm_op)match->op);
    return t->slow_link != NULL && t->to_where[match->comm].nodes > 1 &&
           slow_link_factor(t, rank, &rank->ops[cost->op], p2p) > 1;
}

int slow_link_price(struct hardware on, enum specter_comm_op what, double bytes,
                    struct layout where, double slow, struct comm_cost *price, struct err *e)
{
    struct network_profile net = *on.network;
    struct comm_choice as = {price->algo, price->proto, price->channels};
    double usual_us = price->us;
    net.nic_Gbps /= slow;
    if (specter_comm_op_is_p2p(what))
        return model_p2p(on.gpu, &net, bytes, true, price, e);
    if (strcmp(price->algo, "none") == 0)
        return 0;
    if (model_collective_as(on.gpu, &net, what, bytes, where, &as, price, e) < 0)
        return -1;
    price->us = fmax(price->us, usual_us);
    return 0;
}
