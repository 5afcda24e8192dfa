/* SPDX-License-Identifier: MIT
 *
 * Inside retargeting: for retarget.c (by which rule; computation and graphs) and retarget_comm.c
 * (transfers).
 */
#ifndef SPECTER_SIM_TARGET_RETARGET_INTERNAL_H
#define SPECTER_SIM_TARGET_RETARGET_INTERNAL_H

#include "sim/target/retarget.h"

/* A model's times of an operation, in us, on both kinds of hardware. */
struct modelled {
    double from_us, to_us;
};

int64_t retarget_ns(double us);

/* Measured time under the model's ratio; the model's own where nothing was measured. Counts in the
 * rule's prices. */
int64_t retarget_apply(struct retarget *t, enum cost_rule rule, int64_t measured_ns,
                       struct modelled m);

static inline bool retarget_same_hardware(const struct retarget *t)
{
    return t->from.gpu == t->to.gpu && t->from.network == t->to.network;
}

/* The measured time stands as it is: no rounding, no model asked. */
static inline bool retarget_untouched(const struct retarget *t, int64_t measured_ns, bool same)
{
    return measured_ns != UNKNOWN_NS && t->calibrate && same;
}

/* Returns whether each rank has a part of the batch only. */
static inline bool retarget_is_divided(const struct retarget *t)
{
    return t->strong != NULL && t->scale > 1;
}

bool retarget_known_transfer(const struct retarget *t, const struct program_cost *cost);

/* A transfer to be priced: what it is, and its bytes, which the operation may not tell itself. */
struct priced_transfer {
    const struct rank *rank;
    const struct op *op;
    enum specter_comm_op what;
    double bytes;
};

int retarget_transfer_us(const struct retarget *t, const struct priced_transfer *transfer,
                         enum retarget_side side, double *us, struct err *e);

void retarget_comm_interval(const struct retarget *t, const struct program_cost *cost,
                            enum retarget_side side, struct accuracy_interval *out);

int retarget_comm(struct retarget *t, const struct program_cost *cost, int64_t *ns, struct err *e);

#endif
