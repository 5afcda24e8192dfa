/* SPDX-License-Identifier: MIT
 *
 * The costs of transfers: collectives, messages, all-to-alls made of messages.
 */
#include "sim/target/retarget_internal.h"

#include <math.h>
#include <string.h>

/* ---- NICs of some nodes that carry less than their profile says ----
 *
 * A transfer runs at the pace of its slowest member's link: it is priced as if all NICs were as
 * slow. */

static double slower(const struct retarget *t, double slow, int rank)
{
    return rank >= 0 && rank < t->growth->world ? fmax(slow, t->slow_link[rank]) : slow;
}

/* Returns by how much the slowest NICs of a transfer on the target are slower than usual; 1: none.
 * Both ends of a message count, and all members of a collective. */
static double slow_link_factor(const struct retarget *t, const struct rank *rank,
                               const struct op *op, bool p2p)
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

/* Returns whether that is more than 1, and the transfer leaves its node there. */
static bool slow_link_is_met(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    const struct rank *rank = &t->run->ranks[cost->rank];
    bool p2p = specter_comm_op_is_p2p((enum specter_comm_op)match->op);
    return t->slow_link != NULL && t->to_where[match->comm].nodes > 1 &&
           slow_link_factor(t, rank, &rank->ops[cost->op], p2p) > 1;
}

/* Prices a transfer of the target anew for NICs at 1/slow, done in the way that `price` says: NCCL
 * knows what a NIC should carry, not what it does carry. */
static int slow_link_price(const struct retarget *t, const struct priced_transfer *transfer,
                           double slow, struct comm_cost *price, struct err *e)
{
    struct network_profile net = *t->to.network;
    struct comm_choice as = {price->algo, price->proto, price->channels};
    double usual_us = price->us;
    net.nic_Gbps /= slow;
    if (specter_comm_op_is_p2p(transfer->what))
        return model_p2p(t->to.gpu, &net, transfer->bytes, true, price, e);
    if (strcmp(price->algo, "none") == 0)
        return 0;
    if (model_collective_as(t->to.gpu, &net, transfer->what, transfer->bytes,
                            t->to_where[transfer->op->coll.comm], &as, price, e) < 0)
        return -1;
    price->us = fmax(price->us, usual_us);
    return 0;
}

/* ---- prices ---- */

/* Returns whether the members of a communicator are others on the target, or elsewhere. */
static bool retarget_moved(const struct retarget *t, int comm)
{
    const struct layout *from = &t->from_where[comm], *to = &t->to_where[comm];
    return from->ranks != to->ranks || from->nodes != to->nodes || from->per_node != to->per_node;
}

/* Returns whether both ends of a send sit on different nodes, on that side. */
static bool across_nodes(const struct retarget *t, const struct rank *rank, const struct op *op,
                         enum retarget_side side)
{
    uint32_t r = (uint32_t)(rank - t->run->ranks), i = (uint32_t)(op - rank->ops);
    if (side == ON_SOURCE)
        return weak_scaling_recorded_across(t->growth, r, i, t->from.network);
    return weak_scaling_across(t->growth, r, i, &t->there);
}

static int price_transfer(const struct retarget *t, const struct priced_transfer *transfer,
                          enum retarget_side side, struct comm_cost *price, struct err *e)
{
    const struct hardware *on = side == ON_TARGET ? &t->to : &t->from;
    struct layout at = (side == ON_TARGET ? t->to_where : t->from_where)[transfer->op->coll.comm];
    bool p2p = specter_comm_op_is_p2p(transfer->what);
    bool across = p2p ? across_nodes(t, transfer->rank, transfer->op, side) : at.nodes > 1;
    double slow =
        side == ON_TARGET && across ? slow_link_factor(t, transfer->rank, transfer->op, p2p) : 1;
    int rc =
        p2p ? model_p2p(on->gpu, on->network, transfer->bytes, across, price, e)
            : model_collective(on->gpu, on->network, transfer->what, transfer->bytes, at, price, e);
    return rc == 0 && slow > 1 ? slow_link_price(t, transfer, slow, price, e) : rc;
}

int retarget_transfer_us(const struct retarget *t, const struct priced_transfer *transfer,
                         enum retarget_side side, double *us, struct err *e)
{
    struct comm_cost price;
    if (price_transfer(t, transfer, side, &price, e) < 0)
        return -1;
    *us = price.us;
    return 0;
}

/* The transfer of a cost, with so many bytes. */
static struct priced_transfer transfer_of(const struct retarget *t, const struct program_cost *cost,
                                          double bytes)
{
    const struct rank *rank = &t->run->ranks[cost->rank];
    return (struct priced_transfer){
        .rank = rank,
        .op = &rank->ops[cost->op],
        .what = (enum specter_comm_op)t->program->matches.list[cost->match].op,
        .bytes = bytes};
}

