/* SPDX-License-Identifier: MIT
 *
 * What transfers cost: collectives, messages, all-to-alls made of messages.
 */
#include "sim/target/retarget_internal.h"
#include "sim/target/slow_links.h"

/* Returns whether both ends of a send sit on different nodes, on that side. */
static bool across_nodes(const struct retarget *t, const struct rank *rank, const struct op *op,
                         const struct network_profile *net, const struct layout *where)
{
    uint32_t r = (uint32_t)(rank - t->run->ranks), i = (uint32_t)(op - rank->ops);
    if (where == t->from_where)
        return weak_scaling_recorded_across(t->growth, r, i, net);
    return weak_scaling_across(t->growth, r, i, net, t->scale);
}

/* `what` and bytes are those of the transfer, which op may not tell itself. */
static int price_transfer(const struct retarget *t, const struct rank *rank, const struct op *op,
                          enum specter_comm_op what, double bytes, struct hardware on,
                          const struct layout *where, struct comm_cost *price, struct err *e)
{
    struct layout at = where[op->coll.comm];
    bool p2p = specter_comm_op_is_p2p(what);
    bool across = p2p ? across_nodes(t, rank, op, on.network, where) : at.nodes > 1;
    double slow = where == t->to_where && across ? slow_link_factor(t, rank, op, p2p) : 1;
    int rc = p2p ? model_p2p(on.gpu, on.network, bytes, across, price, e)
                 : model_collective(on.gpu, on.network, what, bytes, at, price, e);
    return rc == 0 && slow > 1 ? slow_link_price(on, what, bytes, at, slow, price, e) : rc;
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
static bool is_alltoall(const struct retarget *t, const struct program_cost *cost)
{
    int comm = t->program->matches.list[cost->match].comm;
    return t->sent != NULL && t->growth->grid->comms[comm].by_messages &&
           weak_scaling_grows(t->growth, comm) && t->sent[cost->rank][cost->op] > 0;
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

/* Returns whether it carries fewer bytes because the batch is divided. */
static bool carries_less(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    return retarget_is_divided(t) &&
           strong_scaling_divides(t->strong, match->comm, (enum specter_comm_op)match->op,
                                  match->bytes, (enum specter_dtype)match->dtype);
}

double retarget_bytes(const struct retarget *t, const struct program_cost *cost)
{
    double bytes = (double)t->program->matches.list[cost->match].bytes;
    return carries_less(t, cost) ? bytes / (double)t->scale : bytes;
}

/* Returns whether it is a message beside others, which are no all-to-all. */
static bool is_among_messages(const struct retarget *t, const struct op *op)
{
    return op->class == OP_P2P && op->coll.group >= 0 && t->growth->origin == NULL &&
           !t->growth->grid->comms[op->coll.comm].by_messages;
}

/* Messages of one group that leave a rank by one port, as some leave the node and some do not,
 * share it, and were measured together: so many times the bytes of this one. */
static double port_load(const struct retarget *t, const struct rank *rank, const struct op *op,
                        const struct network_profile *net, const struct layout *where)
{
    bool across;
    double sum = (double)op->bytes;
    if (!is_among_messages(t, op) || op->bytes == 0)
        return 1;
    across = across_nodes(t, rank, op, net, where);
    for (int step = -1; step <= 1; step += 2) {
        for (const struct op *o = op + step; o >= rank->ops && o < rank->ops + rank->nops &&
                                             o->class == OP_P2P && o->coll.group == op->coll.group;
             o += step) {
            if (o->coll.op == op->coll.op && across_nodes(t, rank, o, net, where) == across)
                sum += (double)o->bytes;
        }
    }
    return sum / (double)op->bytes;
}

/* For data that go one way the program holds the fill; but where the source was not recorded, the
 * time before the first recorded member is part of the transfer. */
static void leave_fill(const struct retarget *t, const struct program_cost *cost,
                       struct comm_cost *price)
{
    struct program_one_way way = t->program->one_ways[cost->match];
    if (way.span > 0)
        price->us -= price->fill_us * (1 - (double)way.first / way.span);
}

static int comm_us(const struct retarget *t, const struct program_cost *cost, struct hardware on,
                   const struct layout *where, double *us, struct err *e)
{
    struct comm_cost price;
    const struct match *match = &t->program->matches.list[cost->match];
    const struct rank *rank = &t->run->ranks[cost->rank];
    double bytes = (double)match->bytes;
    if (is_alltoall(t, cost))
        return exchange_us(t, cost, on, where, us, e);
    if (where == t->to_where)
        bytes = retarget_bytes(t, cost);
    bytes *= port_load(t, rank, &rank->ops[cost->op], on.network, where);
    if (price_transfer(t, rank, &rank->ops[cost->op], (enum specter_comm_op)match->op, bytes, on,
                       where, &price, e) < 0)
        return -1;
    leave_fill(t, cost, &price);
    *us = price.us;
    return 0;
}

static int64_t fill_ns(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    const struct rank *rank = &t->run->ranks[cost->rank];
    const struct op *op = &rank->ops[cost->op];
    enum specter_comm_op what = (enum specter_comm_op)match->op;
    int64_t measured_ns = t->program->one_ways[cost->match].fill_ns;
    struct comm_cost from, to;
    struct err ignored;
    if (measured_ns != UNKNOWN_NS && t->calibrate && retarget_same_hardware(t) &&
        !retarget_moved(t, match->comm) && !carries_less(t, cost) && !slow_link_is_met(t, cost))
        return measured_ns;
    if (price_transfer(t, rank, op, what, retarget_bytes(t, cost), t->to, t->to_where, &to,
                       &ignored) < 0)
        return measured_ns == UNKNOWN_NS ? 0 : measured_ns;
    if (measured_ns == UNKNOWN_NS || !t->calibrate ||
        price_transfer(t, rank, op, what, (double)match->bytes, t->from, t->from_where, &from,
                       &ignored) < 0 ||
        !(from.fill_us > 0))
        return retarget_ns(to.fill_us);
    return retarget_ns((double)measured_ns / 1e3 * (to.fill_us / from.fill_us));
}

void retarget_set_fills(const struct retarget *t, struct program *program)
{
    for (size_t i = 0; i < program->ncosts; i++) {
        uint32_t match = program->costs[i].match;
        if (match != PROGRAM_NONE && program->one_ways[match].span > 0)
            sim_set_fill(program->sim, match, fill_ns(t, &program->costs[i]));
    }
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

/* A time measured on one rank alone is no transfer: a ratio to it means nothing. */
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

/* Returns whether the grid tells how the communicator grows. */
static bool is_placed(const struct retarget *t, int comm)
{
    int recorded = comm < 0 ? -1 : weak_scaling_recorded_comm(t->growth, comm);
    return comm >= 0 && (recorded < 0 || t->growth->grid->comms[recorded].known);
}

bool retarget_unsized(const struct retarget *t, const struct program_cost *cost)
{
    bool larger = t->scale > 1 || t->growth->origin != NULL;
    const struct op *op;
    if (cost->op == PROGRAM_NONE)
        return false;
    op = &t->run->ranks[cost->rank].ops[cost->op];
    if (op->class != OP_COLL && op->class != OP_P2P)
        return false;
    if (retarget_known_transfer(t, cost))
        return larger && !is_placed(t, op->coll.comm);
    return t->from.network != t->to.network ||
           (larger && (!is_placed(t, op->coll.comm) || retarget_moved(t, op->coll.comm)));
}

static bool has_moved(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    const struct rank *rank = &t->run->ranks[cost->rank];
    const struct op *op = &rank->ops[cost->op];
    if (specter_comm_op_is_p2p((enum specter_comm_op)match->op) && !is_alltoall(t, cost))
        return across_nodes(t, rank, op, t->from.network, t->from_where) !=
               across_nodes(t, rank, op, t->to.network, t->to_where);
    return retarget_moved(t, match->comm);
}

int retarget_comm(struct retarget *t, const struct program_cost *cost, int64_t *ns, struct err *e)
{
    int comm = t->program->matches.list[cost->match].comm;
    bool grown = has_moved(t, cost) || carries_less(t, cost);
    bool slow = slow_link_is_met(t, cost);
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
    if (cost->measured_ns == UNKNOWN_NS || !t->calibrate)
        *ns = retarget_apply(t, cost->measured_ns, m);
    else
        *ns = retarget_apply(t, cost->measured_ns - cost->wait_ns, m) + cost->wait_ns;
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
    if (price_transfer(t, rank, &rank->ops[cost->op], (enum specter_comm_op)match->op,
                       retarget_bytes(t, cost), t->to, t->to_where, price, &ignored) < 0)
        return false;
    leave_fill(t, cost, price);
    return true;
}

int retarget_members(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    if (specter_comm_op_is_p2p((enum specter_comm_op)match->op))
        return 2;
    return t->to_where[match->comm].ranks;
}
