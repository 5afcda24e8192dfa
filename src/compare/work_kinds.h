/* SPDX-License-Identifier: MIT
 *
 * The work of a run by what it is (a GEMM by its shape, a kernel by its name, communication by
 * operation and size), and what each piece of it takes without overlapping communication.
 *
 *     struct work_alone alone;
 *     work_alone_init(&alone, altered);
 *     work_alone_ns(&alone, program, cost)
 *     work_alone_release(&alone);
 */
#ifndef SPECTER_COMPARE_WORK_KINDS_H
#define SPECTER_COMPARE_WORK_KINDS_H

#include "sim/replay/altered.h"

/* One number for equal work in all runs. cost: of the program; one with an operation. */
int64_t work_key(const struct program *p, const struct program_cost *cost);

/* The same of an operation that is no communication, of a transfer of the program, and of
 * communication. bytes 0: not known. */
int64_t work_key_of_op(const struct op *op);
int64_t work_key_of_transfer(const struct program *p, uint32_t match);
int64_t work_key_of_comm(int op, int dtype, uint64_t bytes, int ranks);

/* Of enum op_class: GEMMs, kernels and graphs. */
bool work_is_computation(int class);

/* A computation whose time on the device is known. */
bool work_is_timed_computation(const struct op *op);

/* Returns whether the work of a step is compared: it has a length, or is the only one that counts.
 */
bool work_step_counts(const struct job_steps *steps, uint32_t step);

/* By cost, when kernels that were counted ran in the recording, as far as is known; else both 0.
 * The caller frees it. */
struct sim_span *work_untimed_spans(const struct altered *a);

/* What computations and transfers of a run take alone. */
struct work_alone {
    int64_t *ns; /* [ncosts] the median of the same work of its rank and stream, or communicator,
                    without (other) overlapping communication; its own time, where that is so;
                    UNKNOWN_NS: no such work ran so, or it is another operation. Owned */
};

void work_alone_init(struct work_alone *w, const struct altered *a);

/* Returns what work of the program takes without overlapping communication; as the model says,
 * where the recording does not show it. cost: one with a time. */
double work_alone_ns(const struct work_alone *w, const struct program *p, size_t cost);
void work_alone_release(struct work_alone *w);

#endif