/* A message of an all-to-all that gets more members. */
static bool is_alltoall(const struct retarget *t, const struct program_cost *cost)
{
    int comm = t->program->matches.list[cost->match].comm;
    return t->sent != NULL && t->growth->grid->comms[comm].by_messages &&
           weak_scaling_grows(t->growth, comm) && t->sent[cost->rank][cost->op] > 0;
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

double retarget_done_early(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match;
    struct layout where;
    if (!retarget_known_transfer(t, cost))
        return 0;
    match = &t->program->matches.list[cost->match];
    where = t->to_where[match->comm];
    if (where.nodes < 2 || (match->op != SPECTER_ALLREDUCE && match->op != SPECTER_ALLGATHER &&
                            match->op != SPECTER_REDUCESCATTER))
        return 0;
    return (where.per_node - 1.0) / (where.ranks - 1) / (match->op == SPECTER_ALLREDUCE ? 2 : 1);
}

/* Messages of one group that leave a rank by one port, as some leave the node and some do not,
 * share it, and were measured together: so many times the bytes of this one. */
static double port_load(const struct retarget *t, const struct rank *rank, const struct op *op,
                        enum retarget_side side)
{
    bool across;
    double sum = (double)op->bytes;
    if (op->class != OP_P2P || op->coll.group < 0 || t->growth->origin != NULL ||
        t->growth->grid->comms[op->coll.comm].by_messages || op->bytes == 0)
        return 1; /* no message beside others, or an all-to-all */
    across = across_nodes(t, rank, op, side);
    for (int step = -1; step <= 1; step += 2) {
        for (const struct op *o = op + step; o >= rank->ops && o < rank->ops + rank->nops &&
                                             o->class == OP_P2P && o->coll.group == op->coll.group;
             o += step) {
            if (o->coll.op == op->coll.op && across_nodes(t, rank, o, side) == across)
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

static int comm_us(const struct retarget *t, const struct program_cost *cost,
                   enum retarget_side side, double *us, struct err *e)
{
    const struct match *match = &t->program->matches.list[cost->match];
    const struct hardware *on = side == ON_TARGET ? &t->to : &t->from;
    const struct layout *where = side == ON_TARGET ? t->to_where : t->from_where;
    struct priced_transfer transfer = transfer_of(t, cost, (double)match->bytes);
    struct comm_cost price;
    if (is_alltoall(t, cost)) {
        /* As the all-to-all that it is part of: each rank sends as much as before, to more members.
         */
        if (model_collective(on->gpu, on->network, SPECTER_ALLTOALLV,
                             (double)t->sent[cost->rank][cost->op], where[match->comm], &price,
                             e) < 0)
            return -1;
        *us = price.us;
        return 0;
    }
    if (side == ON_TARGET)
        transfer.bytes = retarget_bytes(t, cost);
    transfer.bytes *= port_load(t, transfer.rank, transfer.op, side);
    if (price_transfer(t, &transfer, side, &price, e) < 0)
        return -1;
    leave_fill(t, cost, &price);
    *us = price.us;
    return 0;
}

/* Below this part of what the NICs take, a member did not wait for them. Chosen, not measured: the
 * margin is for the model's error. Only the stand-ins showed such transfers. */
#define NIC_TIME_SHARE_MAX 0.9

/* Where NICs are slower than links, a member near the root finishes before the NICs have sent its
 * data. The recorded fill then contains NIC time, which does not grow with the number of ranks. So
 * member time plus fill is scaled by the model's ratio of whole times; the fill is the rest. NAN
 * where the recording does not show that. part: of the way that the fill is behind the member. */
static double ahead_fill_us(const struct program_cost *cost, double fill_us, double part,
                            const struct comm_cost *from, const struct comm_cost *to)
{
    const double member_us = (double)(cost->measured_ns - cost->wait_ns) / 1e3;
    double all_us;
    if (cost->measured_ns == UNKNOWN_NS || !(part > 0) ||
        !(member_us < NIC_TIME_SHARE_MAX * from->nic_us))
        return NAN;
    all_us = (member_us + fill_us * part) * (to->us / from->us);
    return fmax(all_us - (double)(cost->set_ns - cost->wait_ns) / 1e3, 0) / part;
}

static int64_t fill_ns(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    const struct program_one_way way = t->program->one_ways[cost->match];
    const struct priced_transfer recorded = transfer_of(t, cost, (double)match->bytes);
    const struct priced_transfer on_target = transfer_of(t, cost, retarget_bytes(t, cost));
    struct comm_cost from, to;
    struct err ignored;
    double us;
    if (way.fill_ns != UNKNOWN_NS && t->calibrate && retarget_same_hardware(t) &&
        !retarget_moved(t, match->comm) && !carries_less(t, cost) && !slow_link_is_met(t, cost))
        return way.fill_ns;
    if (price_transfer(t, &on_target, ON_TARGET, &to, &ignored) < 0)
        return way.fill_ns == UNKNOWN_NS ? 0 : way.fill_ns;
    if (way.fill_ns == UNKNOWN_NS || !t->calibrate ||
        price_transfer(t, &recorded, ON_SOURCE, &from, &ignored) < 0 || !(from.fill_us > 0))
        return retarget_ns(to.fill_us);
    us = ahead_fill_us(cost, (double)way.fill_ns / 1e3, 1 - (double)way.first / way.span, &from,
                       &to);
    return retarget_ns(us >= 0 ? us : (double)way.fill_ns / 1e3 * (to.fill_us / from.fill_us));
}

void retarget_set_fills(const struct retarget *t, struct program *program)
{
    for (size_t i = 0; i < program->ncosts; i++) {
        uint32_t match = program->costs[i].match;
        if (match != PROGRAM_NONE && program->one_ways[match].span > 0)
            program_set_fill(program, match, fill_ns(t, &program->costs[i]));
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
    if (!op_is_comm(op))
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
        return across_nodes(t, rank, op, ON_SOURCE) != across_nodes(t, rank, op, ON_TARGET);
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
    if (t->run->comms[comm].size == 1 && t->to_where[comm].ranks > 1) {
        double us;
        /* A time measured on one rank alone is no transfer: a ratio to it means nothing. */
        if (comm_us(t, cost, ON_TARGET, &us, e) < 0)
            return -1;
        *ns = retarget_ns(us);
        return 0;
    }
    if (comm_us(t, cost, ON_SOURCE, &m.from_us, e) < 0)
        return err_prefix(e, "the hardware of the recording (see --from-network)");
    if (comm_us(t, cost, ON_TARGET, &m.to_us, e) < 0)
        return -1;
    if (cost->measured_ns == UNKNOWN_NS || !t->calibrate)
        *ns = retarget_apply(t, COST_COMM, cost->measured_ns, m);
    else
        *ns = retarget_apply(t, COST_COMM, cost->measured_ns - cost->wait_ns, m) + cost->wait_ns;
    return 0;
}

/* Returns whether the rank sends, or receives, more than this message in one group. */
static bool is_one_of_several(const struct rank *rank, const struct op *op)
{
    for (int step = -1; step <= 1; step += 2) {
        for (const struct op *o = op + step;
             o >= rank->ops && o < rank->ops + rank->nops && o->class == OP_P2P &&
             op->coll.group >= 0 && o->coll.group == op->coll.group;
             o += step) {
            if (o->coll.op == op->coll.op)
                return true;
        }
    }
    return false;
}

void retarget_comm_interval(const struct retarget *t, const struct program_cost *cost,
                            enum retarget_side side, struct accuracy_interval *out)
{
    const struct match *match = &t->program->matches.list[cost->match];
    const struct hardware *on = side == ON_TARGET ? &t->to : &t->from;
    const struct layout *where = side == ON_TARGET ? t->to_where : t->from_where;
    const struct rank *rank = &t->run->ranks[cost->rank];
    double bytes = side == ON_TARGET ? retarget_bytes(t, cost) : (double)match->bytes;
    enum specter_comm_op op = (enum specter_comm_op)match->op;
    if (is_alltoall(t, cost))
        accuracy_interval_of_comm(on->gpu, on->network, SPECTER_ALLTOALLV,
                                  (double)t->sent[cost->rank][cost->op], where[match->comm], out);
    else if (specter_comm_op_is_p2p(op))
        accuracy_interval_of_p2p(on->network, out);
    else
        accuracy_interval_of_comm(on->gpu, on->network, op, bytes, where[match->comm], out);
    /* Messages are measured one at a time. */
    if (specter_comm_op_is_p2p(op) && is_one_of_several(rank, &rank->ops[cost->op]))
        *out = (struct accuracy_interval){.class = out->class, .lacks = ACCURACY_LACKS_OPERATION};
}

bool retarget_price(const struct retarget *t, const struct program_cost *cost,
                    struct comm_cost *price)
{
    struct priced_transfer transfer;
    struct err ignored;
    if (!retarget_known_transfer(t, cost))
        return false;
    transfer = transfer_of(t, cost, retarget_bytes(t, cost));
    if (price_transfer(t, &transfer, ON_TARGET, price, &ignored) < 0)
        return false;
    leave_fill(t, cost, price);
    return true;
}
