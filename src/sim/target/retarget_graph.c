/* SPDX-License-Identifier: MIT
 *
 * What a graph costs: each known part by its own ratio, the rest as other kernels.
 */
#include "sim/target/retarget_internal.h"

/* The models' times of a graph, on both kinds of hardware. */
static int price_part(const struct retarget *t, const struct rank *rank, const struct op *op,
                      struct modelled *part, struct err *e)
{
    enum specter_comm_op what = (enum specter_comm_op)op->coll.op;
    bool comm = (op->class == OP_COLL || op->class == OP_P2P) && what < SPECTER_COMM_OP_COUNT &&
                op->coll.comm >= 0 && t->run->comms[op->coll.comm].size > 0 &&
                !(op->flags & OP_BYTES_UNKNOWN);
    *part = (struct modelled){0, 0};
    if (retarget_known_shape(op))
        return retarget_gemm_us(t->from.gpu, op, &part->from_us, e) < 0
                   ? -1
                   : retarget_gemm_us(t->to.gpu, op, &part->to_us, e);
    if (!comm)
        return 0;
    if (retarget_transfer_us(t, rank, op, what, (double)op->bytes, t->from, t->from_where,
                             &part->from_us, e) < 0)
        return -1;
    return retarget_transfer_us(t, rank, op, what, (double)op->bytes, t->to, t->to_where,
                                &part->to_us, e);
}

static bool same_places(const struct retarget *t)
{
    const struct placement *a = &t->growth->source, *b = &t->growth->target;
    return a->kind == b->kind && a->per_node == b->per_node && a->of == b->of;
}

/* The measured time is shared out: to what the models know, as long as they say it takes, or all of
 * it when that is more; the rest is other kernels. Each part is scaled by its own ratio. */
int retarget_graph(struct retarget *t, const struct program_cost *cost, const struct op *op,
                   int64_t *ns, struct err *e)
{
    const struct rank *rank = &t->run->ranks[cost->rank];
    const struct graph *what = graphs_find(&t->graphs[cost->rank], op->graph);
    struct modelled all = {0, 0}, part;
    double measured_us = (double)cost->measured_ns / 1e3, rest_us, share = 1;
    *ns = cost->measured_ns;
    if (retarget_same_hardware(t) && t->scale == 1 && t->slow_link == NULL && same_places(t))
        return 0;
    for (size_t i = 0; what != NULL && i < what->nops; i++) {
        if (price_part(t, rank, &rank->ops[what->ops[i]], &part, e) < 0)
            return -1;
        all.from_us += part.from_us;
        all.to_us += part.to_us;
    }
    if (retarget_same_hardware(t) && all.from_us == all.to_us)
        return 0;
    rest_us = measured_us - all.from_us;
    if (rest_us < 0) {
        share = measured_us / all.from_us;
        rest_us = 0;
    }
    if (t->from.gpu != t->to.gpu)
        rest_us *= t->other_ratio[SPECTER_KERNEL_OTHER];
    *ns = retarget_ns(all.to_us * share + rest_us);
    return 0;
}
