/* SPDX-License-Identifier: MIT
 *
 * Strong scaling (--strong): the batch of the job stays and is divided over N times as many
 * data-parallel ranks, so that each has 1/N of the tokens. By operation:
 *
 * - products: the dimension that counts tokens is divided: measured x model(divided) /
 *   model(whole). Of batched products the batch is divided.
 * - tp, cp, ep, pp: transfers of activations carry 1/N of the bytes. All-to-alls and messages are
 *   such; of others those whose elements are a multiple of the tokens.
 * - dp, fsdp: gradients and parameters, as in weak scaling.
 * - attention, elementwise, reductions, copies: of the time, what the smallest kernel takes stays,
 *   as it takes that to start and drain whatever it does, and the rest is divided by N. The
 *   optimizer's work is on parameters and stays.
 * - host, memsets, copies between host and device: stay.
 *
 * Which dimension counts tokens follows from how the factors lie in memory. Activations are
 * [tokens, features] in row-major order (all frameworks), which column-major BLAS reads as features
 * x tokens. So the factor whose inner index is summed over (features) is an activation whose other
 * index counts tokens: B not transposed makes it n, A transposed makes it m. Where neither is so (A
 * not transposed, B transposed), the sum goes over the outer index of both: the gradient of a
 * weight, tokens is k. Where both are (A transposed, B not), it is m or n. One number must be
 * tokens in every product of an iteration: the tokens of a micro-batch. Otherwise it is refused,
 * and so it is where several numbers are.
 *
 * What is in no class that a rule knows (other kernels, graphs, operations of unknown size) keeps
 * its time; where that is more than STRONG_UNTOLD_MAX of the device time, strong scaling is
 * refused.
 */
#ifndef SPECTER_SIM_SCALING_STRONG_SCALING_H
#define SPECTER_SIM_SCALING_STRONG_SCALING_H

#include "model/cost.h"
#include "sim/scaling/weak_scaling.h"
#include "sim/step/step_measure.h"

#define STRONG_UNTOLD_MAX 0.2

struct strong_scaling {
    const struct weak_scaling *growth; /* borrowed */
    uint32_t tokens;                   /* of a micro-batch */
    uint32_t batch;      /* common divisor of the batches of batched products; 0: none */
    bool tied_n;         /* where m and n are both the tokens, n counts them */
    const char *refused; /* why not; in the arena that it was made with; NULL */
};

/* iterations: by rank. */
void strong_scaling_find(struct strong_scaling *s, const struct weak_scaling *growth,
                         const struct rank_steps *iterations, struct arena *arena);

/* Checks that N divides what it has to. 0, or -1 with e filled (ERR_USAGE). */
int strong_scaling_check(const struct strong_scaling *s, int64_t scale, struct err *e);

/* The product that is left to each rank. */
void strong_scaling_divide(const struct strong_scaling *s, const struct op *op, int64_t scale,
                           struct gemm_shape *shape);

/* Returns whether a transfer carries activations. */
bool strong_scaling_divides(const struct strong_scaling *s, int comm, enum specter_comm_op what,
                            uint64_t bytes, enum specter_dtype dtype);

/* Returns the time of kernels of a class: `least_ns` is what as many kernels take at least. */
double strong_scaling_kernel_ns(enum specter_kernel_class kind, double ns, double least_ns,
                                int64_t scale);

#endif
