/* SPDX-License-Identifier: MIT
 *
 * Inside retargeting: for retarget.c (by which rule), retarget_compute.c, retarget_comm.c and
 * retarget_graph.c (what each rule says).
 */
#ifndef SPECTER_SIM_TARGET_RETARGET_INTERNAL_H
#define SPECTER_SIM_TARGET_RETARGET_INTERNAL_H

#include "sim/target/retarget.h"

/* A model's times of an operation, in us, on both kinds of hardware. */
struct modelled {
    double from_us, to_us;
};

int64_t retarget_ns(double us);

/* Measured time under the model's ratio; the model's own where nothing was measured. */
int64_t retarget_apply(struct retarget *t, int64_t measured_ns, struct modelled m);

bool retarget_same_hardware(const struct retarget *t);

/* The measured time stands as it is: no rounding, no model asked. */
bool retarget_untouched(const struct retarget *t, int64_t measured_ns, bool same);

/* Returns whether each rank has a part of the batch only. */
bool retarget_is_divided(const struct retarget *t);

bool retarget_known_shape(const struct op *op);
bool retarget_known_transfer(const struct retarget *t, const struct program_cost *cost);

/* Times of the models alone. -1 with e filled when a profile lacks what they need. */
int retarget_gemm_us(const struct gpu_profile *gpu, const struct op *op, double *us, struct err *e);
int retarget_transfer_us(const struct retarget *t, const struct rank *rank, const struct op *op,
                         enum specter_comm_op what, double bytes, struct hardware on,
                         const struct layout *where, double *us, struct err *e);

/* Returns whether the members of a communicator are others on the target, or elsewhere. */
bool retarget_moved(const struct retarget *t, int comm);

/* Sets *ns to the time of an operation on the target, by its rule. op: NULL for untimed kernels. */
int retarget_gemm(struct retarget *t, const struct op *op, int64_t measured_ns, int64_t *ns,
                  struct err *e);
int retarget_comm(struct retarget *t, const struct program_cost *cost, int64_t *ns, struct err *e);
int retarget_graph(struct retarget *t, const struct program_cost *cost, const struct op *op,
                   int64_t *ns, struct err *e);
int64_t retarget_kernel(struct retarget *t, const struct program_cost *cost, const struct op *op);
int64_t retarget_memory(const struct retarget *t, const struct op *op, int64_t measured_ns);
int64_t retarget_scaled(const struct retarget *t, int64_t measured_ns, double ratio);

#endif
