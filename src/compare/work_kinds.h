/* SPDX-License-Identifier: MIT
 *
 * The work of a run by what it is: a GEMM by its shape, a kernel by its name, communication by
 * operation and size. What each piece of it takes alone: work_alone.h.
 */
#ifndef SPECTER_COMPARE_WORK_KINDS_H
#define SPECTER_COMPARE_WORK_KINDS_H

#include "sim/program/program.h"
#include "trace/step_time.h"

/* One number for equal work in all runs. cost: of the program; one with an operation. */
int64_t work_key(const struct program *p, const struct program_cost *cost);

/* The same of an operation that is no communication, of a transfer of the program, and of
 * communication. bytes 0: not known. */
int64_t work_key_of_op(const struct op *op);
int64_t work_key_of_transfer(const struct program *p, uint32_t match);
int64_t work_key_of_comm(int op, int dtype, uint64_t bytes, int ranks);

/* Returns whether the class (enum op_class) is one of computations: GEMMs, kernels, graphs. */
bool work_is_computation(int class);

/* Returns whether it is a computation whose time on the device is known. */
bool work_is_timed_computation(const struct op *op);

/* Returns whether the work of a step is compared: it has a length, or is the only one that counts.
 */
bool work_step_counts(const struct job_steps *steps, uint32_t step);

#endif
