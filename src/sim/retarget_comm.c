/* SPDX-License-Identifier: MIT
 *
 * What transfers cost: collectives, messages, all-to-alls made of messages.
 */
#include "sim/retarget_inside.h"
#include "sim/vary_link.h"

/* Do both ends of a send sit on different nodes, on that side? */
static bool across_nodes(const struct retarget *t, const struct rank *rank, const struct op *op,
                         const struct network_profile *net, const struct layout *where)
{
    uint32_t r = (uint32_t)(rank - t->run->ranks), i = (uint32_t)(op - rank->ops);
    if (where == t->from_where)
        return growth_recorded_across(t->growth, r, i, net);
    return growth_across(t->growth, r, i, net, t->scale);
}

/* `what` and bytes are those of the transfer, which op may not tell itself. */
static int price_transfer(const struct retarget *t, const struct rank *rank, const struct op *op,
                          enum specter_comm_op what, double bytes, struct hardware on,
                          const struct layout *where, struct comm_cost *price, struct err *e)
{
    struct layout at = where[op->coll.comm];
    bool p2p = specter_comm_op_is_p2p(what);
    bool across = p2p ? across_nodes(t, rank, op, on.network, where) : at.nodes > 1;
    double slow = where == t->to_where && across ? vary_link_slowness(t, rank, op, p2p) : 1;
    int rc = p2p ? model_p2p(on.gpu, on.network, bytes, across, price, e)
                 : model_collective(on.gpu, on.network, what, bytes, at, price, e);
    return rc == 0 && slow > 1 ? vary_link_price(on, what, bytes, at, slow, price, e) : rc;
}

int retarget_transfer_us(const struct retarget *t, const struct rank *rank, const struct op *op,
                         enum specter_comm_op what, double bytes, struct hardware on,
                         const struct layout *where, double *us, struct err *e)
{
    struct comm_cost price;
    if (price_transfer(t, rank, op, what, bytes, on, where, &price, e) < 0)
        return -1;
    *us = price.us;
    return 0;
}

/* A message of an all-to-all that gets more members. */
static bool is_exchange(const struct retarget *t, const struct program_cost *cost)
{
    int comm = t->program->matches.list[cost->match].comm;
    return t->sent != NULL && t->growth->grid->comms[comm].by_messages &&
           growth_grows(t->growth, comm) && t->sent[cost->rank][cost->op] > 0;
}

/* As the all-to-all that it is part of: each rank sends as much as before, to more members. */
static int exchange_us(const struct retarget *t, const struct program_cost *cost,
                       struct hardware on, const struct layout *where, double *us, struct err *e)
{
    struct comm_cost price;
    if (model_collective(on.gpu, on.network, SPECTER_ALLTOALLV,
                         (double)t->sent[cost->rank][cost->op],
                         where[t->program->matches.list[cost->match].comm], &price, e) < 0)
        return -1;
    *us = price.us;
    return 0;
}

/* Of a divided batch it carries a part. */
static bool carries_less(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    return retarget_is_divided(t) &&
           strong_divides(t->strong, match->comm, (enum specter_comm_op)match->op, match->bytes,
                          (enum specter_dtype)match->dtype);
}

double retarget_bytes(const struct retarget *t, const struct program_cost *cost)
{
    double bytes = (double)t->program->matches.list[cost->match].bytes;
    return carries_less(t, cost) ? bytes / (double)t->scale : bytes;
}

static int comm_us(const struct retarget *t, const struct program_cost *cost, struct hardware on,
                   const struct layout *where, double *us, struct err *e)
{
    const struct match *match = &t->program->matches.list[cost->match];
    const struct rank *rank = &t->run->ranks[cost->rank];
    double bytes = (double)match->bytes;
    if (is_exchange(t, cost))
        return exchange_us(t, cost, on, where, us, e);
    if (where == t->to_where)
        bytes = retarget_bytes(t, cost);
    return retarget_transfer_us(t, rank, &rank->ops[cost->op], (enum specter_comm_op)match->op,
                                bytes, on, where, us, e);
}

bool retarget_known_transfer(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match;
    if (cost->match == PROGRAM_NONE)
        return false;
    match = &t->program->matches.list[cost->match];
    if (match->op >= SPECTER_COMM_OP_COUNT || t->run->comms[match->comm].size == 0)
        return false;
    return match->bytes > 0 || !(t->run->ranks[cost->rank].ops[cost->op].flags & OP_BYTES_UNKNOWN);
}

/* What one rank alone was measured at is no transfer: a ratio to it means nothing. */
static int grow_from_one(struct retarget *t, const struct program_cost *cost, int64_t *ns,
                         struct err *e)
{
    double us;
    if (comm_us(t, cost, t->to, t->to_where, &us, e) < 0)
        return -1;
    *ns = retarget_ns(us);
    return 0;
}

bool retarget_moved(const struct retarget *t, int comm)
{
    const struct layout *from = &t->from_where[comm], *to = &t->to_where[comm];
    return from->ranks != to->ranks || from->nodes != to->nodes || from->per_node != to->per_node;
}

static bool has_moved(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    const struct rank *rank = &t->run->ranks[cost->rank];
    const struct op *op = &rank->ops[cost->op];
    if (specter_comm_op_is_p2p((enum specter_comm_op)match->op) && !is_exchange(t, cost))
        return across_nodes(t, rank, op, t->from.network, t->from_where) !=
               across_nodes(t, rank, op, t->to.network, t->to_where);
    return retarget_moved(t, match->comm);
}

int retarget_comm(struct retarget *t, const struct program_cost *cost, int64_t *ns, struct err *e)
{
    int comm = t->program->matches.list[cost->match].comm;
    bool grown = has_moved(t, cost) || carries_less(t, cost);
    bool slow = vary_link_met(t, cost);
    struct modelled m;
    t->slowed += slow;
    if (retarget_untouched(t, cost->measured_ns, retarget_same_hardware(t) && !grown && !slow)) {
        *ns = cost->measured_ns;
        return 0;
    }
    if (t->run->comms[comm].size == 1 && t->to_where[comm].ranks > 1)
        return grow_from_one(t, cost, ns, e);
    if (comm_us(t, cost, t->from, t->from_where, &m.from_us, e) < 0)
        return err_prefix(e, "the hardware of the recording (see --from-network)");
    if (comm_us(t, cost, t->to, t->to_where, &m.to_us, e) < 0)
        return -1;
    *ns = retarget_apply(t, cost->measured_ns, m);
    return 0;
}

bool retarget_price(const struct retarget *t, const struct program_cost *cost,
                    struct comm_cost *price)
{
    const struct match *match;
    const struct rank *rank = &t->run->ranks[cost->rank];
    struct err ignored;
    if (!retarget_known_transfer(t, cost))
        return false;
    match = &t->program->matches.list[cost->match];
    return price_transfer(t, rank, &rank->ops[cost->op], (enum specter_comm_op)match->op,
                          retarget_bytes(t, cost), t->to, t->to_where, price, &ignored) == 0;
}

int retarget_members(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    if (specter_comm_op_is_p2p((enum specter_comm_op)match->op))
        return 2;
    return t->to_where[match->comm].ranks;
}
